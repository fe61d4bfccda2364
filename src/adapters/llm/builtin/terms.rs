//! Which words of the question each piece of the evidence holds, and how far.

use std::collections::{HashMap, HashSet};

use super::blocks::Unit;
use crate::{
    domain::{
        evidence::{ParsedEvidence, ParsedPassage},
        kin::Kin,
    },
    text::{
        dimensions, fold,
        generic::{is_generic, weight},
        question::{Content, Question},
        terms::{Kind, analyse},
        vocabulary::Vocabulary,
        words::is_han,
    },
};

/// What the machinery of asking ("how long") counts beside words that carry meaning.
const MACHINERY: f32 = 0.15;
/// What the words of an earlier turn count beside those of this one.
const EARLIER: f32 = 0.5;
/// What all of them count at most beside those of this one.
const ALL_EARLIER: f32 = 0.6;

/// A term of the question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// As the analyser spells it.
    text: String,
    /// Importance before rarity.
    importance: f32,
    /// The word that carries it, by which words near in meaning are found.
    word: Option<Content>,
}

/// The question's terms with their importance before rarity, each once, in the order of the alphabet.
pub(super) fn asked_terms(question: &Question, asked: &str) -> Vec<Asked> {
    let carrier = |term: &str| {
        let is_in = |word: &&Content| word.term == term || (term.starts_with(is_han) && word.text.contains(term));
        question.content.iter().find(is_in).cloned()
    };
    let now: Option<HashSet<String>> = (question.folded.len() > fold(asked).len()
        && question.folded.contains(fold(asked).trim()))
    .then(|| terms_of(asked))
    .filter(|terms| !terms.is_empty());
    let mut terms: HashMap<String, Asked> = HashMap::new();
    for term in analyse(&question.folded) {
        let kind = match term.kind {
            Kind::Word => 1.0,
            Kind::Part => 0.5,
            Kind::Pair => 0.25,
        };
        let word = carrier(&term.text);
        let meaning = word.as_ref().map_or(MACHINERY, |word| weight(&word.text));
        let turn = if now.as_ref().is_none_or(|now| now.contains(&term.text)) { 1.0 } else { EARLIER };
        let importance = kind * meaning * turn;
        let known = terms.entry(term.text.clone()).or_insert(Asked { text: term.text, importance, word });
        known.importance = known.importance.max(importance);
    }
    // "How loud" asks for a word that it does not hold: "noise".
    for word in question.content.iter().filter(|word| dimensions::of(&word.text).is_some()) {
        let asked = Asked { text: word.term.clone(), importance: 1.0, word: Some(word.clone()) };
        terms.entry(word.term.clone()).or_insert(asked);
    }
    let mut terms: Vec<Asked> = terms.into_values().collect();
    terms.sort_by(|a, b| a.text.cmp(&b.text));
    // However long the question before it was, "and hotels?" asks for hotels.
    if let Some(now) = &now {
        let own: f32 = terms
            .iter()
            .filter(|term| now.contains(&term.text) && term.word.as_ref().is_some_and(|word| !word.is_code))
            .map(|term| term.importance)
            .sum();
        let earlier: f32 = terms.iter().filter(|term| !now.contains(&term.text)).map(|term| term.importance).sum();
        if own > 0.0 && earlier > ALL_EARLIER * own {
            for term in terms.iter_mut().filter(|term| !now.contains(&term.text)) {
                term.importance *= ALL_EARLIER * own / earlier;
            }
        }
    }
    terms
}

fn terms_of(text: &str) -> HashSet<String> {
    analyse(text).into_iter().map(|term| term.text).collect()
}

/// How far `words` hold a term: wholly where it is written, else as far as a word of it is there in another form or one
/// that is near in meaning.
fn holds(words: &Vocabulary, term: &Asked, kin: &Kin) -> f32 {
    if words.has_term(&term.text) {
        return 1.0;
    }
    let Some(word) = &term.word else { return 0.0 };
    let itself = if word.term == term.text || words.names_dimension(&word.text) { words.holds(word) } else { 0.0 };
    let near = kin.get(&word.text).filter(|_| !word.is_code && dimensions::of(&word.text).is_none());
    near.map_or(itself, |near| words.nearest(near).max(itself))
}

/// The words of the pieces and of what stands around them.
pub(super) struct Texts {
    asked: Vec<Asked>,
    /// Each piece.
    units: Vec<Vocabulary>,
    /// The nearest heading above each piece.
    headings: Vec<Vocabulary>,
    /// What the passages stand under: file name, headings, table header.
    names: Vec<Vocabulary>,
    /// The passage of each piece.
    passages: Vec<usize>,
}

impl Texts {
    pub(super) fn read(evidence: &ParsedEvidence, units: &[Unit], asked: Vec<Asked>) -> Self {
        Self {
            asked,
            units: units.iter().map(|unit| Vocabulary::read(&unit.text)).collect(),
            headings: units.iter().map(|unit| Vocabulary::read(nearest_heading(unit, evidence))).collect(),
            names: evidence.passages.iter().map(|passage| Vocabulary::read(&names(passage))).collect(),
            passages: units.iter().map(|unit| unit.passage).collect(),
        }
    }

    /// Words of the question that others may be near to.
    pub(super) fn asked_words(&self) -> Vec<String> {
        let carriers = self.asked.iter().filter_map(|term| term.word.as_ref());
        let carriers = carriers.filter(|word| !word.is_code && !is_generic(&word.text));
        let words: HashSet<&str> = carriers.map(|word| word.text.as_str()).collect();
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        words.sort_unstable();
        words
    }

    /// Every word of the evidence.
    pub(super) fn surfaces(&self) -> HashSet<String> {
        self.units.iter().chain(&self.headings).chain(&self.names).flat_map(Vocabulary::surfaces).cloned().collect()
    }

    /// How many terms of a piece the question does not hold.
    pub(super) fn new_terms(&self, at: usize) -> usize {
        self.units[at].terms().filter(|term| !self.asked.iter().any(|asked| asked.text == **term)).count()
    }

    /// What each piece, and what stands around it, holds of the question.
    pub(super) fn held(&self, kin: &Kin) -> Held {
        let each = |words: &Vocabulary| -> Vec<f32> { self.asked.iter().map(|term| holds(words, term, kin)).collect() };
        let bodies = (0..self.names.len()).map(|passage| {
            let inside = self.units.iter().zip(&self.passages).filter(|(_, of)| **of == passage);
            Vocabulary::of_all(inside.map(|(unit, _)| unit))
        });
        let names: Vec<Vec<f32>> = self.names.iter().map(each).collect();
        let headings: Vec<Vec<f32>> = self.headings.iter().map(each).collect();
        let contexts = headings
            .iter()
            .zip(&self.passages)
            .map(|(heading, passage)| heading.iter().zip(&names[*passage]).map(|(a, b)| a.max(*b)).collect())
            .collect();
        let names = names
            .into_iter()
            .map(|held| {
                held.into_iter().zip(&self.asked).map(|(held, term)| if is_name(term) { held } else { 0.0 }).collect()
            })
            .collect();
        Held {
            weights: self.weights(),
            units: self.units.iter().map(each).collect(),
            passages: bodies.map(|body| each(&body)).collect(),
            headings,
            contexts,
            names,
        }
    }

    /// Importance times rarity among the pieces, as shares of one. A term that no piece holds counts as a rare one, so
    /// that the few words that two languages share do not speak louder than the meaning.
    fn weights(&self) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "there are few pieces")]
        let count = |n: usize| n as f32;
        let total = count(self.units.len());
        let holding = |term: &str| {
            let pieces = self.units.iter().zip(&self.headings).zip(&self.passages);
            let holds = |((unit, heading), passage): &((&Vocabulary, &Vocabulary), &usize)| {
                [unit, heading, &self.names[**passage]].into_iter().any(|words| words.has_term(term))
            };
            count(pieces.filter(holds).count())
        };
        let mut weights: Vec<f32> =
            self.asked.iter().map(|term| term.importance * (1.0 + total / holding(&term.text).max(0.5)).ln()).collect();
        let sum: f32 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum.max(f32::EPSILON);
        }
        weights
    }
}

/// How far each term of the question is held, 0 … 1, in the order of the terms.
pub(super) struct Held {
    /// What each term counts; together one.
    weights: Vec<f32>,
    units: Vec<Vec<f32>>,
    headings: Vec<Vec<f32>>,
    contexts: Vec<Vec<f32>>,
    passages: Vec<Vec<f32>>,
    names: Vec<Vec<f32>>,
}

impl Held {
    /// Share of the question of which `part` tells how far a term is held.
    pub(super) fn sum(&self, part: impl Fn(usize) -> f32) -> f32 {
        self.weights.iter().enumerate().map(|(term, weight)| weight * part(term)).sum()
    }

    /// By the piece itself.
    pub(super) fn in_unit(&self, at: usize, term: usize) -> f32 {
        self.units[at][term]
    }

    /// By the nearest heading above the piece.
    pub(super) fn in_heading(&self, at: usize, term: usize) -> f32 {
        self.headings[at][term]
    }

    /// By that heading, the passage's headings, table header or file name.
    pub(super) fn in_context(&self, at: usize, term: usize) -> f32 {
        self.contexts[at][term]
    }

    /// By any piece of the passage.
    pub(super) fn in_passage(&self, passage: usize, term: usize) -> f32 {
        self.passages[passage][term]
    }

    /// Of names and codes: by what the passage stands under. A document that is about a thing need not say its name in
    /// each sentence.
    pub(super) fn in_name(&self, passage: usize, term: usize) -> f32 {
        self.names[passage][term]
    }
}

fn is_name(term: &Asked) -> bool {
    term.word.as_ref().is_some_and(|word| word.is_name || word.is_code)
}

/// The heading above a piece, else the last of its passage's heading path.
fn nearest_heading<'e>(unit: &'e Unit, evidence: &'e ParsedEvidence) -> &'e str {
    if !unit.heading.is_empty() {
        return &unit.heading;
    }
    let section = evidence.passages.get(unit.passage).and_then(|passage| passage.section.as_deref());
    section.and_then(|path| path.rsplit(" > ").next()).unwrap_or_default()
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
