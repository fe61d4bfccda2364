//! Complex questions: the parts are worked on side by side and answered together.

use futures::future::join_all;

use crate::domain::{
    error::TurnError,
    evidence::{Evidence, Finding, Guidance, Passage, RetrievalStatus, Route},
    hitl::Question,
    index::Filter,
    trace::RagTrace,
};

use super::{
    Ask, Found, Retrieval,
    grade::choices::MOST,
    resolve::Resolved,
    step::{Outcome, Work},
};

impl Retrieval {
    /// Each part is retrieved and graded by itself, without a rewrite.
    pub(crate) async fn search_parts(
        &self,
        ask: &Ask<'_>,
        parts: &[String],
        mut trace: RagTrace,
    ) -> Result<Found, TurnError> {
        trace.sub_questions = parts.to_vec();
        trace.sub_agent_count = Some(parts.len());
        let runs = parts.iter().enumerate().map(|(at, part)| async move {
            let group = format!("part-{}", at + 1);
            // "… and how much does it weigh": what it leans on is the part before.
            let mut background = ask.background.clone();
            background.user_turns.extend(at.checked_sub(1).and_then(|before| parts.get(before)).cloned());
            let part_ask = Ask { question: part, background: &background, ..*ask };
            let resolved = Resolved::new(&part_ask);
            let work = Work {
                is_part: true,
                group: Some((&group, part)),
                ..Work::new(&part_ask, &resolved, &[], Filter::default())
            };
            let mut trace = RagTrace { query: Some(part.clone()), ..RagTrace::default() };
            let outcome = self.work(&work, &mut trace).await?;
            outcome.note(&mut trace);
            Ok::<_, TurnError>((outcome, trace))
        });
        let mut outcomes = Vec::new();
        for run in join_all(runs).await {
            let (outcome, sub_trace) = run?;
            trace.degraded |= sub_trace.degraded;
            trace.sub_traces.push(sub_trace);
            outcomes.push(outcome);
        }
        let joined = join(ask.question, parts, outcomes);
        if let Finding::Answer(evidence) = &joined.finding {
            trace.synthesis_merged_count = Some(evidence.passages.len());
        }
        Ok(joined.into_found(trace))
    }
}

/// Any evidence → answer; else one question; else nothing.
fn join(question: &str, parts: &[String], outcomes: Vec<Outcome>) -> Outcome {
    let mut whole = Outcome::nothing();
    let mut passages: Vec<Passage> = Vec::new();
    let mut asked: Option<Question> = None;
    let mut unanswered: Vec<String> = Vec::new();
    for (at, outcome) in outcomes.into_iter().enumerate() {
        if !matches!(outcome.finding, Finding::Answer(_)) {
            unanswered.extend(parts.get(at).cloned());
        }
        whole.confidence = whole.confidence.max(outcome.confidence);
        match outcome.finding {
            Finding::Answer(evidence) => {
                for passage in evidence.passages {
                    if !passages.iter().any(|known| known.chunk_id == passage.chunk_id) {
                        passages.push(passage);
                    }
                }
            }
            Finding::Ask(next) => {
                asked = Some(match asked {
                    None => Question { original_question: question.to_owned(), ..next },
                    Some(known) => united(known, next),
                });
            }
            Finding::NoKnowledge => {}
        }
    }
    if !passages.is_empty() {
        whole.route = Route::Answer;
        whole.status = RetrievalStatus::Answerable;
        whole.retrieved.clone_from(&passages);
        let question = question.to_owned();
        let guidance = Guidance { unanswered, ..Guidance::default() };
        whole.finding = Finding::Answer(Evidence { passages, question, guidance, ..Evidence::default() });
    } else if let Some(asked) = asked {
        whole.route = asked.route;
        whole.status = asked.status();
        whole.finding = Finding::Ask(asked);
    }
    whole
}

/// Two parts ask: scope_select wins over clarify, prompts are joined, options united.
fn united(mut known: Question, next: Question) -> Question {
    if next.route == Route::ScopeSelect {
        known.route = Route::ScopeSelect;
    }
    if !known.prompt.contains(&next.prompt) {
        known.prompt = format!("{} {}", known.prompt, next.prompt);
    }
    for option in next.options {
        if known.options.len() < MOST && !known.options.iter().any(|other| other.id == option.id) {
            known.options.push(option);
        }
    }
    for slot in next.missing_slots {
        if !known.missing_slots.contains(&slot) {
            known.missing_slots.push(slot);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::{super::grade::fixture::passage, *};

    fn asking(route: Route, prompt: &str) -> Outcome {
        let question = Question {
            route,
            prompt: prompt.into(),
            options: Vec::new(),
            missing_slots: Vec::new(),
            original_question: "part".into(),
            rewrite_count: 0,
        };
        Outcome { finding: Finding::Ask(question), route, ..Outcome::nothing() }
    }

    fn answering(text: &str) -> Outcome {
        let evidence = Evidence { passages: vec![passage("a.md", text)], ..Evidence::default() };
        Outcome { finding: Finding::Answer(evidence), route: Route::Answer, ..Outcome::nothing() }
    }

    #[test]
    fn one_part_with_evidence_is_enough_to_answer() {
        let joined = join("both?", &[], vec![asking(Route::Clarify, "Which?"), answering("x"), answering("x")]);
        let Finding::Answer(evidence) = joined.finding else { panic!("an answer") };
        assert_eq!((joined.route, evidence.passages.len(), evidence.question.as_str()), (Route::Answer, 1, "both?"));
    }

    #[test]
    fn without_evidence_the_questions_are_joined() {
        let joined = join(
            "both?",
            &[],
            vec![asking(Route::Clarify, "Which year?"), asking(Route::ScopeSelect, "Which product?")],
        );
        let Finding::Ask(question) = joined.finding else { panic!("a question") };
        assert_eq!(
            (question.route, question.prompt.as_str(), question.original_question.as_str()),
            (Route::ScopeSelect, "Which year? Which product?", "both?")
        );
        assert_eq!(join("both?", &[], vec![Outcome::nothing()]).route, Route::NoKnowledge);
    }
}
