//! Sessions: found, read as trees and backwards, renamed, cut back, rated, exported.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{
    app::{As, Setup, TestApp, problem},
    fake_openai::Reply,
};

const NOBODYS: &str = "01890000-0000-7000-8000-000000000000";

async fn app(answers: &[&str]) -> (TestApp, As) {
    let app = TestApp::scripted(answers.iter().map(|answer| Reply::says(&[answer])).collect()).await;
    let ada = app.user("ada").await;
    (app, ada)
}

async fn say(client: &As, session: &str, parent: Option<&Value>, message: &str) -> Value {
    let mut body = json!({"session_id": session, "message": message});
    if let Some(parent) = parent {
        body["parent_id"] = parent["message_id"].clone();
    }
    let answer = client.post("/chat", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

fn texts(answer: &Value) -> Vec<&str> {
    answer["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

/// `root`, and under its answer `one` and `two`, of which the last is shown.
async fn fork(client: &As) -> [Value; 3] {
    let root = say(client, "s", None, "root").await;
    let one = say(client, "s", Some(&root), "one").await;
    let two = say(client, "s", Some(&root), "two").await;
    [root, one, two]
}

fn of(id: &Value) -> String {
    format!("/sessions/s/messages/{}", id.as_str().unwrap())
}

#[tokio::test]
async fn a_tree_and_its_branches() {
    let (_app, ada) = app(&["r", "1", "2"]).await;
    let [root, one, two] = fork(&ada).await;
    let tree = ada.get("/sessions/s/tree").await.json();
    assert_eq!(texts(&tree), ["root", "r", "one", "1", "two", "2"]);
    assert_eq!((&tree["active_message_id"], &tree["next_cursor"]), (&two["message_id"], &Value::Null));
    assert_eq!(tree["messages"][4]["parent_id"], root["message_id"]);
    assert_eq!(tree["messages"][4]["siblings"], json!({"index": 1, "count": 2}));
    let (mut path, mut pages) = ("/sessions/s/tree?limit=4".to_owned(), Vec::new());
    loop {
        let page = ada.get(&path).await.json();
        pages.extend(page["messages"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/sessions/s/tree?limit=4&cursor={cursor}");
    }
    assert_eq!(Value::from(pages), tree["messages"]);

    let shown = ada.patch("/sessions/s", json!({"active_message_id": one["user_message_id"]})).await;
    assert_eq!((shown.status, &shown.json()["session_id"]), (StatusCode::OK, &json!("s")));
    assert_eq!(texts(&ada.get("/sessions/s").await.json()), ["root", "r", "one", "1"]);
    assert_eq!(ada.get("/sessions/s/tree?limit=1").await.json()["active_message_id"], one["message_id"]);
}

#[tokio::test]
async fn a_long_branch_is_read_backwards() {
    let (_app, ada) = app(&["a1", "a2", "a3", "b"]).await;
    for question in ["q1", "q2", "q3"] {
        say(&ada, "s", None, question).await;
    }
    let (mut path, mut pages) = ("/sessions/s?limit=4".to_owned(), Vec::new());
    loop {
        let page = ada.get(&path).await.json();
        pages.push(texts(&page).join(" "));
        let Some(cursor) = page["previous_cursor"].as_str() else { break };
        path = format!("/sessions/s?limit=4&cursor={cursor}");
    }
    assert_eq!(pages, ["q2 a2 q3 a3", "q1 a1"]);
    say(&ada, "t", None, "elsewhere").await;
    let foreign = path.replace("/s?", "/t?");
    assert_eq!(ada.get(&foreign).await.problem(), problem(400, "invalid_cursor", &[]));
    assert_eq!(ada.get("/sessions/s?cursor=x").await.problem(), problem(400, "invalid_cursor", &[]));
}

#[tokio::test]
async fn a_session_is_renamed() {
    let (_app, ada) = app(&["a", "b"]).await;
    say(&ada, "s", None, "How long is it?").await;
    for (body, expected) in [
        (json!({"title": ""}), problem(422, "invalid_field", &["title"])),
        (json!({"title": " \n"}), problem(422, "invalid_field", &["title"])),
        (json!({"title": "x".repeat(201)}), problem(422, "invalid_field", &["title"])),
        (json!({"title": "a\u{0}b"}), problem(422, "invalid_field", &["title"])),
        (json!({"title": 5}), problem(422, "invalid_field", &["title"])),
        (json!({"name": "x"}), problem(422, "unknown_field", &["name"])),
        (json!({"active_message_id": NOBODYS}), problem(404, "not_found", &[])),
        (json!({"active_message_id": "none"}), problem(404, "not_found", &[])),
    ] {
        assert_eq!(ada.patch("/sessions/s", body.clone()).await.problem(), expected, "{body}");
    }
    assert_eq!(ada.patch("/sessions/t", json!({"title": "x"})).await.problem(), problem(404, "not_found", &[]));
    let title = "长".repeat(200);
    assert_eq!(ada.patch("/sessions/s", json!({"title": title})).await.json()["title"], title);
    say(&ada, "s", None, "And now?").await;
    assert_eq!(ada.get("/sessions/s").await.json()["title"], title);
    assert_eq!(ada.patch("/sessions/s", json!({})).await.json()["title"], title);
}

#[tokio::test]
async fn a_message_is_deleted_with_its_branch() {
    let (app, ada) = app(&["r", "1", "2"]).await;
    let [root, one, two] = fork(&ada).await;
    app.model.script(vec![Reply::says_and_hangs(&["So far"])]);
    let running = ada.request(Method::POST, "/chat/stream").json(&json!({"message": "Go on", "session_id": "s"}));
    let mut stream = running.send().await.unwrap();
    stream.chunk().await.unwrap().unwrap();
    let busy = ada.delete(&of(&one["message_id"])).await;
    assert_eq!(busy.problem(), problem(409, "turn_in_progress", &[]));
    let run = busy.json()["run_id"].as_str().unwrap().to_owned();
    ada.post(&format!("/runs/{run}/stop"), json!({})).await;
    drop(stream);

    let deleted = ada.delete(&of(&two["user_message_id"])).await;
    assert_eq!((deleted.status, &deleted.json()["active_message_id"]), (StatusCode::OK, &one["message_id"]));
    assert_eq!(ada.delete(&of(&two["user_message_id"])).await.problem(), problem(404, "not_found", &[]));
    assert_eq!(ada.get(&format!("/runs/{}", two["run_id"].as_str().unwrap())).await.status, StatusCode::NOT_FOUND);
    assert_eq!(texts(&ada.get("/sessions/s").await.json()), ["root", "r", "one", "1"]);
    let answer = ada.delete(&of(&one["message_id"])).await.json();
    assert_eq!(answer["active_message_id"], one["user_message_id"]);
    let everything = ada.delete(&of(&root["user_message_id"])).await.json();
    assert_eq!(everything["active_message_id"], Value::Null);
    let empty = ada.get("/sessions/s").await.json();
    assert_eq!((&empty["messages"], &empty["title"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn a_message_is_rated() {
    let (_app, ada) = app(&["a"]).await;
    let turn = say(&ada, "s", None, "How long?").await;
    let path = format!("{}/feedback", of(&turn["message_id"]));
    for (body, expected) in [
        (json!({}), problem(422, "invalid_field", &["rating"])),
        (json!({"rating": "good"}), problem(422, "invalid_field", &["rating"])),
        (json!({"rating": "up", "comment": "字".repeat(2001)}), problem(422, "invalid_field", &["comment"])),
        (json!({"rating": "up", "comment": "\u{0}"}), problem(422, "invalid_field", &["comment"])),
        (json!({"rating": "up", "stars": 5}), problem(422, "unknown_field", &["stars"])),
    ] {
        assert_eq!(ada.post(&path, body.clone()).await.problem(), expected, "{body}");
    }
    let shown = async || ada.get("/sessions/s").await.json()["messages"][1]["feedback"].clone();
    assert_eq!(shown().await, Value::Null);
    let comment = "字".repeat(2000);
    let rated = ada.post(&path, json!({"rating": "down", "comment": comment})).await;
    assert_eq!((rated.status, shown().await), (StatusCode::OK, json!({"rating": "down", "comment": comment})));
    ada.post(&path, json!({"rating": "up"})).await;
    assert_eq!(shown().await, json!({"rating": "up", "comment": null}));
}

#[tokio::test]
async fn sessions_are_found() {
    let (app, ada) = app(&["Two years.", "兩年。", "I do not know."]).await;
    let bea = app.user("bea").await;
    say(&ada, "en", None, "How long is the warranty?").await;
    say(&ada, "zh", None, "本產品的保養維修期限為多久？").await;
    say(&bea, "hers", None, "Tell me about warranties").await;
    let found = async |query: &str| {
        let page = ada.get(&format!("/sessions?q={query}")).await.json();
        let sessions = page["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| session["session_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("warranties").await, ["en"]);
    assert_eq!(found("ＹＥＡＲ").await, ["en"]);
    assert_eq!(found("保养维修").await, ["zh"]);
    assert_eq!(found("两年").await, ["zh"]);
    assert_eq!(found("价格").await, Vec::<String>::new());
    for query in ["", " ", &"x".repeat(201), "a\u{0}b"] {
        let answer = ada.get(&format!("/sessions?q={query}")).await;
        assert_eq!(answer.problem(), problem(422, "invalid_field", &["q"]), "{query:?}");
    }
}

#[tokio::test]
async fn a_session_is_exported() {
    let app = TestApp::with(Setup {
        script: vec![
            Reply::calls("search_knowledge_base", &json!({"query": "warranty"})),
            Reply::says(&["Two years [1]."]),
            Reply::says(&["Hello."]),
        ],
        ..Setup::default()
    })
    .await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    let upload = root.upload("手册_1.md", b"# Warranty\n\nThe warranty of the Aurora is two years.", None).await;
    assert_eq!(upload.status, StatusCode::OK, "{}", upload.text);
    let turn = say(&ada, "s", None, "How long is the *warranty* of the Aurora?").await;
    assert_eq!(turn["citations"][0]["marker"], 1, "{turn}");
    say(&ada, "s", Some(&turn), "Hello").await;
    ada.patch("/sessions/s", json!({"title": "../保修: \"一\"", "active_message_id": turn["message_id"]})).await;

    let file = ada.get("/sessions/s/export?format=json").await;
    assert_eq!(
        file.header("content-disposition"),
        "attachment; filename=\"____.json\"; filename*=UTF-8''%E4%BF%9D%E4%BF%AE%20%E4%B8%80.json"
    );
    assert_eq!(file.header("content-type"), "application/json");
    let whole = file.json();
    let tree = ada.get("/sessions/s/tree").await.json();
    assert_eq!(whole["messages"], tree["messages"]);
    assert_eq!((&whole["session_id"], &whole["message_count"]), (&json!("s"), &json!(4)));
    assert_eq!(ada.get("/sessions/s/export").await.text, file.text, "JSON unless it is said");

    let file = ada.get("/sessions/s/export?format=markdown").await;
    assert_eq!(file.header("content-type"), "text/markdown; charset=utf-8");
    let lines: Vec<&str> = file.text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[0], "# ../保修: \"一\"");
    assert!(lines[1].starts_with("## User, "), "{}", lines[1]);
    assert_eq!(lines[2], "How long is the *warranty* of the Aurora?");
    assert!(lines[3].starts_with("## Assistant (scripted), "), "{}", lines[3]);
    assert_eq!(lines[4..7], ["Two years [1].", "**Sources**", "- \\[1\\] 手册\\_1.md"]);
    let quote = turn["citations"][0]["quote"].as_str().unwrap();
    assert_eq!(lines[7], format!("  > {}", quote.lines().next().unwrap().replace('#', "\\#")));

    assert_eq!(ada.get("/sessions/s/export?format=pdf").await.problem(), problem(422, "invalid_field", &["format"]));
    assert_eq!(ada.get("/sessions/t/export").await.problem(), problem(404, "not_found", &[]));
}

#[tokio::test]
async fn questions_are_listed_with_their_moves() {
    let app = TestApp::scripted(vec![
        Reply::calls("search_knowledge_base", &json!({"query": "How long is the warranty?"})),
        Reply::says(&["36 months [1]."]),
    ])
    .await;
    let (root, ada) = (app.admin("root").await, app.user("ada").await);
    for (name, product, months) in [("aurora.md", "Aurora X1", 24), ("borealis.md", "Borealis Z9", 36)] {
        let manual = format!(
            "# {product} manual\n\n## Warranty\n\nThe warranty of the {product} is {months} months from the date of \
             purchase.\n"
        );
        assert_eq!(root.upload(name, manual.as_bytes(), None).await.status, StatusCode::OK);
    }
    let asked = say(&ada, "s", None, "How long is the warranty?").await;
    let list = ada.get("/sessions/s/hitl").await.json();
    let question = &list["questions"][0];
    for (field, value) in asked["hitl"].as_object().unwrap() {
        assert_eq!(&question[field], value, "{field}");
    }
    assert_eq!((&question["message_id"], &question["moves"]), (&asked["message_id"], &json!([])));
    let answered = say(&ada, "s", None, "2").await;
    let list = ada.get("/sessions/s/hitl").await.json();
    let question = &list["questions"][0];
    assert_eq!((&question["status"], &list["next_cursor"]), (&json!("answered"), &Value::Null));
    assert_eq!(question["answered_by"], answered["user_message_id"]);
    let moves: Vec<_> = question["moves"].as_array().unwrap().iter().map(|step| (&step["from"], &step["to"])).collect();
    assert_eq!(moves, [(&json!("open"), &json!("taken")), (&json!("taken"), &json!("answered"))]);
    assert_eq!(ada.get("/sessions/t/hitl").await.problem(), problem(404, "not_found", &[]));
}
