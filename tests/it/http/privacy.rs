//! What is another user's does not exist. The routes come from the OpenAPI document, so that none is forgotten.

use reqwest::Method;
use serde_json::{Value, json};

use super::document::operations;
use crate::support::{
    app::{Answer, As, TestApp},
    fake_openai::Reply,
};

const NOBODYS: &str = "01890000-0000-7000-8000-000000000000";

/// The answer, without what differs between any two requests.
async fn shape(client: &As, method: &Method, path: &str) -> (u16, Value) {
    // What the body says must not matter, but it must be one that the owner could send.
    let body = match path.rsplit('/').next() {
        Some("feedback") => json!({"rating": "up"}),
        Some("edit") => json!({"message": "And then?"}),
        Some("note") => json!({"note": "Mine now", "version": 0}),
        _ => json!({}),
    };
    let request = client.request(method.clone(), path);
    let has_body = matches!(*method, Method::POST | Method::PATCH | Method::PUT);
    let answer = Answer::of(if has_body { request.json(&body) } else { request }).await;
    let mut body = answer.json();
    body["request_id"] = Value::Null;
    (answer.status.as_u16(), body)
}

#[tokio::test]
async fn on_every_route() {
    let app = TestApp::scripted(vec![Reply::says(&["For your eyes only."])]).await;
    let (root, bea, ada) = (app.admin("root").await, app.user("bea").await, app.user("ada").await);
    root.post("/collections", json!({"name": "hers", "readers": {"users": ["bea"]}})).await;
    let document = root.upload("hers.md", b"# Hers\n\nA text of hers.", Some("hers")).await.json();
    let key = bea.post("/auth/keys", json!({"name": "hers"})).await.json();
    let turn = bea.post("/chat", json!({"message": "Tell me", "session_id": "hers"})).await.json();

    bea.put("/memory/settings/tone", json!({"value": "hers"})).await;

    let of = |name: &str, is_hers: bool| -> String {
        let hers = match name {
            "session_id" => "hers",
            "run_id" => turn["run_id"].as_str().unwrap(),
            "message_id" => turn["message_id"].as_str().unwrap(),
            "document_id" => document["document_id"].as_str().unwrap(),
            "key_id" => key["id"].as_str().unwrap(),
            "key" => "tone",
            // Models are nobody's.
            "model" => NOBODYS,
            // Those of admins, who share documents, jobs, accounts and groups.
            "job_id" | "filename" | "name" | "username" => NOBODYS,
            _ => panic!("say here what {name} is, and see that other users' are not found"),
        };
        if is_hers { hers.into() } else { NOBODYS.into() }
    };
    let fill = |path: &str, is_hers: bool| -> String {
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => of(name, is_hers),
            None => part.to_owned(),
        };
        path.split('/').map(part).collect::<Vec<String>>().join("/")
    };

    let mut checked = 0;
    for (method, path, operation) in operations() {
        // A setting that is put is the caller's own.
        let is_own = method == Method::PUT && path == "/memory/settings/{key}";
        if !path.contains('{') || is_own {
            continue;
        }
        let (hers, nobodys) = (fill(&path, true), fill(&path, false));
        let is_admins = operation["responses"]["403"].is_object();
        let denied = shape(&ada, &method, &hers).await;
        assert_eq!(denied.0, if is_admins { 403 } else { 404 }, "{method} {hers}: {}", denied.1);
        assert_eq!(denied, shape(&ada, &method, &nobodys).await, "{method} {hers}");
        if !is_admins {
            assert_eq!(shape(&root, &method, &hers).await, denied, "{method} {hers} by an admin");
        }
        checked += 1;
    }
    assert!(checked >= 8, "{checked}");
    assert_eq!(bea.get("/memory/settings/tone").await.json()["value"], "hers");
    assert_eq!(bea.get("/sessions/hers/note").await.json()["version"], 0);

    // Ids in bodies.
    for field in ["message_id", "user_message_id"] {
        let by = |id: &str| json!({"message": "And then?", "parent_id": id});
        let id = turn[field].as_str().unwrap();
        let (denied, unknown) = (ada.post("/chat", by(id)).await, ada.post("/chat", by(NOBODYS)).await);
        assert_eq!((denied.problem(), unknown.problem()), (unknown.problem(), denied.problem()));
        assert_eq!(denied.problem().0, 404);
    }

    // The same name is another session.
    assert_eq!(ada.get("/sessions").await.json()["sessions"], json!([]));
    assert_eq!(bea.get("/sessions/hers").await.json()["messages"].as_array().unwrap().len(), 2);
}
