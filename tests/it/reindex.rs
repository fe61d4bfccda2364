//! `askback reindex`: the binary with another revision of the built-in embedder than the vectors are of.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::{
    home::Home,
    process::Server,
    store::{rows, tamper},
};

pub(crate) const FILES: [(&str, &str); 3] = [
    ("lantern.md", "# Lantern\n\nThe lantern burns for nine hours.\n"),
    ("kettle.md", "# Kettle\n\nThe kettle boils in three minutes.\n"),
    ("灯笼.md", "# 灯笼\n\n灯笼可燃九小时。\n"),
];

/// The vectors that are there are of an earlier revision.
pub(crate) async fn outdate(home: &Home) {
    let rename = "update profiles set embedder = embedder || '-earlier-' || since where state = 'current'";
    tamper(&home.engine(), rename).await;
}

pub(crate) fn reindex(home: &Home, failpoints: &str) -> Output {
    home.askback(&["reindex", "--json"]).env("FAILPOINTS", failpoints).output().expect("it starts")
}

/// The answer to a question, and whether words alone found it.
pub(crate) fn ask(home: &Home, question: &str) -> (String, bool) {
    let output = home.askback(&["ask", "--new", "--json", question]).output().expect("it starts");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cited = answer["citations"][0]["filename"].as_str().unwrap_or_default().to_owned();
    (cited, answer["rag_trace"]["degraded"] == true)
}

fn report(output: &Output) -> (Option<i32>, Value) {
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code(), report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

/// Exit code of doctor, and its check of the vectors.
fn doctor(home: &Home) -> (i32, Value) {
    let output = home.askback(&["doctor", "--json"]).output().expect("it starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let vectors = report["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "vectors");
    (output.status.code().expect("it ends"), vectors.expect("they are looked at").clone())
}

/// What `/readyz` says of the whole, and of the vectors.
async fn ready(server: &Server) -> (Value, Value) {
    let ready = server.get("", "/readyz").await;
    let vectors = ready["components"].as_array().expect("components").iter().find(|part| part["role"] == "vectors");
    (ready["status"].clone(), vectors.expect("they are told").clone())
}

const NOW: &str = "static-bilingual-256@1";
const EARLIER: &str = "static-bilingual-256@1-earlier-";

async fn the_vectors_of_an_earlier_revision_are_made_anew(home: Home) {
    home.ingest(&FILES);
    assert_eq!(ask(&home, "How long does the lantern burn?"), ("lantern.md".into(), false));
    assert_eq!(doctor(&home).0, 0);
    outdate(&home).await;

    let (code, check) = doctor(&home);
    assert_eq!((code, &check["ok"], &check["action"]), (1, &json!(false), &json!("run: askback reindex")));
    assert!(check["detail"].as_str().expect("a detail").contains(EARLIER), "{check}");
    assert_eq!(ask(&home, "How long does the lantern burn?"), ("lantern.md".into(), true), "by its words");

    // Through a running server.
    let server = home.start(&[("ASKBACK_LOG", "off")]).await;
    let (status, vectors) = ready(&server).await;
    assert!(vectors["name"].as_str().expect("a name").starts_with(EARLIER), "{vectors}");
    assert_eq!((status, &vectors["ready"], &vectors["required"]), (json!("ready"), &json!(false), &json!(false)));
    assert_eq!(doctor(&home).1["action"], "run: askback reindex");
    let done = json!({"status": "completed", "chunks": 3, "message": "All documents have the configured vectors"});
    assert_eq!(report(&reindex(&home, "")), (Some(0), done.clone()));
    let vectors = json!({"role": "vectors", "name": NOW, "ready": true, "required": false});
    assert_eq!(ready(&server).await, (json!("ready"), vectors));
    assert_eq!(ask(&home, "灯笼可燃多久？"), ("灯笼.md".into(), false));
    assert_eq!(server.terminate().await.0, Some(0));
    assert_eq!(doctor(&home).0, 0);

    // On the data folder alone, where there is nothing to do any more, and once more with something.
    let output = home.askback(&["reindex"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), &*said), (Some(0), "3 passages: All documents have the configured vectors\n"));
    outdate(&home).await;
    assert_eq!(report(&reindex(&home, "")), (Some(0), done));
    assert_eq!(ask(&home, "How long does the lantern burn?"), ("lantern.md".into(), false));
    assert_eq!(doctor(&home).0, 0);
    assert_eq!(rows(&home.engine(), "profiles where state = 'current'").await, 1);
    home.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_an_earlier_revision_are_made_anew() {
    the_vectors_of_an_earlier_revision_are_made_anew(Home::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_an_earlier_revision_are_made_anew_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    the_vectors_of_an_earlier_revision_are_made_anew(home).await;
}

#[test]
fn the_command_explains_itself() {
    let output = Home::sqlite().askback(&["reindex", "--help"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Examples:\n  askback reindex\n") && said.contains("Exit codes: 0 "), "{said}");
}
