//! The door of OpenAI clients.

mod clients;
mod conversations;
mod errors;
mod streams;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    crash::MANUALS,
    support::{
        app::{As, TestApp},
        fake_openai::{Reply, text},
    },
};

const COMPLETIONS: &str = "/v1/chat/completions";
/// The manuals answer it differently.
const QUESTION: &str = "How long is the warranty?";
/// How that is asked back here.
const ASKED: &str = "Which product do you mean?\n\n1. Aurora X1\n2. Borealis Z9";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A model that looks the question up.
fn search() -> Reply {
    Reply::calls("search_knowledge_base", &json!({"query": QUESTION}))
}

/// The same after a word of its own.
fn search_aloud() -> Reply {
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {
        "name": "search_knowledge_base", "arguments": json!({"query": QUESTION}).to_string()}});
    let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).to_string();
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).to_string();
    Reply::events(&[&text("Let me look."), &delta, &end, "[DONE]"])
}

/// A server whose model answers so, and someone.
async fn answering(script: Vec<Reply>) -> (TestApp, As) {
    let app = TestApp::scripted(script).await;
    let ada = app.user("ada").await;
    (app, ada)
}

/// The same with two manuals.
async fn over_manuals(script: Vec<Reply>) -> (TestApp, As) {
    let (app, ada) = answering(script).await;
    let root = app.admin("root").await;
    for (name, content) in MANUALS {
        let uploaded = root.upload(name, content.as_bytes(), None).await;
        assert_eq!(uploaded.status, StatusCode::OK, "{}", uploaded.text);
    }
    (app, ada)
}

/// The whole answer to a body.
async fn complete(client: &As, body: Value) -> Value {
    let answer = client.post(COMPLETIONS, body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// The whole answer to these messages.
async fn says(client: &As, messages: &[Value]) -> Value {
    complete(client, json!({"model": "askback", "messages": messages})).await
}

fn content(completion: &Value) -> &str {
    completion["choices"][0]["message"]["content"].as_str().unwrap()
}

fn session(completion: &Value) -> &str {
    completion["askback"]["session_id"].as_str().unwrap()
}

/// Who said what in all branches of a session, in the order in which it was said.
async fn tree(client: &As, session: &str) -> Vec<String> {
    let tree = client.get(&format!("/sessions/{session}/tree")).await.json();
    let messages = tree["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_models() {
    let (_app, ada) = answering(Vec::new()).await;
    let listed = ada.get("/v1/models").await.json();
    assert_eq!((&listed["object"], listed["data"].as_array().unwrap().len()), (&json!("list"), 1));
    let model = &listed["data"][0];
    assert_eq!((&model["id"], &model["object"]), (&json!("askback"), &json!("model")));
    assert!(model["created"].is_i64() && model["owned_by"].is_string(), "{model}");
    assert_eq!(ada.get("/v1/models/askback").await.json(), *model);
    let unknown = ada.get("/v1/models/gpt-9").await.openai_error();
    assert_eq!(unknown, (404, "not_found_error".into(), "not_found".into(), None));
}

#[tokio::test]
async fn a_whole_answer() {
    let (app, ada) = answering(vec![Reply::says(&["Two ", "years."])]).await;
    let mut body = says(&ada, &[user("How long?")]).await;
    let (run, session) = (body["askback"]["run_id"].clone(), body["askback"]["session_id"].clone());
    assert_eq!(body["id"], format!("chatcmpl-{}", run.as_str().unwrap()));
    assert!(body["created"].as_i64().unwrap() > 1_700_000_000, "{body}");
    body["id"] = json!("");
    body["created"] = json!(0);
    let message = json!({"role": "assistant", "content": "Two years.", "refusal": null});
    let expected = json!({
        "id": "", "object": "chat.completion", "created": 0, "model": "askback",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        "askback": {"session_id": session, "run_id": run, "hitl": null, "citations": []},
    });
    assert_eq!(body, expected);
    // The same turn as at the native doors.
    let state = ada.get(&format!("/runs/{}", run.as_str().unwrap())).await.json();
    assert_eq!((&state["session_id"], &state["result"]["response"]), (&session, &json!("Two years.")));
    assert_eq!(app.model.seen().len(), 1);
}

#[tokio::test]
async fn what_a_client_may_say_besides() {
    let script = ["one", "two", "three"].map(|text| Reply::says(&[text])).into();
    let (app, ada) = answering(script).await;
    let parts = json!([{"type": "text", "text": "How long is"}, {"type": "text", "text": "the warranty?"}]);
    let body = json!({
        "model": "another-model", "messages": [
            {"role": "system", "content": "Speak like a pirate."}, {"role": "developer", "content": null},
            {"role": "user", "content": parts, "name": "Ada"}],
        "temperature": 0.25, "top_p": 0.5, "max_tokens": 7, "max_completion_tokens": 9, "n": 1, "stream": null,
        "stream_options": null, "user": null, "metadata": null,
        "tools": [{"type": "function", "function": {"name": "client_tool"}}], "tool_choice": "auto",
        "response_format": {"type": "json_object"}, "stop": ["\n"], "seed": 1, "unheard_of": {"a": []}});
    assert_eq!(complete(&ada, body).await["model"], "another-model");
    let asked = &app.model.seen()[0].body;
    assert_eq!((&asked["model"], &asked["max_tokens"]), (&json!("another-model"), &json!(9)));
    assert_eq!((&asked["temperature"], &asked["top_p"]), (&json!(0.25), &json!(0.5)));
    let asked = asked.to_string();
    assert!(asked.contains(r"How long is\nthe warranty?"), "{asked}");
    assert!(!asked.contains("pirate") && !asked.contains("client_tool"), "{asked}");

    let body = json!({"messages": [user("And now?")], "max_tokens": 7});
    assert_eq!(complete(&ada, body).await["model"], "askback", "where none is named");
    let asked = &app.model.seen()[1].body;
    assert_eq!((&asked["model"], &asked["max_tokens"]), (&json!("scripted"), &json!(7)));

    let key = ada.post("/auth/keys", json!({"name": "notebook"})).await.json()["key"].as_str().unwrap().to_owned();
    let by_key = says(&app.bearer(&key), &[user("Who am I?")]).await;
    let shown = ada.get(&format!("/sessions/{}", session(&by_key))).await.json();
    assert_eq!(shown["messages"][1]["content"], "three", "a key speaks for its user");
}

#[tokio::test]
async fn equal_keys_give_one_turn() {
    let (app, ada) = answering(["one", "two"].map(|text| Reply::says(&[text])).into()).await;
    let send = async |messages: &[Value]| {
        let request = ada.request(reqwest::Method::POST, COMPLETIONS).header("idempotency-key", "k1");
        crate::support::app::Answer::of(request.json(&json!({"messages": messages}))).await
    };
    let begun = says(&ada, &[user("a")]).await;
    let messages = [user("a"), assistant("one"), user("b")];
    let first = send(&messages).await;
    assert_eq!((first.status, session(&first.json())), (StatusCode::OK, session(&begun)));
    let again = send(&messages).await.json();
    assert_eq!((&again["id"], &again["choices"]), (&first.json()["id"], &first.json()["choices"]));
    assert_eq!(app.model.seen().len(), 2);
    let other = send(&[user("a"), assistant("one"), user("c")]).await.openai_error();
    assert_eq!(other, (400, "invalid_request_error".into(), "idempotency_mismatch".into(), None));
}
