//! Requests that no router sees get a problem as well.

use askback::http::Limits;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::app::{Answer, Setup, TestApp, problem};

/// What comes back for these bytes until the server closes: head and body of the last answer.
async fn raw(app: &TestApp, bytes: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    // Whoever is refused half way may not be able to send the rest, but hears why.
    let (_, got) = tokio::join!(write.write_all(bytes), read.read_to_end(&mut answer));
    got.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let last = answer.rfind("HTTP/1.1 ").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let (head, body) = answer[last..].split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

/// The problem's status and code, if it is told as every other.
fn told((head, body): &(String, String)) -> Option<(u64, String)> {
    let body: Value = serde_json::from_str(body).ok()?;
    let (status, id) = (body["status"].as_u64()?, body["request_id"].as_str()?);
    let is_whole = head.starts_with(&format!("http/1.1 {status} "))
        && head.contains("content-type: application/problem+json")
        && head.contains("connection: close")
        && head.contains(&format!("x-request-id: {id}"));
    is_whole.then(|| (status, body["code"].as_str().unwrap_or_default().to_owned()))
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let app = TestApp::start().await;
    let header = |size: usize| format!("GET / HTTP/1.1\r\nconnection: close\r\nx: {}\r\n\r\n", "x".repeat(size));
    let many: String = (0..200).map(|no| format!("x{no}: 1\r\n")).collect();
    let malformed = &[(400, "malformed_request")][..];
    let too_large = &[(431, "headers_too_large")][..];
    let mut wrong = Vec::new();
    for (request, expected) in [
        ("NONSENSE\r\n\r\n".to_owned(), malformed),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), malformed),
        ("GET /\u{1} HTTP/1.1\r\nhost: a\r\n\r\n".to_owned(), malformed),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), malformed),
        ("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n".to_owned(), malformed),
        ("\u{16}\u{3}\u{1}\u{0}\u{5}\r\n\r\n".to_owned(), malformed),
        ("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nNONSENSE\r\n\r\n".to_owned(), malformed),
        (header(100 << 10), too_large),
        (header(900 << 10), too_large),
        (format!("GET / HTTP/1.1\r\nconnection: close\r\n{many}\r\n"), too_large),
        // Which of the two depends on how the bytes come in.
        (
            format!("GET /{} HTTP/1.1\r\nconnection: close\r\n\r\n", "x".repeat(65_600)),
            &[(414, "uri_too_long"), (431, "headers_too_large")],
        ),
    ] {
        let answer = raw(&app, request.as_bytes()).await;
        let told = told(&answer);
        if !expected.iter().any(|(status, code)| told == Some((*status, (*code).to_owned()))) {
            let shown: String = request.chars().take(40).collect();
            wrong.push(format!("{shown:?}: {told:?} {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_is_told_so_and_silence_is_not() {
    let limits = Limits { read_timeout: std::time::Duration::from_millis(50), ..Limits::default() };
    let app = TestApp::with(Setup { limits, ..Setup::default() }).await;
    let answer = raw(&app, b"GET /healthz HTTP/1.1\r\nhost: ").await;
    assert_eq!(told(&answer), Some((408, "request_timeout".to_owned())), "{answer:?}");
    let mut silent = TcpStream::connect(app.address).await.unwrap();
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"");
}

#[tokio::test]
async fn addresses_and_methods_that_are_none() {
    let app = TestApp::start().await;
    let anyone = app.anyone();
    assert_eq!(anyone.get("/nothing").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(anyone.get("/docs/nothing").await.problem(), problem(404, "not_found", &[]));
    for (method, path) in [(Method::DELETE, "/auth/login"), (Method::TRACE, "/healthz"), (Method::OPTIONS, "/healthz")]
    {
        let answer = Answer::of(anyone.request(method.clone(), path)).await;
        assert_eq!(answer.problem(), problem(405, "method_not_allowed", &[]), "{method} {path}");
        assert!(!answer.header("allow").is_empty(), "{method} {path}");
    }
    let head = Answer::of(anyone.request(Method::HEAD, "/nothing")).await;
    assert_eq!((head.status, head.text.as_str()), (StatusCode::NOT_FOUND, ""));
}
