//! Collections on the wire: one of them, and its end.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::app::{TestApp, problem};

const MANUAL: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";

#[tokio::test]
async fn a_collection_is_read_by_its_name() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    let made = root.post("/collections", json!({"name": "a/b 人事", "readers": {"users": ["ada"]}})).await.json();
    let path = "/collections/a%2Fb%20%E4%BA%BA%E4%BA%8B";
    assert_eq!(root.get(path).await.json(), made);
    assert_eq!(made["readers"], json!({"everyone": false, "users": ["ada"], "groups": []}));
    assert_eq!(root.get("/collections/nothing").await.problem(), problem(404, "not_found", &[]));
    for path in [path, "/collections/nothing"] {
        assert_eq!(ada.get(path).await.problem(), problem(403, "forbidden", &[]), "readers too");
        assert_eq!(ada.delete(path).await.problem(), problem(403, "forbidden", &[]));
    }
}

#[tokio::test]
async fn an_empty_collection_is_deleted_and_answers_that_cite_it_stay() {
    let app = TestApp::builtin().await;
    let root = app.admin("root").await;
    root.post("/collections", json!({"name": "lamps", "readers": {"users": ["root"]}})).await;
    root.upload("lantern.md", MANUAL, Some("lamps")).await;
    let ask = json!({"message": "How long does the lantern burn?", "session_id": "s1"});
    let turn = root.post("/chat", ask).await.json();
    assert_eq!(turn["citations"][0]["filename"], "lantern.md", "{turn:#}");

    assert_eq!(root.delete("/collections/lamps").await.problem(), problem(409, "collection_not_empty", &[]));
    assert_eq!(root.delete("/documents/lantern.md?collection=lamps").await.status, StatusCode::OK);
    let deleted = root.delete("/collections/lamps").await;
    let told = json!({"name": "lamps", "message": "lamps was deleted."});
    assert_eq!((deleted.status, deleted.json()), (StatusCode::OK, told));
    assert_eq!(root.delete("/collections/lamps").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get("/collections/lamps").await.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get("/collections").await.json()["collections"], json!([]));
    let session = root.get("/sessions/s1").await.json();
    let citation = &session["messages"][1]["citations"][0];
    assert_eq!((&citation["filename"], &citation["removed"]), (&json!("lantern.md"), &json!(true)), "{session:#}");

    // The name is free: what is uploaded to it is another collection, with readers of its own.
    root.upload("lantern.md", MANUAL, Some("lamps")).await;
    assert_eq!(root.get("/collections/lamps").await.json()["readers"]["everyone"], true);
}

#[tokio::test]
async fn a_collection_that_a_folder_is_watched_for_stays() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let home = tempfile::tempdir().unwrap();
    root.post("/collections", json!({"name": "shelf", "readers": {"users": ["root"]}})).await;
    let folder = json!({"path": home.path().to_str().unwrap(), "collection": "shelf"});
    assert_eq!(root.post("/ingest/folders", folder).await.status, StatusCode::CREATED);
    assert_eq!(root.delete("/collections/shelf").await.problem(), problem(409, "collection_watched", &[]));
    let path = format!("/ingest/folders?path={}", home.path().to_str().unwrap());
    assert_eq!(root.delete(&path).await.status, StatusCode::OK);
    assert_eq!(root.delete("/collections/shelf").await.status, StatusCode::OK);
}

#[tokio::test]
async fn documents_are_indexed_anew_by_a_job() {
    let app = TestApp::start().await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    root.upload("lantern.md", MANUAL, None).await;
    assert_eq!(ada.post("/reindex", json!({})).await.problem(), problem(403, "forbidden", &[]));
    let started = root.post("/reindex", json!({})).await;
    assert_eq!(started.status, StatusCode::ACCEPTED, "{}", started.text);
    let id = started.json()["job_id"].as_str().unwrap().to_owned();
    app.app.ingest.wait(id.parse().unwrap(), std::time::Duration::from_secs(60)).await.unwrap();
    let path = format!("/reindex/jobs/{id}");
    let job = root.get(&path).await.json();
    let steps: Vec<(&Value, &Value)> =
        job["steps"].as_array().unwrap().iter().map(|step| (&step["key"], &step["status"])).collect();
    assert_eq!(steps, [(&json!("vector_store"), &json!("completed")), (&json!("swap"), &json!("completed"))]);
    assert_eq!(
        (&job["status"], &job["processed_chunks"], &job["total_chunks"], &job["filename"]),
        (&json!("completed"), &json!(1), &json!(1), &json!(""))
    );
    assert_eq!(root.post(&format!("{path}/cancel"), json!({})).await.json()["status"], "completed", "it has ended");

    // A job is found where its kind is.
    let upload = root.get("/documents/upload/jobs").await.json()["jobs"][0]["job_id"].as_str().unwrap().to_owned();
    for (kind, id) in [("reindex", &upload), ("documents/upload", &id), ("documents/delete", &id)] {
        let path = format!("/{kind}/jobs/{id}");
        assert_eq!(root.get(&path).await.problem(), problem(404, "not_found", &[]), "{path}");
        if kind != "documents/delete" {
            let cancel = format!("{path}/cancel");
            assert_eq!(root.post(&cancel, json!({})).await.problem(), problem(404, "not_found", &[]), "{cancel}");
        }
    }
}
