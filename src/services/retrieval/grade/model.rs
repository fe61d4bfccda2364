//! A grading model's part: how relevant and how complete the evidence is. Its word on ambiguity is one feature among
//! others: it may name options, but only those that the evidence really distinguishes become options.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{
        evidence::{Ambiguity, Answerability, Passage, Relevance, Route},
        hitl::Choice,
        model::ChatModel,
    },
    text::{
        cut,
        lang::{Lang, detect},
    },
};

use super::{
    super::{
        facets::value_key,
        structured::{Unusable, structured},
    },
    builtin::Judged,
    case::OpenQuestion,
    choices::MOST,
};

/// Most characters of a passage that the model is shown.
const SHOWN: usize = 900;
/// Most characters of the model's prompt, and of an option that it names.
const MAX_PROMPT: usize = 200;
const MAX_NAMED: usize = 60;
/// Below this share of the best answer the evidence for asking outweighs a model that sees no ambiguity.
const SURE_TO_ASK: f32 = 0.6;

/// A model's judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Opinion {
    pub relevance: Relevance,
    pub answerability: Answerability,
    pub ambiguity: Ambiguity,
    /// 0 … 1.
    #[serde(default)]
    pub confidence: f32,
    #[serde(default)]
    pub missing_slots: Vec<String>,
    #[serde(default)]
    pub prompt: String,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub reason: String,
}

/// Asks the model about `passages`.
pub(crate) async fn ask(model: &Arc<dyn ChatModel>, question: &str, passages: &[Passage]) -> Result<Opinion, Unusable> {
    let mut shown = format!("Question: {question}\n\nPassages:\n");
    for (at, passage) in passages.iter().enumerate() {
        let title = passage.title.as_deref().unwrap_or(&passage.filename);
        let section = passage.section.as_deref().unwrap_or_default();
        shown.push_str(&format!("\n[{}] {title} {section}\n", at + 1));
        if let Some(header) = &passage.header {
            shown.push_str(header);
            shown.push('\n');
        }
        shown.push_str(cut(&passage.text, SHOWN));
        shown.push('\n');
    }
    structured(model.as_ref(), "grade", include_str!("../../prompts/grade.md"), shown).await
}

/// What both come to. The rules own the evidence, the model the reading of it. `lang` is the user's.
pub(crate) fn merge(mut judged: Judged, opinion: Opinion, lang: Lang) -> Judged {
    let by_rule = judged.answerability;
    judged.relevance = opinion.relevance;
    judged.answerability = opinion.answerability;
    judged.confidence = if opinion.confidence.is_finite() { opinion.confidence.clamp(0.0, 1.0) } else { 0.0 };
    let reason = cut(opinion.reason.trim(), 300);
    if opinion.ambiguity == Ambiguity::None {
        let keeps = judged.open.as_ref().is_some_and(|open| open.best_share < SURE_TO_ASK);
        if !keeps {
            judged.open = None;
            judged.ambiguity = Ambiguity::None;
        }
        judged.reason = if keeps { format!("{reason}; but {}", judged.reason) } else { reason.to_owned() };
        return judged;
    }
    match judged.open.take() {
        Some(open) => {
            judged.ambiguity = match open.question.route {
                Route::ScopeSelect => Ambiguity::MultipleCandidates,
                _ => Ambiguity::MissingSlot,
            };
            let unbacked = unbacked(&open, &opinion);
            judged.open = Some(worded(narrowed(open, &opinion), &opinion, &unbacked, lang));
            judged.reason = if unbacked.is_empty() {
                reason.to_owned()
            } else {
                format!("{reason}; no evidence for {}", unbacked.join(", "))
            };
        }
        None => {
            judged.ambiguity = Ambiguity::None;
            // A model that sees several readings finds each of them half answered.
            judged.answerability = judged.answerability.max(by_rule);
            judged.reason = format!("{reason}; overruled: the evidence does not tell several answers apart");
        }
    }
    judged
}

/// Whether a model's name for an option means this value.
fn means(named: &str, value: &str) -> bool {
    let (named, value) = (value_key(named), value_key(value));
    !named.is_empty() && (named.contains(&value) || value.contains(&named))
}

/// Options that the model named and no evidence distinguishes.
fn unbacked(open: &OpenQuestion, opinion: &Opinion) -> Vec<String> {
    let is_backed = |named: &str| open.question.options.iter().any(|option| means(named, &option.filter.value));
    let named = opinion.options.iter().map(|named| cut(named.trim(), MAX_NAMED)).filter(|named| !named.is_empty());
    named.filter(|named| !is_backed(named)).take(MOST).map(str::to_owned).collect()
}

/// The options that the model named too, if those are at least two.
fn narrowed(mut open: OpenQuestion, opinion: &Opinion) -> OpenQuestion {
    let is_named = |option: &&Choice| opinion.options.iter().any(|named| means(named, &option.filter.value));
    let matched: Vec<Choice> = open.question.options.iter().filter(is_named).cloned().collect();
    if matched.len() >= 2 {
        open.question.options = matched;
    }
    open
}

/// The question in the model's words, if they are in the user's language and name nothing that is not offered.
fn worded(mut open: OpenQuestion, opinion: &Opinion, unbacked: &[String], lang: Lang) -> OpenQuestion {
    let prompt = cut(opinion.prompt.trim(), MAX_PROMPT);
    let said = value_key(prompt);
    let names_unbacked = unbacked.iter().map(|named| value_key(named)).any(|key| said.contains(&key));
    if !prompt.is_empty() && detect(prompt) == lang && !names_unbacked {
        open.question.prompt = prompt.to_owned();
    }
    open
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        domain::{
            evidence::Guidance,
            hitl::Facet,
            id::{DocumentId, VersionId},
        },
        services::retrieval::grade::choices::{Candidate, Slot, options, question},
    };

    fn judged(labels: &[&str], best_share: f32) -> Judged {
        let candidates = labels
            .iter()
            .map(|label| Candidate {
                label: (*label).into(),
                documents: BTreeSet::from([DocumentId::derived(VersionId::from_uuid(uuid::Uuid::nil()), label)]),
                leaves: 1,
                mass: 1.0,
                filename: String::new(),
            })
            .collect();
        let slot = Slot { facet: Facet::Subject, is_product: true, name: None };
        let asked = question(Lang::En, Route::ScopeSelect, &slot, options(Facet::Subject, candidates), "q", 0);
        Judged {
            relevance: Relevance::Weak,
            answerability: Answerability::Partial,
            ambiguity: if labels.is_empty() { Ambiguity::None } else { Ambiguity::MultipleCandidates },
            confidence: 0.5,
            open: (!labels.is_empty()).then(|| OpenQuestion {
                question: asked,
                assumption: None,
                rules_out: BTreeSet::new(),
                best_share,
            }),
            guidance: Guidance::default(),
            per_value: Vec::new(),
            dropped: BTreeSet::new(),
            lead: Vec::new(),
            agreed: labels.is_empty(),
            lacks: Vec::new(),
            reason: String::new(),
            supports: Vec::new(),
        }
    }

    fn opinion(ambiguity: Ambiguity, options: &[&str]) -> Opinion {
        Opinion {
            relevance: Relevance::Strong,
            answerability: Answerability::Sufficient,
            ambiguity,
            confidence: 0.9,
            missing_slots: Vec::new(),
            prompt: String::new(),
            options: options.iter().map(|option| (*option).into()).collect(),
            reason: "r".into(),
        }
    }

    fn labels(judged: &Judged) -> Vec<&str> {
        judged.open.iter().flat_map(|open| &open.question.options).map(|option| option.label.as_str()).collect()
    }

    #[test]
    fn options_without_evidence_are_dropped() {
        let merged = merge(
            judged(&["A1", "B2", "C3"], 0.4),
            opinion(Ambiguity::MultipleCandidates, &["a1", "C3", "Z9"]),
            Lang::En,
        );
        assert_eq!(labels(&merged), ["A1", "C3"]);
        assert_eq!(merged.reason, "r; no evidence for Z9");
    }

    #[test]
    fn a_prompt_is_in_the_users_language_and_names_only_what_is_offered() {
        for (prompt, lang, expected) in [
            ("A1 or B2?", Lang::En, "A1 or B2?"),
            ("您指的是 A1 还是 B2？", Lang::En, "Which product do you mean?"),
            ("A1 or B2?", Lang::Zh, "Which product do you mean?"),
            ("A1, B2 or z9?", Lang::En, "Which product do you mean?"),
            ("", Lang::En, "Which product do you mean?"),
        ] {
            let said = Opinion { prompt: prompt.into(), ..opinion(Ambiguity::MultipleCandidates, &["A1", "B2", "Z9"]) };
            let open = merge(judged(&["A1", "B2"], 0.4), said, lang).open.unwrap();
            assert_eq!(open.question.prompt, expected, "{prompt}");
        }
    }

    #[test]
    fn half_an_answer_is_a_whole_one_where_there_is_one_reading() {
        let mut whole = judged(&[], 1.0);
        whole.answerability = Answerability::Sufficient;
        let mut said = opinion(Ambiguity::MissingSlot, &[]);
        said.answerability = Answerability::Partial;
        assert_eq!(merge(whole, said, Lang::En).answerability, Answerability::Sufficient);
    }

    #[test]
    fn ambiguous_over_evidence_that_points_one_way_is_overruled() {
        let merged = merge(judged(&[], 1.0), opinion(Ambiguity::MultipleCandidates, &["A1", "B2"]), Lang::En);
        assert_eq!(
            (merged.ambiguity, merged.open.is_none(), merged.relevance),
            (Ambiguity::None, true, Relevance::Strong)
        );
    }

    #[test]
    fn a_model_that_sees_no_ambiguity_is_heard_unless_the_evidence_is_even() {
        assert_eq!(labels(&merge(judged(&["A1", "B2"], 0.5), opinion(Ambiguity::None, &[]), Lang::En)), ["A1", "B2"]);
        assert_eq!(
            labels(&merge(judged(&["A1", "B2"], 0.65), opinion(Ambiguity::None, &[]), Lang::En)),
            Vec::<&str>::new()
        );
    }
}
