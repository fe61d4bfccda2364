//! Watched folders on the wire.

use std::{fs, time::Duration};

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::app::{As, TestApp, problem};

/// The one folder of the list, without its times.
async fn listed(client: &As) -> Value {
    let mut list = client.get("/ingest/folders").await.json();
    let folders = list["folders"].as_array_mut().unwrap();
    assert_eq!(folders.len(), 1);
    without_times(folders.remove(0))
}

fn without_times(mut folder: Value) -> Value {
    assert!(folder["created_at"].take().as_str().unwrap().ends_with('Z'));
    let has_scan = !folder["last_scan_at"].take().is_null();
    assert_eq!(has_scan, folder["status"] == "watching", "{folder}");
    folder
}

#[tokio::test]
async fn a_folder_is_watched_and_let_go() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_str().unwrap();
    fs::create_dir(home.path().join("sub")).unwrap();
    fs::write(home.path().join("sub/手册.md"), "# Manual\n\nThe warranty lasts two years.\n").unwrap();
    fs::write(home.path().join("broken.pdf"), "no PDF").unwrap();
    fs::write(home.path().join("picture.xyz"), "no document").unwrap();

    let added = root.post("/ingest/folders", json!({"path": format!("{path}/"), "collection": "manuals"})).await;
    assert_eq!(added.status, StatusCode::CREATED, "{}", added.text);
    let files = |total, ready, pending, failed, skipped| json!({"total": total, "ready": ready, "pending": pending, "failed": failed, "skipped": skipped});
    let folder = |status: &str, files: Value, bad_files: Value| {
        json!({
            "path": path, "collection": "manuals", "source": "admin", "status": status, "error_code": null,
            "error": null, "last_scan_at": null, "files": files, "bad_files": bad_files, "created_at": null,
        })
    };
    assert_eq!(without_times(added.json()), folder("pending", files(0, 0, 0, 0, 0), json!([])));
    let again = root.post("/ingest/folders", json!({"path": path, "collection": "manuals"})).await;
    assert_eq!(again.problem(), problem(409, "already_watched", &[]));

    let scan = async || {
        app.clock.advance(Duration::from_secs(5));
        app.app.folders.pass().await.unwrap();
    };
    scan().await;
    assert_eq!(listed(&root).await, folder("watching", files(2, 0, 2, 0, 1), json!([])));
    scan().await;
    for job in root.get("/documents/upload/jobs").await.json()["jobs"].as_array().unwrap() {
        let id = job["job_id"].as_str().unwrap().parse().unwrap();
        app.app.ingest.wait(id, Duration::from_secs(60)).await.unwrap();
    }
    let now = listed(&root).await;
    assert_eq!(now["files"], files(2, 1, 0, 1, 1));
    assert_eq!(
        (&now["bad_files"][0]["filename"], &now["bad_files"][0]["error_code"]),
        (&json!("broken.pdf"), &json!("malformed"))
    );
    assert!(now["bad_files"][0]["error"].as_str().unwrap().starts_with("The file cannot be read"), "{now}");
    let found = root.post("/search", json!({"query": "warranty", "collections": ["manuals"]})).await.json();
    assert_eq!(found["passages"][0]["filename"], "sub/手册.md");
    assert_eq!(root.get("/memory/events").await.json()["events"], json!([]), "nobody uploaded them");

    fs::rename(home.path().join("sub"), home.path().join(".sub")).unwrap();
    scan().await;
    scan().await;
    assert_eq!(listed(&root).await["files"], files(1, 0, 0, 1, 1));
    let escaped = path.replace('/', "%2F");
    let gone = root.delete(&format!("/ingest/folders?path={escaped}")).await;
    assert_eq!((gone.status, &gone.json()["path"]), (StatusCode::OK, &json!(path)));
    assert_eq!(root.get("/ingest/folders").await.json(), json!({"folders": [], "next_cursor": null}));
    let unknown = root.delete(&format!("/ingest/folders?path={escaped}")).await;
    assert_eq!(unknown.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.delete("/ingest/folders").await.problem(), problem(422, "invalid_field", &["path"]));
}

#[tokio::test]
async fn what_is_no_folder_is_refused() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("file.md"), "# File\n").unwrap();
    for (body, expected) in [
        (json!({"path": path("nowhere")}), problem(422, "not_found", &["path"])),
        (json!({"path": path("file.md")}), problem(422, "not_a_folder", &["path"])),
        (json!({"path": app.folder}), problem(422, "not_readable", &["path"])),
        (json!({"path": ""}), problem(422, "invalid_field", &["path"])),
        (json!({"path": path(""), "collection": ""}), problem(422, "invalid_field", &["collection"])),
        (json!({"collection": "x"}), problem(422, "invalid_field", &["path"])),
        (json!({"path": path(""), "recursive": true}), problem(422, "unknown_field", &["recursive"])),
    ] {
        assert_eq!(root.post("/ingest/folders", body.clone()).await.problem(), expected, "{body}");
    }
    let forbidden = ada.post("/ingest/folders", json!({"path": path("")})).await;
    assert_eq!(forbidden.problem(), problem(403, "forbidden", &[]));
    assert_eq!(root.get("/ingest/folders").await.json(), json!({"folders": [], "next_cursor": null}));
}
