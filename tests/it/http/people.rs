//! Accounts and groups as admins manage them.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::app::{As, PASSWORD, TestApp, problem};

/// The accounts of a list, without the times.
fn plain(mut list: Value) -> Value {
    for user in list["users"].as_array_mut().unwrap() {
        assert!(user["created_at"].take().as_str().unwrap().ends_with('Z'));
        user.as_object_mut().unwrap().remove("created_at");
    }
    list
}

fn user(name: &str, role: &str, groups: &[&str]) -> Value {
    json!({"username": name, "role": role, "disabled": false, "groups": groups})
}

#[tokio::test]
async fn accounts_are_listed_in_pages() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    for name in ["Ada", "贝亚"] {
        // Of one moment, accounts have no order.
        app.clock.advance(Duration::from_secs(1));
        app.user(name).await;
    }
    root.post("/groups", json!({"name": "hr", "members": ["ADA"]})).await;
    let first = plain(root.get("/users?limit=2").await.json());
    assert_eq!(first["users"], json!([user("贝亚", "user", &[]), user("Ada", "user", &["hr"])]));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = plain(root.get(&format!("/users?cursor={cursor}")).await.json());
    assert_eq!(second, json!({"users": [user("root", "admin", &[])], "next_cursor": null}));
    assert_eq!(root.get("/users/%E8%B4%9D%E4%BA%9A").await.json()["username"], "贝亚");
    assert_eq!(root.get("/users/nobody").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get("/users?cursor=x").await.problem(), problem(400, "invalid_cursor", &[]));
}

#[tokio::test]
async fn a_role_counts_from_the_next_request_on() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    assert_eq!(ada.get("/users").await.problem(), problem(403, "forbidden", &[]));
    let made = root.patch("/users/ada", json!({"role": "admin"})).await;
    assert_eq!((made.status, &made.json()["role"]), (StatusCode::OK, &json!("admin")));
    let down = ada.patch("/users/ROOT", json!({"role": "user"})).await;
    assert_eq!((down.status, &down.json()["role"]), (StatusCode::OK, &json!("user")));
    assert_eq!(root.get("/users").await.problem(), problem(403, "forbidden", &[]));
    for (body, expected) in [
        (json!({"role": "root"}), problem(422, "invalid_field", &["role"])),
        (json!({"disabled": "yes"}), problem(422, "invalid_field", &["disabled"])),
        (json!({"password": "x"}), problem(422, "unknown_field", &["password"])),
    ] {
        assert_eq!(ada.patch("/users/root", body).await.problem(), expected);
    }
    assert_eq!(ada.patch("/users/nobody", json!({"role": "user"})).await.problem(), problem(404, "not_found", &[]));
}

#[tokio::test]
async fn there_is_always_an_admin() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.admin("ada").await);
    // What the command line acts as is an admin too, but nobody logs in as it.
    app.app.accounts.local_admin().await.unwrap();
    assert_eq!(root.delete("/users/ada").await.status, StatusCode::OK);
    assert_eq!(ada.get("/users").await.problem(), problem(401, "invalid_token", &[]));
    let last = problem(409, "last_admin", &[]);
    assert_eq!(root.patch("/users/root", json!({"role": "user"})).await.problem(), last);
    assert_eq!(root.patch("/users/root", json!({"disabled": true})).await.problem(), last);
    assert_eq!(root.delete("/users/root").await.problem(), last);
    let local = problem(409, "local_account", &[]);
    assert_eq!(root.patch("/users/Local", json!({"disabled": true})).await.problem(), local);
    assert_eq!(root.delete("/users/local").await.problem(), local);
}

async fn log_in(app: &TestApp, name: &str) -> crate::support::app::Answer {
    app.anyone().post("/auth/login", json!({"username": name, "password": PASSWORD})).await
}

#[tokio::test]
async fn who_is_switched_off_is_out_at_once() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    let login = log_in(&app, "ada").await.json();
    let refresh = json!({"refresh_token": login["refresh_token"]});
    let off = root.patch("/users/ada", json!({"disabled": true})).await;
    assert_eq!((off.status, &off.json()["disabled"]), (StatusCode::OK, &json!(true)));
    assert_eq!(ada.get("/auth/me").await.problem(), problem(401, "invalid_token", &[]));
    assert_eq!(app.anyone().post("/auth/refresh", refresh.clone()).await.problem().0, 401);
    assert_eq!(log_in(&app, "ada").await.problem(), problem(401, "invalid_credentials", &[]));

    root.patch("/users/ada", json!({"disabled": false})).await;
    assert_eq!(ada.get("/auth/me").await.problem(), problem(401, "invalid_token", &[]), "an old token stays dead");
    assert_eq!(app.anyone().post("/auth/refresh", refresh).await.problem().0, 401);
    assert_eq!(log_in(&app, "ada").await.status, StatusCode::OK);

    let deleted = root.delete("/users/ada").await;
    assert_eq!((deleted.status, &deleted.json()["username"]), (StatusCode::OK, &json!("ada")));
    assert_eq!(log_in(&app, "ada").await.problem(), problem(401, "invalid_credentials", &[]));
    assert_eq!(root.delete("/users/ada").await.problem(), problem(404, "not_found", &[]));
    let again = app.user("ada").await;
    assert_eq!(again.get("/sessions").await.json()["sessions"], json!([]), "another account of that name");
}

#[tokio::test]
async fn groups_are_made_changed_and_deleted() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    for name in ["ada", "bea"] {
        app.user(name).await;
    }
    let made = root.post("/groups", json!({"name": "人事", "members": ["ada"]})).await;
    assert_eq!((made.status, made.json()), (StatusCode::CREATED, json!({"name": "人事", "members": ["ada"]})));
    root.post("/groups", json!({"name": "it"})).await;
    let patch = json!({"name": "hr", "add": ["bea"], "remove": ["ada"]});
    let changed = root.patch("/groups/%E4%BA%BA%E4%BA%8B", patch).await;
    assert_eq!((changed.status, changed.json()), (StatusCode::OK, json!({"name": "hr", "members": ["bea"]})));
    let first = root.get("/groups?limit=1").await.json();
    assert_eq!(first["groups"], json!([{"name": "hr", "members": ["bea"]}]));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = root.get(&format!("/groups?cursor={cursor}")).await.json();
    assert_eq!(second, json!({"groups": [{"name": "it", "members": []}], "next_cursor": null}));

    for (body, expected) in [
        (json!({"name": "hr"}), problem(409, "name_taken", &[])),
        (json!({"name": ""}), problem(422, "invalid_field", &["name"])),
        (json!({"name": "a\u{0}"}), problem(422, "invalid_field", &["name"])),
        (json!({"name": "x", "members": ["ada", "nobody"]}), problem(422, "invalid_field", &["members[1]"])),
        (json!({"name": "x", "users": []}), problem(422, "unknown_field", &["users"])),
    ] {
        assert_eq!(root.post("/groups", body.clone()).await.problem(), expected, "{body}");
    }
    assert_eq!(root.patch("/groups/it", json!({"name": "hr"})).await.problem(), problem(409, "name_taken", &[]));
    let unknown = root.patch("/groups/hr", json!({"add": ["ada", "nobody"]})).await;
    assert_eq!(unknown.problem(), problem(422, "invalid_field", &["add[1]"]));
    assert_eq!(root.get("/groups/hr").await.json()["members"], json!(["bea"]), "refusals changed nothing");

    assert_eq!(root.delete("/groups/hr").await.json()["name"], "hr");
    assert_eq!(root.delete("/groups/hr").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get("/groups/hr").await.problem(), problem(404, "not_found", &[]));
}

/// Whether a search finds the one document.
async fn finds(client: &As) -> bool {
    let found = client.post("/search", json!({"query": "annual bonus", "top_k": 1})).await.json();
    !found["passages"].as_array().unwrap_or_else(|| panic!("{found}")).is_empty()
}

#[tokio::test]
async fn a_group_reads_from_the_next_search_on() {
    let app = TestApp::start().await;
    let (root, ada, bea) = (app.admin("root").await, app.user("ada").await, app.user("bea").await);
    root.post("/groups", json!({"name": "hr", "members": ["ada"]})).await;
    let readers = json!({"everyone": false, "users": [], "groups": ["hr"]});
    let made = root.post("/collections", json!({"name": "pay", "readers": {"groups": ["hr"]}})).await;
    assert_eq!((made.status, &made.json()["readers"]), (StatusCode::CREATED, &readers));
    root.upload("bonus.md", b"# Bonus\n\nThe annual bonus is paid in March.\n", Some("pay")).await;
    assert!(finds(&ada).await && !finds(&bea).await && !finds(&root).await);
    root.patch("/groups/hr", json!({"add": ["bea"], "remove": ["ada"]})).await;
    assert!(!finds(&ada).await && finds(&bea).await);
    root.patch("/groups/hr", json!({"name": "people"})).await;
    assert!(finds(&bea).await);
    root.delete("/groups/people").await;
    assert!(!finds(&bea).await);

    for (readers, field) in [
        (json!({"groups": ["hr"]}), "readers.groups[0]"),
        (json!({"everyone": true, "groups": ["hr"]}), "readers.groups"),
        (json!({"everyone": true, "users": ["ada"]}), "readers.users"),
    ] {
        let refused = root.patch("/collections/pay", json!({"readers": readers})).await;
        assert_eq!(refused.problem(), problem(422, "invalid_field", &[field]));
    }
}
