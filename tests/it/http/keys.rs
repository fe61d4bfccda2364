//! API keys: made, shown once, good at the doors of other APIs alone, and revoked.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::app::{Answer, As, TestApp, problem};

const MODELS: &str = "/v1/models";

/// The key's text and its id.
async fn made(client: &As, name: &str) -> (String, String) {
    let made = client.post("/auth/keys", json!({"name": name})).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let text = |field: &str| made.json()[field].as_str().unwrap().to_owned();
    (text("key"), text("id"))
}

async fn status(client: &As) -> u16 {
    client.get(MODELS).await.status.as_u16()
}

#[tokio::test]
async fn a_key_is_shown_once_and_listed() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    let first = ada.post("/auth/keys", json!({"name": "notebook"})).await;
    let body = first.json();
    let key = body["key"].as_str().unwrap();
    assert!(key.starts_with("ask-") && key.len() == 4 + 43, "256 bits: {key}");
    assert!(key.ends_with(body["hint"].as_str().unwrap()) && body["hint"].as_str().unwrap().len() == 4, "{body}");
    app.clock.advance(Duration::from_secs(1));
    made(&ada, "编辑器").await;

    let listed = ada.get("/auth/keys").await;
    let keys = listed.json()["keys"].clone();
    assert_eq!((&keys[0]["name"], &keys[1]["name"], &keys[2]), (&json!("编辑器"), &json!("notebook"), &Value::Null));
    let mut shown = body.clone();
    shown.as_object_mut().unwrap().remove("key");
    assert_eq!(keys[1], shown);
    assert_eq!(shown["last_used_at"], Value::Null);
    assert!(!listed.text.contains(key));
}

#[tokio::test]
async fn the_key_itself_is_stored_nowhere() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    let (key, _) = made(&ada, "notebook").await;
    assert_eq!(status(&app.bearer(&key)).await, 200);
    let stored = ["askback.sqlite", "askback.sqlite-wal"].map(|name| std::fs::read(app.folder.join(name)).unwrap());
    let holds = |words: &str| stored.iter().any(|file| file.windows(words.len()).any(|part| part == words.as_bytes()));
    assert!(holds("notebook"), "its name is");
    assert!(!holds(&key) && !holds(key.strip_prefix("ask-").unwrap()));
}

#[tokio::test]
async fn it_opens_the_doors_of_other_apis_and_no_others() {
    let app = TestApp::start().await;
    let ada = app.admin("ada").await;
    let (key, id) = made(&ada, "notebook").await;
    let program = app.bearer(&key);
    assert_eq!((status(&program).await, status(&ada).await), (200, 200), "an access token opens them too");
    for path in ["/auth/me", "/auth/keys", "/sessions", "/users"] {
        assert_eq!(program.get(path).await.problem(), problem(401, "invalid_token", &[]), "{path}");
    }
    assert_eq!(program.delete(&format!("/auth/keys/{id}")).await.status, StatusCode::UNAUTHORIZED);
    let turn = program.post("/chat", json!({"message": "Hello?"})).await;
    assert_eq!(turn.problem(), problem(401, "invalid_token", &[]));
    let other = format!("ask-{}", "x".repeat(43));
    for token in ["ask-", &other, &key[..key.len() - 1], &format!("{key}x"), "nonsense"] {
        assert_eq!(app.bearer(token).get(MODELS).await.openai_error().2, "invalid_token", "{token}");
    }
    let missing = app.anyone().get(MODELS).await;
    assert_eq!((missing.status.as_u16(), missing.openai_error().2.as_str()), (401, "missing_token"));
    assert_eq!(missing.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn it_is_dead_at_once() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    let ((one, id), (two, _)) = (made(&ada, "one").await, made(&ada, "two").await);
    assert_eq!(root.delete(&format!("/auth/keys/{id}")).await.problem(), problem(404, "not_found", &[]), "not hers");
    assert_eq!(status(&app.bearer(&one)).await, 200);
    let revoked = ada.delete(&format!("/auth/keys/{id}")).await;
    assert_eq!((revoked.status, &revoked.json()["id"]), (StatusCode::OK, &json!(id)));
    assert_eq!((status(&app.bearer(&one)).await, status(&app.bearer(&two)).await), (401, 200));
    assert_eq!(ada.delete(&format!("/auth/keys/{id}")).await.problem(), problem(404, "not_found", &[]));
    assert_eq!(ada.delete("/auth/keys/none").await.problem(), problem(404, "not_found", &[]));

    root.patch("/users/ada", json!({"disabled": true})).await;
    assert_eq!(status(&app.bearer(&two)).await, 401);
    root.patch("/users/ada", json!({"disabled": false})).await;
    assert_eq!(status(&app.bearer(&two)).await, 401, "it does not come back with the account");
    let bea = app.user("bea").await;
    let (beas, _) = made(&bea, "hers").await;
    root.delete("/users/bea").await;
    assert_eq!(status(&app.bearer(&beas)).await, 401);
}

#[tokio::test]
async fn its_use_is_noted_once_a_minute() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    let (key, _) = made(&ada, "notebook").await;
    let program = app.bearer(&key);
    let used = async || ada.get("/auth/keys").await.json()["keys"][0]["last_used_at"].clone();
    status(&program).await;
    let first = used().await;
    assert!(first.as_str().unwrap().ends_with('Z'));
    app.clock.advance(Duration::from_secs(30));
    status(&program).await;
    assert_eq!(used().await, first);
    app.clock.advance(Duration::from_secs(30));
    status(&program).await;
    assert!(used().await.as_str().unwrap() > first.as_str().unwrap());
}

#[tokio::test]
async fn names_and_numbers_of_keys_are_bounded() {
    let app = TestApp::start().await;
    let ada = app.user("ada").await;
    for (body, expected) in [
        (json!({}), problem(422, "invalid_field", &["name"])),
        (json!({"name": ""}), problem(422, "invalid_field", &["name"])),
        (json!({"name": "x".repeat(65)}), problem(422, "invalid_field", &["name"])),
        (json!({"name": "a\u{0}"}), problem(422, "invalid_field", &["name"])),
        (json!({"name": "a", "key": "mine"}), problem(422, "unknown_field", &["key"])),
    ] {
        assert_eq!(ada.post("/auth/keys", body.clone()).await.problem(), expected, "{body}");
    }
    for number in 0..50 {
        made(&ada, &format!("key {number}")).await;
    }
    let refused = ada.post("/auth/keys", json!({"name": "one more"})).await;
    assert_eq!(refused.problem(), problem(409, "too_many_keys", &[]));
    assert_eq!(ada.get("/auth/keys").await.json()["keys"].as_array().unwrap().len(), 50);
    made(&app.user("bea").await, "of another user").await;
    let patch = Answer::of(ada.request(Method::PATCH, "/auth/keys").json(&json!({}))).await;
    assert_eq!(patch.problem(), problem(405, "method_not_allowed", &[]));
}
