//! Runs from outside: stopped, continued, resumed, and their logs when they are kept no longer.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    app::{Answer, As, PASSWORD, TestApp, problem},
    fake_openai::{Reply, Step, text},
};

/// Forty tokens, and a server that then waits for its client to go.
fn forty_tokens() -> (Vec<String>, Reply) {
    let tokens: Vec<String> = (1..=40).map(|no| format!("token{no} ")).collect();
    let reply = Reply::says_and_hangs(&tokens.iter().map(String::as_str).collect::<Vec<_>>());
    (tokens, reply)
}

/// Reads the stream of a turn until `text` was said; gives its run.
async fn until_said(client: &As, path: &str, body: Value, text: &str) -> (reqwest::Response, String) {
    let mut response = client.request(Method::POST, path).json(&body).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let (mut received, mut run) = (Vec::new(), String::new());
    loop {
        let mut said = String::new();
        let whole = received.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = std::str::from_utf8(&received[..whole]).unwrap().lines();
        for frame in lines.filter_map(|line| line.strip_prefix("data: ")) {
            let frame: Value = serde_json::from_str(frame).unwrap();
            run = frame["run_id"].as_str().unwrap().to_owned();
            if frame["type"] == "content" {
                said.push_str(frame["content"].as_str().unwrap());
            }
        }
        if said == text {
            return (response, run);
        }
        assert!(text.starts_with(&said), "{said}");
        received.extend_from_slice(&response.chunk().await.unwrap().expect("more is said"));
    }
}

#[tokio::test]
async fn a_turn_that_was_stopped_after_forty_tokens_keeps_them() {
    let (tokens, reply) = forty_tokens();
    let app = TestApp::scripted(vec![reply, Reply::says(&["Next."])]).await;
    let ada = app.user("ada").await;
    let said = tokens.concat();
    let body = json!({"message": "Count", "session_id": "s"});
    // What may still become a marker, or a space before one, is held back until more comes.
    let (stream, run) = until_said(&ada, "/chat/stream", body, said.trim_end()).await;

    let stopped = ada.post(&format!("/runs/{run}/stop"), Value::Null).await.json();
    assert_eq!((&stopped["status"], &stopped["error"]), (&json!("stopped"), &Value::Null));
    // At once: before the server could have said another token.
    app.model.left(1).await;
    let next = ada.post("/chat", json!({"message": "And now?", "session_id": "s"})).await.json();
    assert_eq!(next["parent_id"], stopped["result"]["message_id"]);

    let session = ada.get("/sessions/s").await.json();
    let reloaded = &session["messages"][1];
    assert_eq!(reloaded["content"].as_str().unwrap().trim_end(), said.trim_end());
    assert_eq!((&reloaded["status"], &reloaded["content"]), (&json!("stopped"), &stopped["result"]["response"]));
    let rest = stream.text().await.unwrap();
    assert!(!rest.contains(r#""type":"error""#) && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn a_stopped_answer_is_continued_and_stopped_again() {
    let (tokens, reply) = forty_tokens();
    // A model that begins with its last words again.
    let again: Vec<&str> = tokens[38..].iter().map(String::as_str).chain(["token41 ", "token42 "]).collect();
    let app = TestApp::scripted(vec![reply, Reply::says_and_hangs(&again)]).await;
    let ada = app.user("ada").await;
    let said = tokens.concat();
    let body = json!({"message": "Count", "session_id": "s"});
    let (first, run) = until_said(&ada, "/chat/stream", body, said.trim_end()).await;
    let stopped = ada.post(&format!("/runs/{run}/stop"), Value::Null).await.json()["result"].clone();
    drop(first);

    let of = |id: &Value| format!("/sessions/s/messages/{}/continue", id.as_str().unwrap());
    let question = ada.post(&of(&stopped["user_message_id"]), json!({})).await;
    assert_eq!(question.problem(), problem(422, "not_continuable", &[]));
    let path = of(&stopped["message_id"]);
    let kept = stopped["response"].as_str().unwrap();
    let whole = format!("{said}token41 token42 ");
    let more = whole.strip_prefix(kept).unwrap().trim_end();
    let (_second, run) = until_said(&ada, &path, json!({"stream": true}), more).await;
    ada.post(&format!("/runs/{run}/stop"), Value::Null).await;

    let session = ada.get("/sessions/s").await.json();
    let messages = session["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "one question, one answer");
    assert_eq!((&messages[1]["id"], &messages[1]["status"]), (&stopped["message_id"], &json!("stopped")));
    assert_eq!(messages[1]["content"].as_str().unwrap().trim_end(), whole.trim_end());
}

#[tokio::test]
async fn a_line_without_end_is_a_bad_response_and_what_was_said_stays() {
    let endless = Reply::events(&[&text("Half an answer. "), &text(&"x".repeat(10 << 20))]).then(Step::Hang);
    let app = TestApp::scripted(vec![endless, Reply::says(&["Whole."])]).await;
    let ada = app.user("ada").await;
    let answer = ada.post("/chat", json!({"message": "Hello?", "session_id": "s"})).await;
    assert_eq!(answer.problem(), problem(502, "model_bad_response", &[]));
    let session = ada.get("/sessions/s").await.json();
    let kept = &session["messages"][1];
    assert_eq!((kept["content"].as_str().unwrap().trim_end(), &kept["status"]), ("Half an answer.", &json!("failed")));
    let next = ada.post("/chat", json!({"message": "Again?", "session_id": "s"})).await.json();
    assert_eq!(next["response"], "Whole.");
}

#[tokio::test]
async fn the_events_of_a_run_are_gone_after_a_day_and_its_result_is_not() {
    let app = TestApp::scripted(vec![Reply::says(&["Yes."])]).await;
    let ada = app.user("ada").await;
    let result = ada.post("/chat", json!({"message": "Is it?"})).await.json();
    let run = format!("/runs/{}", result["run_id"].as_str().unwrap());
    let whole = ada.get(&format!("{run}/events")).await;
    assert_eq!(whole.status, StatusCode::OK);
    let last = whole.text.matches("\nevent: ").count();
    for after in [last + 1, usize::MAX] {
        let future = ada.get(&format!("{run}/events?after={after}")).await;
        assert_eq!(future.problem(), problem(400, "invalid_event_id", &[]), "{after}");
    }
    let garbage = ada.request(Method::GET, &format!("{run}/events")).header("last-event-id", "einundzwanzig");
    assert_eq!(Answer::of(garbage).await.problem(), problem(400, "invalid_event_id", &[]));

    app.clock.advance(Duration::from_secs(24 * 60 * 60));
    let login = app.anyone().post("/auth/login", json!({"username": "ada", "password": PASSWORD})).await.json();
    let ada = app.bearer(login["access_token"].as_str().unwrap());
    for after in [0, last] {
        let gone = ada.get(&format!("{run}/events?after={after}")).await;
        assert_eq!(gone.problem(), problem(410, "events_expired", &[]), "{after}");
    }
    assert_eq!(ada.get(&run).await.json()["result"], result);
}
