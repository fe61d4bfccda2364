//! What cannot be done about a question is refused, and leaves nothing behind.

use std::time::Duration;

use askback::{
    adapters::{embed::builtin::Builtin as Vectors, llm::builtin::Builtin, storage::Engine},
    domain::{
        chat::{HitlAction, HitlReply, Refused},
        hitl::HitlStatus::{Answered, Dismissed, Superseded},
        id::HitlId,
    },
    services::chat::StartError,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{CLEAR, QUESTION, ask_back, by_id, desk, option, over_manuals};
use crate::{
    contract::store::on_both_engines,
    crash::MANUALS,
    support::{
        app::{Setup, TestApp},
        harness::{Harness, ScriptedSearch, asks},
        store::TestStore,
        tables,
    },
};

on_both_engines! {
    what_is_refused_writes_nothing,
}

async fn what_is_refused_writes_nothing(test: &mut TestStore) {
    let other = Harness::new(test, desk(), ScriptedSearch::new([asks()])).await;
    let foreign = ask_back(&other).await;
    let harness = over_manuals(test).await;
    let mut closed = Vec::new();
    for (session, reply, state) in [("a", "1", Answered), ("d", "never mind", Dismissed), ("s", CLEAR, Superseded)] {
        harness.move_to(session);
        closed.push((session, ask_back(&harness).await, state));
        harness.ask(reply).await;
    }
    harness.move_to("s1");
    let asked = ask_back(&harness).await;
    let unknown: HitlId = test.id();
    let valid: Vec<String> = asked.option_list.iter().map(|option| option.id.clone()).collect();
    let wrong =
        |ids: &[&str]| HitlReply { option_ids: ids.iter().map(|id| (*id).to_owned()).collect(), ..by_id(asked.id) };
    let cases = vec![
        (by_id(unknown), Refused::NotFound),
        (by_id(foreign.id), Refused::NotFound),
        (option(&foreign, 1), Refused::NotFound),
        (wrong(&["ffffffff"]), Refused::UnknownOption { option: "ffffffff".into(), valid: valid.clone() }),
        (wrong(&[&valid[0], ""]), Refused::UnknownOption { option: String::new(), valid: valid.clone() }),
        (HitlReply { id: None, ..wrong(&["x"]) }, Refused::UnknownOption { option: "x".into(), valid }),
    ];
    let mut cases: Vec<_> = cases.into_iter().map(|(reply, refusal)| ("s1", reply, refusal)).collect();
    for (session, question, state) in &closed {
        let dismissal = HitlReply { action: Some(HitlAction::Dismiss), ..by_id(question.id) };
        for reply in [by_id(question.id), option(question, 1), dismissal] {
            cases.push((session, reply, Refused::HitlNotOpen(*state)));
        }
        cases.push(("s1", by_id(question.id), Refused::NotFound));
    }
    let (rows, calls, history) =
        (tables::rows(&test.engine).await, harness.model.seen().len(), harness.history().await);
    let session = harness.chat.session(harness.user.id, "s1", 1).await.unwrap();
    for (session, reply, refusal) in cases {
        harness.move_to(session);
        let refused = harness.reply("Aurora X1", reply.clone()).await.map(|_| ()).unwrap_err();
        assert_eq!(refused, StartError::Refused(refusal), "{reply:?}");
    }
    harness.move_to("s1");
    harness.clock.forward(Duration::from_secs(24 * 60 * 60));
    for reply in [by_id(asked.id), option(&asked, 1), HitlReply { id: None, ..option(&asked, 1) }] {
        let refused = harness.reply("1", reply).await.map(|_| ()).unwrap_err();
        assert_eq!(refused, StartError::Refused(Refused::HitlExpired));
    }
    assert_eq!(tables::rows(&test.engine).await, rows);
    assert_eq!((harness.model.seen().len(), harness.history().await), (calls, history));
    let now = harness.chat.session(harness.user.id, "s1", 1).await.unwrap();
    assert_eq!(
        (now.session.updated_at, now.session.message_count),
        (session.session.updated_at, session.session.message_count)
    );
}

/// A server whose built-in model answers from the two manuals.
async fn server() -> TestApp {
    let model = Builtin::new(Some(std::sync::Arc::new(Vectors::load().unwrap())));
    let app = TestApp::with(Setup { model: Some(std::sync::Arc::new(model)), ..Setup::default() }).await;
    let admin = app.admin("root").await;
    for (name, text) in MANUALS {
        let uploaded = admin.upload(name, text.as_bytes(), None).await;
        assert_eq!(uploaded.status, StatusCode::OK, "{}", uploaded.text);
    }
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn the_codes_of_the_wire() {
    let app = server().await;
    let engine = Engine::Sqlite { folder: app.folder.clone() };
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let ask = |session: &str, message: &str, hitl: Value| {
        let mut body = json!({"message": message, "session_id": session});
        if !hitl.is_null() {
            body["hitl"] = hitl;
        }
        body
    };
    let asked = ann.post("/chat", ask("s", QUESTION, Value::Null)).await.json();
    assert_eq!(asked["status"], "awaiting_input");
    assert_eq!(asked["hitl"]["options"], json!(["Aurora X1", "Borealis Z9"]));
    assert_eq!(asked["response"], "Which product do you mean?\n\n- Aurora X1\n- Borealis Z9");
    assert_eq!((&asked["hitl"]["status"], &asked["hitl"]["round"]), (&json!("open"), &json!(1)));
    assert_eq!(asked["rag_trace"]["retrieval_status"], "needs_scope_selection");
    let foreign = bob.post("/chat", ask("s", QUESTION, Value::Null)).await.json()["hitl"]["id"].clone();
    let declined = ann.post("/chat", ask("t", QUESTION, Value::Null)).await.json()["hitl"]["id"].clone();
    ann.post("/chat", ask("t", "", json!({"id": declined, "action": "dismiss"}))).await;
    let id = asked["hitl"]["id"].clone();
    let valid: Vec<Value> =
        asked["hitl"]["option_list"].as_array().unwrap().iter().map(|option| option["id"].clone()).collect();

    let rows = tables::rows(&engine).await;
    let unknown = "01890000-0000-7000-8000-000000000000";
    for (session, hitl, status, code) in [
        ("s", json!({"id": "no id"}), 404, "not_found"),
        ("s", json!({"id": unknown}), 404, "not_found"),
        ("s", json!({"id": foreign}), 404, "not_found"),
        ("new", json!({"id": id}), 404, "not_found"),
        ("t", json!({"id": declined}), 409, "hitl_not_open"),
        ("s", json!({"id": id, "option_ids": ["nope"]}), 422, "unknown_option"),
        ("s", json!({"id": id, "action": "approve"}), 422, "invalid_field"),
        ("s", json!({"id": id, "action": "decline", "option_ids": [valid[0]]}), 422, "invalid_field"),
        ("s", json!({"id": id, "action": "dismiss", "option_ids": [valid[0]]}), 422, "invalid_field"),
        ("s", json!({"action": "dismiss", "option_ids": [valid[0]]}), 422, "invalid_field"),
        ("s", json!({"id": id, "action": "dismiss", "option_ids": [valid[0]], "arguments": {}}), 422, "invalid_field"),
    ] {
        for door in ["/chat", "/chat/stream"] {
            let refused = ann.post(door, ask(session, "1", hitl.clone())).await;
            let (seen, named, _) = refused.problem();
            assert_eq!((seen, named.as_str()), (status, code), "{door} {hitl}");
            if code == "unknown_option" {
                assert_eq!(refused.json()["errors"][0]["valid"], json!(valid));
            }
            if code == "hitl_not_open" {
                assert!(refused.json()["detail"].as_str().unwrap().contains("dismissed"), "the state is told");
            }
        }
    }
    let empty = ann.post("/chat", ask("s", "  ", json!({"id": id}))).await;
    assert_eq!(empty.problem().1, "invalid_field");
    app.clock.advance(Duration::from_secs(24 * 60 * 60));
    let admitted = app.bearer(ann_again(&app).await.as_str());
    let before = tables::rows(&engine).await;
    let late = admitted.post("/chat", ask("s", "1", json!({"id": id}))).await;
    assert_eq!((late.problem().0, late.problem().1.as_str()), (410, "hitl_expired"));
    assert_eq!(tables::rows(&engine).await, before);
    let grown: Vec<&String> =
        rows.iter().filter(|(table, count)| before[*table] != **count).map(|(table, _)| table).collect();
    assert_eq!(grown, ["refresh_tokens"], "of all that was refused nothing stayed");
    app.stop().await;
}

/// A day later the first token is no good any more.
async fn ann_again(app: &TestApp) -> String {
    let body = json!({"username": "ann", "password": crate::support::app::PASSWORD});
    app.anyone().post("/auth/login", body).await.json()["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_said_to_a_question_is_answered() {
    let app = server().await;
    let ann = app.user("ann").await;
    for (number, odd) in [
        "the purple one",
        "9",
        "Zephyr Q7",
        "!!!",
        "?",
        "……",
        "👍",
        "🤷‍♀️",
        "1/2",
        "-1",
        "asdf",
        "x".repeat(30_000).as_str(),
        "the Aurora ".repeat(2_500).as_str(),
        "。",
        "maybe",
        "I am not sure what that has to do with it",
    ]
    .into_iter()
    .enumerate()
    {
        for by_id in [false, true] {
            let session = format!("s{number}{by_id}");
            let asked = ann.post("/chat", json!({"message": QUESTION, "session_id": session})).await.json();
            let mut body = json!({"message": odd, "session_id": session});
            if by_id {
                body["hitl"] = json!({"id": asked["hitl"]["id"]});
            }
            let answer = ann.post("/chat", body).await;
            let shown: String = odd.chars().take(40).collect();
            assert_eq!(answer.status, StatusCode::OK, "{shown} {by_id}: {}", answer.text);
            let answer = answer.json();
            assert!(!answer["response"].as_str().unwrap().trim().is_empty(), "{shown} {by_id}");
            let verdict = &answer["rag_trace"]["hitl_reply_verdict"];
            let chosen = verdict["filters"].as_array().map_or(0, Vec::len);
            assert_eq!(chosen, 0, "{shown} {by_id} is no option: {verdict}");
        }
    }
    app.stop().await;
}
