//! Turns are recorded and run again.

use std::{sync::Arc, time::Duration};

use askback::{
    domain::{
        chat::OnBusy,
        error::ModelError,
        id::RunId,
        recording::{RecordingStore, Replay},
        run::{RunKind, RunStatus},
        time::{Clock, Millis},
    },
    services::{chat::ReplayError, record::Keeping},
};
use futures::StreamExt;
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    contract::store::on_both_engines,
    crash::MANUALS,
    support::{
        harness::{Harness, ScriptedSearch, found},
        model::{Say, ScriptedModel, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_turn_with_a_search_comes_to_the_same,
    a_tool_is_not_asked_again,
    asking_back_and_the_resume_come_to_the_same,
    a_model_that_fails_fails_again,
    another_reply_is_a_difference,
    a_recording_has_a_cap,
    recordings_expire_in_batches,
    a_recording_goes_with_its_session,
    nothing_is_recorded_unless_it_is_to_be,
    what_was_stopped_is_not_played,
    other_answers_and_more_of_one_are_played,
    parts_side_by_side_come_to_the_same,
    turns_that_waited_in_line_come_to_the_same,
    what_was_asked_otherwise_is_told,
    live_the_models_answer_again_and_nothing_is_written,
}

const ENOUGH: Duration = Duration::from_secs(10);

fn search(query: &str) -> Vec<Say> {
    calls("search_knowledge_base", &json!({ "query": query }))
}

/// Ends the service, so that all is written, and plays this run.
async fn replay(harness: &Harness, run: RunId, live: bool) -> Result<Replay, ReplayError> {
    harness.chat.shutdown(ENOUGH).await;
    harness.chat.replay(run, live).await
}

async fn assert_equal(harness: &Harness, run: RunId) {
    let replay = replay(harness, run, false).await.unwrap();
    assert!(replay.equal, "{replay:#?}");
    assert_eq!(replay.calls, [] as [&str; 0]);
}

async fn scripted(test: &TestStore, model: Arc<ScriptedModel>, keeping: Keeping) -> Harness {
    Harness::new(test, model, ScriptedSearch::new([found(&["The warranty is 24 months."])])).await.recording(keeping)
}

/// Over two manuals, asked for one.
async fn asked_for_one(test: &TestStore) -> (Harness, RunId) {
    let query = "How long is the warranty of the Aurora X1?";
    let model = ScriptedModel::new([search(query), says(&["24 months", " [1]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await.recording(Keeping::default());
    let result = harness.ask(query).await;
    assert_eq!((result.status, result.citations.len()), (RunStatus::Completed, 1));
    (harness, result.run_id)
}

async fn a_turn_with_a_search_comes_to_the_same(test: &mut TestStore) {
    let (harness, run) = asked_for_one(test).await;
    assert_equal(&harness, run).await;
    assert_eq!(harness.model.seen().len(), 2, "the model is not asked again");
    let recording = harness.store.recording(run).await.unwrap().unwrap();
    let mut ports: Vec<&str> = recording.replies.iter().map(|reply| reply.port.as_str()).collect();
    ports.sort_unstable();
    ports.dedup();
    for port in ["chat_model", "chats.accept", "documents.hydrate", "embedder.query", "index.dense", "index.stats"] {
        assert!(ports.contains(&port), "{port}: {ports:?}");
    }
    let bytes: usize = recording.replies.iter().map(|reply| reply.body.len()).sum();
    assert!(bytes < 64 << 10, "{bytes} bytes");
}

async fn a_tool_is_not_asked_again(test: &mut TestStore) {
    let first = [says(&["Let me look."]), search("warranty")].concat();
    let model = ScriptedModel::new([first, says(&["24 months ", "[1", "]."])]);
    let harness = scripted(test, model, Keeping::default()).await;
    let run = harness.ask("How long is the warranty?").await.run_id;
    assert_equal(&harness, run).await;
    assert_eq!(harness.search.queries.lock().unwrap().len(), 1);
}

async fn asking_back_and_the_resume_come_to_the_same(test: &mut TestStore) {
    let question = "How long is the warranty?";
    let model = ScriptedModel::new([search(question), says(&["It is 36 months [1]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await.recording(Keeping::default());
    let asked = harness.ask(question).await;
    assert_eq!(asked.status, RunStatus::AwaitingInput);
    harness.clock.forward(Duration::from_secs(60));
    let answered = harness.ask("Borealis Z9").await;
    assert_eq!((answered.status, answered.response.as_str()), (RunStatus::Completed, "It is 36 months [1]."));
    assert_equal(&harness, asked.run_id).await;
    assert_equal(&harness, answered.run_id).await;
    assert_eq!(harness.questions().await, [(1, "answered")]);
}

async fn a_model_that_fails_fails_again(test: &mut TestStore) {
    let half = [says(&["24 mon"]), vec![Say::Fail(ModelError::Transient("sk-secret was refused".into()))]].concat();
    let refused = vec![Say::Fail(ModelError::RateLimited { retry_after: Some(Duration::from_secs(3)) })];
    let harness = scripted(test, ScriptedModel::new([half, refused]), Keeping::default()).await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let turn = harness.start("How long is the warranty?").await.unwrap();
        runs.push(turn.run);
        turn.finish().await.unwrap_err();
    }
    for run in runs {
        assert_equal(&harness, run).await;
        let recording = harness.store.recording(run).await.unwrap().unwrap();
        let kept = recording.replies.iter().map(|reply| String::from_utf8_lossy(&reply.body).into_owned());
        assert!(!kept.collect::<String>().contains("sk-secret"), "what an upstream said of a failure is not kept");
    }
}

async fn another_reply_is_a_difference(test: &mut TestStore) {
    let (harness, run) = asked_for_one(test).await;
    harness.chat.shutdown(ENOUGH).await;
    let mut recording = harness.store.recording(run).await.unwrap().unwrap();
    let last = recording.replies.iter_mut().rfind(|reply| reply.port == "chat_model").unwrap();
    last.body = String::from_utf8(last.body.clone()).unwrap().replace("24 months", "Two years").into_bytes();
    assert_eq!(harness.store.forget(Millis(i64::MAX), 1).await, Ok(1));
    harness.store.keep(&recording, Millis(i64::MAX)).await.unwrap();
    let replay = replay(&harness, run, false).await.unwrap();
    assert!(!replay.equal);
    assert_eq!(replay.answer, ["- 24 months [1].", "+ Two years [1]."]);
    let content = replay.events.iter().find(|found| found.kind == "content").unwrap();
    assert_eq!((content.at.as_str(), &content.now), ("/content", &json!("Two years [1].")));
}

async fn a_recording_has_a_cap(test: &mut TestStore) {
    let long = "word ".repeat(400);
    let model = ScriptedModel::always(says(&[long.as_str(); 8]));
    let harness = scripted(test, model, Keeping { limit: 8 << 10, ..Keeping::default() }).await;
    let run = harness.ask("Go on").await.run_id;
    assert_eq!(replay(&harness, run, false).await, Err(ReplayError::Incomplete));
    let recording = harness.store.recording(run).await.unwrap().unwrap();
    assert_eq!((recording.replies, recording.frames), (vec![], vec![]));
}

async fn recordings_expire_in_batches(test: &mut TestStore) {
    let harness = scripted(test, ScriptedModel::always(says(&["Yes."])), Keeping::default()).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(harness.ask("Is it?").await.run_id);
    }
    harness.chat.shutdown(ENOUGH).await;
    let forget = async |limit| harness.store.forget(harness.clock.now(), limit).await.unwrap();
    assert_eq!(forget(9).await, 0);
    harness.clock.forward(Duration::from_secs(7 * 24 * 60 * 60));
    assert_eq!((forget(2).await, forget(2).await, forget(2).await), (2, 1, 0));
    for run in runs {
        assert_eq!(harness.chat.replay(run, false).await, Err(ReplayError::NotRecorded));
    }
}

async fn a_recording_goes_with_its_session(test: &mut TestStore) {
    let harness = scripted(test, ScriptedModel::always(says(&["Yes."])), Keeping::default()).await;
    let run = harness.ask("Is it?").await.run_id;
    harness.chat.shutdown(ENOUGH).await;
    harness.chat.delete_session(harness.user.id, "s1").await.unwrap();
    assert_eq!(harness.chat.replay(run, false).await, Err(ReplayError::NotFound));
    assert_eq!(harness.store.forget(Millis(i64::MAX), 9).await, Ok(0));
}

async fn nothing_is_recorded_unless_it_is_to_be(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    let run = harness.ask("Is it?").await.run_id;
    assert_eq!(replay(&harness, run, false).await, Err(ReplayError::NotRecorded));
    let nobodys = RunId::at(Millis(1));
    assert_eq!(harness.chat.replay(nobodys, false).await, Err(ReplayError::NotFound));
}

async fn what_was_stopped_is_not_played(test: &mut TestStore) {
    let endless = [says(&["So far"]), vec![Say::Hang]].concat();
    let harness = scripted(test, ScriptedModel::new([endless]), Keeping::default()).await;
    let turn = harness.start("Go on").await.unwrap();
    let run = turn.run;
    harness.chat.stop(harness.user.id, run).await.unwrap();
    assert_eq!(replay(&harness, run, false).await, Err(ReplayError::EndedFromOutside("stopped".into())));
}

async fn other_answers_and_more_of_one_are_played(test: &mut TestStore) {
    let model = ScriptedModel::new([
        says(&["24 months"]),
        says(&["Two years."]),
        [says(&[" It is"]), vec![Say::Hang]].concat(),
        says(&[" from the day of purchase."]),
    ]);
    let harness = scripted(test, model, Keeping::default()).await;
    let first = harness.ask("How long is the warranty?").await;
    let answer = first.message_id.unwrap();
    let again = harness.from(RunKind::Regenerate(answer), "").await.unwrap().finish().await.unwrap();
    assert_eq!(again.response, "Two years.");
    let turn = harness.start("Since when?").await.unwrap();
    let (run, mut watch) = (turn.run, turn.watch);
    while let Some(frame) = watch.next().await {
        if frame.kind == "content" {
            break;
        }
    }
    let stopped = harness.chat.stop(harness.user.id, run).await.unwrap().result.unwrap();
    let more = harness.from(RunKind::Continue(stopped.message_id.unwrap()), "").await.unwrap();
    let more = more.finish().await.unwrap();
    assert_eq!(more.response, " It is from the day of purchase.");
    for run in [first.run_id, again.run_id, more.run_id] {
        assert_equal(&harness, run).await;
    }
}

async fn parts_side_by_side_come_to_the_same(test: &mut TestStore) {
    let query = "How long is the warranty of the Aurora X1? How long is the warranty of the Borealis Z9?";
    let model = ScriptedModel::new([search(query), says(&["24 months [1], 36 months [2]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await.recording(Keeping::default());
    let result = harness.ask(query).await;
    assert_eq!(result.rag_trace.unwrap().complexity.as_deref(), Some("complex"));
    assert_equal(&harness, result.run_id).await;
}

async fn turns_that_waited_in_line_come_to_the_same(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let holds = vec![Say::Text("So far".into()), Say::WaitFor(Arc::clone(&gate)), Say::Text(".".into())];
    let replies = [says(&["Root."]), holds, search("warranty"), says(&["24 months [1]."]), says(&["Root again."])];
    let harness = scripted(test, ScriptedModel::new(replies), Keeping::default()).await;
    let root = harness.ask("Wurzel?").await;
    let mut first = harness.start("first").await.unwrap();
    while first.watch.next().await.unwrap().kind != "content" {}
    let mut asks = harness.submission("How long is the warranty?");
    asks.request.on_busy = OnBusy::Enqueue;
    let mut again = harness.submission("");
    again.request.on_busy = OnBusy::Enqueue;
    again.request.kind = RunKind::Regenerate(root.message_id.unwrap());
    let asks = harness.chat.start(asks).await.unwrap();
    let again = harness.chat.start(again).await.unwrap();
    harness.clock.forward(Duration::from_secs(3));
    gate.notify_one();
    let first = first.finish().await.unwrap();
    let waited = [asks.finish().await.unwrap(), again.finish().await.unwrap()];
    assert_eq!(waited.each_ref().map(|result| result.response.as_str()), ["24 months [1].", "Root again."]);
    for run in [first.run_id, waited[0].run_id, waited[1].run_id] {
        assert_equal(&harness, run).await;
    }
    let before = harness.history().await;
    let recording = harness.store.recording(waited[0].run_id).await.unwrap().unwrap();
    assert!(recording.head.waited);
    // It is told apart from one that came to something else.
    let mut other = recording.clone();
    let last = other.replies.iter_mut().rfind(|reply| reply.port == "chat_model").unwrap();
    last.body = String::from_utf8(last.body.clone()).unwrap().replace("24 months", "Two years").into_bytes();
    assert_eq!(harness.store.forget(Millis(i64::MAX), 9).await, Ok(4));
    harness.store.keep(&other, Millis(i64::MAX)).await.unwrap();
    let replay = harness.chat.replay(waited[0].run_id, false).await.unwrap();
    assert_eq!(replay.answer, ["- 24 months [1].", "+ Two years [1]."]);
    assert_eq!(harness.history().await, before, "nothing of it reaches the conversation");
}

async fn what_was_asked_otherwise_is_told(test: &mut TestStore) {
    let (harness, run) = asked_for_one(test).await;
    harness.chat.shutdown(ENOUGH).await;
    let mut recording = harness.store.recording(run).await.unwrap().unwrap();
    for reply in &mut recording.replies {
        match reply.port.as_str() {
            "chat_model" => reply.request_sha256 = "of another prompt".into(),
            "index.sparse" => reply.request_sha256 = "of another question".into(),
            _ => {}
        }
    }
    assert_eq!(harness.store.forget(Millis(i64::MAX), 1).await, Ok(1));
    harness.store.keep(&recording, Millis(i64::MAX)).await.unwrap();
    let replay = harness.chat.replay(run, false).await.unwrap();
    assert!(!replay.equal, "the search had one side only");
    let told: Vec<&str> = replay.calls.iter().map(|call| call.split(':').next().unwrap()).collect();
    assert!(told.starts_with(&["chat_model", "chat_model", "index.sparse"]), "{:?}", replay.calls);
}

async fn live_the_models_answer_again_and_nothing_is_written(test: &mut TestStore) {
    let (harness, run) = asked_for_one(test).await;
    harness.chat.shutdown(ENOUGH).await;
    let before = harness.history().await;
    let query = "How long is the warranty of the Aurora X1?";
    let model = ScriptedModel::new([search(query), says(&["24 months [1].\nKeep the receipt."])]);
    let harness = harness.speaking(Arc::clone(&model));
    let replay = replay(&harness, run, true).await.unwrap();
    assert!(!replay.equal && replay.live);
    assert_eq!(replay.answer, ["  24 months [1].", "+ Keep the receipt."]);
    assert_eq!(replay.route.now.as_deref(), Some("answer"));
    assert_eq!(model.seen().len(), 2);
    assert_eq!(harness.history().await, before);
}
