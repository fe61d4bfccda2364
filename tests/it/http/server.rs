//! The server itself: health, headers, the end.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::support::{
    app::{Answer, Setup, TestApp, problem},
    fake_openai::Reply,
};

#[tokio::test]
async fn health() {
    let app = TestApp::start().await;
    let anyone = app.anyone();
    assert_eq!(anyone.get("/healthz").await.json()["status"], "ok");
    let ready = anyone.get("/readyz").await;
    let component = json!({"role": "storage", "name": "sqlite", "ready": true, "required": true});
    assert_eq!((ready.status, ready.json()), (StatusCode::OK, json!({"status": "ready", "components": [component]})));
    let metrics = anyone.get("/metrics").await;
    assert_eq!(
        (metrics.header("content-type"), metrics.text.as_str()),
        ("text/plain; version=0.0.4; charset=utf-8", "askback_up 1\n")
    );
}

#[tokio::test]
async fn every_answer_has_its_request_id_and_safe_headers() {
    let app = TestApp::start().await;
    let send =
        |path: &str, id: &'static str| Answer::of(app.anyone().request(Method::GET, path).header("x-request-id", id));
    for path in ["/healthz", "/auth/me", "/nothing", "/docs/"] {
        let answer = send(path, "trace-7").await;
        assert_eq!(answer.header("x-request-id"), "trace-7", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert!(answer.header("content-security-policy").contains("default-src 'none'"), "{path}");
    }
    let made = send("/healthz", "not <sane>").await;
    assert_eq!(made.header("x-request-id").len(), 32);
}

#[tokio::test]
async fn pages_of_other_origins_may_call_only_when_configured() {
    const ORIGIN: &str = "https://app.example.org";
    let closed = TestApp::start().await;
    let open = TestApp::with(Setup { origins: vec![ORIGIN], ..Setup::default() }).await;
    let ask = |app: &TestApp, method: Method, origin: &'static str| {
        let request = app.anyone().request(method, "/auth/me").header("origin", origin);
        Answer::of(request.header("access-control-request-method", "GET"))
    };
    let allowed = |answer: &Answer| answer.header("access-control-allow-origin").to_owned();
    assert_eq!(allowed(&ask(&closed, Method::GET, ORIGIN).await), "");
    assert_eq!(allowed(&ask(&open, Method::GET, ORIGIN).await), ORIGIN);
    assert_eq!(allowed(&ask(&open, Method::GET, "https://evil.example.org").await), "");
    let preflight = ask(&open, Method::OPTIONS, ORIGIN).await;
    assert_eq!((preflight.status, allowed(&preflight).as_str()), (StatusCode::OK, ORIGIN));
}

#[tokio::test]
async fn room_for_requests_is_bounded() {
    let limits = askback::http::Limits { requests: 1, ..askback::http::Limits::default() };
    let app = TestApp::with(Setup { limits, ..Setup::default() }).await;
    let ada = app.user("ada").await;
    let place = app.app.places.acquire().await.unwrap();
    let refused = ada.get("/auth/me").await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (problem(503, "overloaded", &[]), "1"));
    assert_eq!(ada.get("/healthz").await.status, StatusCode::OK, "probes get through");
    drop(place);
    assert_eq!(ada.get("/auth/me").await.status, StatusCode::OK);
}

#[tokio::test]
async fn shutdown_refuses_what_is_new_and_lets_the_rest_end() {
    let app = TestApp::scripted(vec![Reply::says_and_hangs(&["So far"])]).await;
    let ada = app.user("ada").await;
    let request = ada.request(Method::POST, "/chat/stream").json(&json!({"message": "Go on", "session_id": "s"}));
    let mut stream = request.send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());

    app.app.shutdown.cancel();
    let ready = app.anyone().get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()["status"].clone()), (503, json!("shutting_down")));
    assert_eq!(app.anyone().get("/healthz").await.status, StatusCode::OK);
    let refused = app.bearer("any").get("/sessions").await;
    assert_eq!(refused.problem(), problem(503, "shutting_down", &[]));

    // The turn is ended by its service; the stream tells how, and the server waits for it.
    app.app.chat.shutdown(std::time::Duration::ZERO).await;
    let rest = stream.text().await.unwrap();
    assert!(rest.contains(r#""code":"interrupted""#) && !rest.contains("[DONE]"), "{rest}");
    app.stop().await;
}
