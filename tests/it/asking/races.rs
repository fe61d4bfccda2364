//! Replies that come at the same time, or too early.

use std::sync::Arc;

use askback::{
    domain::{
        chat::{HitlReply, OnBusy, Refused},
        hitl::HitlStatus::{Answered, Open, Taken},
        run::RunStatus,
    },
    services::chat::{StartError, Turn},
};
use futures::StreamExt;
use tokio::sync::Notify;

use super::{QUESTION, ask_back, desk, option, over_manuals, stories};
use crate::{
    contract::store::on_both_engines,
    support::{
        faults::Fault,
        harness::{Harness, ScriptedSearch, asks},
        model::{Say, says},
        store::TestStore,
    },
};

on_both_engines! {
    of_two_answers_at_once_one_is_taken,
    an_answer_as_soon_as_the_question_is_seen,
    an_answer_before_the_question_is_stored_waits_for_it,
    a_reply_that_is_sent_until_it_is_taken_answers,
    a_reply_that_waits_in_line_answers,
    another_reply_takes_the_place_of_the_first,
}

const ROUNDS: usize = 100;

async fn of_two_answers_at_once_one_is_taken(test: &mut TestStore) {
    let search = ScriptedSearch::new((0..ROUNDS).map(|_| asks()));
    let harness = Harness::new(test, desk(), search).await;
    for round in 0..ROUNDS {
        harness.move_to(&format!("s{round}"));
        let asked = ask_back(&harness).await;
        let send = |place: usize| {
            let mut submission = harness.submission("");
            submission.request.hitl = Some(option(&asked, place));
            let chat = harness.chat.clone();
            tokio::spawn(async move { chat.start(submission).await })
        };
        let (one, two) = (send(1), send(2));
        let (winner, loser) = match (one.await.unwrap(), two.await.unwrap()) {
            (Ok(turn), Err(refused)) | (Err(refused), Ok(turn)) => (turn, refused),
            (one, two) => panic!("round {round}: {:?}, {:?}", one.map(|_| ()), two.map(|_| ())),
        };
        // Either it is being answered, or it has been.
        assert!(
            loser == StartError::Refused(Refused::Busy(winner.run))
                || loser == StartError::Refused(Refused::HitlNotOpen(Answered)),
            "round {round}: {loser:?}"
        );
        assert_eq!(winner.finish().await.unwrap().status, RunStatus::Completed);
        assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])], "round {round}");
        assert_eq!(harness.history().await.len(), 4, "round {round}");
    }
}

/// Goes on until a frame of this kind has come.
async fn until(turn: &mut Turn, kind: &str) {
    while turn.watch.next().await.expect("it comes").kind != kind {}
}

async fn an_answer_as_soon_as_the_question_is_seen(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for round in 0..20 {
        harness.move_to(&format!("s{round}"));
        let mut asking = harness.start(QUESTION).await.unwrap();
        until(&mut asking, "hitl_request").await;
        // The rest of the asking turn has not been read yet.
        let answered = harness.ask("2").await;
        assert_eq!(answered.citations[0].filename, "borealis-z9.md");
        assert_eq!(asking.finish().await.unwrap().status, RunStatus::AwaitingInput);
        assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])]);
    }
}

async fn an_answer_before_the_question_is_stored_waits_for_it(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.faults.at("finish", 1, Fault::Hold { reached: Arc::clone(&reached), go: Arc::clone(&go) });
    let mut asking = harness.start(QUESTION).await.unwrap();
    reached.notified().await;
    let early = harness.start("2").await.map(|_| ()).unwrap_err();
    assert_eq!(early, StartError::Refused(Refused::Busy(asking.run)));
    go.notify_one();
    until(&mut asking, "hitl_request").await;
    assert_eq!(harness.ask("2").await.citations[0].filename, "borealis-z9.md");
    assert_eq!(harness.history().await.len(), 4, "the early one left nothing");
}

async fn a_reply_that_is_sent_until_it_is_taken_answers(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for round in 0..10 {
        harness.move_to(&format!("s{round}"));
        let asking = harness.start(QUESTION).await.unwrap();
        let reply = loop {
            match harness.start("Borealis Z9").await {
                Ok(turn) => break turn,
                Err(StartError::Refused(Refused::Busy(run))) => assert_eq!(run, asking.run),
                Err(other) => panic!("round {round}: {other:?}"),
            }
            tokio::task::yield_now().await;
        };
        let answered = reply.finish().await.unwrap();
        assert!(answered.rag_trace.unwrap().hitl_resumed, "round {round}: it found the question");
        assert_eq!(asking.finish().await.unwrap().status, RunStatus::AwaitingInput);
    }
}

async fn a_reply_that_waits_in_line_answers(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.faults.at("finish", 1, Fault::Hold { reached: Arc::clone(&reached), go: Arc::clone(&go) });
    let asking = harness.start(QUESTION).await.unwrap();
    reached.notified().await;
    let mut submission = harness.submission("2");
    submission.request.on_busy = OnBusy::Enqueue;
    let reply = harness.chat.start(submission).await.unwrap();
    go.notify_one();
    assert_eq!(asking.finish().await.unwrap().status, RunStatus::AwaitingInput);
    assert_eq!(reply.finish().await.unwrap().citations[0].filename, "borealis-z9.md");
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])]);
}

async fn another_reply_takes_the_place_of_the_first(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    harness.model.then([says(&["It stands"]), vec![Say::Hang]].concat());
    let mut first = harness.start("2").await.unwrap();
    until(&mut first, "content").await;
    let mut submission = harness.submission("");
    submission.request.on_busy = OnBusy::Interrupt;
    let wrong = HitlReply { option_ids: vec!["nothing".into()], ..option(&asked, 1) };
    submission.request.hitl = Some(wrong);
    let refused = harness.chat.start(submission.clone()).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, StartError::Refused(Refused::UnknownOption { .. })), "{refused:?}");
    assert_eq!(stories(&harness).await, [(Taken, vec![Open, Taken])], "nothing was stopped for it");
    submission.request.hitl = Some(option(&asked, 1));
    let second = harness.chat.start(submission).await.unwrap().finish().await.unwrap();
    assert_eq!(first.finish().await.unwrap().status, RunStatus::Stopped);
    assert_eq!(second.citations[0].filename, "aurora-x1.md");
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Open, Taken, Answered])]);
}
