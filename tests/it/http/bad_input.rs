//! Bad input: the problem that the protocol names, and nothing left behind.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    app::{Answer, Setup, TestApp, problem},
    fake_openai::Reply,
};

const DOORS: [&str; 2] = ["/chat", "/chat/stream"];

#[tokio::test]
async fn a_body_that_is_no_turn() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    let id = "01890000-0000-7000-8000-000000000000";
    let message = |text: &str| json!({"message": text});
    for (body, expected) in [
        (message(""), problem(422, "invalid_field", &["message"])),
        (message(" \n\t　"), problem(422, "invalid_field", &["message"])),
        (json!({}), problem(422, "invalid_field", &["message"])),
        (message("a\u{0}b"), problem(422, "invalid_field", &["message"])),
        (message(&"x".repeat(32_001)), problem(422, "invalid_field", &["message"])),
        (message(&"字".repeat(32_001)), problem(422, "invalid_field", &["message"])),
        (message(&"x".repeat(1 << 20)), problem(413, "payload_too_large", &[])),
        (json!({"message": 5}), problem(422, "invalid_field", &["message"])),
        (json!([]), problem(422, "invalid_field", &["body"])),
        (json!({"message": "a", "mesage": "b"}), problem(422, "unknown_field", &["mesage"])),
        (json!({"message": "a", "hitl": {"ids": []}}), problem(422, "unknown_field", &["hitl.ids"])),
        (json!({"message": "a", "session_id": ""}), problem(422, "invalid_field", &["session_id"])),
        (json!({"message": "a", "session_id": "x".repeat(121)}), problem(422, "invalid_field", &["session_id"])),
        (json!({"message": "a", "session_id": "a\u{0}"}), problem(422, "invalid_field", &["session_id"])),
        (json!({"message": "a", "temperature": 2.1}), problem(422, "invalid_field", &["temperature"])),
        (json!({"message": "a", "top_p": -0.1}), problem(422, "invalid_field", &["top_p"])),
        (json!({"message": "a", "max_tokens": 0}), problem(422, "invalid_field", &["max_tokens"])),
        (json!({"message": "a", "on_busy": "enqueue", "hitl": {}}), problem(422, "invalid_field", &["on_busy"])),
        (json!({"message": "a", "on_busy": "wait"}), problem(422, "invalid_field", &["on_busy"])),
        (json!({"message": "a", "on_disconnect": 1}), problem(422, "invalid_field", &["on_disconnect"])),
        (json!({"message": "a", "attachments": ["x"]}), problem(422, "invalid_field", &["attachments"])),
        (json!({"message": "a", "collections": ["a", ""]}), problem(422, "invalid_field", &["collections[1]"])),
        (json!({"message": "", "hitl": {"action": "approve"}}), problem(422, "invalid_field", &["hitl.action"])),
        (json!({"message": "a", "hitl": {"id": id}}), problem(404, "not_found", &[])),
        (json!({"message": "a", "hitl": {"id": "not an id"}}), problem(404, "not_found", &[])),
        (json!({"message": "a", "parent_id": id}), problem(404, "not_found", &[])),
    ] {
        for door in DOORS {
            let answer = ada.post(door, body.clone()).await;
            let shown: String = body.to_string().chars().take(100).collect();
            assert_eq!(answer.problem(), expected, "{door} {shown}");
        }
    }
    for (body, what) in [
        (br#"{"message":"#.as_slice(), "cut off"),
        (br#"{"message":"\ud800"}"#, "a lone surrogate"),
        (br#"{"message":"\udc00\ud800"}"#, "surrogates the wrong way round"),
        (b"{\"message\":\"\xff\xfe\"}", "not UTF-8"),
        (br#"{"message":"a"}{"#, "something behind it"),
        (br#"{"unknown":1,"message":"\ud800"}"#, "a lone surrogate behind an unknown field"),
        (b"", "nothing"),
    ] {
        for door in DOORS {
            assert_eq!(ada.post_raw(door, body).await.problem(), problem(400, "malformed_json", &[]), "{door} {what}");
        }
    }
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=gbk"] {
        let request =
            ada.request(Method::POST, "/chat").header("content-type", content_type).body("{\"message\":\"a\"}");
        assert_eq!(Answer::of(request).await.problem(), problem(415, "unsupported_media_type", &[]), "{content_type}");
    }
    for key in ["", "a b", "é", &"k".repeat(256)] {
        let request = ada.request(Method::POST, "/chat").header("idempotency-key", key.as_bytes()).json(&message("a"));
        assert_eq!(Answer::of(request).await.problem(), problem(422, "invalid_field", &["Idempotency-Key"]), "{key:?}");
    }

    // Nothing was written, and no model was asked.
    assert_eq!(ada.get("/sessions").await.json(), json!({"sessions": [], "next_cursor": null}));
    assert!(app.model.seen().is_empty());
}

#[tokio::test]
async fn lists_and_places() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    for (path, expected) in [
        ("/sessions?limit=0", problem(422, "invalid_field", &["limit"])),
        ("/sessions?limit=1001", problem(422, "invalid_field", &["limit"])),
        ("/sessions?limit=many", problem(422, "invalid_field", &["limit"])),
        ("/sessions?order=up", problem(422, "unknown_field", &["order"])),
        ("/sessions?cursor=x", problem(400, "invalid_cursor", &[])),
        ("/sessions/unknown", problem(404, "not_found", &[])),
        ("/sessions/%ff", problem(404, "not_found", &[])),
        ("/runs/unknown", problem(404, "not_found", &[])),
        ("/runs/unknown/events?after=x", problem(404, "not_found", &[])),
        ("/nothing/here", problem(404, "not_found", &[])),
    ] {
        assert_eq!(ada.get(path).await.problem(), expected, "{path}");
    }
    let answer = ada.delete("/chat").await;
    assert_eq!(answer.problem(), problem(405, "method_not_allowed", &[]));
    assert_eq!(answer.header("allow"), "POST");
}

#[tokio::test]
async fn what_is_set_up_comes_in_pages() {
    let app = TestApp::scripted(Vec::new()).await;
    let root = app.admin("root").await;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_str().unwrap();
    for name in ["a", "b 手册", "c"] {
        app.clock.advance(std::time::Duration::from_secs(1));
        for (path, body) in [
            ("/auth/keys", json!({"name": name})),
            ("/collections", json!({"name": name, "readers": {"users": ["root"]}})),
            ("/ingest/folders", json!({"path": path, "collection": name})),
        ] {
            let made = root.post(path, body).await;
            assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
        }
    }
    for (list, items, name, order) in [
        ("/auth/keys", "keys", "name", ["c", "b 手册", "a"]),
        ("/collections", "collections", "name", ["a", "b 手册", "c"]),
        ("/ingest/folders", "folders", "collection", ["a", "b 手册", "c"]),
    ] {
        let names = |page: &Value| -> Vec<String> {
            page[items].as_array().unwrap().iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
        };
        let whole = root.get(list).await.json();
        assert_eq!((names(&whole), &whole["next_cursor"]), (order.map(str::to_owned).to_vec(), &Value::Null), "{list}");
        let first = root.get(&format!("{list}?limit=2")).await.json();
        let cursor = first["next_cursor"].as_str().unwrap();
        let rest = root.get(&format!("{list}?limit=2&cursor={cursor}")).await.json();
        assert_eq!([names(&first), names(&rest)].concat(), order, "{list}");
        assert_eq!((names(&rest).len(), &rest["next_cursor"]), (1, &Value::Null), "{list}");
        assert_eq!(rest[items][0], whole[items][2], "{list}: with all that belongs to it");
        for (query, expected) in [
            ("limit=0", problem(422, "invalid_field", &["limit"])),
            ("order=up", problem(422, "unknown_field", &["order"])),
            ("cursor=x", problem(400, "invalid_cursor", &[])),
        ] {
            assert_eq!(root.get(&format!("{list}?{query}")).await.problem(), expected, "{list}?{query}");
        }
    }
}

#[tokio::test]
async fn sessions_come_in_pages() {
    let script = (0..3).map(|_| Reply::says(&["Hello."])).collect();
    let app = TestApp::scripted(script).await;
    let ada = app.user("ada").await;
    for name in ["first", "second", "third"] {
        app.clock.advance(std::time::Duration::from_secs(1));
        let answer = ada.post("/chat", json!({"message": "Hello?", "session_id": name})).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    }
    let mut seen = Vec::new();
    let mut path = "/sessions?limit=2".to_owned();
    loop {
        let page = ada.get(&path).await.json();
        let sessions = page["sessions"].as_array().unwrap();
        seen.push(
            sessions.iter().map(|session| session["session_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
        );
        match &page["next_cursor"] {
            Value::String(cursor) => path = format!("/sessions?limit=2&cursor={cursor}"),
            _ => break,
        }
    }
    assert_eq!(seen, [vec!["third", "second"], vec!["first"]]);
}

#[tokio::test]
async fn too_much() {
    let limits = askback::http::Limits { upload_bytes: 1000, ..askback::http::Limits::default() };
    let app = TestApp::with(Setup { limits, ..Setup::default() }).await;
    let admin = app.admin("ada").await;
    let answer = admin.upload("big.txt", &[b'x'; 1001], None).await;
    assert_eq!(answer.problem(), problem(413, "payload_too_large", &[]));
    assert_eq!(admin.get("/documents").await.json()["documents"], json!([]));
    assert_eq!(std::fs::read_dir(app.folder.join("uploads")).unwrap().count(), 0);

    let fits = admin.request(Method::GET, "/auth/me").header("x-note", "n".repeat(15_000));
    assert_eq!(Answer::of(fits).await.status, StatusCode::OK);
    let too_large = admin.request(Method::GET, "/auth/me").header("x-note", "n".repeat(17_000));
    assert_eq!(Answer::of(too_large).await.problem(), problem(431, "headers_too_large", &[]));
}

#[tokio::test]
async fn a_model_that_is_not_there() {
    let app = TestApp::builtin().await;
    let ada = app.user("ada").await;
    let named = |model: &str| json!({"message": "Hello!", "model": model});
    let refused = ada.post("/chat", named("gpt-9")).await;
    assert_eq!(refused.problem(), problem(422, "invalid_field", &["model"]));
    assert_eq!(refused.json()["errors"][0]["valid"], json!(["builtin"]));
    assert_eq!(ada.post("/chat", named("builtin")).await.json()["model"], "builtin");
}

#[tokio::test]
async fn a_connection_outlives_a_refusal_whose_body_comes_late() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let app = TestApp::start().await;
    let mut socket = tokio::net::TcpStream::connect(app.address).await.unwrap();
    let head = "POST /chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b.c\r\nContent-Type: application/json\r\n\
                Content-Length: 16\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.flush().await.unwrap();
    tokio::task::yield_now().await;
    socket.write_all(br#"{"message":"hi"}"#).await.unwrap();
    let mut answers = vec![0; 8192];
    let read = socket.read(&mut answers).await.unwrap();
    assert!(answers[..read].starts_with(b"HTTP/1.1 401"));
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
    assert!(String::from_utf8_lossy(&rest).contains("HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
}
