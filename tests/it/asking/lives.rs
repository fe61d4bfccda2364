//! How questions end: declined, left for another one, answered late, expired.

use std::{sync::Arc, time::Duration};

use askback::{
    domain::{
        chat::{HitlAction, HitlReply, Refused},
        error::ModelError,
        hitl::HitlStatus::{Answered, Dismissed, Expired, Open, Superseded, Taken},
        run::RunStatus,
    },
    services::chat::StartError,
};
use tokio::sync::Notify;

use super::{CLEAR, ask_back, by_id, option, over_manuals, stories};
use crate::{
    contract::store::on_both_engines,
    support::{
        model::{Say, says},
        store::TestStore,
        tables,
    },
};

on_both_engines! {
    declined_and_left_for_another_question,
    answered_by_id_after_a_restart,
    expired_by_id_is_refused_and_costs_nothing,
    expired_the_same_text_is_a_new_question,
    it_expires_while_its_reply_is_worked_on,
    without_its_record_it_is_left,
}

/// How long a question stays open.
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

async fn declined_and_left_for_another_question(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    let calls = harness.model.seen().len();
    let declined = harness.ask("stop").await;
    assert_eq!(declined.response, "All right, I will leave that question.");
    assert_eq!(harness.model.seen().len(), calls, "that needs no model");

    ask_back(&harness).await;
    let answered = harness.ask(CLEAR).await;
    assert_eq!((answered.status, answered.citations.len()), (RunStatus::Completed, 1));
    assert_eq!(answered.citations[0].filename, "aurora-x1.md");
    assert_eq!(answered.rag_trace.unwrap().hitl_reply_verdict.unwrap()["verdict"], "new_question");
    assert_eq!(
        stories(&harness).await,
        [(Dismissed, vec![Open, Taken, Dismissed]), (Superseded, vec![Open, Taken, Superseded])]
    );
}

async fn answered_by_id_after_a_restart(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let restarted = harness.restarted().await;
    let again = restarted.chat.session(restarted.user.id, "s1", 10).await.unwrap().pending.unwrap();
    assert_eq!(again, asked, "the same question under the same id");
    let answered = restarted.reply("the second one", by_id(asked.id)).await.unwrap().finish().await.unwrap();
    assert_eq!(answered.citations[0].filename, "borealis-z9.md");
    assert_eq!(stories(&restarted).await, [(Answered, vec![Open, Taken, Answered])]);
}

async fn expired_by_id_is_refused_and_costs_nothing(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    harness.clock.forward(EXPIRY);
    let restarted = harness.restarted().await;
    let (rows, calls) = (tables::rows(&test.engine).await, restarted.model.seen().len());
    for reply in [by_id(asked.id), option(&asked, 1)] {
        let refused = restarted.reply("Aurora X1", reply).await.map(|_| ()).unwrap_err();
        assert_eq!(refused, StartError::Refused(Refused::HitlExpired));
    }
    assert_eq!((tables::rows(&test.engine).await, restarted.model.seen().len()), (rows, calls));
    assert_eq!(stories(&restarted).await, [(Expired, vec![Open])], "no message has come to its branch");
    assert_eq!(restarted.chat.session(restarted.user.id, "s1", 10).await.unwrap().pending, None);
}

async fn expired_the_same_text_is_a_new_question(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    harness.clock.forward(EXPIRY);
    let answered = harness.ask("How long is the warranty of the Borealis Z9?").await;
    assert_eq!(answered.citations[0].filename, "borealis-z9.md");
    assert!(!answered.rag_trace.unwrap().hitl_resumed);
    assert_eq!(stories(&harness).await, [(Expired, vec![Open, Expired])]);
    // What would have been an option is a message like any other now, and is answered somehow.
    harness.move_to("s2");
    ask_back(&harness).await;
    harness.clock.forward(EXPIRY);
    let answered = harness.ask("2").await;
    assert!(!answered.response.trim().is_empty());
    assert!(answered.rag_trace.is_none_or(|trace| !trace.hitl_resumed));
    assert_eq!(stories(&harness).await[0], (Expired, vec![Open, Expired]));
}

async fn it_expires_while_its_reply_is_worked_on(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    let gate = Arc::new(Notify::new());
    harness.model.then([vec![Say::WaitFor(gate.clone())], says(&["24 months [1]."])].concat());
    let turn = harness.start("Aurora X1").await.unwrap();
    harness.clock.forward(EXPIRY);
    gate.notify_one();
    assert_eq!(turn.finish().await.unwrap().response, "24 months [1].");
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])], "what was taken in time counts");
    // A failure does not bring back what has expired meanwhile.
    harness.move_to("s2");
    ask_back(&harness).await;
    harness.model.then(vec![Say::WaitFor(gate.clone()), Say::Fail(ModelError::Transient("down".into()))]);
    let turn = harness.start("Aurora X1").await.unwrap();
    harness.clock.forward(EXPIRY);
    gate.notify_one();
    turn.finish().await.unwrap_err();
    assert_eq!(stories(&harness).await[0], (Expired, vec![Open, Taken, Expired]));
}

async fn without_its_record_it_is_left(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    harness.move_to("s2");
    let asked = ask_back(&harness).await;
    tables::execute(&test.engine, "update hitl set record = '{}'").await;
    let dismissal = HitlReply { action: Some(HitlAction::Dismiss), ..by_id(asked.id) };
    let declined = harness.reply("", dismissal).await.unwrap().finish().await.unwrap();
    assert_eq!(declined.response, "All right, I will leave that question.");
    assert_eq!(stories(&harness).await, [(Dismissed, vec![Open, Taken, Dismissed])]);
    harness.move_to("s1");
    let answered = harness.ask(CLEAR).await;
    assert_eq!(answered.citations[0].filename, "aurora-x1.md");
    assert_eq!(stories(&harness).await, [(Superseded, vec![Open, Taken, Superseded])]);
}
