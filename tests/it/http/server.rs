//! The server itself: health, headers, the end.

use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
async fn who_does_not_read_is_let_go_and_others_do_not_notice() {
    let limits = askback::http::Limits {
        write_timeout: std::time::Duration::from_millis(200),
        connections: 2,
        ..askback::http::Limits::default()
    };
    // More than the kernel takes off the server's hands: each character is four bytes, and told twice.
    let piece = "\u{1f9ca}".repeat(9_000);
    let long = vec![piece.as_str(); 43];
    let app = TestApp::with(Setup { limits, script: vec![Reply::says(&long)], ..Setup::default() }).await;
    let ada = app.user("ada").await;
    let result = ada.post("/chat", json!({"message": "Go on", "session_id": "s"})).await.json();
    let events = format!("/runs/{}/events", result["run_id"].as_str().unwrap());
    let whole = ada.get(&events).await.text;

    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut slow = socket.connect(app.address).await.unwrap();
    let token = ada.token.as_deref().unwrap();
    let request = format!("GET {events} HTTP/1.1\r\nhost: askback\r\nauthorization: Bearer {token}\r\n\r\n");
    slow.write_all(request.as_bytes()).await.unwrap();
    slow.readable().await.unwrap();
    assert_eq!(ada.get(&events).await.text, whole, "others do not notice");
    // There is room for a third connection only when the slow one is closed.
    assert_eq!(app.anyone().get("/healthz").await.status, StatusCode::OK);
    let mut read = Vec::new();
    let ended = slow.read_to_end(&mut read).await;
    assert!(read.len() < whole.len(), "{} of {} bytes, {ended:?}", read.len(), whole.len());
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
