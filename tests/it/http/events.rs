//! Background events on the wire.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{
    app::{As, TestApp, problem},
    fake_openai::Reply,
};

/// Events of a list as `(kind, title, unread)`.
async fn listed(client: &As, query: &str) -> Vec<(String, String, bool)> {
    let list = client.get(&format!("/memory/events{query}")).await.json();
    let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
    let events = list["events"].as_array().unwrap_or_else(|| panic!("{list}")).iter();
    events.map(|event| (text(event, "kind"), text(event, "title"), event["unread"].as_bool().unwrap())).collect()
}

fn event(kind: &str, title: &str, unread: bool) -> (String, String, bool) {
    (kind.into(), title.into(), unread)
}

#[tokio::test]
async fn the_end_of_an_upload_is_an_event_of_its_owner() {
    let app = TestApp::scripted(vec![Reply::says(&["Hello."])]).await;
    let (root, other) = (app.admin("root").await, app.admin("other").await);
    root.upload("good.md", b"# Good\n\nA text.\n", None).await;
    root.upload("bad.pdf", b"no PDF", None).await;
    let good = event("job_completed", "good.md is ready to be asked about", true);
    let bad = event("job_failed", "bad.pdf could not be read in", true);
    assert_eq!(listed(&root, "").await, [bad.clone(), good.clone()]);
    assert!(listed(&other, "").await.is_empty());
    let first = root.get("/memory/events?limit=1").await.json();
    assert!(first["events"][0]["detail"].as_str().unwrap().starts_with("The file cannot be read"), "{first}");
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(listed(&root, &format!("?cursor={cursor}")).await, [good]);

    root.post("/chat", json!({"message": "Hello"})).await;
    assert!(listed(&root, "?unread").await.is_empty());
    assert!(listed(&root, "?unread=true").await.is_empty());
    assert_eq!(listed(&root, "?unread=false").await.len(), 2);
    assert_eq!(listed(&root, "").await[0], event("job_failed", &bad.1, false));
    assert_eq!(root.get("/memory/events?unread=maybe").await.problem(), problem(422, "invalid_field", &["unread"]));
    assert_eq!(root.get("/memory/events?cursor=x").await.problem(), problem(400, "invalid_cursor", &[]));
}

#[tokio::test]
async fn an_event_is_posted_for_oneself_and_by_admins_for_others() {
    let app = TestApp::scripted(vec![Reply::says(&["Hello."])]).await;
    let (root, ada, bea) = (app.admin("root").await, app.user("ada").await, app.user("bea").await);
    let body = json!({"kind": "backup_done", "title": "备份完成", "detail": "3 files"});
    let mut posted = ada.post("/memory/events", body).await;
    assert_eq!(posted.status, StatusCode::CREATED, "{}", posted.text);
    let view = posted.json();
    assert_eq!(ada.get("/memory/events?unread").await.json()["events"], json!([view]));
    assert_eq!(
        (&view["session_id"], &view["detail"], &view["unread"]),
        (&Value::Null, &json!("3 files"), &json!(true))
    );

    let of = |name: &str| json!({"kind": "k", "title": "t", "username": name});
    assert_eq!(ada.post("/memory/events", of("ADA")).await.status, StatusCode::CREATED);
    let forbidden = problem(403, "forbidden", &[]);
    assert_eq!(ada.post("/memory/events", of("bea")).await.problem(), forbidden);
    assert_eq!(ada.post("/memory/events", of("nobody")).await.problem(), forbidden, "the same of who is not there");
    posted = root.post("/memory/events", of("bea")).await;
    assert_eq!(posted.status, StatusCode::CREATED, "{}", posted.text);
    assert_eq!(listed(&bea, "").await, [event("k", "t", true)]);
    assert!(listed(&root, "").await.is_empty());
    assert_eq!(root.post("/memory/events", of("nobody")).await.problem(), problem(422, "invalid_field", &["username"]));

    bea.post("/chat", json!({"message": "Hello", "session_id": "hers"})).await;
    let in_session = |session: &str| json!({"kind": "k", "title": "of a session", "session_id": session});
    assert_eq!(bea.post("/memory/events", in_session("hers")).await.json()["session_id"], "hers");
    assert_eq!(ada.post("/memory/events", in_session("hers")).await.problem(), problem(404, "not_found", &[]));
    for (body, expected) in [
        (json!({"kind": "", "title": "t"}), problem(422, "invalid_field", &["kind"])),
        (json!({"kind": "k", "title": " "}), problem(422, "invalid_field", &["title"])),
        (json!({"kind": "k", "title": "t".repeat(201)}), problem(422, "invalid_field", &["title"])),
        (json!({"kind": "k", "title": "t", "detail": "\u{0}"}), problem(422, "invalid_field", &["detail"])),
        (json!({"kind": "k"}), problem(422, "invalid_field", &["title"])),
        (json!({"kind": "k", "title": "t", "user": "ada"}), problem(422, "unknown_field", &["user"])),
    ] {
        assert_eq!(ada.post("/memory/events", body.clone()).await.problem(), expected, "{body}");
    }
}
