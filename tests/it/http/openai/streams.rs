//! Streamed answers, chunk by chunk.

use std::{sync::Arc, time::Duration};

use askback::{domain::error::ModelError, http::Limits};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{ASKED, COMPLETIONS, QUESTION, answering, assistant, over_manuals, search, search_aloud, user};
use crate::support::{
    app::{Answer, As, Setup, TestApp},
    fake_openai::{Reply, Step, text},
    model::{Say, ScriptedModel},
};

async fn open(client: &As, body: &Value) -> reqwest::Response {
    client.request(Method::POST, COMPLETIONS).json(body).send().await.unwrap()
}

fn streamed(messages: &[Value]) -> Value {
    json!({"model": "askback", "stream": true, "messages": messages})
}

/// The chunks of a stream, without what each of them repeats: id, time and model, which are checked. `[DONE]` is a text.
fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8", "{}", answer.text);
    assert_eq!(answer.header("x-accel-buffering"), "no");
    let mut repeated = Vec::new();
    let chunks = answer.frames().into_iter().map(|frame| match serde_json::from_str::<Value>(&frame) {
        Ok(mut chunk) if chunk["error"].is_null() => {
            let fields = chunk.as_object_mut().unwrap();
            assert_eq!(fields.remove("object"), Some(json!("chat.completion.chunk")));
            repeated.push(["id", "created", "model"].map(|name| fields.remove(name).unwrap()));
            chunk
        }
        Ok(error) => error,
        Err(_) => json!(frame),
    });
    let chunks = chunks.collect();
    assert!(repeated[0][0].as_str().unwrap().starts_with("chatcmpl-") && repeated[0][1].is_i64(), "{repeated:?}");
    assert_eq!(repeated[0][2], "askback");
    assert!(repeated.iter().all(|each| *each == repeated[0]), "{repeated:?}");
    chunks
}

fn first() -> Value {
    json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]})
}

fn piece(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

fn last(reason: &str, askback: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "askback": askback})
}

/// The extension of the one chunk that has a reason to end.
fn extension(chunks: &[Value]) -> Value {
    let ends: Vec<&Value> = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).collect();
    assert_eq!(ends.len(), 1, "{chunks:?}");
    ends[0]["askback"].clone()
}

#[tokio::test]
async fn an_answer_chunk_by_chunk() {
    let (_app, ada) = answering(vec![Reply::says(&["保修期", "两年。"])]).await;
    let mut body = streamed(&[user("保修多久？")]);
    body["stream_options"] = json!({"include_usage": true});
    let chunks = chunks(&ada.post(COMPLETIONS, body).await);
    let askback = extension(&chunks);
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8});
    let expected = [
        first(),
        piece("保修期"),
        piece("两年。"),
        last("stop", &askback),
        json!({"choices": [], "usage": usage}),
        json!("[DONE]"),
    ];
    assert_eq!(chunks, expected);
    assert_eq!((&askback["hitl"], &askback["citations"]), (&Value::Null, &json!([])));
    let run = ada.get(&format!("/runs/{}", askback["run_id"].as_str().unwrap())).await.json();
    assert_eq!((&run["session_id"], &run["status"]), (&askback["session_id"], &json!("completed")));
}

#[tokio::test]
async fn a_question_is_text_with_numbers_and_the_next_message_answers_it() {
    let script = vec![search_aloud(), Reply::says(&["36 months ", "[1]."])];
    let (_app, ada) = over_manuals(script).await;
    let asked = chunks(&ada.post(COMPLETIONS, streamed(&[user(QUESTION)])).await);
    let question = extension(&asked);
    // What was said before the search stays, and is closed.
    let expected =
        [first(), piece("Let me look."), piece("\n\n"), piece(ASKED), last("stop", &question), json!("[DONE]")];
    assert_eq!(asked, expected);
    assert_eq!(question["hitl"]["options"], json!(["Aurora X1", "Borealis Z9"]));

    let said = format!("Let me look.\n\n{ASKED}");
    let reply = [user(QUESTION), assistant(&said), user("2")];
    let answered = chunks(&ada.post(COMPLETIONS, streamed(&reply)).await);
    let answer = extension(&answered);
    assert_eq!(answered, [first(), piece("36 months"), piece(" [1]."), last("stop", &answer), json!("[DONE]")]);
    assert_eq!(answer["session_id"], question["session_id"]);
    assert_eq!(answer["citations"][0]["filename"], "borealis-z9.md");
    let name = answer["session_id"].as_str().unwrap();
    let questions = ada.get(&format!("/sessions/{name}/hitl")).await.json();
    assert!(questions.to_string().contains(r#""status":"answered""#), "{questions}");
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}).to_string();
    let (_app, ada) = answering(vec![Reply::events(&[&text("Two"), &end, "[DONE]"])]).await;
    let chunks = chunks(&ada.post(COMPLETIONS, streamed(&[user("How long?")])).await);
    assert_eq!(chunks[2], last("length", &extension(&chunks)));
}

#[tokio::test]
async fn a_failure_has_a_status_until_something_was_said() {
    let broken = Reply::events(&[&text("Half an ")]).then(Step::Break);
    let script = vec![Reply::json(500, &json!({"error": {"message": "secret upstream words"}})), broken];
    let (_app, ada) = answering(script).await;
    let refused = ada.post(COMPLETIONS, streamed(&[user("a")])).await;
    assert_eq!(refused.openai_error(), (502, "server_error".into(), "model_unavailable".into(), None));
    assert!(!refused.text.contains("upstream"), "{}", refused.text);

    let begun = ada.post(COMPLETIONS, streamed(&[user("b")])).await;
    assert_eq!(begun.status, StatusCode::OK);
    let mut chunks = chunks(&begun);
    let error = &chunks.pop().unwrap()["error"];
    assert_eq!((&error["type"], &error["param"]), (&json!("server_error"), &Value::Null));
    assert!(error["code"].is_string() && !error["message"].as_str().unwrap().is_empty(), "{error}");
    // And no [DONE], nor a reason to end. The white space came last: a marker could have followed it.
    assert_eq!(chunks, [first(), piece("Half an"), piece(" ")]);
}

/// A server that says something after a moment of silence, and whose model waits for `gate` and then does this.
async fn impatient(gate: &Arc<Notify>, then: Say) -> (TestApp, As) {
    let limits = Limits { keep_alive: Duration::from_millis(1), ..Limits::default() };
    let model = ScriptedModel::new([vec![Say::WaitFor(Arc::clone(gate)), then]]);
    let app = TestApp::with(Setup { limits, model: Some(model), ..Setup::default() }).await;
    let ada = app.user("ada").await;
    (app, ada)
}

#[tokio::test]
async fn it_begins_after_a_silence_and_is_kept_alive() {
    let gate = Arc::new(Notify::new());
    let (_app, ada) = impatient(&gate, Say::Text("At last.".into())).await;
    let mut begun = open(&ada, &streamed(&[user("a")])).await;
    assert_eq!(begun.status(), StatusCode::OK);
    let mut heard = String::new();
    while !heard.contains(":\n\n") {
        heard.push_str(std::str::from_utf8(&begun.chunk().await.unwrap().unwrap()).unwrap());
    }
    let role = heard.find(r#""role":"assistant""#).expect("who speaks is said");
    assert!(role < heard.find("\n:\n\n").unwrap_or(heard.len()) && !heard.contains("At last."), "{heard}");
    gate.notify_one();
    heard.push_str(&begun.text().await.unwrap());
    assert!(heard.contains("At last.") && heard.ends_with("data: [DONE]\n\n"), "{heard}");
}

#[tokio::test]
async fn what_fails_after_it_has_begun_is_an_error_frame() {
    let gate = Arc::new(Notify::new());
    let (_app, ada) = impatient(&gate, Say::Fail(ModelError::Timeout("late".into()))).await;
    let begun = open(&ada, &streamed(&[user("a")])).await;
    assert_eq!(begun.status(), StatusCode::OK, "before there was anything to say");
    gate.notify_one();
    let heard = begun.text().await.unwrap();
    assert!(heard.contains(r#""code":"model_timeout""#) && !heard.contains("[DONE]"), "{heard}");
    assert!(!heard.contains("finish_reason\":\""), "{heard}");
}

#[tokio::test]
async fn leaving_stops_the_turn_and_the_next_message_may_come_at_once() {
    let script = vec![Reply::says_and_hangs(&["So ", "far"]), Reply::says(&["Next."])];
    let (app, ada) = answering(script).await;
    let mut body = streamed(&[user("a")]);
    body["user"] = json!("s");
    let mut begun = open(&ada, &body).await;
    let mut heard = String::new();
    while !heard.contains("far") {
        heard.push_str(std::str::from_utf8(&begun.chunk().await.unwrap().unwrap()).unwrap());
    }
    drop(begun);
    app.model.left(1).await;
    // It kept less than it was sent, and names no session now.
    let next = super::says(&ada, &[user("a"), assistant("So "), user("b")]).await;
    assert_eq!((super::session(&next), super::content(&next)), ("s", "Next."));
    let messages = ada.get("/sessions/s").await.json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&messages["messages"][1]["content"], &messages["messages"][1]["status"]),
        (&json!("So far"), &json!("stopped"))
    );
}

#[tokio::test]
async fn a_turn_that_was_stopped_ends_like_an_answer() {
    let (_app, ada) = answering(vec![Reply::says_and_hangs(&["So far"])]).await;
    let mut body = streamed(&[user("a")]);
    body["user"] = json!("s");
    let mut begun = open(&ada, &body).await;
    let mut heard = String::new();
    while !heard.contains("So far") {
        heard.push_str(std::str::from_utf8(&begun.chunk().await.unwrap().unwrap()).unwrap());
    }
    let run = ada.get("/sessions/s").await.json()["active_run_id"].as_str().unwrap().to_owned();
    ada.post(&format!("/runs/{run}/stop"), Value::Null).await;
    heard.push_str(&begun.text().await.unwrap());
    assert_eq!(heard.matches(r#""finish_reason":"stop""#).count(), 1, "{heard}");
    assert!(heard.ends_with("data: [DONE]\n\n"), "{heard}");
}

#[tokio::test]
async fn whole_answers_and_streams_go_on_with_each_other() {
    let (_app, ada) = over_manuals(vec![search(), Reply::says(&["24 months [1]."])]).await;
    let asked = super::says(&ada, &[user(QUESTION)]).await;
    assert_eq!(super::content(&asked), ASKED);
    let reply = [user(QUESTION), assistant(ASKED), user("the first one")];
    let chunks = chunks(&ada.post(COMPLETIONS, streamed(&reply)).await);
    let answer = extension(&chunks);
    assert_eq!(answer["session_id"], asked["askback"]["session_id"]);
    assert_eq!(answer["citations"][0]["filename"], "aurora-x1.md");
}
