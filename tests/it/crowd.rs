//! Many turns at once: over a pool of four connections, and with watchers that leave half way.

use std::sync::Arc;

use askback::domain::{
    chat::{ChatStore, OnDisconnect},
    run::RunStatus,
    user::UserStore,
};
use futures::{StreamExt, future::join_all};
use tokio::sync::Notify;

use crate::{
    contract::store::on_both_engines,
    support::{
        harness::{Harness, ScriptedSearch},
        model::{Say, ScriptedModel},
        store::TestStore,
    },
};

on_both_engines! {
    two_hundred_slow_streams_leave_the_store_to_others,
    two_hundred_watchers_that_leave_half_way_leave_nothing_behind,
}

const CROWD: usize = 200;

fn slow(gate: &Arc<Notify>) -> Arc<ScriptedModel> {
    ScriptedModel::always(vec![
        Say::Text("Half ".into()),
        Say::WaitFor(Arc::clone(gate)),
        Say::Text("and whole.".into()),
    ])
}

async fn two_hundred_slow_streams_leave_the_store_to_others(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let harness = Harness::new(test, slow(&gate), ScriptedSearch::new([])).await;
    let mut turns = Vec::new();
    for n in 0..CROWD {
        harness.move_to(&format!("s{n}"));
        turns.push(harness.start("Go on").await.unwrap());
    }
    join_all(turns.iter_mut().map(async |turn| while turn.watch.next().await.unwrap().kind != "content" {})).await;
    // All of them stream now, and hold no connection.
    let found = harness.store.user_by_name(&harness.user.name).await.unwrap();
    assert_eq!(found.id, harness.user.id);
    for _ in 0..CROWD {
        gate.notify_one();
    }
    gate.notify_waiters();
    for turn in turns {
        assert_eq!(turn.finish().await.unwrap().response, "Half and whole.");
    }
}

async fn two_hundred_watchers_that_leave_half_way_leave_nothing_behind(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let harness = Harness::new(test, slow(&gate), ScriptedSearch::new([])).await;
    let mut turns = Vec::new();
    for n in 0..CROWD {
        harness.move_to(&format!("s{n}"));
        let mut submission = harness.submission("Go on");
        submission.request.on_disconnect = if n % 2 == 0 { OnDisconnect::Cancel } else { OnDisconnect::Continue };
        turns.push(harness.chat.start(submission).await.unwrap());
    }
    join_all(turns.iter_mut().map(async |turn| while turn.watch.next().await.unwrap().kind != "content" {})).await;
    let runs: Vec<_> = turns.into_iter().map(|turn| turn.run).collect();
    let ends = |expected: &'static str| {
        let harness = &harness;
        let runs = runs.clone();
        async move {
            let parity = usize::from(expected != "stopped");
            join_all(runs.into_iter().skip(parity).step_by(2).map(async |run| {
                let log = harness.log(run).await;
                assert_eq!(log.last().unwrap()["message"]["status"], expected);
            }))
            .await;
        }
    };
    ends("stopped").await;
    gate.notify_waiters();
    ends("completed").await;
    // No task is left: this waits for all of them.
    harness.chat.shutdown(std::time::Duration::from_secs(60)).await;
    for (n, run) in runs.into_iter().enumerate() {
        let status = harness.store.run(harness.user.id, run).await.unwrap().status;
        assert_eq!(status, if n % 2 == 0 { RunStatus::Stopped } else { RunStatus::Completed });
    }
}
