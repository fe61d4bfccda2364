//! One question through retrieve → grade → route, with at most one rewrite.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    domain::{
        error::TurnError,
        evidence::{Answerability, Evidence, Finding, Guidance, Passage, Route, ValueGroup},
        hitl::{Answer, Facet},
        id::DocumentId,
        index::Filter,
        trace::RagTrace,
    },
    text::{
        lang::{Lang, detect},
        question::Question,
    },
};

use super::{
    Ask, Retrieval,
    grade::{
        builtin::{self, Judged},
        case::{Case, OpenQuestion},
        choices::{Slot, fingerprint, plainer, question as make_question},
        given::Given,
        kin::kin,
        model,
        reading::Reading,
        support::best_of_documents,
        weights,
    },
    outcome::{JudgedLeaf, Outcome},
    resolve::Resolved,
    retrieve::Retrieved,
    rewrite::rewrite,
    route::{Facts, route},
};

/// A question to be worked on.
pub(crate) struct Work<'a> {
    pub ask: &'a Ask<'a>,
    pub resolved: &'a Resolved,
    /// Answers to questions of earlier rounds.
    pub answers: &'a [Answer],
    /// What the answers narrow the search to.
    pub filter: Filter,
    /// A part of a complex question.
    pub is_part: bool,
    /// The language that people are answered in.
    pub lang: Lang,
    /// Progress is told under this id and title.
    pub group: Option<(&'a str, &'a str)>,
    /// Rewrites already spent.
    pub rewrites: u32,
    /// Fingerprints of questions that were asked already.
    pub asked: &'a [String],
}

impl<'a> Work<'a> {
    pub(crate) fn new(ask: &'a Ask<'a>, resolved: &'a Resolved, answers: &'a [Answer], filter: Filter) -> Self {
        let lang = match detect(ask.message) {
            Lang::Other => resolved.question.lang,
            lang => lang,
        };
        Self { ask, resolved, answers, filter, is_part: false, lang, group: None, rewrites: 0, asked: &[] }
    }
}

impl Retrieval {
    /// Retrieves, grades and routes; rewrites once where the table says so.
    pub(crate) async fn work(&self, work: &Work<'_>, trace: &mut RagTrace) -> Result<Outcome, TurnError> {
        let (zh, progress) = (work.lang == Lang::Zh, work.ask.progress);
        let say = |icon: &str, en: &str, zh_text: &str, detail: &str| {
            progress.step(icon, if zh { zh_text } else { en }, detail, work.group);
        };
        say("🔍", "Searching", "检索中", &work.resolved.search_text);
        let first =
            self.retrieve(&work.resolved.search_text, work.ask.access, &work.filter, self.config.top_k, trace).await?;
        say("⚖️", "Judging the evidence", "评估证据", &format!("{}", first.passages.len()));
        let (judged, grader) = self.grade(work, &first).await?;
        fail::fail_point!("retrieval:graded", |_| Err(TurnError::Retrieval("failpoint".into())));
        let mut was_rewritten = work.rewrites > 0;
        let mut route = decide(&judged, first.passages.is_empty(), work.is_part, was_rewritten);
        let (mut retrieved, mut judged, mut grader) = (first, judged, grader);
        let mut rewrites = work.rewrites;
        if route == Route::Rewrite {
            say("✏️", "Searching with other words", "改写后重新检索", "");
            trace.initial_retrieved_chunks = Some(retrieved.passages.clone());
            let rewritten =
                rewrite(&work.resolved.text, &work.resolved.question, &retrieved.stats, self.fast.as_ref()).await;
            let text = rewritten.search_text(&work.resolved.search_text);
            rewritten.note(&text, trace);
            trace.retrieval_stage = Some("rewrite".into());
            let second = self.retrieve(&text, work.ask.access, &work.filter, self.config.top_k, trace).await?;
            trace.rewrite_retrieved_chunks = Some(second.passages.clone());
            let (again, again_by) = self.grade(work, &second).await?;
            rewrites += 1;
            was_rewritten = true;
            // A second search that found less does not undo the first.
            if again.confidence >= judged.confidence {
                (retrieved, judged, grader) = (second, again, again_by);
            }
            route = decide(&judged, retrieved.passages.is_empty(), work.is_part, was_rewritten);
        }
        Ok(self.conclude(work, retrieved, judged, grader, route, rewrites))
    }

    /// The built-in judgement, and the grading model's where there is one.
    async fn grade(&self, work: &Work<'_>, found: &Retrieved) -> Result<(Judged, String), TurnError> {
        let mut texts = vec![work.ask.question, work.ask.message];
        texts.extend(work.resolved.leans_on.iter().map(String::as_str));
        let given = Given::new(&texts, work.ask.background, work.answers);
        let chosen = work.answers.iter().flat_map(|answer| &answer.filters).chain(&work.ask.background.given);
        let fixed: Vec<Facet> = chosen.map(|filter| filter.facet).collect();
        let pool = Arc::clone(&found.pool);
        let readings = self.judges.run(move || Reading::all(&pool)).await?;
        let kin = kin(self.search.embedder().as_ref(), &work.resolved.question, &readings).await;
        let now = self.clock.now().to_string();
        let case = Case {
            asked: work.resolved.text.clone(),
            question: work.resolved.question.clone(),
            lang: work.lang,
            pool: Arc::clone(&found.pool),
            readings,
            stats: Arc::clone(&found.stats),
            kin,
            given,
            fixed,
            today: now.get(..10).unwrap_or(&now).to_owned(),
            cost_ratio: self.config.cost_ratio,
            degraded: found.degraded,
            rewrites: work.rewrites,
        };
        let judged = self.judges.run(move || builtin::judge(&case)).await?;
        let Some(grader) = self.grade.as_ref().filter(|_| !found.passages.is_empty()) else {
            return Ok((judged, weights::VERSION.to_owned()));
        };
        Ok(match model::ask(grader, &work.resolved.text, &found.passages).await {
            Ok(opinion) => (model::merge(judged, opinion, work.lang), grader.name().to_owned()),
            Err(problem) => (judged, format!("{} ({} {})", weights::VERSION, grader.name(), problem.as_str())),
        })
    }

    /// Turns a route into a finding; restraint may turn asking into answering.
    fn conclude(
        &self,
        work: &Work<'_>,
        found: Retrieved,
        mut judged: Judged,
        grader: String,
        route: Route,
        rewrites: u32,
    ) -> Outcome {
        let mut outcome = Outcome {
            relevance: judged.relevance,
            answerability: judged.answerability,
            ambiguity: judged.ambiguity,
            confidence: judged.confidence,
            reason: judged.reason.clone(),
            grader,
            retrieved: found.passages.clone(),
            question: work.resolved.text.clone(),
            lacks: judged.lacks.clone(),
            judged: judged
                .supports
                .iter()
                .filter_map(|support| {
                    Some(JudgedLeaf {
                        document: found.pool.get(support.leaf)?.document_id,
                        features: weights::vector(&support.features),
                        crosses: support.crosses,
                        score: support.score,
                    })
                })
                .collect(),
            ..Outcome::nothing()
        };
        if !matches!(route, Route::Clarify | Route::ScopeSelect) {
            if route == Route::Answer {
                outcome.answer(self.answer(work, &found, &judged));
            }
            return outcome;
        }
        let open = judged.open.take().unwrap_or_else(|| unspecific(work, &judged));
        let mut question = open.question.clone();
        question.rewrite_count = rewrites;
        judged.guidance.assumption = open.assumption;
        judged.dropped.extend(open.rules_out);
        let is_answerable = judged.answerability != Answerability::None;
        let unasked = if is_answerable { self.answer(work, &found, &judged) } else { None };
        // Whoever has not understood is asked in other words, once.
        if work.answers.last().is_some_and(Answer::says_nothing) && !work.is_part {
            plainer(&mut question, work.lang);
        }
        if work.ask.may_ask && !work.asked.contains(&fingerprint(&question)) {
            outcome.route = question.route;
            outcome.status = question.status();
            outcome.finding = Finding::Ask(question);
            outcome.unasked = unasked;
        } else {
            outcome.reason = format!("{}; not asked again", outcome.reason);
            outcome.answer(unasked);
        }
        outcome
    }

    /// What the question is answered with; none where nothing is left to answer from.
    fn answer(&self, work: &Work<'_>, found: &Retrieved, judged: &Judged) -> Option<Evidence> {
        let (passages, guidance) = self.evidence(found, judged, work.answers);
        let question = with_answers(&work.resolved.text, work.answers);
        (!passages.is_empty()).then(|| Evidence { passages, guidance, question, ..Evidence::default() })
    }

    /// The passages of an answer: those that carry it first, none of what is ruled out, at most `top_k`.
    fn evidence(&self, found: &Retrieved, judged: &Judged, answers: &[Answer]) -> (Vec<Passage>, Guidance) {
        let far = far_documents(found, judged);
        let kept =
            |passage: &&Passage| !judged.dropped.contains(&passage.document_id) && !far.contains(&passage.document_id);
        let mut passages: Vec<Passage> = Vec::new();
        for leaf in judged.lead.iter().filter_map(|leaf| found.pool.get(*leaf)).filter(kept) {
            let holder = found.passages.iter().find(|passage| holds(passage, leaf)).unwrap_or(leaf);
            if !passages.iter().any(|known| known.chunk_id == holder.chunk_id) {
                passages.push(holder.clone());
            }
        }
        for passage in found.passages.iter().filter(kept) {
            if !passages.iter().any(|known| known.chunk_id == passage.chunk_id || holds(known, passage)) {
                passages.push(passage.clone());
            }
        }
        // What a document says of the matter may stand in another leaf than its best one.
        let leads: BTreeSet<DocumentId> = passages.iter().take(judged.lead.len()).map(|one| one.document_id).collect();
        let near = judged.supports.iter().filter(|support| support.score >= FAR * judged.confidence);
        for leaf in near.filter_map(|support| found.pool.get(support.leaf)).filter(kept) {
            if leads.contains(&leaf.document_id) && !passages.iter().any(|known| holds(known, leaf)) {
                passages.push(leaf.clone());
            }
        }
        narrow(&mut passages, answers);
        passages.truncate(self.config.top_k);
        let mut guidance = judged.guidance.clone();
        guidance.per_value = value_groups(&judged.per_value, &passages);
        for group in chosen(answers) {
            if !guidance.chosen.contains(&group) {
                guidance.chosen.push(group);
            }
        }
        (passages, guidance)
    }
}

/// Share of the best leaf's support under which a document says nothing to the question.
const FAR: f32 = 0.4;

/// Documents whose leaves were judged, and none of them near the best: a sentence of theirs would be noise in the answer.
fn far_documents(found: &Retrieved, judged: &Judged) -> BTreeSet<DocumentId> {
    let mut best = best_of_documents(&found.pool, &judged.supports);
    let lead: BTreeSet<DocumentId> =
        judged.lead.iter().filter_map(|leaf| found.pool.get(*leaf)).map(|passage| passage.document_id).collect();
    let top = best
        .iter()
        .filter(|(document, _)| !judged.dropped.contains(document))
        .map(|(_, score)| *score)
        .fold(0.0, f32::max);
    best.retain(|document, score| *score < FAR * top && !lead.contains(document));
    best.into_keys().collect()
}

fn decide(judged: &Judged, is_empty: bool, is_part: bool, was_rewritten: bool) -> Route {
    route(Facts {
        is_empty,
        relevance: judged.relevance,
        answerability: judged.answerability,
        ambiguity: judged.ambiguity,
        is_part,
        was_rewritten,
    })
}

fn holds(passage: &Passage, leaf: &Passage) -> bool {
    passage.document_id == leaf.document_id
        && passage.version == leaf.version
        && passage.start <= leaf.start
        && leaf.end <= passage.end
}

/// What each answer chose inside a document.
fn chosen(answers: &[Answer]) -> Vec<Vec<String>> {
    let inside = |answer: &Answer| -> Vec<String> {
        answer
            .filters
            .iter()
            .filter(|filter| matches!(filter.facet, Facet::Section | Facet::Kind | Facet::Period))
            .map(|filter| filter.value.clone())
            .collect()
    };
    answers.iter().map(inside).filter(|values| !values.is_empty()).collect()
}

/// A choice within a document puts the passages that name it first.
fn narrow(passages: &mut [Passage], answers: &[Answer]) {
    let values: Vec<String> = chosen(answers).into_iter().flatten().map(|value| crate::text::fold(&value)).collect();
    if values.is_empty() {
        return;
    }
    let order: HashMap<_, _> = passages
        .iter()
        .enumerate()
        .map(|(at, passage)| {
            let text =
                crate::text::fold(&format!("{} {}", passage.section.as_deref().unwrap_or_default(), passage.text));
            (passage.chunk_id, (!values.iter().any(|value| text.contains(value)), at))
        })
        .collect();
    passages.sort_by_key(|passage| order.get(&passage.chunk_id).copied());
}

fn value_groups(values: &[(String, BTreeSet<DocumentId>)], passages: &[Passage]) -> Vec<ValueGroup> {
    let groups: Vec<ValueGroup> = values
        .iter()
        .map(|(value, documents)| ValueGroup {
            value: value.clone(),
            markers: passages
                .iter()
                .enumerate()
                .filter(|(_, passage)| documents.contains(&passage.document_id))
                .filter_map(|(at, _)| u32::try_from(at + 1).ok())
                .collect(),
        })
        .filter(|group| !group.markers.is_empty())
        .collect();
    if groups.len() < 2 { Vec::new() } else { groups }
}

/// The question with what was answered since.
fn with_answers(question: &str, answers: &[Answer]) -> String {
    let words: Vec<&str> = answers.iter().map(|answer| answer.words.trim()).filter(|words| !words.is_empty()).collect();
    if words.is_empty() { question.to_owned() } else { format!("{question} ({})", words.join("; ")) }
}

/// Partial evidence after a rewrite: what the question says and the evidence lacks is asked for.
fn unspecific(work: &Work<'_>, judged: &Judged) -> OpenQuestion {
    let slot = Slot { facet: Facet::Subject, is_product: false, name: None };
    let mut question = make_question(work.lang, Route::Clarify, &slot, Vec::new(), &work.resolved.text, work.rewrites);
    let lacking = lacking(&work.resolved.question, judged);
    if !lacking.is_empty() {
        question.prompt = if work.lang == Lang::Zh {
            format!("文档中没有找到“{}”的相关内容。您能换个说法，或说得更具体一些吗？", lacking.join("、"))
        } else {
            format!("The documents do not mention “{}”. Could you put it differently or say more?", lacking.join(", "))
        };
        question.missing_slots = lacking;
    }
    OpenQuestion { question, assumption: None, rules_out: BTreeSet::new(), best_share: 0.5 }
}

/// Words of the question that the best passage does not hold.
fn lacking(question: &Question, judged: &Judged) -> Vec<String> {
    let Some(best) = judged.lead.first().and_then(|leaf| judged.supports.iter().find(|support| support.leaf == *leaf))
    else {
        return Vec::new();
    };
    if best.crosses {
        return Vec::new();
    }
    question
        .content
        .iter()
        .filter(|word| !word.is_borrowed && best.words.holds(word) < 0.3)
        .map(|word| word.text.clone())
        .take(3)
        .collect()
}
