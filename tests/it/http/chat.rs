//! Turns on the wire.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    app::{Answer, As, Setup, TestApp, problem},
    fake_openai::{Reply, Step},
};

/// The types of frames, with `[DONE]` as it is.
fn kinds(frames: &[String]) -> Vec<String> {
    let kind = |frame: &String| match serde_json::from_str::<Value>(frame) {
        Ok(frame) => frame["type"].as_str().unwrap().to_owned(),
        Err(_) => frame.clone(),
    };
    frames.iter().map(kind).collect()
}

/// Reads an open event stream until a frame of this type has come; gives its JSON.
async fn until(response: &mut reqwest::Response, kind: &str) -> Value {
    let mut text = String::new();
    while let Some(piece) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&piece).unwrap());
        let frames = text.split("\n\n").filter_map(|block| block.strip_prefix("data: "));
        for frame in frames.filter_map(|frame| serde_json::from_str::<Value>(frame).ok()) {
            if frame["type"] == kind {
                return frame;
            }
        }
    }
    panic!("no {kind} in {text}")
}

async fn open(client: &As, body: Value) -> reqwest::Response {
    let response = client.request(Method::POST, "/chat/stream").json(&body).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response
}

#[tokio::test]
async fn frames_in_their_order() {
    let app = TestApp::scripted(vec![Reply::says(&["保修期", "两年。"])]).await;
    let ada = app.user("ada").await;
    let answer = ada.post("/chat/stream", json!({"message": "保修多久？", "session_id": "s1"})).await;

    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(answer.header("cache-control"), "no-cache, no-transform");
    assert_eq!(answer.header("x-accel-buffering"), "no");

    let frames = answer.frames();
    let mut shown = kinds(&frames);
    shown.dedup();
    assert_eq!(shown.first().map(String::as_str), Some("rag_step"));
    assert_eq!(shown[1], "session_title");
    assert_eq!(shown[shown.len() - 3..], ["content", "message", "[DONE]"]);

    let frames: Vec<Value> =
        frames[..frames.len() - 1].iter().map(|frame| serde_json::from_str(frame).unwrap()).collect();
    let first = &frames[0];
    let message = &frames.last().unwrap()["message"];
    assert_eq!(first["session_id"], "s1");
    assert_eq!(
        (&first["message_id"], &first["user_message_id"]),
        (&message["message_id"], &message["user_message_id"])
    );
    for (position, frame) in frames.iter().enumerate() {
        assert_eq!((&frame["seq"], &frame["run_id"]), (&json!(position + 1), &message["run_id"]), "{frame}");
    }
    let mut said = String::new();
    for frame in frames.iter().filter(|frame| frame["type"] == "content") {
        assert_eq!(frame["offset"], said.chars().count());
        said.push_str(frame["content"].as_str().unwrap());
    }
    assert_eq!(said, "保修期两年。");
    assert_eq!((&message["response"], &message["status"]), (&json!(said), &json!("completed")));
}

#[tokio::test]
async fn both_doors_give_the_same_result_and_the_run_has_it() {
    let app = TestApp::scripted(vec![Reply::says(&["Yes."])]).await;
    let ada = app.user("ada").await;
    let result = ada.post("/chat", json!({"message": "Is it?"})).await;
    assert_eq!(result.status, StatusCode::OK, "{}", result.text);
    let result = result.json();
    let run = result["run_id"].as_str().unwrap();
    let state = ada.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&state["status"], &state["result"]), (&json!("completed"), &result));
    assert!(state["ended_at"].as_str().unwrap().ends_with('Z'));

    // Replayed, from the start and from the middle; the end alone for who has seen the rest.
    let whole = ada.get(&format!("/runs/{run}/events")).await.text;
    let blocks: Vec<&str> = whole.split_inclusive("\n\n").collect();
    assert_eq!(*blocks.last().unwrap(), "event: done\ndata: [DONE]\n\n");
    let last = blocks.len() - 1;
    for (position, block) in blocks[..last].iter().enumerate() {
        let lines: Vec<&str> = block.lines().collect();
        let data: Value = serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(lines[0], format!("id: {}", position + 1));
        assert_eq!(lines[1], format!("event: {}", data["type"].as_str().unwrap()));
    }
    for after in 0..=last {
        let by_query = ada.get(&format!("/runs/{run}/events?after={after}")).await.text;
        assert_eq!(by_query, blocks[after..].concat(), "after {after}");
        let request = ada.request(Method::GET, &format!("/runs/{run}/events?after=0")).header("last-event-id", after);
        assert_eq!(Answer::of(request).await.text, by_query, "after {after}");
    }
    for bad in ["x", "-1", "1.5", "99999999999999999999"] {
        let answer = ada.get(&format!("/runs/{run}/events?after={bad}")).await;
        assert_eq!(answer.problem(), problem(400, "invalid_event_id", &[]), "{bad}");
    }
}

#[tokio::test]
async fn done_means_that_everything_can_be_read() {
    let turns = 20;
    let app = TestApp::scripted((0..turns).map(|no| Reply::says(&["Answer ", &no.to_string()])).collect()).await;
    let ada = app.user("ada").await;
    for no in 0..turns {
        let body = json!({"message": format!("Question {no}"), "session_id": "s"});
        let frames = ada.post("/chat/stream", body).await.frames();
        assert_eq!(frames.last().map(String::as_str), Some("[DONE]"));
        let session = ada.get("/sessions/s").await.json();
        let messages = session["messages"].as_array().unwrap();
        let told: Vec<(&str, &str, &str)> = messages[messages.len() - 2..]
            .iter()
            .map(|message| {
                let field = |name: &str| message[name].as_str().unwrap();
                (field("type"), field("content"), field("status"))
            })
            .collect();
        let (question, answer) = (format!("Question {no}"), format!("Answer {no}"));
        assert_eq!(told, [("human", question.as_str(), "completed"), ("ai", &answer, "completed")]);
        assert_eq!(messages.len(), 2 * (no + 1));
        assert_eq!(session["active_run_id"], Value::Null);
    }
}

#[tokio::test]
async fn a_model_that_fails() {
    let app = TestApp::scripted(vec![
        Reply::json(500, &json!({"error": {"message": "secret upstream words"}})),
        Reply::events(&["{broken"]),
        Reply::json(429, &json!({"error": {"message": "slow down"}})),
        Reply::says(&["Half an "]).then(Step::Break),
    ])
    .await;
    let ada = app.user("ada").await;
    let ask = |session: &str| json!({"message": "Hello?", "session_id": session});
    for (session, status, code) in
        [("a", 502, "model_unavailable"), ("b", 502, "model_bad_response"), ("c", 429, "rate_limited")]
    {
        let answer = ada.post("/chat", ask(session)).await;
        assert_eq!(answer.problem(), problem(status, code, &[]));
        let body = answer.json();
        assert_eq!(body["session_id"], session);
        assert!(!answer.text.contains("upstream"), "{}", answer.text);
        let run = ada.get(&format!("/runs/{}", body["run_id"].as_str().unwrap())).await.json();
        assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!(code)));
        assert_eq!(ada.get(&format!("/sessions/{session}")).await.json()["messages"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_failed_stream_ends_without_done_and_keeps_what_was_said() {
    let broken = Reply::events(&[&crate::support::fake_openai::text("Half an ")]).then(Step::Break);
    let app = TestApp::scripted(vec![broken, Reply::says(&["Whole."])]).await;
    let ada = app.user("ada").await;
    let frames = ada.post("/chat/stream", json!({"message": "Hello?", "session_id": "s"})).await.frames();
    let last: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["error"]["session_id"]), (&json!("error"), &json!("s")));
    assert!(!last["content"].as_str().unwrap().is_empty());
    // Elsewhere the end is told, also to who has seen all before it: nobody comes back for more.
    let events = format!("/runs/{}/events", last["run_id"].as_str().unwrap());
    let end = "event: done\ndata: [DONE]\n\n";
    let whole = ada.get(&events).await.text;
    let blocks: Vec<&str> = whole.split_inclusive("\n\n").collect();
    assert!(blocks[blocks.len() - 2].contains("event: error\n") && blocks.ends_with(&[end]), "{whole}");
    assert_eq!(ada.get(&format!("{events}?after={}", blocks.len() - 1)).await.text, end);
    let session = ada.get("/sessions/s").await.json();
    let said = &session["messages"][1];
    assert_eq!((&said["content"], &said["status"]), (&json!("Half an "), &json!("failed")));
    let next = ada.post("/chat", json!({"message": "Again?", "session_id": "s"})).await.json();
    assert_eq!(next["response"], "Whole.");
}

#[tokio::test]
async fn a_busy_session_a_stop_and_a_delete() {
    let app = TestApp::scripted(vec![Reply::says_and_hangs(&["So far"])]).await;
    let ada = app.user("ada").await;
    let mut stream = open(&ada, json!({"message": "Go on", "session_id": "s"})).await;
    let run = until(&mut stream, "content").await["run_id"].as_str().unwrap().to_owned();

    let listed = ada.get("/sessions").await.json();
    assert_eq!(listed["sessions"][0]["active_run_id"], json!(run));
    for answer in
        [ada.post("/chat", json!({"message": "And?", "session_id": "s"})).await, ada.delete("/sessions/s").await]
    {
        assert_eq!(answer.problem(), problem(409, "turn_in_progress", &[]));
        assert_eq!(answer.json()["run_id"], json!(run));
    }

    let stopped = ada.post(&format!("/runs/{run}/stop"), Value::Null).await.json();
    assert_eq!((&stopped["status"], &stopped["result"]["response"]), (&json!("stopped"), &json!("So far")));
    assert_eq!(ada.post(&format!("/runs/{run}/stop"), Value::Null).await.json(), stopped, "again: the same");
    let rest = stream.text().await.unwrap();
    assert!(rest.ends_with("data: [DONE]\n\n"), "{rest}");
    app.model.left(1).await;

    assert_eq!(ada.delete("/sessions/s").await.json()["session_id"], "s");
    assert_eq!(ada.get("/sessions/s").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(ada.get(&format!("/runs/{run}")).await.problem(), problem(404, "not_found", &[]));
}

#[tokio::test]
async fn leaving_stops_a_turn_only_when_it_was_to() {
    let hang = || Reply::says_and_hangs(&["So far"]);
    let app = TestApp::scripted(vec![hang(), hang()]).await;
    let ada = app.user("ada").await;
    let mut goes_on = open(&ada, json!({"message": "a", "session_id": "a"})).await;
    let run = until(&mut goes_on, "content").await["run_id"].as_str().unwrap().to_owned();
    drop(goes_on);
    let mut ends = open(&ada, json!({"message": "b", "session_id": "b", "on_disconnect": "cancel"})).await;
    let cancelled = until(&mut ends, "content").await["run_id"].as_str().unwrap().to_owned();
    drop(ends);
    // The model's connection closes: the run is being ended.
    app.model.left(1).await;
    let events = ada.get(&format!("/runs/{cancelled}/events")).await.text;
    assert!(events.contains(r#""status":"stopped""#), "{events}");
    assert_eq!(ada.get(&format!("/runs/{run}")).await.json()["status"], "running");
    ada.post(&format!("/runs/{run}/stop"), Value::Null).await;
}

#[tokio::test]
async fn equal_keys_give_one_turn() {
    let app = TestApp::scripted(vec![Reply::says(&["Once."])]).await;
    let ada = app.user("ada").await;
    let send = |body: &'static str| {
        let request = ada.request(Method::POST, "/chat").header("idempotency-key", "k1");
        Answer::of(request.header("content-type", "application/json").body(body))
    };
    let first = send(r#"{"message":"Hello?","session_id":"s"}"#).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text);
    let again = send(r#"{ "session_id": "s", "message": "Hello?" }"#).await;
    assert_eq!(again.json(), first.json());
    let other = send(r#"{"message":"Something else","session_id":"s"}"#).await;
    assert_eq!(other.problem(), problem(422, "idempotency_mismatch", &[]));
    assert_eq!(app.model.seen().len(), 1);
    assert_eq!(ada.get("/sessions/s").await.json()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn more_turns_than_may_run() {
    let setup = Setup { max_running: 1, script: vec![Reply::says_and_hangs(&["So far"])], ..Setup::default() };
    let app = TestApp::with(setup).await;
    let ada = app.user("ada").await;
    let mut stream = open(&ada, json!({"message": "a", "session_id": "a"})).await;
    until(&mut stream, "content").await;
    let refused = ada.post("/chat", json!({"message": "b", "session_id": "b"})).await;
    assert_eq!(refused.problem(), problem(503, "overloaded", &[]));
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(ada.get("/sessions/b").await.problem(), problem(404, "not_found", &[]));
}

#[tokio::test]
async fn a_turn_waits_for_the_one_before_it() {
    let script = vec![Reply::says_and_hangs(&["So far"]), Reply::says(&["Then."])];
    let app = TestApp::scripted(script).await;
    let ada = app.user("ada").await;
    let mut first = open(&ada, json!({"message": "a", "session_id": "s"})).await;
    let running = until(&mut first, "content").await["run_id"].as_str().unwrap().to_owned();
    let mut waits = open(&ada, json!({"message": "b", "session_id": "s", "on_busy": "enqueue"})).await;
    let told = until(&mut waits, "rag_step").await;
    let run = told["run_id"].as_str().unwrap();
    assert_eq!((&told["seq"], &told["session_id"]), (&json!(1), &json!("s")));
    assert_eq!(ada.get(&format!("/runs/{run}")).await.json()["status"], "queued");

    let reply = json!({"message": "c", "session_id": "s", "on_busy": "enqueue", "hitl": {"action": "dismiss"}});
    assert_eq!(ada.post("/chat", reply).await.problem(), problem(422, "invalid_field", &["on_busy"]));
    let busy = ada.post("/chat", json!({"message": "c", "session_id": "s"})).await;
    assert_eq!(busy.problem(), problem(409, "turn_in_progress", &[]));
    let future = ada.get(&format!("/runs/{run}/events?after=9")).await;
    assert_eq!(future.problem(), problem(400, "invalid_event_id", &[]));

    ada.post(&format!("/runs/{running}/stop"), Value::Null).await;
    let rest = waits.text().await.unwrap();
    assert!(rest.contains("Then.") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
    let session = ada.get("/sessions/s").await.json();
    let texts: Vec<&str> =
        session["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "So far", "b", "Then."]);
}

#[tokio::test]
async fn a_token_that_expires_does_not_cut_a_stream() {
    let slow = Reply::says(&["One ", "two ", "three."]).slowly(std::time::Duration::from_millis(30));
    let app = TestApp::scripted(vec![slow]).await;
    let ada = app.user("ada").await;
    let mut stream = open(&ada, json!({"message": "a", "session_id": "s"})).await;
    until(&mut stream, "content").await;
    app.clock.advance(std::time::Duration::from_secs(3_601));
    assert_eq!(ada.get("/sessions/s").await.problem(), problem(401, "token_expired", &[]));
    let rest = stream.text().await.unwrap();
    assert!(rest.contains("three.") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}
