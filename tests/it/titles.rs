//! A session's title: its first words at once, later a model's, and the user's over all.

use std::{sync::Arc, time::Duration};

use askback::domain::{
    chat::{ChatStore, OnDisconnect, SessionChange},
    error::ModelError,
};
use futures::StreamExt;
use tokio::sync::Notify;

use crate::{
    contract::store::on_both_engines,
    support::{
        harness::{Harness, ScriptedSearch},
        model::{Say, ScriptedModel, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_model_names_a_new_session_once,
    a_model_that_names_nothing_costs_only_the_title,
    a_renaming_wins_over_a_title_in_the_making,
    who_leaves_after_the_end_leaves_the_session_its_title,
}

async fn harness(test: &TestStore, fast: &Arc<ScriptedModel>) -> Harness {
    let answers = ScriptedModel::always(says(&["Two years."]));
    Harness::new(test, answers, ScriptedSearch::new([])).await.fast(fast)
}

async fn titled(harness: &Harness) -> Option<String> {
    harness.store.session(harness.user.id, &harness.session()).await.unwrap().title
}

async fn a_model_names_a_new_session_once(test: &mut TestStore) {
    let fast = ScriptedModel::new([says(&["\"Warranty ", "terms.\"\n"])]);
    let harness = harness(test, &fast).await;
    let frames = harness.frames("How long is it?").await;
    let first = frames.iter().find(|frame| frame["type"] == "session_title").unwrap();
    assert_eq!(first["title"], "How long is it", "at once, by its first words");
    assert_eq!(titled(&harness).await.as_deref(), Some("Warranty terms"));
    harness.frames("And then?").await;
    assert_eq!(titled(&harness).await.as_deref(), Some("Warranty terms"));
    assert_eq!(fast.seen().len(), 1);
}

async fn a_model_that_names_nothing_costs_only_the_title(test: &mut TestStore) {
    for said in [vec![Say::Fail(ModelError::Transient("down".into()))], says(&[" \n"]), says(&["word "; 40])] {
        let fast = ScriptedModel::new([said]);
        let harness = harness(test, &fast).await;
        let frames = harness.frames("How long is it?").await;
        assert_eq!(frames.last().unwrap()["type"], "message");
        assert_eq!(titled(&harness).await.as_deref(), Some("How long is it"));
    }
}

async fn a_renaming_wins_over_a_title_in_the_making(test: &mut TestStore) {
    let go = Arc::new(Notify::new());
    let fast = ScriptedModel::new([vec![Say::WaitFor(Arc::clone(&go)), Say::Text("Warranty terms".into())]]);
    let harness = harness(test, &fast).await;
    let turn = harness.start("How long is it?").await.unwrap();
    let name = harness.session();
    // The session is free again when the title is in the making.
    while harness.store.session(harness.user.id, &name).await.unwrap().running_run.is_some() {
        tokio::task::yield_now().await;
    }
    let change = SessionChange { title: Some("Mine".into()), shown: None };
    harness.chat.change_session(harness.user.id, &name, &change).await.unwrap();
    go.notify_one();
    turn.finish().await.unwrap();
    assert_eq!(titled(&harness).await.as_deref(), Some("Mine"));
}

async fn who_leaves_after_the_end_leaves_the_session_its_title(test: &mut TestStore) {
    let go = Arc::new(Notify::new());
    let fast = ScriptedModel::new([vec![Say::WaitFor(Arc::clone(&go)), Say::Text("Warranty terms".into())]]);
    let harness = harness(test, &fast).await;
    let mut submission = harness.submission("How long is it?");
    submission.request.on_disconnect = OnDisconnect::Cancel;
    let mut turn = harness.chat.start(submission).await.unwrap();
    while turn.watch.next().await.unwrap().kind != "message" {}
    drop(turn);
    go.notify_one();
    harness.chat.shutdown(Duration::from_secs(60)).await;
    assert_eq!(titled(&harness).await.as_deref(), Some("Warranty terms"));
}
