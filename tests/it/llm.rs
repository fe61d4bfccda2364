//! The client of OpenAI-compatible servers against a scripted one.

use std::time::Duration;

use askback::{
    adapters::llm::{Client, Limits, OpenAiChat},
    domain::{
        error::ModelError,
        model::{ChatModel, Completion, JsonSchema, ModelEvent, ModelRequest, Prompt, ToolCall, Usage, complete},
    },
};
use futures::StreamExt;
use secrecy::SecretString;
use serde_json::json;

use crate::support::fake_openai::{FakeOpenAi, Reply, Step, text};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(40);
const LIMITS: Limits = Limits { connect: LONG, first_token: LONG, between_tokens: LONG, total: LONG, retries: 2 };

fn model(server: &FakeOpenAi, limits: Limits) -> OpenAiChat {
    let key = Some(SecretString::from("sk-canary"));
    OpenAiChat::new(Client::new(&server.base_url, key, limits).expect("valid settings"), "small".into())
}

fn question() -> ModelRequest {
    ModelRequest { messages: vec![Prompt::User { content: "保修多久？".into() }], ..ModelRequest::default() }
}

async fn ask(server: &FakeOpenAi, limits: Limits) -> Result<Completion, ModelError> {
    complete(&model(server, limits), question()).await
}

fn said(text: &str) -> Completion {
    Completion {
        text: text.into(),
        calls: Vec::new(),
        finish_reason: "stop".into(),
        usage: Some(Usage { prompt_tokens: 5, completion_tokens: 3 }),
    }
}

#[tokio::test]
async fn streams_an_answer_and_sends_the_key() {
    let server = FakeOpenAi::start(vec![Reply::says(&["两", "年"])]).await;
    assert_eq!(ask(&server, LIMITS).await, Ok(said("两年")));
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].head.starts_with("POST /v1/chat/completions "));
    assert!(seen[0].head.to_lowercase().contains("authorization: bearer sk-canary"));
    assert_eq!(
        seen[0].body,
        json!({"model": "small", "messages": [{"role": "user", "content": "保修多久？"}],
               "stream": true, "stream_options": {"include_usage": true}})
    );
}

#[tokio::test]
async fn a_server_that_takes_no_wanted_format_is_asked_without_from_then_on() {
    let refused = json!({"error": {"message": "This response_format type is unavailable now", "code": 400}});
    let server = FakeOpenAi::start(vec![Reply::json(400, &refused), Reply::says(&["{}"]), Reply::says(&["{}"])]).await;
    let model = model(&server, LIMITS);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                        "additionalProperties": false});
    let wanted = JsonSchema { name: "reply".into(), schema: schema.clone() };
    let request = ModelRequest { schema: Some(wanted), ..question() };
    for _ in 0..2 {
        assert_eq!(complete(&model, request.clone()).await, Ok(said("{}")));
    }
    let formats: Vec<serde_json::Value> =
        server.seen().into_iter().map(|seen| seen.body.get("response_format").cloned().unwrap_or_default()).collect();
    let strict = json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": true}});
    assert_eq!(formats, [strict, json!(null), json!(null)]);
}

#[tokio::test]
async fn another_refusal_is_no_reason_to_ask_without_a_format() {
    let refused = json!({"error": {"message": "max_tokens is too large"}});
    let server = FakeOpenAi::start(vec![Reply::json(400, &refused)]).await;
    let wanted = JsonSchema { name: "reply".into(), schema: json!({"type": "object"}) };
    let request = ModelRequest { schema: Some(wanted), ..question() };
    let answer = complete(&model(&server, LIMITS), request).await;
    assert_eq!(answer, Err(ModelError::Permanent("status 400".into())));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_call_comes_whole() {
    let server = FakeOpenAi::start(vec![Reply::calls("find", &json!({"query": "保修"}))]).await;
    let calls = ask(&server, LIMITS).await.map(|whole| whole.calls);
    let call = ToolCall { id: "call_1".into(), name: "find".into(), arguments: r#"{"query":"保修"}"#.into() };
    assert_eq!(calls, Ok(vec![call]));
}

#[tokio::test]
async fn a_whole_answer_to_a_stream_request_is_read() {
    let whole = json!({"choices": [{"message": {"content": "two years"}, "finish_reason": "stop"}],
                       "usage": {"prompt_tokens": 5, "completion_tokens": 3}});
    let server = FakeOpenAi::start(vec![Reply::json(200, &whole)]).await;
    assert_eq!(ask(&server, LIMITS).await, Ok(said("two years")));
}

#[tokio::test]
async fn each_refusal_has_its_class_and_no_key() {
    let body = |message: &str| json!({"error": {"message": message}});
    let refusals = [
        (
            Reply::json(401, &body("Incorrect API key: sk-canary")),
            "model refused: status 401: Incorrect API key: [key]",
        ),
        (Reply::json(403, &body("no access")), "model refused: status 403: no access"),
        (Reply::json(404, &body("no such model")), "model refused: status 404: no such model"),
        (Reply::json(400, &body("maximum context length is 8192")), "context too long: status 400"),
        (Reply::json(302, &json!(null)).header("location", "http://127.0.0.1:1/"), "model refused: status 302"),
        (Reply::json(200, &json!("no answer")), "bad response: "),
        (Reply::json(200, &json!({"error": {"code": "context_length_exceeded"}})), "context too long: "),
        (Reply::events(&["{broken"]), "bad response: "),
        (Reply::events(&[]), "bad response: the stream ended without completion"),
    ];
    for (reply, words) in refusals {
        let server = FakeOpenAi::start(vec![reply.clone(), Reply::says(&["not asked for again"])]).await;
        let error = ask(&server, LIMITS).await.expect_err("it refuses").to_string();
        assert!(error.starts_with(words), "{reply:?}: {error}");
        assert!(!error.contains("canary"));
        assert_eq!(server.seen().len(), 1, "{reply:?} must not be tried again");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_before_the_first_event() {
    let server = FakeOpenAi::start(vec![
        Reply::json(503, &json!(null)),
        Reply::events(&[]).then(Step::Break),
        Reply::says(&["two years"]),
    ])
    .await;
    assert_eq!(ask(&server, LIMITS).await, Ok(said("two years")));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn tries_are_bounded() {
    let down = || Reply::json(529, &json!({"error": {"type": "overloaded_error"}}));
    let server = FakeOpenAi::start(vec![down(), down(), down(), down()]).await;
    let error = Err(ModelError::Transient("status 529, overloaded_error".into()));
    assert_eq!(ask(&server, LIMITS).await, error);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_short_retry_after_is_honoured_and_a_long_one_is_told() {
    let busy = |seconds: &str| Reply::json(429, &json!(null)).header("retry-after", seconds);
    let server = FakeOpenAi::start(vec![busy("0"), Reply::says(&["two years"])]).await;
    assert_eq!(ask(&server, LIMITS).await, Ok(said("two years")));

    let server = FakeOpenAi::start(vec![busy("3600"), Reply::says(&["not asked for again"])]).await;
    let told = ModelError::RateLimited { retry_after: Some(Duration::from_secs(3600)) };
    assert_eq!(ask(&server, LIMITS).await, Err(told));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_transient() {
    let server = FakeOpenAi::start(Vec::new()).await;
    let gone = model(&server, Limits { retries: 0, ..LIMITS });
    drop(server);
    // The listener's task ends at its next wake-up at the latest; until then the script is over, which is a 500.
    assert!(matches!(complete(&gone, question()).await, Err(ModelError::Transient(_))));
}

#[tokio::test]
async fn every_wait_is_bounded() {
    let silent = || Reply::events(&[]).then(Step::Hang);
    let cases = [
        (silent(), Limits { first_token: SHORT, ..LIMITS }, "no first token in time"),
        (Reply::says_and_hangs(&["two"]), Limits { between_tokens: SHORT, ..LIMITS }, "the model paused for too long"),
        (
            Reply::says_and_hangs(&["two"]),
            Limits { total: SHORT, ..LIMITS },
            "the answer took longer than it may in all",
        ),
    ];
    for (reply, limits, words) in cases {
        let server = FakeOpenAi::start(vec![reply]).await;
        assert_eq!(ask(&server, limits).await, Err(ModelError::Timeout(words.into())));
        assert_eq!(server.seen().len(), 1);
        server.left(1).await;
    }
}

#[tokio::test]
async fn what_was_said_before_a_break_is_kept_and_not_tried_again() {
    let server = FakeOpenAi::start(vec![Reply::events(&[&text("two ")]).then(Step::Break)]).await;
    let events: Vec<_> = model(&server, LIMITS).stream(question()).await.expect("it began").collect().await;
    assert_eq!(events[0], Ok(ModelEvent::Text("two ".into())));
    assert!(matches!(events[1..], [Err(ModelError::Transient(_))]), "{events:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_is_whole_once_the_model_said_why_it_ended() {
    let last = json!({"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}).to_string();
    for step in [Step::Break, Step::Hang] {
        let server = FakeOpenAi::start(vec![Reply::events(&[&last]).then(step)]).await;
        assert_eq!(ask(&server, LIMITS).await, Ok(Completion { usage: None, ..said("yes") }));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = FakeOpenAi::start(vec![Reply::says_and_hangs(&["two "])]).await;
    let mut stream = model(&server, LIMITS).stream(question()).await.expect("it began");
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("two ".into()))));
    drop(stream);
    server.left(1).await;
}

#[tokio::test]
async fn a_line_without_end_is_refused() {
    let ten_megabytes = "x".repeat(10 << 20);
    let server = FakeOpenAi::start(vec![
        Reply::events(&[&ten_megabytes]),
        Reply::events(&[&text("two "), &text(&ten_megabytes), &text("years")]),
    ])
    .await;
    assert!(matches!(ask(&server, LIMITS).await, Err(ModelError::BadResponse(_))));
    let events: Vec<_> = model(&server, LIMITS).stream(question()).await.expect("it began").collect().await;
    assert_eq!(events[0], Ok(ModelEvent::Text("two ".into())));
    assert!(matches!(events[1..], [Err(ModelError::BadResponse(_))]), "{:?}", events.len());
}

#[tokio::test]
async fn text_that_comes_byte_by_byte_is_whole() {
    let pieces = ["保修期", "两年 ", "👩\u{200d}🔧", "e\u{301}", " 🇨🇳", " ﬁn."];
    let server = FakeOpenAi::start(vec![Reply::says(&pieces).bytewise()]).await;
    assert_eq!(ask(&server, LIMITS).await, Ok(said(&pieces.concat())));
}
