//! Settings, notes, episodes and tools on the wire.

use std::sync::Arc;

use askback::adapters::llm::builtin::Builtin;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{
    app::{As, Setup, TestApp, problem},
    fake_openai::Reply,
};

/// Settings as one object.
async fn settings(client: &As) -> Value {
    let list = client.get("/memory/settings").await.json();
    let settings = list["settings"].as_array().unwrap_or_else(|| panic!("{list}"));
    settings.iter().map(|setting| (setting["key"].as_str().unwrap().to_owned(), setting["value"].clone())).collect()
}

#[tokio::test]
async fn settings_are_remembered_and_forgotten_per_user() {
    let app = TestApp::start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let value = |value: Value| json!({ "value": value });
    let put = ann.put("/memory/settings/Language", value(json!("中文"))).await;
    assert_eq!(
        (put.status, &put.json()["key"], &put.json()["value"]),
        (StatusCode::OK, &json!("language"), &json!("zh"))
    );
    ann.put("/memory/settings/default_collections", value(json!(["manuals", "政策"]))).await;
    ann.put("/memory/settings/%E7%A7%B0%E5%91%BC", value(json!("老王"))).await;
    let hers = json!({ "language": "zh", "default_collections": ["manuals", "政策"], "称呼": "老王" });
    assert_eq!((settings(&ann).await, settings(&bob).await), (hers, json!({})));
    assert_eq!(ann.get("/memory/settings/language").await.json()["value"], "zh");
    let missing = problem(404, "not_found", &[]);
    assert_eq!(bob.get("/memory/settings/language").await.problem(), missing);
    assert_eq!(bob.delete("/memory/settings/language").await.problem(), missing);
    assert_eq!(ann.delete("/memory/settings/language").await.status, StatusCode::NO_CONTENT);
    assert_eq!(ann.delete("/memory/settings/language").await.problem(), missing);

    let replaced = ann.put("/memory/settings", json!({ "settings": { "tone": "brief", "Language": "English" } })).await;
    assert_eq!(replaced.json()["settings"].as_array().unwrap().len(), 2, "{}", replaced.text);
    assert_eq!(settings(&ann).await, json!({ "tone": "brief", "language": "en" }));
    for (path, body, expected) in [
        ("/memory/settings/a%2Fb", value(json!("x")), problem(422, "invalid_field", &["key"])),
        ("/memory/settings/tone", value(json!("")), problem(422, "invalid_field", &["value"])),
        ("/memory/settings/tone", value(json!("x".repeat(501))), problem(422, "invalid_field", &["value"])),
        ("/memory/settings/tone", value(json!(["a"])), problem(422, "invalid_field", &["value"])),
        ("/memory/settings/default_collections", value(json!([])), problem(422, "invalid_field", &["value"])),
        ("/memory/settings/tone", json!({ "value": "x", "user": "bob" }), problem(422, "unknown_field", &["user"])),
        (
            "/memory/settings",
            json!({ "settings": { "A": "1", "a": "2" } }),
            problem(422, "invalid_field", &["settings"]),
        ),
    ] {
        assert_eq!(ann.put(path, body.clone()).await.problem(), expected, "{path} {body}");
    }
    let many: serde_json::Map<String, Value> = (0..33).map(|no| (format!("k{no}"), json!("x"))).collect();
    let refused = ann.put("/memory/settings", json!({ "settings": many })).await;
    assert_eq!(refused.problem(), problem(409, "too_many_settings", &[]));
    assert_eq!(settings(&ann).await, json!({ "tone": "brief", "language": "en" }), "all stays as it was");
    let most: serde_json::Map<String, Value> = (0..32).map(|no| (format!("k{no}"), json!("x"))).collect();
    ann.put("/memory/settings", json!({ "settings": most })).await;
    let refused = ann.put("/memory/settings/one_more", value(json!("x"))).await;
    assert_eq!(refused.problem(), problem(409, "too_many_settings", &[]));
    assert_eq!(ann.delete("/memory/settings").await.status, StatusCode::NO_CONTENT);
    assert_eq!(settings(&ann).await, json!({}));
}

#[tokio::test]
async fn a_note_is_written_in_place_of_the_one_that_was_read() {
    let app = TestApp::scripted(vec![Reply::says(&["Hello."]), Reply::says(&["Hello again."])]).await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    ann.post("/chat", json!({ "message": "Hello", "session_id": "s" })).await;
    let path = "/sessions/s/note";
    assert_eq!(ann.get(path).await.json(), json!({ "session_id": "s", "note": "", "version": 0 }));
    let write = |note: &str, version: i64| json!({ "note": note, "version": version });
    let written = ann.put(path, write(" 问的是 Aurora X1。 ", 0)).await.json();
    assert_eq!((&written["note"], written["version"].as_i64() > Some(0)), (&json!("问的是 Aurora X1。"), true));
    assert_eq!(ann.get(path).await.json(), written);
    assert_eq!(ann.put(path, write("late", 0)).await.problem(), problem(409, "note_changed", &[]));
    let version = written["version"].as_i64().unwrap();
    assert_eq!(
        ann.put(path, write(&"很".repeat(501), version)).await.problem(),
        problem(422, "invalid_field", &["note"])
    );
    let again = ann.put(path, write("Aurora X1, black.", version)).await.json();
    assert!(again["version"].as_i64() > Some(version), "{again}");
    ann.post("/chat", json!({ "message": "Hello", "session_id": "s" })).await;
    let told = app.model.seen().last().unwrap().body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(told.ends_with("Aurora X1, black."), "{told}");
    assert_eq!(ann.delete(path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(ann.get(path).await.json()["note"], "");
    let missing = problem(404, "not_found", &[]);
    assert_eq!(bob.get(path).await.problem(), missing);
    assert_eq!(bob.put(path, write("his", 0)).await.problem(), missing);
    assert_eq!(bob.delete(path).await.problem(), missing);
}

#[tokio::test]
async fn episodes_are_read_and_erased_by_their_user() {
    let app = TestApp::with(Setup { model: Some(Arc::new(Builtin::new(None))), ..Setup::default() }).await;
    let (root, ann, bob) = (app.admin("root").await, app.user("ann").await, app.user("bob").await);
    root.upload("care.md", b"# Care\n\nThe filter of the Aurora X1 is cleaned every two weeks.\n", None).await;
    let ask = async |session: &str, message: &str| {
        ann.post("/chat", json!({ "message": message, "session_id": session })).await;
    };
    ask("a", "How often is the filter of the Aurora X1 cleaned?").await;
    ask("a", "open the ninth one").await;
    ask("b", "open the second one").await;
    let kinds = async |client: &As, query: &str| -> Vec<String> {
        let list = client.get(&format!("/memory/episodes{query}")).await.json();
        let word = |episode: &Value| format!("{} {}", episode["session_id"], episode["kind"]).replace('"', "");
        list["episodes"].as_array().unwrap_or_else(|| panic!("{list}")).iter().map(word).collect()
    };
    assert_eq!(kinds(&ann, "").await, ["b tool_error", "a tool_error", "a results"]);
    let list = ann.get("/memory/episodes?session_id=a").await.json();
    let (fault, results) = (&list["episodes"][0], &list["episodes"][1]);
    assert_eq!((&fault["tool"], &fault["code"]), (&json!("open_source"), &json!("out_of_range")));
    assert_eq!(results["sources"][0]["marker"], 1);
    assert!(!results.to_string().contains("two weeks"), "places, no text: {results}");
    let first = ann.get("/memory/episodes?limit=1").await.json();
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(kinds(&ann, &format!("?cursor={cursor}")).await.len(), 2);
    assert!(kinds(&bob, "").await.is_empty());
    let missing = problem(404, "not_found", &[]);
    assert_eq!(bob.get("/memory/episodes?session_id=a").await.problem(), missing);
    assert_eq!(bob.delete("/memory/episodes?session_id=a").await.problem(), missing);
    assert_eq!(bob.delete("/memory/episodes").await.status, StatusCode::NO_CONTENT);
    assert_eq!(ann.delete("/memory/episodes?session_id=a").await.status, StatusCode::NO_CONTENT);
    assert_eq!(kinds(&ann, "").await, ["b tool_error"]);
    ask("a", "open the first one").await;
    assert_eq!(kinds(&ann, "?session_id=a").await, ["a tool_error"], "what was erased cannot be opened");
}

#[tokio::test]
async fn the_tools_are_told_with_their_schemas() {
    let app = TestApp::start().await;
    let list = app.user("ann").await.get("/tools").await.json();
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search_knowledge_base", "list_sources", "open_source", "get_current_weather", "remember"]);
    for tool in tools {
        assert_eq!(tool["parameters"]["type"], "object", "{tool}");
        assert_eq!(tool["parameters"]["additionalProperties"], false, "{tool}");
        assert!(!tool["description"].as_str().unwrap().is_empty());
    }
    assert_eq!(tools[4]["parameters"]["required"], json!(["key", "value"]));
    assert_eq!(app.anyone().get("/tools").await.problem(), problem(401, "missing_token", &[]));
}

#[tokio::test]
async fn the_built_in_model_writes_in_the_language_that_is_wanted() {
    let app = TestApp::with(Setup { model: Some(Arc::new(Builtin::new(None))), ..Setup::default() }).await;
    let ann = app.user("ann").await;
    let ask = async |message: &str| ann.post("/chat", json!({ "message": message })).await.json()["response"].clone();
    assert_eq!(ask("Thanks!").await, "You're welcome.");
    ann.put("/memory/settings/language", json!({ "value": "Chinese" })).await;
    assert_eq!(ask("Thanks!").await, "不客气。");
    assert_eq!(ask("Who was the first king of Atlantis?").await, "文档中没有找到这个问题的答案。");
    assert_eq!(ask("Please answer in English from now on.").await, "I will answer in English from now on.");
    assert_eq!(ann.get("/memory/settings/language").await.json()["value"], "en");
    assert_eq!(ask("谁是亚特兰蒂斯的第一位国王？").await, "The documents do not contain an answer to this question.");
    assert_eq!(ask("以后用中文回答").await, "好的，以后我用中文回答。");
    assert_eq!(ask("Thanks!").await, "不客气。");
}
