//! A model that says nothing for minutes, by a clock that the test moves.

use std::time::Duration;

use askback::http::router;
use axum::body::{Body, BodyDataStream};
use futures::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, advance, pause, resume};
use tower::ServiceExt as _;

use crate::support::{
    app::{As, Setup, TestApp},
    model::{Say, ScriptedModel, says},
};

const COMMENT: &[u8] = b":\n\n";

/// A server whose model says a word and then nothing, and the stream of a turn that has come so far. The stream is the
/// router's answer itself: no socket stands between.
async fn silent() -> (TestApp, As, BodyDataStream, String) {
    let model = ScriptedModel::new([[says(&["So far"]), vec![Say::Hang]].concat()]);
    let app = TestApp::with(Setup { model: Some(model), ..Setup::default() }).await;
    let ada = app.user("ada").await;
    let request = axum::http::Request::post("/chat/stream")
        .header("authorization", format!("Bearer {}", ada.token.as_deref().unwrap()))
        .header("content-type", "application/json")
        .body(Body::from(json!({"message": "Go on", "session_id": "s"}).to_string()))
        .unwrap();
    let mut stream = router(app.app.clone()).oneshot(request).await.unwrap().into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains("So far") {
        seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    let first = seen.lines().next().unwrap().strip_prefix("data: ").unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    (app, ada, stream, first["run_id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn something_is_heard_every_fifteen_seconds() {
    let (_app, ada, mut stream, run) = silent().await;
    pause();
    let began = Instant::now();
    let mut last = began;
    while began.elapsed() < Duration::from_secs(120) {
        assert_eq!(stream.next().await.unwrap().unwrap(), COMMENT);
        assert!(last.elapsed() <= Duration::from_secs(15), "{:?} of silence", last.elapsed());
        last = Instant::now();
    }
    resume();
    // It was silent, not gone.
    ada.post(&format!("/runs/{run}/stop"), Value::Null).await;
    let rest: Vec<_> = stream.map(Result::unwrap).collect().await;
    let rest = String::from_utf8(rest.concat()).unwrap();
    assert!(rest.contains(r#""status":"stopped""#) && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn a_turn_ends_when_its_time_is_up_and_not_before() {
    let (_app, ada, mut stream, run) = silent().await;
    pause();
    // The turn began a moment ago by the clock that is still now.
    advance(Duration::from_secs(295)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
        if let Some(said) = stream.next().now_or_never() {
            assert_eq!(said.unwrap().unwrap(), COMMENT, "its time is not up");
        }
    }
    advance(Duration::from_secs(5)).await;
    resume();
    let rest: Vec<_> = stream.map(Result::unwrap).collect().await;
    let rest = String::from_utf8(rest.concat()).unwrap();
    assert!(rest.contains(r#""code":"turn_timeout""#) && !rest.contains("[DONE]"), "{rest}");
    let state = ada.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!("turn_timeout")));
    assert_eq!(ada.get("/sessions/s").await.json()["messages"][1]["content"], "So far");
}
