//! Complex questions: the parts are worked on side by side and answered together.

use futures::future::join_all;

use crate::{
    domain::{
        error::TurnError,
        evidence::{Evidence, Finding, Guidance, Part, Passage, RetrievalStatus, Route},
        hitl::{self, Question as Asked},
        index::Filter,
        trace::RagTrace,
    },
    text::{cut, parts::joined, question::Question},
};

use super::{Ask, Found, Retrieval, begun, grade::choices::united, outcome::Outcome, resolve::Resolved, step::Work};

/// Most characters of a part that the record of a question keeps.
const LONGEST: usize = 200;

impl Retrieval {
    /// Each part is retrieved and graded by itself, without a rewrite.
    pub(crate) async fn search_parts(
        &self,
        ask: &Ask<'_>,
        parts: &[String],
        trace: RagTrace,
    ) -> Result<Found, TurnError> {
        let runs = self.run_parts(ask, parts).await?;
        Ok(together(ask, parts, runs, trace))
    }

    /// Of a question that joins two things the answer may hold one alone: then each is searched for by itself, if both are
    /// found so, or the other one is a name that the documents do not know. `whole` is what the question came to as one.
    pub(crate) async fn search_joined(
        &self,
        ask: &Ask<'_>,
        whole: &Outcome,
        trace: &RagTrace,
    ) -> Result<Option<Found>, TurnError> {
        let is_whole = match &whole.finding {
            Finding::Answer(evidence) => whole.lacks.is_empty() || !evidence.guidance.per_value.is_empty(),
            Finding::NoKnowledge => false,
            Finding::Ask(_) => true,
        };
        if is_whole {
            return Ok(None);
        }
        for parts in joined(ask.question) {
            let mut runs = self.run_parts(ask, &parts).await?;
            let is_settled = |outcome: &Outcome| outcome.finding != Finding::NoKnowledge && outcome.lacks.is_empty();
            // An answer does not become a question.
            let is_answered = |outcome: &Outcome| is_settled(outcome) && matches!(outcome.finding, Finding::Answer(_));
            if !runs.iter().any(|(outcome, _)| is_answered(outcome)) {
                continue;
            }
            let unknown = runs.iter_mut().find(|(outcome, _)| !is_settled(outcome));
            match unknown {
                None => {}
                Some((outcome, _)) if lacks_name(outcome) => {
                    *outcome = Outcome { question: outcome.question.clone(), ..Outcome::nothing() };
                }
                Some(_) => continue,
            }
            let reason = "two things in one question, found apart".to_owned();
            let trace = RagTrace {
                complexity: Some("complex".to_owned()),
                complexity_reason: Some(reason),
                degraded: trace.degraded,
                ..begun(ask.question)
            };
            return Ok(Some(together(ask, &parts, runs, trace)));
        }
        Ok(None)
    }

    async fn run_parts(&self, ask: &Ask<'_>, parts: &[String]) -> Result<Vec<(Outcome, RagTrace)>, TurnError> {
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
        join_all(runs).await.into_iter().collect()
    }
}

/// Whether all that is lacking are names.
fn lacks_name(outcome: &Outcome) -> bool {
    let content = Question::read(&outcome.question).content;
    let is_name = |text: &String| content.iter().any(|word| word.text == *text && (word.is_name || word.is_code));
    !outcome.lacks.is_empty() && outcome.lacks.iter().all(is_name)
}

/// What the parts of a question came to, as one.
fn together(ask: &Ask<'_>, parts: &[String], runs: Vec<(Outcome, RagTrace)>, mut trace: RagTrace) -> Found {
    trace.sub_questions = parts.to_vec();
    trace.sub_agent_count = Some(parts.len());
    let mut outcomes = Vec::new();
    for (outcome, sub_trace) in runs {
        trace.degraded |= sub_trace.degraded;
        trace.sub_traces.push(sub_trace);
        outcomes.push(outcome);
    }
    let joined = join(ask.question, outcomes, true);
    if let Finding::Answer(evidence) = &joined.finding {
        trace.synthesis_merged_count = Some(evidence.passages.len());
    }
    joined.into_found(trace)
}

/// Any evidence → answer; else one question, if it `may_ask`; else nothing.
pub(crate) fn join(question: &str, outcomes: Vec<Outcome>, may_ask: bool) -> Outcome {
    let mut whole = Outcome { question: question.to_owned(), ..Outcome::nothing() };
    whole.confidence = outcomes.iter().map(|outcome| outcome.confidence).fold(0.0, f32::max);
    let reasons: Vec<&str> = outcomes.iter().map(|outcome| outcome.reason.as_str()).collect();
    whole.reason = reasons.join("; ");
    let is_answered = |outcome: &Outcome| matches!(outcome.finding, Finding::Answer(_));
    if may_ask && !outcomes.iter().any(is_answered) {
        let asked = outcomes.iter().filter_map(|outcome| match &outcome.finding {
            Finding::Ask(asked) => Some(asked.clone()),
            _ => None,
        });
        let Some(asked) = asked.reduce(united) else { return whole };
        whole.route = asked.route;
        whole.status = asked.status();
        let parts = outcomes.into_iter().map(part_of).collect();
        whole.finding = Finding::Ask(Asked { original_question: question.to_owned(), parts, ..asked });
        return whole;
    }
    let mut evidence = Evidence { question: question.to_owned(), ..Evidence::default() };
    for outcome in outcomes {
        let part = match outcome.finding {
            Finding::Answer(own) => add(&mut evidence.passages, own),
            // What it is, is open: what it most likely is, is told with the rest.
            Finding::Ask(_) if outcome.unasked.is_some() => {
                add(&mut evidence.passages, outcome.unasked.unwrap_or_default())
            }
            _ => Part { question: outcome.question, markers: Vec::new(), guidance: Guidance::default() },
        };
        evidence.guidance.parts.push(part);
    }
    if !evidence.passages.is_empty() {
        whole.route = Route::Answer;
        whole.status = RetrievalStatus::Answerable;
        whole.retrieved.clone_from(&evidence.passages);
        whole.finding = Finding::Answer(evidence);
    }
    whole
}

/// Adds the passages of a part to those of the whole, each once.
fn add(passages: &mut Vec<Passage>, own: Evidence) -> Part {
    let mut markers: Vec<u32> = Vec::new();
    for passage in own.passages {
        let place = passages.iter().position(|known| known.chunk_id == passage.chunk_id).unwrap_or(passages.len());
        if place == passages.len() {
            passages.push(passage);
        }
        markers.push(u32::try_from(place + 1).unwrap_or(u32::MAX));
    }
    let mut guidance = own.guidance;
    let of_whole = |marker: u32| {
        let place = usize::try_from(marker).ok().and_then(|marker| marker.checked_sub(1));
        place.and_then(|place| markers.get(place)).copied().unwrap_or(marker)
    };
    guidance.renumber(&of_whole);
    markers.sort_unstable();
    Part { question: own.question, markers, guidance }
}

/// A part as the record of a question keeps it.
fn part_of(outcome: Outcome) -> hitl::Part {
    let options = match outcome.finding {
        Finding::Ask(asked) => asked.options.into_iter().map(|option| option.id).collect(),
        _ => Vec::new(),
    };
    hitl::Part { question: cut(&outcome.question, LONGEST).to_owned(), options }
}

#[cfg(test)]
mod tests {
    use super::{super::grade::fixture::passage, *};
    use crate::domain::evidence::ValueGroup;

    fn asking(route: Route, prompt: &str) -> Outcome {
        let question = Asked {
            route,
            prompt: prompt.into(),
            options: Vec::new(),
            missing_slots: Vec::new(),
            original_question: "part".into(),
            rewrite_count: 0,
            parts: Vec::new(),
        };
        Outcome { finding: Finding::Ask(question), route, ..Outcome::nothing() }
    }

    fn answering(text: &str) -> Outcome {
        let evidence = Evidence { passages: vec![passage("a.md", text)], ..Evidence::default() };
        Outcome { finding: Finding::Answer(evidence), route: Route::Answer, ..Outcome::nothing() }
    }

    #[test]
    fn one_part_with_evidence_is_enough_to_answer() {
        let joined = join("both?", vec![asking(Route::Clarify, "Which?"), answering("x"), answering("x")], true);
        let Finding::Answer(evidence) = joined.finding else { panic!("an answer") };
        assert_eq!((joined.route, evidence.passages.len(), evidence.question.as_str()), (Route::Answer, 1, "both?"));
    }

    #[test]
    fn each_part_keeps_its_passages_under_the_numbers_of_the_whole() {
        let mut second = answering("y");
        if let Finding::Answer(evidence) = &mut second.finding {
            evidence.passages.push(passage("a.md", "x"));
            evidence.guidance.per_value = vec![ValueGroup { value: "A".into(), markers: vec![2] }];
        }
        let open = Outcome {
            unasked: Some(Evidence { passages: vec![passage("a.md", "z")], ..Evidence::default() }),
            ..asking(Route::Clarify, "Which?")
        };
        let nothing = Outcome { question: "who made it".into(), ..Outcome::nothing() };
        let joined = join("all?", vec![answering("x"), second, nothing, open], true);
        let Finding::Answer(evidence) = joined.finding else { panic!("an answer") };
        let parts = &evidence.guidance.parts;
        let markers: Vec<&[u32]> = parts.iter().map(|part| part.markers.as_slice()).collect();
        assert_eq!(markers, [&[1][..], &[1, 2], &[], &[3]]);
        assert_eq!(
            (parts[1].guidance.per_value[0].markers.as_slice(), parts[2].question.as_str()),
            (&[1][..], "who made it")
        );
    }

    #[test]
    fn without_evidence_the_questions_are_joined() {
        let open = || vec![asking(Route::Clarify, "Which year?"), asking(Route::ScopeSelect, "Which product?")];
        let joined = join("both?", open(), true);
        let Finding::Ask(question) = joined.finding else { panic!("a question") };
        assert_eq!(
            (question.route, question.prompt.as_str(), question.original_question.as_str()),
            (Route::ScopeSelect, "Which year? Which product?", "both?")
        );
        assert_eq!(question.parts.len(), 2);
        assert_eq!(join("both?", open(), false).route, Route::NoKnowledge, "nothing to answer from");
        assert_eq!(join("both?", vec![Outcome::nothing()], true).route, Route::NoKnowledge);
    }
}
