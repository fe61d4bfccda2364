//! Processes over one database whose clocks differ.

use std::{sync::Arc, time::Duration};

use askback::domain::{chat::ChatStore, run::RunStatus};
use futures::StreamExt;
use tokio::sync::Notify;

use crate::support::{
    faults::Fault,
    harness::{Harness, ScriptedSearch},
    model::{Say, ScriptedModel, says},
    store::{TestClock, TestStore},
};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Two processes, one of them an hour ahead. The first one's turn has begun and waits for the gate, twice.
async fn two(test: &TestStore, is_first_ahead: bool) -> (Harness, Harness, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let half = vec![Say::Text("Half".into()), Say::WaitFor(Arc::clone(&gate)), Say::Text(" and whole.".into())];
    let hangs = [says(&["So far"]), vec![Say::Hang]].concat();
    let here = Harness::new(test, ScriptedModel::new([half, hangs]), ScriptedSearch::new([])).await;
    let other = TestClock::new();
    if is_first_ahead { &here.clock } else { &other }.forward(HOUR);
    here.chat.recover().await;
    let there = here.beside_with(test, other).await;
    (here, there, gate)
}

async fn a_living_run_is_left_alone_and_a_dead_one_is_ended(is_first_ahead: bool) {
    let Some(test) = TestStore::postgres().await else { return };
    let (here, there, gate) = two(&test, is_first_ahead).await;
    let mut turn = here.start("Go on").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    there.chat.recover().await;
    gate.notify_one();
    let ended = turn.finish().await.unwrap();
    assert_eq!((ended.status, ended.response.as_str()), (RunStatus::Completed, "Half and whole."));

    let mut turn = here.start("And now?").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    for op in ["beat_process", "log", "finish", "orphans"] {
        here.faults.always(op, Fault::Fail);
    }
    // Its lease has run out, whatever its clock says.
    test.store.beat_process("node", "boot1", Duration::ZERO).await.unwrap();
    there.chat.recover().await;
    let run = there.store.run(there.user.id, turn.run).await.unwrap();
    assert_eq!(run.status, RunStatus::Interrupted);
    there.store.close().await;
    test.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_behind_keeps_what_it_runs() {
    a_living_run_is_left_alone_and_a_dead_one_is_ended(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_ahead_loses_what_it_ran_when_it_dies() {
    a_living_run_is_left_alone_and_a_dead_one_is_ended(true).await;
}
