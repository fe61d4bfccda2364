//! The resume of an answered question: no plan, no agent; the original question, narrowed by all answers.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;

use crate::{
    domain::{
        error::TurnError,
        evidence::{self, Evidence, Finding, Relevance},
        hitl::{Answer, Facet, OptionFilter, Part, Record},
        id::DocumentId,
        index::Filter,
        knowledge::Access,
        trace::RagTrace,
    },
    text::{
        lang::{Lang, of_reply},
        question::Question,
    },
};

use super::{
    Ask, Found, Retrieval,
    grade::choices::{fingerprint, option_id, plainer},
    outcome::Outcome,
    parts::join,
    resolve::Resolved,
    step::Work,
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
        let (answers, gone) = self.found_again(&record.answers, ask.access).await?;
        let last = answers.last();
        let may_ask = ask.may_ask && round < self.config.max_rounds && !ruled_all_out(&answers);
        // "hmm" is no part of the question.
        let original = record.question.original_question.as_str();
        let message = if last.is_some_and(Answer::says_nothing) { original } else { ask.message };
        let labels = record.question.options.iter().map(|option| option.label.as_str());
        let lang = of_reply(ask.message, labels, original);
        let ask = Ask { question: original, message, may_ask, ..*ask };
        let mut trace = RagTrace {
            tool_used: false,
            query: Some(original.to_owned()),
            retrieval_stage: Some("resume".into()),
            hitl_resumed: true,
            hitl_answer: last.map(|answer| answer.text.clone()),
            hitl_resume_strategy: Some("targeted_retrieval".into()),
            hitl_resume_from_status: Some(record.question.status()),
            hitl_resume_from_route: Some(record.question.route),
            ..RagTrace::default()
        };
        let on = Resumption { record, answers: &answers, ask: &ask, lang, asked };
        let mut outcome = if is_exhausted(record) {
            Outcome { reason: "nothing that the documents tell apart is meant".into(), ..Outcome::nothing() }
        } else if record.question.parts.len() > 1 {
            self.resume_parts(&on, &mut trace).await?
        } else {
            self.resume_one(&on, original, &answers, false, &mut trace).await?
        };
        if !gone.is_empty() {
            say_what_is_gone(&mut outcome.finding, &gone, lang);
        }
        trace.hitl_targeted_retrieved_chunks = Some(outcome.retrieved.clone());
        Ok(outcome.into_found(trace))
    }

    /// Goes on with `question`, the whole or a part of it, and what was answered about it.
    async fn resume_one(
        &self,
        on: &Resumption<'_>,
        question: &str,
        answers: &[Answer],
        is_part: bool,
        trace: &mut RagTrace,
    ) -> Result<Outcome, TurnError> {
        let resolved = resolved(question, answers);
        let ask = Ask { question, ..*on.ask };
        let work = Work {
            rewrites: on.record.question.rewrite_count,
            lang: on.lang,
            asked: on.asked,
            is_part,
            ..Work::new(&ask, &resolved, answers, filter(answers))
        };
        let mut outcome = self.work(&work, trace).await?;
        // None of those: what would be asked about again is not what is meant either.
        if ruled_all_out(answers)
            && let Finding::Answer(evidence) = &outcome.finding
            && evidence.guidance.assumption.is_some()
        {
            outcome = Outcome {
                confidence: outcome.confidence,
                reason: outcome.reason,
                question: outcome.question,
                ..Outcome::nothing()
            };
        }
        // The user pointed at the very thing: what little is there about it is the best-supported answer.
        if outcome.finding == Finding::NoKnowledge
            && chose_something(answers)
            && !outcome.retrieved.is_empty()
            && outcome.confidence > 0.0
            && outcome.relevance != Relevance::None
        {
            let (passages, question) = (outcome.retrieved.clone(), resolved.text);
            outcome.answer(Some(Evidence { passages, question, ..Evidence::default() }));
        }
        Ok(outcome)
    }

    /// Goes on with each part of a question by itself, as it was planned, and puts them together again.
    async fn resume_parts(&self, on: &Resumption<'_>, trace: &mut RagTrace) -> Result<Outcome, TurnError> {
        let parts = &on.record.question.parts;
        let begun = trace.clone();
        let runs = parts.iter().map(|part| {
            let mut trace = begun.clone();
            async move {
                let answers = about(part, parts, on.answers);
                let outcome = self.resume_one(on, &part.question, &answers, true, &mut trace).await?;
                Ok::<_, TurnError>((outcome, trace))
            }
        });
        let (mut outcomes, mut traces) = (Vec::new(), Vec::new());
        for run in join_all(runs).await {
            let (outcome, trace) = run?;
            outcomes.push(outcome);
            traces.push(trace);
        }
        // What the search did is told of the first part, what was searched for and what failed of all.
        let searched: Vec<String> = traces.iter().filter_map(|of_part| of_part.search_query.clone()).collect();
        let degraded = traces.iter().any(|of_part| of_part.degraded);
        if let Some(first) = traces.into_iter().next() {
            *trace = RagTrace { search_query: Some(searched.join("\n")), degraded, ..first };
        }
        let question = on.record.question.original_question.as_str();
        let mut joined = join(question, outcomes.clone(), on.ask.may_ask);
        if let Finding::Ask(asked) = &mut joined.finding {
            for (part, before) in asked.parts.iter_mut().zip(parts) {
                part.options.extend(before.options.iter().cloned());
            }
            if on.answers.last().is_some_and(Answer::says_nothing) {
                plainer(asked, on.lang);
            }
            if on.asked.contains(&fingerprint(asked)) {
                return Ok(join(question, outcomes, false));
            }
        }
        Ok(joined)
    }
}

/// What a question goes on from.
struct Resumption<'a> {
    record: &'a Record,
    /// The record's, over the documents as they are now.
    answers: &'a [Answer],
    ask: &'a Ask<'a>,
    lang: Lang,
    asked: &'a [String],
}

/// What was answered about a part of a question: of chosen options its own, and whatever chooses none.
fn about(part: &Part, parts: &[Part], answers: &[Answer]) -> Vec<Answer> {
    let is_own = |filter: &OptionFilter| {
        let id = option_id(filter.facet, &filter.value);
        part.options.contains(&id) || !parts.iter().any(|other| other.options.contains(&id))
    };
    let own = |answer: &Answer| -> Option<Answer> {
        if answer.filters.is_empty() {
            return Some(answer.clone());
        }
        let filters: Vec<OptionFilter> = answer.filters.iter().filter(|filter| is_own(filter)).cloned().collect();
        let words = filters.iter().map(|filter| filter.value.as_str()).collect::<Vec<_>>().join(" ");
        (!filters.is_empty()).then(|| Answer { filters, words, ..answer.clone() })
    };
    answers.iter().filter_map(own).collect()
}

impl Retrieval {
    /// The answers, with the documents that were uploaded anew in place of those that were deleted since; and, of several
    /// things that were chosen, those that can no longer be read, by name: the others are what is asked about now.
    async fn found_again(&self, answers: &[Answer], access: &Access) -> Result<(Vec<Answer>, Vec<String>), TurnError> {
        let (mut answers, mut gone) = (answers.to_vec(), Vec::new());
        let mut chosen: Vec<DocumentId> = documents(&mut answers).map(|document| *document).collect();
        chosen.sort_unstable();
        chosen.dedup();
        if !chosen.is_empty() {
            let present: BTreeMap<DocumentId, DocumentId> =
                self.documents.present(access, &chosen).await?.into_iter().collect();
            for answer in &mut answers {
                gone.extend(without_gone(answer, &present));
            }
            for document in documents(&mut answers) {
                *document = present.get(document).copied().unwrap_or(*document);
            }
        }
        Ok((answers, gone))
    }
}

/// Leaves those choices out of an answer of which no document is `present`, if another is left; gives their names.
fn without_gone(answer: &mut Answer, present: &BTreeMap<DocumentId, DocumentId>) -> Vec<String> {
    let is_left = |filter: &OptionFilter| {
        filter.documents.is_empty() || filter.documents.iter().any(|document| present.contains_key(document))
    };
    let (left, gone): (Vec<OptionFilter>, Vec<OptionFilter>) = answer.filters.iter().cloned().partition(is_left);
    if left.is_empty() || gone.is_empty() {
        return Vec::new();
    }
    answer.words = left.iter().map(|filter| filter.value.as_str()).collect::<Vec<_>>().join(" ");
    answer.filters = left;
    gone.into_iter().map(|filter| filter.value).collect()
}

/// An answer from what is left says first what is gone; one of several parts says it as a part.
fn say_what_is_gone(finding: &mut Finding, gone: &[String], lang: Lang) {
    let Finding::Answer(evidence) = finding else { return };
    let guidance = &mut evidence.guidance;
    if !guidance.parts.is_empty() {
        let unread = |name: &String| evidence::Part { question: name.clone(), ..evidence::Part::default() };
        guidance.parts.extend(gone.iter().map(unread));
        return;
    }
    let (said, comma) = match lang {
        Lang::Zh => (format!("{}的文档已无法查阅", gone.join("、")), "，"),
        _ => (format!("the documents on {} can no longer be read", gone.join(", ")), ", "),
    };
    guidance.assumption = Some(match guidance.assumption.take() {
        Some(assumption) => format!("{said}{comma}{assumption}"),
        None => said,
    });
}

/// All documents that answers chose or ruled out.
fn documents(answers: &mut [Answer]) -> impl Iterator<Item = &mut DocumentId> {
    answers.iter_mut().flat_map(|answer| {
        answer.filters.iter_mut().flat_map(|filter| &mut filter.documents).chain(&mut answer.except_documents)
    })
}

/// The question with the words of its answers. Prompts of askback are no search text.
fn resolved(original: &str, answers: &[Answer]) -> Resolved {
    let words: Vec<String> = answers
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
    let search_text = if words.is_empty() { original.to_owned() } else { format!("{original}\n{}", words.join("\n")) };
    let mut question = Question::read(original);
    for words in &words {
        question = question.following(&Question::read(words));
    }
    // Answers narrow; they are the question's own words now.
    for word in &mut question.content {
        word.is_borrowed = false;
    }
    question.is_follow_up = false;
    Resolved { text: original.to_owned(), search_text, question, leans_on: Vec::new() }
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
    says_no_more && !record.question.is_full()
}

fn chose_something(answers: &[Answer]) -> bool {
    answers.iter().any(|answer| answer.filters.iter().any(|filter| filter.facet != Facet::Kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{evidence::Route, hitl::Question as Asked, id::VersionId};

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
                parts: Vec::new(),
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
    fn what_was_chosen_is_about_its_own_part() {
        let part = |labels: &[&str]| Part {
            question: "How long?".into(),
            options: labels.iter().map(|label| option_id(Facet::Subject, label)).collect(),
        };
        let parts = [part(&["Aurora", "Borealis"]), part(&["Plus", "Aurora"]), part(&[])];
        let of = |at: usize, answers: &[Answer]| -> Vec<Vec<String>> {
            let values = |answer: Answer| answer.filters.into_iter().map(|filter| filter.value).collect();
            about(&parts[at], &parts, answers).into_iter().map(values).collect()
        };
        let chosen = answer("Borealis and Plus", &[("Borealis", &["b"]), ("Plus", &["p"])]);
        assert_eq!(of(0, std::slice::from_ref(&chosen)), [["Borealis"]]);
        assert_eq!(about(&parts[1], &parts, std::slice::from_ref(&chosen))[0].words, "Plus");
        assert_eq!(of(2, &[chosen]), Vec::<Vec<String>>::new());
        let both = answer("Aurora", &[("Aurora", &["a"])]);
        assert_eq!(
            (of(0, std::slice::from_ref(&both)), of(1, &[both])),
            (vec![vec!["Aurora".into()]], vec![vec!["Aurora".into()]])
        );
        assert_eq!(of(1, &[answer("in 2020", &[])]), [Vec::<String>::new()], "what chooses nothing is about all");
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
        let answered = answer("the second one", &[("Borealis Z9", &["b"])]);
        let resolved = resolved("How long is the warranty?", &[answered]);
        assert_eq!(resolved.search_text, "How long is the warranty?\nBorealis Z9");
    }
}
