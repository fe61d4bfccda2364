//! Asking back, from the question to what became of it.

mod any_order;
mod branches;
mod lives;
mod meant;
mod races;
mod refusals;
mod resumes;

use std::sync::Arc;

use askback::domain::{
    chat::HitlReply,
    hitl::{HitlStatus, HitlView},
    id::HitlId,
    model::Prompt,
};
use serde_json::json;

use crate::{
    crash::MANUALS,
    support::{
        harness::Harness,
        model::{ScriptedModel, calls, says},
        store::TestStore,
    },
};

/// The manuals answer it differently.
const QUESTION: &str = "How long is the warranty?";
/// The manuals answer it differently, but it says which one is meant.
const CLEAR: &str = "How long does the battery of the Aurora X1 take to charge?";

/// A model that searches for what it is asked, and says that it has read it.
fn desk() -> Arc<ScriptedModel> {
    ScriptedModel::reacting(|request| match request.messages.last() {
        Some(Prompt::User { content }) if !request.tools.is_empty() => {
            calls("search_knowledge_base", &json!({ "query": content }))
        }
        _ => says(&["As it stands there [1]."]),
    })
}

/// Two manuals and that model.
async fn over_manuals(test: &TestStore) -> Harness {
    Harness::over_files(test, desk(), &MANUALS).await
}

/// Asks what is asked back.
async fn ask_back(harness: &Harness) -> HitlView {
    // Questions of one moment have no order.
    harness.clock.forward(std::time::Duration::from_millis(1));
    harness.ask(QUESTION).await.hitl.expect("it is asked back")
}

fn by_id(id: HitlId) -> HitlReply {
    HitlReply { id: Some(id), ..HitlReply::default() }
}

/// Chooses an option by its place.
fn option(view: &HitlView, place: usize) -> HitlReply {
    HitlReply { option_ids: vec![view.option_list[place - 1].id.clone()], ..by_id(view.id) }
}

/// Every question of the session as its owner reads it: how it stands, and the states that it went through.
async fn stories(harness: &Harness) -> Vec<(HitlStatus, Vec<HitlStatus>)> {
    let questions = harness.chat.questions(harness.user.id, &harness.session(), None, 100).await.unwrap();
    questions
        .into_iter()
        .map(|(question, moves)| {
            let mut states = vec![HitlStatus::Open];
            for step in moves {
                assert_eq!(states.last(), Some(&step.from), "no step is left out");
                states.push(step.to);
            }
            (question.status, states)
        })
        .collect()
}
