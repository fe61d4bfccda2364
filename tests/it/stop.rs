//! SIGTERM to the real binary while answers stream.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    fake_openai::{FakeOpenAi, Reply},
    home::Home,
    process::Server,
};

/// The stream of a turn, from the piece of its answer on.
async fn stream(server: &Server, token: &str, session: &str) -> reqwest::Response {
    let body = json!({"message": "Go on", "session_id": session});
    let request = server.request(Method::POST, token, "/chat/stream").json(&body);
    let mut answer = request.send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains(r#""type":"content""#) {
        seen.push_str(std::str::from_utf8(&answer.chunk().await.unwrap().expect("an answer")).unwrap());
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_or_are_told_and_nothing_new_begins() {
    let home = Home::sqlite();
    let ends = Reply::says(&["So ", "far ", "and ", "no ", "further."]).slowly(Duration::from_millis(50));
    let hangs = Reply::says_and_hangs(&["So far"]);
    let llm = FakeOpenAi::start(vec![hangs.clone(), hangs, ends]).await;
    let model = [
        ("ASKBACK_LLM_BASE_URL", llm.base_url.as_str()),
        ("ASKBACK_MODEL", "scripted"),
        ("ASKBACK_SHUTDOWN_SECONDS", "4"),
    ];
    let server = home.start(&model).await;
    let anna = server.register("anna").await;
    let hanging = [stream(&server, &anna, "s1").await, stream(&server, &anna, "s2").await];
    let ending = stream(&server, &anna, "s3").await;

    server.ask_to_end().await;
    let ready = loop {
        let ready = server.request(Method::GET, "", "/readyz").send().await.unwrap();
        // The signal is on its way; from when it is there, it shows.
        if ready.status() != 200 {
            break ready.json::<Value>().await.unwrap();
        }
    };
    assert_eq!(ready["status"], "shutting_down");
    let refused = server.request(Method::POST, &anna, "/chat").json(&json!({"message": "New"})).send().await.unwrap();
    let status = refused.status().as_u16();
    assert_eq!((status, refused.json::<Value>().await.unwrap()["code"].clone()), (503, json!("shutting_down")));

    let ended = ending.text().await.unwrap();
    assert!(ended.contains("further.") && ended.ends_with("data: [DONE]\n\n"), "{ended}");
    for hanging in hanging {
        let told = hanging.text().await.expect("it ends in order");
        assert!(told.contains(r#""code":"interrupted""#) && !told.contains("[DONE]"), "{told}");
    }
    assert_eq!(server.end().await.code(), Some(0));

    let server = home.start(&[]).await;
    let session = server.get(&anna, "/sessions/s1").await;
    assert_eq!(session["messages"][1]["status"], "interrupted");
    assert_eq!(server.get(&anna, "/sessions/s3").await["messages"][1]["content"], "So far and no further.");
}
