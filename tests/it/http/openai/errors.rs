//! Refusals in OpenAI's shape.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{COMPLETIONS, answering, assistant, complete, user};
use crate::support::{
    app::{Answer, Setup, TestApp},
    fake_openai::Reply,
};

fn wrong(param: &str) -> (u16, String, String, Option<String>) {
    (400, "invalid_request_error".into(), "invalid_field".into(), Some(param.into()))
}

#[tokio::test]
async fn a_body_that_is_no_conversation() {
    let (app, ada) = answering(Vec::new()).await;
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    let sound = json!({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}});
    let with = |part: &Value| json!([{"type": "text", "text": "What is this?"}, part]);
    for (body, param) in [
        (json!({}), "messages"),
        (json!([]), "body"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": "Hello?"}), "messages"),
        (json!({"messages": [assistant("Hello.")]}), "messages"),
        (json!({"messages": [user("Hello?"), assistant("Hello.")]}), "messages"),
        (json!({"messages": [user("a"), {"role": "tool", "tool_call_id": "1", "content": "b"}]}), "messages"),
        (json!({"messages": [{"role": "system", "content": "Be brief."}]}), "messages"),
        (json!({"messages": [{"role": "king", "content": "a"}]}), "messages[0].role"),
        (json!({"messages": [{"content": "a"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user", "content": 5}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": null}]}), "messages[0].content"),
        (json!({"messages": [user("a"), assistant("b"), user(" \n")]}), "messages[2].content"),
        (json!({"messages": [{"role": "user", "content": []}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": with(&picture)}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": with(&sound)}]}), "messages[0].content"),
        (json!({"messages": [user(&"x".repeat(32_001))]}), "message"),
        (json!({"messages": [user("a\u{0}b")]}), "message"),
        (json!({"messages": [user("a")], "n": 2}), "n"),
        (json!({"messages": [user("a")], "n": 0}), "n"),
        (json!({"messages": [user("a")], "temperature": 2.1}), "temperature"),
        (json!({"messages": [user("a")], "top_p": -1}), "top_p"),
        (json!({"messages": [user("a")], "max_tokens": 0}), "max_tokens"),
        (json!({"messages": [user("a")], "model": ""}), "model"),
        (json!({"messages": [user("a")], "user": "x".repeat(121)}), "user"),
        (json!({"messages": [user("a")], "metadata": {"session_id": "x".repeat(121)}}), "metadata.session_id"),
        (json!({"messages": [user("a")], "stream": "yes"}), "stream"),
    ] {
        let shown: String = body.to_string().chars().take(120).collect();
        assert_eq!(ada.post(COMPLETIONS, body).await.openai_error(), wrong(param), "{shown}");
    }
    let picture = ada.post(COMPLETIONS, json!({"messages": [{"role": "user", "content": with(&picture)}]})).await;
    assert!(picture.text.contains("image_url"), "it says what is not taken: {}", picture.text);
    for body in [br#"{"messages":"#.as_slice(), br#"{"messages":[{"role":"user","content":"\ud800"}]}"#, b""] {
        let (status, _, code, _) = ada.post_raw(COMPLETIONS, body).await.openai_error();
        assert_eq!((status, code.as_str()), (400, "malformed_json"));
    }
    assert!(app.model.seen().is_empty());
    assert_eq!(ada.get("/sessions").await.json()["sessions"], json!([]), "nothing was written");
}

#[tokio::test]
async fn what_came_before_may_hold_anything() {
    let (_app, ada) = answering(vec![Reply::says(&["A cat."])]).await;
    let picture = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]);
    let messages = json!([{"role": "user", "content": picture}, {"role": "assistant", "content": null},
        {"role": "tool", "tool_call_id": "1", "content": "a"}, {"role": "function", "name": "f", "content": "b"},
        user("What was that?")]);
    assert_eq!(super::content(&complete(&ada, json!({"messages": messages})).await), "A cat.");
}

#[tokio::test]
async fn guards_and_addresses() {
    let limits = askback::http::Limits { requests: 1, json_bytes: 2_000, ..askback::http::Limits::default() };
    let app = TestApp::with(Setup { limits, ..Setup::default() }).await;
    let ada = app.user("ada").await;
    let error = |answer: &Answer| {
        let (status, kind, code, _) = answer.openai_error();
        (status, kind, code)
    };
    let expected = |status: u16, kind: &str, code: &str| (status, kind.to_owned(), code.to_owned());
    for (answer, refused) in [
        (app.anyone().post(COMPLETIONS, json!({})).await, expected(401, "authentication_error", "missing_token")),
        (app.bearer("x").get("/v1/models").await, expected(401, "authentication_error", "invalid_token")),
        (ada.get("/v1").await, expected(404, "not_found_error", "not_found")),
        (ada.get("/v1/nothing/here").await, expected(404, "not_found_error", "not_found")),
        (ada.get(COMPLETIONS).await, expected(405, "invalid_request_error", "method_not_allowed")),
        (
            ada.post(COMPLETIONS, json!({"messages": [user(&"x".repeat(2_000))]})).await,
            expected(413, "invalid_request_error", "payload_too_large"),
        ),
        (
            Answer::of(ada.request(Method::POST, COMPLETIONS).body("{}")).await,
            expected(415, "invalid_request_error", "unsupported_media_type"),
        ),
        (
            Answer::of(ada.request(Method::GET, "/v1/models").header("x-note", "n".repeat(17_000))).await,
            expected(431, "invalid_request_error", "headers_too_large"),
        ),
    ] {
        assert_eq!(error(&answer), refused);
    }
    let place = app.app.places.acquire().await.unwrap();
    let busy = ada.get("/v1/models").await;
    assert_eq!(error(&busy), expected(503, "server_error", "overloaded"));
    assert_eq!(busy.header("retry-after"), "1");
    drop(place);
    app.clock.advance(std::time::Duration::from_secs(3_600));
    assert_eq!(error(&ada.get("/v1/models").await), expected(401, "authentication_error", "token_expired"));
    assert_eq!(ada.get("/v10").await.problem().0, 404, "other addresses keep their shape");
}

#[tokio::test]
async fn a_turn_that_cannot_be_had() {
    let script = vec![
        Reply::json(500, &json!({"error": {"message": "secret upstream words"}})),
        Reply::json(429, &json!({"error": {"message": "slow down"}})),
        Reply::events(&["{broken"]),
        Reply::says_and_hangs(&["So far"]),
    ];
    let (_app, ada) = answering(script).await;
    for (status, kind, code) in [
        (502, "server_error", "model_unavailable"),
        (429, "rate_limit_error", "rate_limited"),
        (502, "server_error", "model_bad_response"),
    ] {
        let answer = ada.post(COMPLETIONS, json!({"messages": [user("a")]})).await;
        assert_eq!(answer.openai_error(), (status, kind.into(), code.into(), None));
        assert!(!answer.text.contains("upstream"), "{}", answer.text);
    }
    let body = json!({"messages": [user("a")], "user": "s", "stream": true});
    let running = ada.request(Method::POST, COMPLETIONS).json(&body).send().await.unwrap();
    assert_eq!(running.status(), StatusCode::OK);
    let busy = ada.post(COMPLETIONS, json!({"messages": [user("b")], "user": "s"})).await;
    assert_eq!(busy.openai_error(), (409, "invalid_request_error".into(), "turn_in_progress".into(), None));
}

#[tokio::test]
async fn a_model_that_is_not_there() {
    let app = TestApp::builtin().await;
    let ada = app.user("ada").await;
    let named = |model: &str| json!({"messages": [user("Hello!")], "model": model});
    assert_eq!(ada.post(COMPLETIONS, named("gpt-9")).await.openai_error(), wrong("model"));
    for model in ["builtin", "askback"] {
        assert_eq!(complete(&ada, named(model)).await["model"], model);
    }
}
