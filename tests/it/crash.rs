//! `kill -9`, and what the next start makes of it: here while an answer streams, in `points` at every named point of a
//! turn, in `line` while turns wait for it, in `load` whenever; `jobs` does the same to documents, `reindex` to their vectors.

mod jobs;
#[cfg(feature = "failpoints")]
mod line;
mod load;
#[cfg(feature = "failpoints")]
mod points;
#[cfg(feature = "failpoints")]
mod reindex;
mod shelf;
mod talk;

pub(crate) use self::talk::MANUALS;

use serde_json::{Value, json};

use crate::support::{
    fake_openai::{FakeOpenAi, Reply},
    process::Server,
};

const QUESTION: &str = "How long is the warranty?";

fn model(server: &FakeOpenAi) -> [(&'static str, String); 2] {
    [("ASKBACK_LLM_BASE_URL", server.base_url.clone()), ("ASKBACK_MODEL", "scripted".into())]
}

async fn start(folder: &tempfile::TempDir, server: &FakeOpenAi, sample: bool) -> Server {
    let model = model(server);
    let mut variables: Vec<(&str, &str)> = model.iter().map(|(name, text)| (*name, text.as_str())).collect();
    variables.push(("ASKBACK_SAMPLE", if sample { "1" } else { "0" }));
    Server::start(folder.path(), &variables).await
}

fn has_text(frame: &Value, text: &str) -> bool {
    frame["type"] == "content" && frame["content"].as_str().is_some_and(|content| content.contains(text))
}

/// What was said, as the frames tell it.
fn said(frames: &[Value]) -> String {
    frames.iter().filter(|frame| frame["type"] == "content").filter_map(|frame| frame["content"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_keeps_what_was_seen_and_frees_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let llm = FakeOpenAi::start(vec![Reply::says_and_hangs(&["The warranty ", "lasts "])]).await;
    let server = start(&folder, &llm, false).await;
    let anna = server.register("anna").await;
    let body = json!({"message": QUESTION, "session_id": "s1"});
    let seen = server.stream_until(&anna, &body, |frame| has_text(frame, "lasts")).await;
    let run = seen[0]["run_id"].as_str().unwrap().to_owned();
    server.kill().await;

    let server = start(&folder, &llm, false).await;
    let state = server.get(&anna, &format!("/runs/{run}")).await;
    assert_eq!(state["status"], "interrupted");
    let kept = server.kept(&anna, &run).await;
    assert_eq!(kept[..seen.len()], seen[..]);
    assert_eq!(kept[kept.len() - 1]["error"]["code"], "interrupted");

    let session = server.get(&anna, "/sessions/s1").await;
    let shown: Vec<_> = session["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (&message["type"], &message["content"], &message["status"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("human"), &json!(QUESTION), &json!("completed")),
            (&json!("ai"), &json!(said(&seen)), &json!("interrupted")),
        ]
    );
    assert_eq!(session["active_run_id"], Value::Null);

    llm.script(vec![Reply::says(&["Two years."])]);
    let next = server.post(&anna, "/chat", &json!({"message": "Please go on.", "session_id": "s1"})).await;
    assert_eq!((&next["status"], &next["response"]), (&json!("completed"), &json!("Two years.")));
    assert_eq!(server.terminate().await, (Some(0), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_a_killed_turn_was_answering_is_open_again() {
    let folder = tempfile::tempdir().unwrap();
    let search = Reply::calls("search_knowledge_base", &json!({ "query": QUESTION }));
    let llm = FakeOpenAi::start(vec![search]).await;
    let server = start(&folder, &llm, true).await;
    let anna = server.register("anna").await;
    let asked = server.post(&anna, "/chat", &json!({"message": QUESTION, "session_id": "s1"})).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked:#}");
    let question = asked["hitl"]["id"].clone();

    llm.script(vec![Reply::says_and_hangs(&["It lasts "])]);
    let reply = json!({"message": "2", "session_id": "s1"});
    let seen = server.stream_until(&anna, &reply, |frame| has_text(frame, "It lasts")).await;
    assert_eq!(llm.seen().len(), 2, "a resume asks the model for the answer only");
    server.kill().await;

    let server = start(&folder, &llm, true).await;
    let session = server.get(&anna, "/sessions/s1").await;
    assert_eq!((&session["pending_hitl"]["id"], &session["pending_hitl"]["status"]), (&question, &json!("open")));
    let kept = server.kept(&anna, seen[0]["run_id"].as_str().unwrap()).await;
    assert_eq!(kept[..seen.len()], seen[..]);

    llm.script(vec![Reply::says(&["It lasts two years [1]."])]);
    let answered = server.post(&anna, "/chat", &reply).await;
    assert_eq!(answered["status"], "completed", "{answered:#}");
    assert_eq!(answered["rag_trace"]["hitl_resumed"], true);
    assert_eq!(server.get(&anna, "/sessions/s1").await["pending_hitl"], Value::Null);
}
