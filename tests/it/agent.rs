//! The agent's tools in a conversation: results that stay usable, and tools that fail.

use std::{sync::Arc, time::Duration};

use askback::domain::{
    chat::ChatStore,
    episode::{EpisodeStore, Remembered},
    error::{FaultCode, ToolError},
    id::Id,
    knowledge::{DocumentStore, Readers},
    model::{Prompt, ToolSpec},
    run::{RunKind, RunStatus},
    time::Clock as _,
    tool::{Tool, ToolContext, ToolOutcome},
};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{
    contract::store::on_both_engines,
    crash::MANUALS,
    support::{
        harness::Harness,
        model::{Say, ScriptedModel, call, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_result_is_opened_turns_later,
    results_are_listed_and_opened_in_the_turn_that_found_them,
    what_is_not_there_is_a_fault_that_is_remembered,
    another_branch_has_results_of_its_own,
    what_may_not_be_read_any_more_is_not_opened,
    an_opened_result_is_played_again,
    a_tool_that_panics_ends_no_turn,
    arguments_that_are_cut_are_told_with_the_schema,
}

const QUESTION: &str = "How long does the battery of the Aurora X1 take to charge?";

fn search() -> Vec<Say> {
    calls("search_knowledge_base", &json!({ "query": QUESTION }))
}

fn open(index: u32) -> Vec<Say> {
    calls("open_source", &json!({ "index": index }))
}

/// What the last tool said to the model.
fn tool_said(harness: &Harness) -> String {
    let seen = harness.model.seen();
    let mut results = seen.last().unwrap().messages.iter().rev();
    results
        .find_map(|message| match message {
            Prompt::Tool { content, .. } => Some(content.clone()),
            _ => None,
        })
        .expect("a tool has answered")
}

/// Over two manuals, after a search and its answer.
async fn after_a_search(test: &TestStore, then: impl IntoIterator<Item = Vec<Say>>) -> Harness {
    let replies = [search(), says(&["Two hours [1]."])].into_iter().chain(then);
    let harness = Harness::over_files(test, ScriptedModel::new(replies), &MANUALS).await;
    assert_eq!(harness.ask(QUESTION).await.citations.len(), 1);
    harness
}

/// Kinds of what is remembered, newest first, with the class of a fault.
async fn remembered(harness: &Harness) -> Vec<String> {
    let episodes = harness.store.episodes(harness.user.id, None, None, 100).await.unwrap();
    let called = |what: Remembered| match what {
        Remembered::Results { sources } => format!("results {}", sources.len()),
        Remembered::ToolError { tool, fault } => format!("{tool} {}", fault.code.as_str()),
    };
    episodes.into_iter().map(|episode| called(episode.what)).collect()
}

async fn a_result_is_opened_turns_later(test: &mut TestStore) {
    let harness = after_a_search(test, [says(&["You're welcome."]), open(1), says(&["It says: two hours [1]."])]).await;
    harness.ask("Thanks").await;
    let opened = harness.ask("open the first one").await;
    assert_eq!(opened.status, RunStatus::Completed);
    let said = tool_said(&harness);
    assert!(said.starts_with("[1] aurora-x1.md:\n") && said.contains("charges in two hours"), "{said}");
    assert!(said.contains("24 months"), "the whole section, not the passage alone: {said}");
    let trace = opened.rag_trace.unwrap();
    assert_eq!((trace.tool_name.as_deref(), trace.retrieved_chunks.unwrap().len()), (Some("open_source"), 1));
    let [citation] = opened.citations.as_slice() else { panic!("{:?}", opened.citations) };
    assert!(citation.quote.contains("two hours"), "{citation:?}");
    let readable = harness.store.readable(harness.user.id, None).await.unwrap();
    let (document, version) = (citation.document_id, citation.version);
    let stored = harness.store.text(&readable, document, version, citation.start, citation.end).await.unwrap();
    assert_eq!(stored, citation.quote);
    // What was opened is not what was found: the list stays.
    let found = remembered(&harness).await;
    assert!(found.len() == 1 && found[0].starts_with("results "), "{found:?}");
}

async fn results_are_listed_and_opened_in_the_turn_that_found_them(test: &mut TestStore) {
    let replies = [
        search(),
        calls("list_sources", &json!({})),
        open(1),
        says(&["The section says so [2], and nothing else does [99]."]),
    ];
    let harness = Harness::over_files(test, ScriptedModel::new(replies), &MANUALS).await;
    let result = harness.ask(QUESTION).await;
    let seen = harness.model.seen();
    let listed = seen[2].messages.iter().rev().find_map(|message| match message {
        Prompt::Tool { name, content, .. } if name == "list_sources" => Some(content.clone()),
        _ => None,
    });
    let listed = listed.unwrap();
    assert!(listed.starts_with("Results of the last search:\n1. aurora-x1.md"), "{listed}");
    let found = listed.lines().count() - 1;
    assert!(tool_said(&harness).starts_with(&format!("[{}] ", found + 1)), "numbers of a turn go on");
    let trace = result.rag_trace.unwrap();
    assert_eq!((trace.query.as_deref(), trace.retrieved_chunks.unwrap().len()), (Some(QUESTION), found + 1));
    assert_eq!(result.citations.iter().map(|citation| citation.marker).collect::<Vec<_>>(), [2]);
    assert_eq!(remembered(&harness).await, [format!("results {found}")]);
}

async fn what_is_not_there_is_a_fault_that_is_remembered(test: &mut TestStore) {
    let harness = after_a_search(test, [open(50), says(&["There is no fiftieth result."])]).await;
    let result = harness.ask("open the fiftieth").await;
    assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "There is no fiftieth result."));
    let said = tool_said(&harness);
    assert!(said.starts_with("Error (out_of_range): the last search has "), "{said}");
    harness.clock.forward(Duration::from_secs(1));
    harness.move_to("fresh");
    harness.model.then(open(1));
    harness.model.then(says(&["Nothing was searched for yet."]));
    harness.ask("第一个").await;
    assert!(tool_said(&harness).starts_with("Error (no_results): "), "{}", tool_said(&harness));
    let remembered = remembered(&harness).await;
    assert_eq!(remembered[0], "open_source no_results");
    assert!(remembered.contains(&"open_source out_of_range".to_owned()), "{remembered:?}");
}

async fn another_branch_has_results_of_its_own(test: &mut TestStore) {
    let harness = after_a_search(test, [says(&["Hello."]), open(1), says(&["Nothing was searched for here."])]).await;
    let branch = harness.store.session(harness.user.id, "s1").await.unwrap();
    let answer = harness.store.message(harness.user.id, branch.active_leaf.unwrap()).await.unwrap();
    harness.from(RunKind::Edit(answer.parent.unwrap()), "Hello").await.unwrap().finish().await.unwrap();
    harness.ask("open the first one").await;
    assert!(tool_said(&harness).starts_with("Error (no_results): "), "{}", tool_said(&harness));
}

async fn what_may_not_be_read_any_more_is_not_opened(test: &mut TestStore) {
    let harness = after_a_search(
        test,
        [calls("list_sources", &json!({})), says(&["They are gone."]), open(1), says(&["It is gone."])],
    )
    .await;
    let nobody = Readers::Listed { users: vec![], groups: vec![] };
    harness.store.set_readers("default", Id::at(harness.clock.now()), &nobody, harness.clock.now()).await.unwrap();
    harness.ask("list the sources").await;
    let listed = tool_said(&harness);
    assert!(listed.contains("\n1. (no longer available)") && !listed.contains("aurora"), "{listed}");
    harness.ask("open the first one").await;
    assert!(tool_said(&harness).starts_with("Error (gone): "), "{}", tool_said(&harness));
}

async fn an_opened_result_is_played_again(test: &mut TestStore) {
    let replies = [search(), says(&["Two hours [1]."]), open(1), says(&["Two hours [1]."]), open(70), says(&["No."])];
    let harness = Harness::over_files(test, ScriptedModel::new(replies), &MANUALS)
        .await
        .recording(askback::services::record::Keeping::default());
    harness.ask(QUESTION).await;
    let runs = [harness.ask("open the first one").await.run_id, harness.ask("the seventieth").await.run_id];
    harness.store.forget_episodes(harness.user.id, None).await.unwrap();
    harness.chat.shutdown(Duration::from_secs(10)).await;
    for run in runs {
        let replay = harness.chat.replay(run, false).await.unwrap();
        assert!(replay.equal, "{replay:#?}");
    }
}

/// A tool with a defect.
struct Defective(ToolSpec);

#[async_trait]
impl Tool for Defective {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &ToolContext, _: Value) -> Result<ToolOutcome, ToolError> {
        panic!("a defect")
    }
}

async fn a_tool_that_panics_ends_no_turn(test: &mut TestStore) {
    let search = search();
    let model = ScriptedModel::new([search, says(&["The search failed."])]);
    let parameters = json!({ "type": "object", "properties": { "query": { "type": "string" } } });
    let spec = ToolSpec { name: "search_knowledge_base".into(), description: String::new(), parameters };
    let harness = Harness::over_files(test, model, &MANUALS).await.searching_with(Arc::new(Defective(spec))).await;
    let result = harness.ask(QUESTION).await;
    assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "The search failed."));
    assert!(tool_said(&harness).starts_with("Error (failed): "), "{}", tool_said(&harness));
    assert_eq!(remembered(&harness).await, ["search_knowledge_base failed"]);
}

async fn arguments_that_are_cut_are_told_with_the_schema(test: &mut TestStore) {
    let cut = |id: &str, name: &str, arguments: &str| Say::Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let wrong = vec![
        cut("a", "search_knowledge_base", r#"{"query": "How long"#),
        cut("b", "open_source", ""),
        cut("c", "open_file", "{}"),
        call("d", "open_source", &json!({ "index": 1, "user": "bob" })),
    ];
    let model = ScriptedModel::new([wrong, says(&["I could not look."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await;
    assert_eq!(harness.ask(QUESTION).await.response, "I could not look.");
    let seen = harness.model.seen();
    let said: Vec<&str> = seen[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Prompt::Tool { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    for (said, (code, holds)) in said.iter().zip([
        (FaultCode::InvalidArguments, "not JSON"),
        (FaultCode::InvalidArguments, "`index` is missing"),
        (FaultCode::UnknownTool, "list_sources, open_source"),
        (FaultCode::InvalidArguments, "`user` is not known"),
    ]) {
        let begins = format!("Error ({}): ", code.as_str());
        assert!(said.starts_with(&begins) && said.contains(holds), "{said}");
        assert!(code == FaultCode::UnknownTool || said.contains(r#""required":["#), "{said}");
    }
    assert_eq!(said.len(), 4);
}
