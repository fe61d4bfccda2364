//! The real binary over Postgres: `DATABASE_URL` is all that it takes.

use serde_json::{Value, json};

use crate::{
    crash::MANUALS,
    support::{
        fake_openai::{FakeOpenAi, Reply},
        home::Home,
        process::Server,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn ingests_asks_restarts_and_reads() {
    let Some(home) = Home::postgres().await else { return };
    home.ingest(&MANUALS);
    let server = home.start(&[]).await;
    let ready = server.get("", "/readyz").await;
    let storage = json!({"role": "storage", "name": "postgres", "ready": true, "required": true});
    assert_eq!((&ready["status"], &ready["components"][0]), (&json!("ready"), &storage));
    let anna = server.register("anna").await;
    let question = "How long is the warranty of the Aurora X1?";
    let answer = server.post(&anna, "/chat", &json!({"message": question, "session_id": "s1"})).await;
    assert_eq!((&answer["status"], &answer["citations"][0]["filename"]), (&json!("completed"), &json!("aurora-x1.md")));
    assert_eq!(server.terminate().await, (Some(0), String::new()));

    let server = home.start(&[]).await;
    let session = server.get(&anna, "/sessions/s1").await;
    assert_eq!(session["messages"][1]["content"], answer["response"]);
    let asked = server.post(&anna, "/chat", &json!({"message": "How long is the warranty?", "session_id": "s2"})).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked:#}");
    let found = server.post(&anna, "/search", &json!({"query": "battery"})).await;
    assert!(found["passages"][0]["text"].as_str().is_some_and(|text| text.contains("The battery of")), "{found:#}");
    server.kill().await;
    assert!(!home.path().join("var/askback.sqlite").exists());
    home.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_takes_in_the_other_serves() {
    let Some(home) = Home::postgres().await else { return };
    let other = home.neighbour().expect("it has a schema");
    let secret = ("ASKBACK_JWT_SECRET", "a secret that both nodes know of, and they alone");
    let (one, two) = (home.start(&[secret]).await, other.start(&[secret]).await);
    let anna = one.register("anna").await;
    // Through the server that runs over this folder.
    home.ingest(&MANUALS);
    let found = async |server: &Server| server.post(&anna, "/search", &json!({"query": "battery"})).await;
    let is_found = |found: &Value| found["passages"][0]["text"].as_str().is_some_and(|text| text.contains("battery"));
    assert!(is_found(&found(&one).await));
    let mut tries = 0;
    while !is_found(&found(&two).await) {
        tries += 1;
        assert!(tries < 600, "the other server never notices");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let question = "How long is the warranty of the Aurora X1?";
    let answer = two.post(&anna, "/chat", &json!({"message": question, "session_id": "s1"})).await;
    assert_eq!((&answer["status"], &answer["citations"][0]["filename"]), (&json!("completed"), &json!("aurora-x1.md")));
    one.kill().await;
    two.kill().await;
    home.remove().await;
}

async fn hanging_turn(server: &Server, token: &str) -> String {
    let body = json!({"message": "Go on", "session_id": "s1"});
    let seen = server.stream_until(token, &body, |frame| frame["type"] == "content").await;
    seen[0]["run_id"].as_str().expect("a run").to_owned()
}

/// A node that is gone for good: its runs are ended by another one, once its lease has run out.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "waits for a lease of 20 seconds"]
async fn long_another_node_ends_the_runs_of_a_dead_one() {
    let Some(home) = Home::postgres().await else { return };
    let other = home.neighbour().expect("it has a schema");
    let secret = ("ASKBACK_JWT_SECRET", "a secret that both nodes know of, and they alone");
    let llm = FakeOpenAi::start(vec![Reply::says_and_hangs(&["So far"])]).await;
    let model = [secret, ("ASKBACK_LLM_BASE_URL", llm.base_url.as_str()), ("ASKBACK_MODEL", "scripted")];
    let (dead, alive) = (home.start(&model).await, other.start(&[secret]).await);
    let anna = dead.register("anna").await;
    let run = hanging_turn(&dead, &anna).await;
    dead.kill().await;
    // Follows the run in the store, to its end.
    let kept = alive.kept(&anna, &run).await;
    let end: &Value = kept.last().expect("an end");
    assert_eq!(end["error"]["code"], "interrupted");
    let next = alive.post(&anna, "/chat", &json!({"message": "Hello", "session_id": "s1"})).await;
    assert_eq!(next["status"], "completed");
    alive.kill().await;
    home.remove().await;
}
