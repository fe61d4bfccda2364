//! What OpenAI clients are told: a whole answer, or the pieces of one.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{
    chat::{Citation, TurnResult},
    hitl::HitlView,
    id::RunId,
    model::Usage,
    time::Millis,
};

/// A model.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ModelView {
    #[schema(example = "askback")]
    pub(super) id: &'static str,
    /// Always `model`.
    pub(super) object: &'static str,
    /// Unix seconds.
    pub(super) created: i64,
    pub(super) owned_by: &'static str,
}

/// All models that have a name of their own here.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ModelList {
    /// Always `list`.
    pub(super) object: &'static str,
    pub(super) data: Vec<ModelView>,
}

/// What an answer and its pieces have in common.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct CompletionHead {
    id: String,
    /// Unix seconds.
    created: i64,
    /// As the request calls it.
    model: String,
}

impl CompletionHead {
    pub(super) fn new(run: RunId, now: Millis, model: String) -> Self {
        Self { id: format!("chatcmpl-{run}"), created: now.0.div_euclid(1000), model }
    }
}

/// A whole answer.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct Completion {
    #[serde(flatten)]
    head: CompletionHead,
    /// Always `chat.completion`.
    object: &'static str,
    /// One.
    choices: Vec<CompletionChoice>,
    usage: CompletionUsage,
    askback: CompletionExtension,
}

/// An answer.
#[derive(Serialize, ToSchema)]
struct CompletionChoice {
    index: u32,
    message: CompletionAnswer,
    /// Always null.
    logprobs: Option<String>,
    finish_reason: &'static str,
}

/// What it says.
#[derive(Serialize, ToSchema)]
struct CompletionAnswer {
    /// Always `assistant`.
    role: &'static str,
    /// The answer; of a question the prompt, and its options as a numbered list.
    content: String,
    /// Always null.
    refusal: Option<String>,
}

/// A piece of an answer.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct CompletionChunk {
    #[serde(flatten)]
    head: CompletionHead,
    /// Always `chat.completion.chunk`.
    object: &'static str,
    /// One; none beside `usage`.
    choices: Vec<CompletionDeltaChoice>,
    /// On the last one, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CompletionUsage>,
    /// On the one with a `finish_reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    askback: Option<CompletionExtension>,
}

/// A piece of an answer, as a choice.
#[derive(Serialize, ToSchema)]
struct CompletionDeltaChoice {
    index: u32,
    delta: CompletionDelta,
    /// On the last one.
    finish_reason: Option<&'static str>,
}

/// What is new of it.
#[derive(Default, Serialize, ToSchema)]
struct CompletionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// Tokens.
#[derive(Serialize, ToSchema)]
pub(super) struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        let Usage { prompt_tokens, completion_tokens } = usage;
        Self { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
    }
}

/// What this shape has no place for.
#[derive(Serialize, ToSchema)]
struct CompletionExtension {
    /// Where the conversation can be read.
    session_id: String,
    /// The turn.
    run_id: RunId,
    /// The question, where the answer is one. The user's next message answers it.
    hitl: Option<HitlView>,
    /// What the answer's markers point at.
    citations: Vec<Citation>,
}

impl From<TurnResult> for CompletionExtension {
    fn from(result: TurnResult) -> Self {
        Self { session_id: result.session_id, run_id: result.run_id, hitl: result.hitl, citations: result.citations }
    }
}

impl Completion {
    /// The answer that `result` is, of which the client reads `content`.
    pub(super) fn new(head: CompletionHead, result: TurnResult, content: String) -> Self {
        let message = CompletionAnswer { role: "assistant", content, refusal: None };
        let finish_reason = finish_reason(result.finish_reason.as_deref());
        Self {
            head,
            object: "chat.completion",
            choices: vec![CompletionChoice { index: 0, message, logprobs: None, finish_reason }],
            usage: result.usage.into(),
            askback: result.into(),
        }
    }
}

impl CompletionChunk {
    fn new(head: &CompletionHead, choices: Vec<CompletionDeltaChoice>) -> Self {
        Self { head: head.clone(), object: "chat.completion.chunk", choices, usage: None, askback: None }
    }

    fn delta(head: &CompletionHead, delta: CompletionDelta, finish_reason: Option<&'static str>) -> Self {
        Self::new(head, vec![CompletionDeltaChoice { index: 0, delta, finish_reason }])
    }

    /// Says who speaks.
    pub(super) fn first(head: &CompletionHead) -> Self {
        let delta = CompletionDelta { role: Some("assistant"), content: Some(String::new()) };
        Self::delta(head, delta, None)
    }

    /// A piece of text.
    pub(super) fn text(head: &CompletionHead, piece: String) -> Self {
        Self::delta(head, CompletionDelta { role: None, content: Some(piece) }, None)
    }

    /// Says why it ends.
    pub(super) fn last(head: &CompletionHead, result: TurnResult) -> Self {
        let reason = finish_reason(result.finish_reason.as_deref());
        let askback = Some(result.into());
        Self { askback, ..Self::delta(head, CompletionDelta::default(), Some(reason)) }
    }

    /// Says what it cost.
    pub(super) fn usage(head: &CompletionHead, usage: Usage) -> Self {
        Self { usage: Some(usage.into()), ..Self::new(head, Vec::new()) }
    }
}

/// One of the words that OpenAI clients know; a turn that was stopped has none of its own.
fn finish_reason(reason: Option<&str>) -> &'static str {
    match reason {
        Some("length") => "length",
        Some("content_filter") => "content_filter",
        _ => "stop",
    }
}

/// What a client reads of a turn that it has heard nothing of.
pub(super) fn content(result: &TurnResult) -> String {
    match &result.hitl {
        Some(question) => numbered(question),
        None => result.response.clone(),
    }
}

/// A question as text: its options have numbers, by which they can be chosen.
fn numbered(question: &HitlView) -> String {
    let mut text = question.prompt.clone();
    for (option, number) in question.options.iter().zip(1..) {
        // A blank line before the list.
        text.push_str(if number == 1 { "\n\n" } else { "\n" });
        text.push_str(&format!("{number}. {option}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_a_reason_that_clients_know() {
        let reasons = [None, Some("stop"), Some("length"), Some("content_filter"), Some("tool_calls"), Some("eos")];
        assert_eq!(reasons.map(finish_reason), ["stop", "stop", "length", "content_filter", "stop", "stop"]);
    }
}
