//! Documents that say one thing of the same matter with other facts, where nothing tells apart what each of them is about:
//! none of them is to be believed alone, so each is told with its source.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use crate::text::{negation::is_negated, vocabulary::Vocabulary};

use super::{case::Case, support::Support};

/// How much less of the question a document may hold that contradicts another.
const LACKS: f32 = 0.12;
/// What shares this much of its words, numbers aside, makes one statement.
const ONE_STATEMENT: f32 = 0.5;

/// Whether others of `candidates`, best first, contradict the best one. `naming` are words that name the documents.
pub(crate) fn contradicts(case: &Case, candidates: &[&Support], naming: &HashSet<String>) -> bool {
    let Some((best, others)) = candidates.split_first() else { return false };
    others.iter().any(|other| {
        let is_as_full = other.crosses == best.crosses && other.features.focus + LACKS >= best.features.focus;
        let is_opposed = |read: fn(&Case, &Support) -> Option<Statement>| {
            read(case, best).zip(read(case, other)).is_some_and(|(own, theirs)| own.contradicts(&theirs, naming))
        };
        is_as_full && (is_opposed(Statement::of_sentence) || is_opposed(Statement::of_window))
    })
}

/// What is stated, and the facts in it.
struct Statement {
    words: Vocabulary,
    numbers: BTreeSet<String>,
    is_negated: bool,
}

impl Statement {
    fn read(case: &Case, support: &Support, range: &Range<usize>, words: &Vocabulary) -> Self {
        let text = case.pool[support.leaf].text.get(range.clone()).unwrap_or_default();
        let quantities = case.readings[support.leaf].quantities_in(range);
        Self {
            words: words.clone(),
            numbers: quantities.map(|quantity| quantity.key.clone()).collect(),
            is_negated: is_negated(text),
        }
    }

    /// The best window of a leaf.
    fn of_window(case: &Case, support: &Support) -> Option<Self> {
        Some(Self::read(case, support, &support.window, &support.words))
    }

    /// The sentence in it that holds most of the question.
    fn of_sentence(case: &Case, support: &Support) -> Option<Self> {
        let held = |words: &Vocabulary| -> f32 { case.question.content.iter().map(|word| words.holds(word)).sum() };
        let window = &support.window;
        let inside = case.readings[support.leaf]
            .sentences
            .iter()
            .filter(|sentence| window.start <= sentence.range.start && sentence.range.end <= window.end);
        let best = inside.max_by(|a, b| held(&a.words).total_cmp(&held(&b.words)))?;
        Some(Self::read(case, support, &best.range, &best.words))
    }

    /// Whether both state one thing, in much the same words, with other numbers, or one of them denies it.
    fn contradicts(&self, other: &Self, naming: &HashSet<String>) -> bool {
        let has_other = !self.numbers.is_subset(&other.numbers) && !other.numbers.is_subset(&self.numbers);
        let is_word = |term: &String| !naming.contains(term) && !term.bytes().any(|byte| byte.is_ascii_digit());
        (has_other || self.is_negated != other.is_negated)
            && self.words.likeness_in(&other.words, is_word) >= ONE_STATEMENT
    }
}
