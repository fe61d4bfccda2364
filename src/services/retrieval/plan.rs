//! Whether a question is searched for as a whole or in parts.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::model::ChatModel,
    text::{
        fold,
        parts::{self, parts},
        question::{Breadth, Question},
        words::words,
    },
};

use super::structured::structured;

/// Fewest and most parts of a complex question.
const PARTS: std::ops::RangeInclusive<usize> = 2..=parts::MOST;
/// Most words (Han characters count as words) of a question that is simple without a second look.
const SHORT: usize = 24;

/// How a question is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Empty: simple.
    pub parts: Vec<String>,
    /// For the trace.
    pub reason: String,
}

impl Plan {
    fn simple(reason: impl Into<String>) -> Self {
        Self { parts: Vec::new(), reason: reason.into() }
    }

    /// `simple` or `complex`.
    pub(crate) const fn complexity(&self) -> &'static str {
        if self.parts.is_empty() { "simple" } else { "complex" }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Complexity {
    Simple,
    Complex,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Reply {
    complexity: Complexity,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    sub_questions: Vec<String>,
}

/// Decides. Obvious single-fact questions need no model; the others are shown to the fast model if there is one, else
/// split where they consist of several questions.
pub(crate) async fn plan(text: &str, question: &Question, fast: Option<&Arc<dyn ChatModel>>) -> Plan {
    if is_obvious(text, question) {
        return Plan::simple("one short question");
    }
    let Some(model) = fast else { return by_rule(text) };
    let asked = format!("Question: {text}");
    match structured::<Reply>(model.as_ref(), "plan", include_str!("../prompts/plan.md"), asked).await {
        Ok(Reply { complexity: Complexity::Complex, reason, sub_questions }) => {
            let parts = tidy(sub_questions);
            if PARTS.contains(&parts.len()) { Plan { parts, reason } } else { Plan::simple(reason) }
        }
        Ok(Reply { complexity: Complexity::Simple, reason, .. }) => Plan::simple(reason),
        Err(problem) => {
            let plan = by_rule(text);
            Plan { reason: format!("{} (the model's plan {})", plan.reason, problem.as_str()), ..plan }
        }
    }
}

fn tidy(parts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for part in parts {
        let part = part.trim().to_owned();
        if !part.is_empty() && !kept.iter().any(|known| fold(known) == fold(&part)) {
            kept.push(part);
        }
    }
    kept.truncate(*PARTS.end());
    kept
}

/// Short, one question mark at most, nothing compared or listed, one thing asked.
fn is_obvious(text: &str, question: &Question) -> bool {
    let marks = text.chars().filter(|c| matches!(c, '?' | '？')).count();
    marks <= 1 && words(text).len() <= SHORT && question.breadth != Breadth::Compare && parts(text).len() < 2
}

/// Without a model: several questions in one text are several parts; a comparison is one search over both.
fn by_rule(text: &str) -> Plan {
    let parts = tidy(parts(text));
    if PARTS.contains(&parts.len()) {
        return Plan { reason: format!("{} questions in one", parts.len()), parts };
    }
    Plan::simple("one question")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_facts_are_simple_without_a_model() {
        for text in [
            "How long is the warranty?",
            "保修期多久？",
            "What does error E05 mean?",
            "Who approves trips and bookings?",
        ] {
            assert!(is_obvious(text, &Question::read(text)), "{text}");
        }
        for text in [
            "Compare the warranty of the Aurora and the Borealis.",
            "How long is the warranty? And how much is the plan?",
        ] {
            assert!(!is_obvious(text, &Question::read(text)), "{text}");
        }
    }
}
