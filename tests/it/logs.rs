//! Run logs: resumed after every frame, dropped a day after the end, and bridged where a power failure took frames.

use std::time::Duration;

use askback::{
    adapters::storage::Engine,
    domain::{chat::ChatStore, error::ModelError, run::RunStatus, time::Clock},
    services::chat::{Events, EventsError, Frame},
};
use futures::StreamExt;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    contract::store::on_both_engines,
    support::{
        harness::{Harness, ScriptedSearch, asks, found, kinds, plain},
        model::{Say, ScriptedModel, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_log_is_resumed_after_every_frame_before_and_after_a_restart,
    a_result_outlives_its_log,
    logs_are_dropped_in_batches,
    an_event_that_is_none_of_the_runs_is_refused,
    a_lost_tail_is_bridged_from_every_frame,
    a_lost_middle_is_bridged_once,
    frames_that_were_seen_and_lost_are_replaced,
    an_end_with_the_number_of_a_lost_frame_is_told,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn search_call() -> Vec<Say> {
    calls("search_knowledge_base", &json!({ "query": "warranty" }))
}

/// A harness that answers one question with search, and its run's frames.
async fn answered(test: &TestStore) -> (Harness, Vec<Frame>) {
    let first = [says(&["Let me look."]), search_call()].concat();
    let model = ScriptedModel::new([first, says(&["24 ", "months ", "[1]", " 保修", "."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["The warranty is 24 months."])])).await;
    let frames = harness.start("How long?").await.unwrap().watch.collect().await;
    (harness, frames)
}

fn run_of(frames: &[Frame]) -> askback::domain::id::RunId {
    let frame: Value = serde_json::from_slice(&frames[0].json).unwrap();
    frame["run_id"].as_str().unwrap().parse().unwrap()
}

async fn events(harness: &Harness, frames: &[Frame], after: usize) -> Result<Vec<Frame>, EventsError> {
    match harness.chat.events(harness.user.id, run_of(frames), after as u64).await? {
        Events::Follow(watch) => Ok(watch.collect().await),
        Events::AllSeen => Ok(Vec::new()),
    }
}

async fn a_log_is_resumed_after_every_frame_before_and_after_a_restart(test: &mut TestStore) {
    let (harness, live) = answered(test).await;
    for after in 0..=live.len() {
        assert_eq!(events(&harness, &live, after).await.unwrap(), live[after..]);
    }
    let restarted = harness.after_crash(ScriptedModel::new([]), ScriptedSearch::new([])).await;
    for after in 0..=live.len() {
        assert_eq!(events(&restarted, &live, after).await.unwrap(), live[after..]);
    }
}

async fn a_result_outlives_its_log(test: &mut TestStore) {
    let failing = vec![Say::Fail(ModelError::Permanent("no".into()))];
    let model = ScriptedModel::new([says(&["Yes."]), search_call(), failing, vec![Say::Hang]]);
    let search = ScriptedSearch::new([asks()]);
    let harness = Harness::new(test, model, search).await;
    let answered = harness.ask("one").await;
    let asked = harness.ask("two").await;
    assert_eq!(asked.status, RunStatus::AwaitingInput);
    harness.move_to("s2");
    let failed = harness.start("three").await.unwrap();
    let failed_run = failed.run;
    failed.finish().await.unwrap_err();
    let stopped = harness.start("four").await.unwrap().run;
    let stopped = harness.chat.stop(harness.user.id, stopped).await.unwrap().result.unwrap();

    harness.clock.forward(DAY);
    for run in [answered.run_id, asked.run_id, failed_run, stopped.run_id] {
        let gone = harness.chat.events(harness.user.id, run, 0).await.map(|_| ()).unwrap_err();
        assert_eq!(gone, EventsError::Expired);
    }
    assert_eq!(harness.store.drop_logs(harness.clock.now(), 100).await, Ok(4));
    for told in [&answered, &asked] {
        let state = harness.chat.run(harness.user.id, told.run_id).await.unwrap();
        let result = state.result.unwrap();
        let hitl = result.hitl.as_ref().map(|hitl| hitl.id);
        assert_eq!((&result.response, hitl), (&told.response, told.hitl.as_ref().map(|hitl| hitl.id)));
        let bare = |mut result: askback::domain::chat::TurnResult| {
            result.hitl = None;
            result
        };
        assert_eq!(bare(result), bare(told.clone()));
    }
    let state = harness.chat.run(harness.user.id, failed_run).await.unwrap();
    assert_eq!((state.run.status, state.result), (RunStatus::Failed, None));
    assert!(state.run.error.is_some());
    let state = harness.chat.run(harness.user.id, stopped.run_id).await.unwrap().result.unwrap();
    assert_eq!(
        (state.status, state.message_id, state.user_message_id),
        (RunStatus::Stopped, None, stopped.user_message_id)
    );
    for run in [answered.run_id, stopped.run_id] {
        assert!(harness.store_log(run).await.is_empty());
        assert_eq!(harness.chat.events(harness.user.id, run, 0).await.map(|_| ()), Err(EventsError::Expired));
    }
}

async fn logs_are_dropped_in_batches(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    for n in 0..5 {
        harness.ask(&format!("question {n}")).await;
    }
    let now = harness.clock.now();
    harness.clock.forward(DAY);
    let young = harness.ask("young").await.run_id;
    let mut dropped = Vec::new();
    for _ in 0..4 {
        dropped.push(harness.store.drop_logs(now, 2).await.unwrap());
    }
    assert_eq!(dropped, [2, 2, 1, 0]);
    assert!(!harness.store_log(young).await.is_empty());
}

async fn an_event_that_is_none_of_the_runs_is_refused(test: &mut TestStore) {
    let (harness, live) = answered(test).await;
    assert_eq!(events(&harness, &live, live.len() + 1).await.unwrap_err(), EventsError::Unknown);
    harness.model.then([says(&["Slow"]), vec![Say::Hang]].concat());
    let mut turn = harness.start("more").await.unwrap();
    let mut seen = 0;
    while let Some(frame) = turn.watch.next().await {
        seen = frame.seq;
        if frame.kind == "content" {
            break;
        }
    }
    let refused = harness.chat.events(harness.user.id, turn.run, seen + 100).await.map(|_| ()).unwrap_err();
    assert_eq!(refused, EventsError::Unknown);
    assert!(harness.chat.events(harness.user.id, turn.run, seen).await.is_ok());
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
}

/// Changes the log past the store.
async fn execute(test: &TestStore, statement: String) {
    let statement = AssertSqlSafe(statement);
    match &test.engine {
        Engine::Sqlite { folder } => {
            let file = SqliteConnectOptions::new().filename(folder.join("askback.sqlite"));
            let mut connection = SqliteConnection::connect_with(&file).await.unwrap();
            connection.execute(statement).await.unwrap();
        }
        Engine::Postgres { url, .. } => {
            let mut connection = PgConnection::connect(url.expose_secret()).await.unwrap();
            connection.execute(statement).await.unwrap();
        }
    }
}

/// What a power failure does: frames that were not synced are gone. One frame a row, without the lost ones.
async fn lose(test: &TestStore, frames: &[Frame], is_lost: impl Fn(u64) -> bool) {
    let run = run_of(frames);
    execute(test, format!("delete from run_events where run_id = '{run}'")).await;
    for frame in frames.iter().filter(|frame| !is_lost(frame.seq)) {
        let bytes = hex::encode([&frame.json[..], b"\n"].concat());
        let bytes = match &test.engine {
            Engine::Sqlite { .. } => format!("x'{bytes}'"),
            Engine::Postgres { .. } => format!("decode('{bytes}', 'hex')"),
        };
        let seq = frame.seq;
        execute(test, format!("insert into run_events values ('{run}', {seq}, {seq}, {bytes})")).await;
    }
}

/// The text that a client has that saw `frames` in this order.
fn text(frames: &[Frame]) -> String {
    let mut text = String::new();
    for frame in frames.iter().map(plain) {
        match frame["type"].as_str().unwrap() {
            "content" => text.push_str(frame["content"].as_str().unwrap()),
            "content_reset" => text.clear(),
            "snapshot" => text = frame["content"].as_str().unwrap().into(),
            _ => {}
        }
    }
    text
}

/// The end that `frames` tell, apart from what became of the cited document since: the scripted one was never there.
fn lasting(frames: &[Frame]) -> Value {
    let mut end = plain(frames.last().unwrap());
    end["message"]["citations"][0]["removed"] = false.into();
    let chunk = end["message"]["rag_trace"]["retrieved_chunks"][0].as_object_mut().unwrap();
    chunk.retain(|field, _| !["removed", "text"].contains(&field.as_str()));
    end
}

async fn a_lost_tail_is_bridged_from_every_frame(test: &mut TestStore) {
    let (harness, live) = answered(test).await;
    let result = lasting(&live);
    for kept in 0..live.len() as u64 {
        lose(test, &live, |seq| seq > kept).await;
        for after in 0..live.len() {
            let rest = events(&harness, &live, after).await.unwrap();
            assert_eq!(lasting(&rest), result, "kept {kept}, after {after}");
            let seqs: Vec<u64> = rest.iter().map(|frame| frame.seq).collect();
            assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]) && seqs[0] > after as u64, "{seqs:?}");
            let seen = [&live[..after], &rest].concat();
            assert_eq!(text(&seen), "24 months [1] 保修.", "kept {kept}, after {after}");
            assert!(rest.iter().filter(|frame| frame.kind == "snapshot").count() <= 1);
        }
    }
}

async fn a_lost_middle_is_bridged_once(test: &mut TestStore) {
    let (harness, live) = answered(test).await;
    lose(test, &live, |seq| (3..=5).contains(&seq)).await;
    for after in 0..live.len() {
        let rest = events(&harness, &live, after).await.unwrap();
        let bridges = rest.iter().filter(|frame| frame.kind == "snapshot").count();
        assert_eq!(bridges, usize::from(after < 5), "after {after}");
        assert_eq!(text(&[&live[..after], &rest].concat()), "24 months [1] 保修.", "after {after}");
        assert_eq!(rest.last(), live.last());
    }
}

/// A run that died of a power failure, what a client had seen of it, and the next start. `kept`, of how many were seen,
/// is the last frame that is left.
async fn power_fails(test: &TestStore, kept: impl Fn(u64) -> u64) -> (Vec<Frame>, Harness) {
    let model = ScriptedModel::new([[says(&["It is ", "24 ", "months"]), vec![Say::Hang]].concat()]);
    let crashed = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut turn = crashed.start("How long?").await.unwrap();
    let mut seen = Vec::new();
    while text(&seen) != "It is 24 months" {
        seen.push(turn.watch.next().await.unwrap());
    }
    let kept = kept(seen.len() as u64);
    lose(test, &seen, |seq| seq > kept).await;
    let restarted = crashed.after_crash(ScriptedModel::new([]), ScriptedSearch::new([])).await;
    (seen, restarted)
}

/// What the client is told that comes back has the text as it stands, and the end.
async fn assert_replaced(restarted: &Harness, seen: &[Frame]) {
    let rest: Vec<_> = events(restarted, seen, seen.len()).await.unwrap();
    assert_eq!(kinds(&rest.iter().map(plain).collect::<Vec<_>>()), ["snapshot", "error"]);
    let state = restarted.chat.run(restarted.user.id, run_of(seen)).await.unwrap().run;
    let stored = match state.message {
        Some(message) => restarted.store.message(restarted.user.id, message).await.unwrap().content,
        None => String::new(),
    };
    assert_eq!(text(&[seen, &rest].concat()), stored);
}

async fn frames_that_were_seen_and_lost_are_replaced(test: &mut TestStore) {
    let (seen, restarted) = power_fails(test, |_| 1).await;
    assert_replaced(&restarted, &seen).await;
    for never in [10_usize.pow(18), usize::MAX] {
        assert_eq!(events(&restarted, &seen, never).await.unwrap_err(), EventsError::Unknown);
    }
}

async fn an_end_with_the_number_of_a_lost_frame_is_told(test: &mut TestStore) {
    let (seen, restarted) = power_fails(test, |seen| seen - 1).await;
    let run = restarted.chat.run(restarted.user.id, run_of(&seen)).await.unwrap().run;
    assert_eq!(run.last_seq, seen.len() as u64);
    assert_replaced(&restarted, &seen).await;
}
