//! SIGTERM to the real binary while two hundred answers stream.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    fake_openai::{FakeOpenAi, Reply},
    home::Home,
    process::Server,
};

/// Turns whose model hangs.
const CROWD: usize = 200;

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
    let mut script = vec![Reply::says_and_hangs(&["So far"]); CROWD];
    script.push(ends);
    let llm = FakeOpenAi::start(script).await;
    let model = [
        ("ASKBACK_LLM_BASE_URL", llm.base_url.as_str()),
        ("ASKBACK_MODEL", "scripted"),
        ("ASKBACK_SHUTDOWN_SECONDS", "12"),
    ];
    let server = home.start(&model).await;
    let anna = server.register("anna").await;
    let names: Vec<String> = (0..CROWD).map(|no| format!("s{no}")).collect();
    let hanging = join_all(names.iter().map(|name| stream(&server, &anna, name))).await;
    let ending = stream(&server, &anna, "ends").await;

    let told = Instant::now();
    server.ask_to_end().await;
    let ready = loop {
        // A connection that lay idle is closed when the signal is there, be it just taken up again.
        let Ok(ready) = server.request(Method::GET, "", "/readyz").send().await else { continue };
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
    println!("{CROWD} streams: ended {:?} after SIGTERM", told.elapsed());

    let server = home.start(&[]).await;
    for name in names {
        let session = server.get(&anna, &format!("/sessions/{name}")).await;
        let answer = &session["messages"][1];
        assert_eq!((&answer["content"], &answer["status"]), (&json!("So far"), &json!("interrupted")), "{name}");
        assert_eq!(session["active_run_id"], Value::Null);
    }
    assert_eq!(server.get(&anna, "/sessions/ends").await["messages"][1]["content"], "So far and no further.");
}
