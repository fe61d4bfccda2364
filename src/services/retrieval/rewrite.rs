//! The second try: another text to search with.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{index::TermStats, model::ChatModel, trace::RagTrace},
    text::{cut, lang::Lang, question::Question, terms::term_id},
};

use super::structured::structured;

/// Most characters of the added text.
const LONGEST: usize = 600;

/// How the text came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// A more general question.
    StepBack,
    /// What an answering document might say. Serves the search only and is never evidence.
    Hyde,
}

/// A text to search with, beside the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Rewrite {
    /// How.
    pub method: Method,
    /// What.
    pub text: String,
}

impl Rewrite {
    /// The search text: the question plus this.
    pub(crate) fn search_text(&self, question: &str) -> String {
        format!("{question}\n{}", self.text)
    }

    /// Notes it in the trace.
    pub(crate) fn note(&self, search_text: &str, trace: &mut RagTrace) {
        trace.rewritten_query = Some(search_text.to_owned());
        match self.method {
            Method::StepBack => {
                trace.rewrite_method = Some("step_back".into());
                trace.step_back_question = Some(self.text.clone());
            }
            Method::Hyde => {
                trace.rewrite_method = Some("hyde".into());
                trace.hyde_document = Some(self.text.clone());
            }
        }
    }
}

/// Asks the model, else steps back by rule.
pub(crate) async fn rewrite(
    text: &str,
    question: &Question,
    stats: &TermStats,
    model: Option<&Arc<dyn ChatModel>>,
) -> Rewrite {
    if let Some(model) = model {
        let asked = format!("Question: {text}");
        let reply =
            structured::<Rewrite>(model.as_ref(), "rewrite", include_str!("../prompts/rewrite.md"), asked).await;
        if let Ok(Rewrite { method, text }) = reply
            && !text.trim().is_empty()
        {
            return Rewrite { method, text: cut(text.trim(), LONGEST).to_owned() };
        }
    }
    step_back(question, stats)
}

/// Leaves out what the documents do not know and what narrows: numbers, codes and words that occur nowhere. What is left
/// is the matter itself, which then weighs more.
fn step_back(question: &Question, stats: &TermStats) -> Rewrite {
    let known = |term: &str| stats.df(term_id(term)) > 0;
    let mut kept: Vec<&str> = question
        .content
        .iter()
        .filter(|word| !word.is_code && known(&word.term))
        .map(|word| word.text.as_str())
        .collect();
    if kept.is_empty() {
        kept = question.content.iter().map(|word| word.text.as_str()).collect();
    }
    let glue = if question.lang == Lang::Zh { "" } else { " " };
    Rewrite { method: Method::StepBack, text: kept.join(glue) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn stepping_back_keeps_the_matter() {
        let df = Arc::new([(term_id("warranti"), 2)].into());
        let stats = TermStats { generation: 1, points: 10, collections: vec![df] };
        let question = Question::read("How long is the warranty of the Cosmo Q5?");
        assert_eq!(step_back(&question, &stats), Rewrite { method: Method::StepBack, text: "warranty".into() });
    }
}
