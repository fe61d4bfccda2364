//! What users want remembered, in their turns.

use std::sync::Arc;

use askback::domain::{
    chat::ChatStore,
    memory::MemoryStore,
    model::Prompt,
    run::RunStatus,
    setting::{Setting, SettingStore, SettingValue},
    time::Clock as _,
};
use serde_json::json;

use crate::{
    contract::store::on_both_engines,
    support::{
        harness::{Harness, ScriptedSearch, nothing},
        model::{Say, ScriptedModel, call, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    what_is_remembered_is_told_in_every_session,
    what_cannot_be_remembered_is_a_fault,
    questions_go_to_the_preferred_collections,
    a_preference_of_collections_that_are_gone_hides_nothing,
    askback_speaks_the_preferred_language,
    a_note_of_the_user_is_told_and_gone_on_with,
    remembering_is_not_done_again_when_played,
}

fn remember(key: &str, value: &str) -> Vec<Say> {
    calls("remember", &json!({ "key": key, "value": value }))
}

fn instructions(harness: &Harness) -> String {
    match &harness.model.seen().last().unwrap().messages[0] {
        Prompt::System { content } => content.clone(),
        other => panic!("{other:?}"),
    }
}

async fn over(test: &TestStore, replies: impl IntoIterator<Item = Vec<Say>>) -> Harness {
    Harness::new(test, ScriptedModel::new(replies), ScriptedSearch::new([])).await
}

async fn put(harness: &Harness, key: &str, value: SettingValue) {
    let setting = Setting { key: key.into(), value, updated_at: harness.clock.now() };
    assert!(harness.store.put_setting(harness.user.id, &setting, 32).await.unwrap());
}

async fn what_is_remembered_is_told_in_every_session(test: &mut TestStore) {
    let replies = [
        remember("Tone", "brief"),
        says(&["I will be brief."]),
        says(&["Hello."]),
        remember("tone", ""),
        says(&["Forgotten."]),
        says(&["Hello."]),
    ];
    let harness = over(test, replies).await;
    let other = over(test, [says(&["Hi."])]).await;
    harness.ask("Be brief from now on").await;
    harness.move_to("s2");
    harness.ask("Hello").await;
    assert!(instructions(&harness).contains("\n- tone: brief"), "{}", instructions(&harness));
    other.ask("Hello").await;
    assert!(!instructions(&other).contains("tone: brief"), "another user's");
    harness.ask("Forget the tone").await;
    harness.ask("Hello").await;
    assert!(!instructions(&harness).contains("tone: brief"), "{}", instructions(&harness));
}

async fn what_cannot_be_remembered_is_a_fault(test: &mut TestStore) {
    let wrong = vec![
        call("a", "remember", &json!({ "key": "a/b", "value": "x" })),
        call("b", "remember", &json!({ "key": "tone", "value": "x".repeat(501) })),
        call("c", "remember", &json!({ "key": "one more", "value": "x" })),
    ];
    let harness = over(test, [wrong, says(&["I cannot remember that."])]).await;
    for no in 0..32 {
        put(&harness, &format!("k{no}"), SettingValue::Text("x".into())).await;
    }
    assert_eq!(harness.ask("Remember all this").await.status, RunStatus::Completed);
    let seen = harness.model.seen();
    let said: Vec<&str> = seen[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Prompt::Tool { content, .. } => content.split_once("): ").map(|(class, _)| class),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["Error (invalid_arguments", "Error (invalid_arguments", "Error (full"]);
    assert_eq!(harness.store.settings(harness.user.id).await.unwrap().len(), 32);
}

const SHELF: [(&str, &str); 2] = [
    ("aurora/manual.md", "# Aurora X1\n\nThe warranty of the vacuum cleaner lasts 24 months.\n"),
    ("borealis/manual.md", "# Borealis Z9\n\nThe warranty of the vacuum cleaner lasts 36 months.\n"),
];

/// Searches for what it is asked and says what it found.
fn searching() -> Arc<ScriptedModel> {
    ScriptedModel::reacting(|request| match request.messages.last() {
        Some(Prompt::Tool { content, .. }) => says(&[content.as_str()]),
        Some(Prompt::User { content }) => calls("search_knowledge_base", &json!({ "query": content })),
        _ => says(&["?"]),
    })
}

async fn questions_go_to_the_preferred_collections(test: &mut TestStore) {
    let harness = Harness::over_files(test, searching(), &SHELF).await;
    put(&harness, "default_collections", SettingValue::Names(vec!["borealis".into()])).await;
    let question = "How long does the warranty of the vacuum cleaner last?";
    let preferred = harness.ask(question).await.response;
    assert!(preferred.contains("36 months") && !preferred.contains("24 months"), "{preferred}");
    let mut named = harness.submission(question);
    named.request.collections = Some(vec!["aurora".into()]);
    let named = harness.chat.start(named).await.unwrap().finish().await.unwrap().response;
    assert!(named.contains("24 months") && !named.contains("36 months"), "the request goes before: {named}");
}

async fn a_preference_of_collections_that_are_gone_hides_nothing(test: &mut TestStore) {
    let harness = Harness::over_files(test, searching(), &SHELF[..1]).await;
    put(&harness, "default_collections", SettingValue::Names(vec!["gone".into()])).await;
    let answer = harness.ask("How long does the warranty of the vacuum cleaner last?").await.response;
    assert!(answer.contains("24 months"), "{answer}");
}

async fn askback_speaks_the_preferred_language(test: &mut TestStore) {
    let search = || calls("search_knowledge_base", &json!({ "query": "q" }));
    let model = ScriptedModel::new([search(), says(&[" "]), search(), says(&[" "])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([nothing(), nothing()])).await;
    assert_eq!(harness.ask("Who won?").await.response, "I could not find an answer to this in the documents.");
    put(&harness, "language", SettingValue::Text("zh".into())).await;
    assert_eq!(harness.ask("Who won?").await.response, "在文档中没有找到这个问题的答案。");
}

async fn a_note_of_the_user_is_told_and_gone_on_with(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Noted."])), ScriptedSearch::new([])).await;
    harness.ask("Question 1?").await;
    let session = harness.store.session(harness.user.id, "s1").await.unwrap().id;
    let own = "Owns an Aurora X1.";
    harness.store.edit_note(harness.user.id, session, own, Some(0), harness.clock.now()).await.unwrap().unwrap();
    harness.ask("Question 2?").await;
    assert!(instructions(&harness).ends_with(own), "{}", instructions(&harness));
    for n in 3..=4 {
        harness.ask(&format!("Question {n}?")).await;
    }
    let note = harness.store.note(session).await.unwrap().unwrap();
    assert_eq!(note.body, format!("{own}\nAsked: Question 1?\nAnswered: Noted."));
    // What was erased does not come back.
    let erased = harness.store.edit_note(harness.user.id, session, "", Some(note.version), harness.clock.now()).await;
    assert_eq!(erased.unwrap().unwrap().upto_ord, note.upto_ord);
    harness.ask("Question 5?").await;
    let note = harness.store.note(session).await.unwrap().unwrap();
    assert_eq!(note.body, "Asked: Question 2?\nAnswered: Noted.");
}

async fn remembering_is_not_done_again_when_played(test: &mut TestStore) {
    let harness = over(test, [remember("tone", "brief"), says(&["Yes."])])
        .await
        .recording(askback::services::record::Keeping::default());
    let run = harness.ask("Be brief").await.run_id;
    harness.store.replace_settings(harness.user.id, &[]).await.unwrap();
    harness.chat.shutdown(std::time::Duration::from_secs(10)).await;
    let replay = harness.chat.replay(run, false).await.unwrap();
    assert!(replay.equal, "{replay:#?}");
    assert!(harness.store.settings(harness.user.id).await.unwrap().is_empty());
}
