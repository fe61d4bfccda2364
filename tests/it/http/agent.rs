//! The agent's tools from outside, with the built-in model.

use std::sync::Arc;

use askback::adapters::llm::builtin::Builtin;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::app::{As, Setup, TestApp};

const MANUAL: &str = "# Aurora X1\n\n## Warranty\n\nThe warranty of the Aurora X1 lasts 24 months.\n\n\
    ## Battery\n\nThe battery of the Aurora X1 charges in two hours.\n";
const OTHER: &str =
    "# 晨星 A5\n\n## 保修\n\n晨星 A5 的整机保修期为两年。\n\n## 电池\n\n晨星 A5 的电池充电需要三小时。\n";

async fn with_documents() -> TestApp {
    let app = TestApp::with(Setup { model: Some(Arc::new(Builtin::new(None))), ..Setup::default() }).await;
    let root = app.admin("root").await;
    for (name, text) in [("aurora.md", MANUAL), ("晨星.md", OTHER)] {
        let uploaded = root.upload(name, text.as_bytes(), None).await;
        assert_eq!(uploaded.status, StatusCode::OK, "{}", uploaded.text);
    }
    app
}

async fn ask(client: &As, session: &str, message: &str) -> Value {
    let answer = client.post("/chat", json!({ "message": message, "session_id": session })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn the_built_in_model_opens_and_lists_what_was_found() {
    let app = with_documents().await;
    let ann = app.user("ann").await;
    ask(&ann, "en", "How long is the warranty of the Aurora X1?").await;
    ask(&ann, "en", "Thanks!").await;
    let opened = ask(&ann, "en", "open the first one").await;
    let text = opened["response"].as_str().unwrap();
    assert!(text.starts_with("aurora.md: [1]\n\n"), "{text}");
    assert!(text.contains("24 months") && text.contains("two hours"), "{text}");
    let citation = &opened["citations"][0];
    let (document, start, end) = (citation["document_id"].as_str().unwrap(), &citation["start"], &citation["end"]);
    let stored = ann.get(&format!("/documents/{document}/text?version=1&start={start}&end={end}")).await.json();
    assert_eq!(stored["text"], citation["quote"]);
    let listed = ask(&ann, "en", "What are your sources?").await;
    assert!(
        listed["response"].as_str().unwrap().starts_with("The results of the last search:\n\n1. aurora.md"),
        "{listed}"
    );

    ask(&ann, "zh", "晨星 A5 的整机保修期多久？").await;
    let opened = ask(&ann, "zh", "打开第一个").await;
    let text = opened["response"].as_str().unwrap();
    assert!(text.starts_with("《晨星.md》") && text.contains("三小时"), "{text}");
    let listed = ask(&ann, "zh", "列出来源").await;
    assert!(listed["response"].as_str().unwrap().starts_with("上次搜索的结果：\n\n1. 晨星.md"), "{listed}");
    let again = ask(&ann, "zh", "第一个").await;
    assert_eq!(again["response"], opened["response"]);
}

#[tokio::test]
async fn what_is_not_there_is_explained_in_the_users_language() {
    let app = with_documents().await;
    let ann = app.user("ann").await;
    let none = ask(&ann, "new", "open the second one").await;
    assert_eq!(none["response"], "There are no numbered results yet: ask a question first.");
    assert_eq!(none["status"], "completed");
    ask(&ann, "zh", "晨星 A5 的整机保修期多久？").await;
    let beyond = ask(&ann, "zh", "打开第12个").await;
    assert_eq!(beyond["response"], "上次搜索没有这个编号的结果；说“列出来源”可以看到有哪些。");
    // A question about something second is a question.
    let question = ask(&ann, "zh", "晨星 A5 的电池充电第二次需要几小时？").await;
    assert!(question["rag_trace"]["query"].is_string(), "{question}");
}
