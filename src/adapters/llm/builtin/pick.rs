//! How well each piece of the evidence answers the question.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use regex::Regex;

use super::blocks::{Kind, Unit, units};
use crate::{
    domain::{
        evidence::{ParsedEvidence, ParsedPassage},
        index::Embedder,
    },
    text::{
        fold,
        quantities::quantities,
        question::{Question, Wants},
        terms::{Kind as TermKind, analyse},
        words::is_han,
    },
};

/// What a term counts that stands only in the headings or the name of the document, or in the sentence before.
const IN_CONTEXT: f32 = 0.8;
const IN_PREVIOUS: f32 = 0.6;
/// The same for one that stands elsewhere in the passage: what a text is about is said once, at its beginning.
const IN_PASSAGE: f32 = 0.1;
/// What the machinery of asking ("how long") counts beside words that carry meaning.
const MACHINERY: f32 = 0.15;
/// What the words of an earlier turn count beside those of this one.
const EARLIER: f32 = 0.5;
/// What the kind of answer counts beside the words of the question.
const TYPE: f32 = 0.25;
/// What cosines of sentences count beside those of passages: they spread less.
const SENTENCE_COSINE: f32 = 2.0;
/// What a heading adds that says most of the question, and from which share of it on.
const HEADING: f32 = 0.3;
const HEADING_SHARE: f32 = 0.6;
/// What a piece loses that only repeats words of the question.
const NOTHING_NEW: f32 = 0.3;
/// What the order of the passages counts.
const RANK: f32 = 0.15;
/// Most pieces that are compared by meaning.
const MAX_COMPARED: usize = 160;

/// The evidence in pieces, measured against the question.
pub(super) struct Material {
    pub(super) units: Vec<Unit>,
    pub(super) question: Question,
    /// Terms of the question, with what each counts.
    terms: Vec<(String, f32)>,
    unit_terms: Vec<HashSet<String>>,
    contexts: Vec<HashSet<String>>,
    /// Share of the question that the nearest heading of each piece holds.
    headed: Vec<f32>,
    /// Terms of each passage's text.
    bodies: Vec<HashSet<String>>,
    text: String,
    cosines: Vec<f32>,
    cosine_weight: f32,
    about: Regard,
}

/// What the question already says, so that it is no answer.
struct Regard {
    quantities: HashSet<String>,
    words: HashSet<String>,
}

impl Material {
    /// `question` is what the passages were searched for, `asked` what was typed last.
    pub(super) fn new(evidence: &ParsedEvidence, question: &str, asked: &str) -> Self {
        let units = units(&evidence.passages);
        let read = Question::read(question);
        let unit_terms: Vec<HashSet<String>> = units.iter().map(|unit| term_set(&unit.text)).collect();
        let passages: Vec<HashSet<String>> =
            evidence.passages.iter().map(|passage| term_set(&names(passage))).collect();
        let contexts: Vec<HashSet<String>> = units
            .iter()
            .map(|unit| {
                let mut terms = term_set(&unit.heading);
                terms.extend(passages.get(unit.passage).into_iter().flatten().cloned());
                terms
            })
            .collect();
        let mut bodies = vec![HashSet::new(); evidence.passages.len()];
        for (unit, terms) in units.iter().zip(&unit_terms) {
            if let Some(body) = bodies.get_mut(unit.passage) {
                body.extend(terms.iter().cloned());
            }
        }
        let about = Regard {
            quantities: read.quantities.iter().map(|quantity| quantity.key.clone()).collect(),
            words: read.folded.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect(),
        };
        let terms = weigh(&question_terms(&read, asked), &unit_terms, &contexts);
        let headed = units.iter().map(|unit| share(&terms, &term_set(nearest_heading(unit, evidence)))).collect();
        let cosines = vec![0.0; units.len()];
        Self {
            terms,
            units,
            question: read,
            unit_terms,
            contexts,
            headed,
            bodies,
            text: question.to_owned(),
            cosines,
            cosine_weight: 0.0,
            about,
        }
    }

    /// Compares by meaning too. Where the embedder fails, words alone decide.
    pub(super) async fn compare(&mut self, embedder: &dyn Embedder) {
        let texts: Vec<String> = self.units.iter().take(MAX_COMPARED).map(|unit| unit.text.clone()).collect();
        if texts.is_empty() {
            return;
        }
        let Ok(Some(query)) = embedder.query(&self.text).await else { return };
        match embedder.passages(&texts).await {
            Ok(vectors) => {
                for (cosine, vector) in self.cosines.iter_mut().zip(vectors) {
                    *cosine = vector.map_or(0.0, |vector| vector.iter().zip(&query).map(|(a, b)| a * b).sum());
                }
                self.cosine_weight = embedder.weight() * SENTENCE_COSINE;
            }
            Err(error) => tracing::warn!(%error, "sentences are compared by words alone"),
        }
    }

    /// Pieces of the passages that `allowed` lets through, best first, with their scores.
    pub(super) fn ranked(&self, allowed: impl Fn(usize) -> bool) -> Vec<(usize, f32)> {
        let mut ranked: Vec<(usize, f32)> = (0..self.units.len())
            .filter(|&at| allowed(self.units[at].passage))
            .map(|at| (at, self.score(at)))
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// Share of the question's weight that a list is about: what its introduction, its headings or at least half of its
    /// items hold.
    pub(super) fn list_coverage(&self, intro: Option<usize>, items: std::ops::Range<usize>) -> f32 {
        let mut covered = 0.0;
        for (term, weight) in &self.terms {
            let is_led = intro.is_some_and(|at| self.unit_terms[at].contains(term));
            let holding = items.clone().filter(|&at| self.unit_terms[at].contains(term)).count();
            let in_context = self.contexts[items.start].contains(term);
            covered += weight
                * if is_led || holding * 2 >= items.len() {
                    1.0
                } else if in_context {
                    0.8
                } else if self.bodies[self.units[items.start].passage].contains(term) {
                    IN_PASSAGE
                } else {
                    0.0
                };
        }
        covered
    }

    /// Share of the question's weight that a piece and its headings hold.
    pub(super) fn coverage(&self, at: usize) -> f32 {
        let held = |term: &String| self.unit_terms[at].contains(term) || self.contexts[at].contains(term);
        self.terms.iter().filter(|(term, _)| held(term)).map(|(_, weight)| weight).sum()
    }

    /// What the heading above a piece adds, where it says most of the question.
    pub(super) fn heading(&self, at: usize) -> f32 {
        if self.headed[at] >= HEADING_SHARE { HEADING * self.headed[at] } else { 0.0 }
    }

    /// Whether meaning was compared, and not words alone.
    pub(super) fn is_compared(&self) -> bool {
        self.cosine_weight > 0.0
    }

    /// How near a piece is in meaning, 0 without an embedder.
    pub(super) fn cosine(&self, at: usize) -> f32 {
        self.cosines.get(at).copied().unwrap_or_default()
    }

    pub(super) fn score(&self, at: usize) -> f32 {
        let unit = &self.units[at];
        let previous = at.checked_sub(1).filter(|&before| self.units[before].block == unit.block);
        let mut covered = 0.0;
        for (term, weight) in &self.terms {
            covered += weight
                * if self.unit_terms[at].contains(term) {
                    1.0
                } else if self.contexts[at].contains(term) {
                    IN_CONTEXT
                } else if previous.is_some_and(|before| self.unit_terms[before].contains(term)) {
                    IN_PREVIOUS
                } else if self.bodies[unit.passage].contains(term) {
                    IN_PASSAGE
                } else {
                    0.0
                };
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few passages")]
        let rank = RANK / (unit.passage as f32 + 1.0);
        let new = self.unit_terms[at].iter().filter(|term| !self.terms.iter().any(|(known, _)| known == *term)).count();
        let says_nothing = if new < 2 { NOTHING_NEW } else { 0.0 };
        let asks = if unit.text.ends_with(['?', '？']) { 0.3 } else { 0.0 };
        let helps = TYPE * self.fit(unit) + self.cosine_weight * self.cosine(at) + rank;
        covered + helps + self.heading(at) - asks - says_nothing - shortness(&unit.text)
    }

    /// Whether the piece holds the kind of thing that is asked for, 0 … 1.
    fn fit(&self, unit: &Unit) -> f32 {
        let folded = fold(&unit.text);
        let wants = self.question.wants;
        let kinds = wants.quantities();
        if !kinds.is_empty() {
            let fits = quantities(&unit.text)
                .iter()
                .any(|found| kinds.contains(&found.kind) && !self.about.quantities.contains(&found.key));
            return if fits { 1.0 } else { 0.0 };
        }
        let matches = |pattern: &LazyLock<Option<Regex>>| {
            if pattern.as_ref().is_some_and(|pattern| pattern.is_match(&folded)) { 1.0 } else { 0.0 }
        };
        match wants {
            Wants::Person | Wants::Place => self.new_name(unit),
            Wants::YesNo => matches(&VERDICT),
            Wants::Reason => matches(&REASON),
            Wants::Procedure if unit.kind == Kind::Step => 1.0,
            Wants::Procedure => 0.5 * matches(&MEANS),
            Wants::List if unit.kind != Kind::Sentence => 0.6,
            Wants::List => 0.6 * matches(&ENUMERATION),
            _ => matches(&DEFINITION) * 0.5,
        }
    }

    /// A name that the question does not hold; in Chinese nothing marks one.
    fn new_name(&self, unit: &Unit) -> f32 {
        if unit.text.chars().any(is_han) {
            return 0.5;
        }
        let mut words = unit.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).skip(1);
        let has_name =
            words.any(|word| word.starts_with(char::is_uppercase) && !self.about.words.contains(&word.to_lowercase()));
        if has_name { 1.0 } else { 0.0 }
    }
}

static VERDICT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(not|no|never|can|cannot|may|must|only|always|without|allowed|required|yes)\b|不|可以|可|能|无|禁止|必须|均|需|允许").ok()
});
static REASON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(because|due to|owing to|since|so that|as a result|caused?|causes|therefore|in order to|reasons?)\b|由于|因为|因此|导致|原因|为了|所以|以便|使得").ok()
});
static MEANS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(by|using|use|first|then|press|open|click|select|choose|enter|go to|follow)\b|通过|使用|首先|然后|点击|选择|打开|按下|进入|请").ok()
});
static ENUMERATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(include|includes|including|such as|are|consists? of)\b|,.*,|、|包括|包含|分别|如下|等").ok()
});
static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[^,;.]{1,60}?\b(is|are|was|were|refers? to|means)\b|^[^，。；]{1,24}?(是|指|为|即|叫做|称为)").ok()
});

/// The heading above a piece, else the last of its passage's heading path.
fn nearest_heading<'e>(unit: &'e Unit, evidence: &'e ParsedEvidence) -> &'e str {
    if !unit.heading.is_empty() {
        return &unit.heading;
    }
    let section = evidence.passages.get(unit.passage).and_then(|passage| passage.section.as_deref());
    section.and_then(|path| path.rsplit(" > ").next()).unwrap_or_default()
}

fn share(terms: &[(String, f32)], held: &HashSet<String>) -> f32 {
    terms.iter().filter(|(term, _)| held.contains(term)).map(|(_, weight)| weight).sum()
}

/// Fragments say little.
fn shortness(text: &str) -> f32 {
    let chars = text.chars().count();
    let shortest = if text.chars().any(is_han) { 6 } else { 16 };
    if chars < shortest { 0.15 } else { 0.0 }
}

fn names(passage: &ParsedPassage) -> String {
    let parts = [passage.section.as_deref(), passage.about.as_deref(), passage.header.as_deref()];
    let mut text = passage.filename.replace(['-', '_', '.'], " ");
    for part in parts.into_iter().flatten() {
        text.push('\n');
        text.push_str(part);
    }
    text
}

fn term_set(text: &str) -> HashSet<String> {
    analyse(text).into_iter().map(|term| term.text).collect()
}

/// The question's terms with their importance before rarity.
fn question_terms(question: &Question, asked: &str) -> HashMap<String, f32> {
    let carries = |term: &str| {
        question.content.iter().any(|word| word.term == term || (term.starts_with(is_han) && word.text.contains(term)))
    };
    let now: Option<HashSet<String>> = (question.folded.len() > fold(asked).len()
        && question.folded.contains(fold(asked).trim()))
    .then(|| term_set(asked))
    .filter(|terms| !terms.is_empty());
    let mut terms = HashMap::new();
    for term in analyse(&question.folded) {
        let kind = match term.kind {
            TermKind::Word => 1.0,
            TermKind::Part => 0.5,
            TermKind::Pair => 0.25,
        };
        let meaning = if carries(&term.text) { 1.0 } else { MACHINERY };
        let turn = if now.as_ref().is_none_or(|now| now.contains(&term.text)) { 1.0 } else { EARLIER };
        let weight = terms.entry(term.text).or_insert(0.0_f32);
        *weight = weight.max(kind * meaning * turn);
    }
    terms
}

/// Importance times rarity among the pieces, as shares of one. A term that no piece holds counts as a rare one, so that
/// the few words that two languages share do not speak louder than the meaning.
fn weigh(terms: &HashMap<String, f32>, units: &[HashSet<String>], contexts: &[HashSet<String>]) -> Vec<(String, f32)> {
    #[expect(clippy::cast_precision_loss, reason = "there are few pieces")]
    let count = |n: usize| n as f32;
    let total = count(units.len());
    let mut weighed: Vec<(String, f32)> = terms
        .iter()
        .map(|(term, importance)| {
            let holds =
                |(unit, context): &(&HashSet<String>, &HashSet<String>)| unit.contains(term) || context.contains(term);
            let holding = count(units.iter().zip(contexts).filter(holds).count());
            (term.clone(), importance * (1.0 + total / holding.max(0.5)).ln())
        })
        .collect();
    weighed.sort_by(|a, b| a.0.cmp(&b.0));
    let sum: f32 = weighed.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut weighed {
        *weight /= sum.max(f32::EPSILON);
    }
    weighed
}
