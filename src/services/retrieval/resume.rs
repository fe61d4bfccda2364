//! The resume of an answered question: no plan, no agent; the original question, narrowed by all answers.

use std::collections::BTreeSet;

use crate::{
    domain::{
        error::TurnError,
        evidence::{Evidence, Finding, Route},
        hitl::{Answer, Facet, Record},
        id::DocumentId,
        index::Filter,
        trace::RagTrace,
    },
    text::{lang::of_reply, question::Question},
};

use super::{
    Ask, Found, Retrieval,
    grade::choices::MOST,
    resolve::Resolved,
    route::status,
    step::{Outcome, Work},
};

impl Retrieval {
    /// Goes on with a question that was answered. `record` holds the new answer as its last; `round` is the round that
    /// was answered, from 1; `asked` are the fingerprints of all questions of the chain, which are not asked again.
    /// Past `max_rounds` the best-supported answer is given, with its assumption, or an honest "not found".
    ///
    /// # Errors
    /// As [`Retrieval::search`].
    pub async fn resume(
        &self,
        record: &Record,
        round: u32,
        ask: &Ask<'_>,
        asked: &[String],
    ) -> Result<Found, TurnError> {
        let resolved = resolved(record);
        let filter = filter(&record.answers);
        let may_ask = ask.may_ask && round < self.config.max_rounds && !ruled_all_out(&record.answers);
        let last = record.answers.last();
        // "hmm" is no part of the question.
        let question = record.question.original_question.as_str();
        let message = if last.is_some_and(Answer::says_nothing) { question } else { ask.message };
        let narrowed = Ask { question, message, may_ask, ..*ask };
        let mut trace = RagTrace {
            tool_used: false,
            query: Some(record.question.original_question.clone()),
            retrieval_stage: Some("resume".into()),
            hitl_resumed: true,
            hitl_answer: last.map(|answer| answer.text.clone()),
            hitl_resume_strategy: Some("targeted_retrieval".into()),
            hitl_resume_from_status: Some(record.question.status()),
            hitl_resume_from_route: Some(record.question.route),
            ..RagTrace::default()
        };
        let labels = record.question.options.iter().map(|option| option.label.as_str());
        let work = Work {
            rewrites: record.question.rewrite_count,
            lang: of_reply(ask.message, labels, &record.question.original_question),
            asked,
            ..Work::new(&narrowed, &resolved, &record.answers, filter)
        };
        let mut outcome = if is_exhausted(record) {
            Outcome { reason: "nothing that the documents tell apart is meant".into(), ..Outcome::nothing() }
        } else {
            self.work(&work, &mut trace).await?
        };
        trace.hitl_targeted_retrieved_chunks = Some(outcome.retrieved.clone());
        // None of those: what would be asked about again is not what is meant either.
        if ruled_all_out(&record.answers)
            && let Finding::Answer(evidence) = &outcome.finding
            && evidence.guidance.assumption.is_some()
        {
            outcome = Outcome { confidence: outcome.confidence, reason: outcome.reason, ..Outcome::nothing() };
        }
        // The user pointed at the very thing: what little is there about it is the best-supported answer.
        if outcome.finding == Finding::NoKnowledge
            && chose_something(&record.answers)
            && !outcome.retrieved.is_empty()
            && outcome.confidence > 0.0
            && outcome.relevance != crate::domain::evidence::Relevance::None
        {
            outcome.route = Route::Answer;
            outcome.status = status(Route::Answer, outcome.answerability);
            outcome.finding = Finding::Answer(Evidence {
                passages: outcome.retrieved.clone(),
                question: resolved.text.clone(),
                ..Evidence::default()
            });
        }
        Ok(outcome.into_found(trace))
    }
}

/// The question with the words of its answers. Prompts of askback are no search text.
fn resolved(record: &Record) -> Resolved {
    let original = &record.question.original_question;
    let words: Vec<String> = record
        .answers
        .iter()
        .flat_map(|answer| {
            if answer.filters.is_empty() {
                vec![answer.words.clone()]
            } else {
                answer.filters.iter().map(|filter| filter.value.clone()).collect()
            }
        })
        .filter(|words| !words.trim().is_empty())
        .collect();
    let search_text = if words.is_empty() { original.clone() } else { format!("{original}\n{}", words.join("\n")) };
    let mut question = Question::read(original);
    for words in &words {
        question = question.following(&Question::read(words));
    }
    // Answers narrow; they are the question's own words now.
    for word in &mut question.content {
        word.is_borrowed = false;
    }
    question.is_follow_up = false;
    Resolved { text: original.clone(), search_text, question, leans_on: Vec::new() }
}

/// Documents that every answered round allows; several choices of one round are alternatives.
fn filter(answers: &[Answer]) -> Filter {
    let mut allowed: Option<BTreeSet<DocumentId>> = None;
    let mut except: BTreeSet<DocumentId> = BTreeSet::new();
    for answer in answers {
        except.extend(&answer.except_documents);
        let round: BTreeSet<DocumentId> =
            answer.filters.iter().flat_map(|filter| filter.documents.iter().copied()).collect();
        if round.is_empty() {
            continue;
        }
        allowed = Some(match allowed {
            None => round,
            Some(before) => before.intersection(&round).copied().collect(),
        });
    }
    Filter {
        documents: allowed.map(|allowed| allowed.into_iter().collect()),
        except_documents: except.into_iter().collect(),
        ..Filter::default()
    }
}

/// "None of these": searched again without them, and not asked further.
fn ruled_all_out(answers: &[Answer]) -> bool {
    answers.last().is_some_and(|answer| answer.none)
}

/// Whether all that the evidence held was offered and nothing else is said: what is left speaks of something else, and
/// would be an answer to no question. A full list may have left something out.
fn is_exhausted(record: &Record) -> bool {
    let says_no_more = record.answers.last().is_some_and(|answer| answer.none && answer.words.trim().is_empty());
    says_no_more && record.question.options.len() < MOST
}

fn chose_something(answers: &[Answer]) -> bool {
    answers.iter().any(|answer| answer.filters.iter().any(|filter| filter.facet != Facet::Kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        hitl::{OptionFilter, Question as Asked},
        id::VersionId,
    };

    fn document(name: &str) -> DocumentId {
        DocumentId::derived(VersionId::from_uuid(uuid::Uuid::nil()), name)
    }

    fn answer(words: &str, values: &[(&str, &[&str])]) -> Answer {
        Answer {
            text: words.into(),
            filters: values
                .iter()
                .map(|(value, documents)| OptionFilter {
                    facet: Facet::Subject,
                    value: (*value).into(),
                    documents: documents.iter().map(|name| document(name)).collect(),
                })
                .collect(),
            none: false,
            except_documents: Vec::new(),
            words: words.into(),
        }
    }

    fn record(answers: Vec<Answer>) -> Record {
        Record {
            v: Record::VERSION,
            question: Asked {
                route: Route::ScopeSelect,
                prompt: "Which product do you mean?".into(),
                options: Vec::new(),
                missing_slots: Vec::new(),
                original_question: "How long is the warranty?".into(),
                rewrite_count: 0,
            },
            answers,
            asked: Vec::new(),
            only: None,
            collections: Vec::new(),
            index_generation: 1,
        }
    }

    #[test]
    fn choices_of_a_round_are_alternatives_and_rounds_narrow() {
        let both = answer("both", &[("A", &["a1", "a2"]), ("B", &["b"])]);
        let second = answer("2024", &[("2024", &["a2", "c"])]);
        let allowed = filter(&[both, second]).documents.unwrap();
        assert_eq!(allowed, [document("a2")]);
        assert_eq!(filter(&[answer("two years", &[])]).documents, None);
    }

    #[test]
    fn none_of_all_that_there_is_leaves_nothing_to_search_for() {
        let none = |words: &str| Answer { none: true, ..answer(words, &[]) };
        assert!(is_exhausted(&record(vec![none("")])));
        assert!(!is_exhausted(&record(vec![none("I have a Zephyr")])), "what is said besides is looked for");
        assert!(!is_exhausted(&record(vec![answer("", &[])])));
        assert!(ruled_all_out(&[none("I have a Zephyr")]) && !ruled_all_out(&[none(""), answer("", &[])]));
    }

    #[test]
    fn the_search_text_is_question_and_answers_never_the_prompt() {
        let resolved = resolved(&record(vec![answer("the second one", &[("Borealis Z9", &["b"])])]));
        assert_eq!(resolved.search_text, "How long is the warranty?\nBorealis Z9");
    }
}
