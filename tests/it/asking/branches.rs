//! Questions on a conversation that is a tree.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, HistoryStore, SessionChange},
    error::ModelError,
    hitl::HitlStatus::{Answered, Open, Taken},
    id::MessageId,
    run::{RunKind, RunStatus},
};

use super::{QUESTION, ask_back, by_id, over_manuals, stories};
use crate::{
    contract::store::on_both_engines,
    support::{harness::Harness, model::Say, store::TestStore},
};

on_both_engines! {
    answered_from_above_is_another_branch,
    each_wording_of_a_question_has_its_own,
    another_wording_of_a_failed_reply_answers,
}

async fn leaf(harness: &Harness) -> MessageId {
    harness.store.session(harness.user.id, &harness.session()).await.unwrap().active_leaf.unwrap()
}

async fn show(harness: &Harness, leaf: MessageId) {
    let change = SessionChange { shown: Some(leaf), ..SessionChange::default() };
    harness.store.change_session(harness.user.id, &harness.session(), &change).await.unwrap();
}

async fn answered_from_above_is_another_branch(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let first = harness.ask("Hello there").await;
    let asked = ask_back(&harness).await;
    let asking = leaf(&harness).await;
    let mut above = harness.submission("2");
    above.request.parent = first.message_id;
    let other = harness.chat.start(above).await.unwrap().finish().await.unwrap();
    assert_eq!(other.parent_id, first.message_id);
    assert!(other.rag_trace.is_none_or(|trace| !trace.hitl_resumed), "there is no question above it");
    assert_eq!(harness.chat.session(harness.user.id, "s1", 10).await.unwrap().pending, None);

    show(&harness, asking).await;
    let back = harness.chat.session(harness.user.id, "s1", 10).await.unwrap().pending.unwrap();
    assert_eq!(back, asked, "back on its branch it is open still");
    assert_eq!(harness.ask("2").await.citations[0].filename, "borealis-z9.md");
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])]);
}

async fn each_wording_of_a_question_has_its_own(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let first = harness.ask(QUESTION).await;
    let edit = RunKind::Edit(first.user_message_id.unwrap());
    harness.clock.forward(Duration::from_millis(1));
    let second = harness.from(edit, "Please, how long is the warranty?").await.unwrap();
    let second = second.finish().await.unwrap();
    assert_eq!(second.status, RunStatus::AwaitingInput);
    assert_ne!(first.hitl.as_ref().unwrap().id, second.hitl.as_ref().unwrap().id);
    assert_eq!(harness.ask("Aurora X1").await.citations[0].filename, "aurora-x1.md");
    assert_eq!(stories(&harness).await, [(Open, vec![Open]), (Answered, vec![Open, Taken, Answered])]);
    // By its id the other one is answered where it was asked.
    let reply = harness.reply("Borealis Z9", by_id(first.hitl.unwrap().id)).await.unwrap();
    let answered = reply.finish().await.unwrap();
    assert_eq!((answered.parent_id, answered.citations[0].filename.as_str()), (first.message_id, "borealis-z9.md"));
}

async fn another_wording_of_a_failed_reply_answers(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    harness.model.then(vec![Say::Fail(ModelError::Transient("down".into()))]);
    harness.start("Aurora X1").await.unwrap().finish().await.unwrap_err();
    let reply = leaf(&harness).await;
    let answered = harness.from(RunKind::Edit(reply), "Borealis Z9").await.unwrap().finish().await.unwrap();
    assert_eq!(answered.citations[0].filename, "borealis-z9.md");
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Open, Taken, Answered])]);
}
