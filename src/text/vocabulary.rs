//! The words of a text, prepared to look a question's words up in: as they are written, by stem, by root, with a slip of
//! the pen; of Chinese also by pairs of characters.

use std::collections::{HashMap, HashSet};

use super::{
    dimensions, fold,
    question::Content,
    terms::analyse_folded,
    words::{is_han, surfaces},
};

/// A text prepared for lookups.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    folded: String,
    terms: HashSet<String>,
    surfaces: HashSet<String>,
}

impl Vocabulary {
    /// Prepares a text.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let folded = fold(text);
        let surfaces = surfaces(&folded);
        let mut terms: HashSet<String> = analyse_folded(&folded).into_iter().map(|term| term.text).collect();
        terms.extend(acronyms(text));
        Self { folded, terms, surfaces }
    }

    /// Several texts as one.
    #[must_use]
    pub fn of_all<'v>(parts: impl IntoIterator<Item = &'v Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.folded.push_str(&part.folded);
            all.folded.push('\n');
            all.terms.extend(part.terms.iter().cloned());
            all.surfaces.extend(part.surfaces.iter().cloned());
        }
        all
    }

    /// Whether one of its terms is `term`, as the analyser spells it.
    #[must_use]
    pub fn has_term(&self, term: &str) -> bool {
        self.terms.contains(term)
    }

    /// Whether it names, in any form, the dimension that `word` names.
    #[must_use]
    pub fn names_dimension(&self, word: &str) -> bool {
        dimensions::named_in(word, &self.surfaces)
    }

    /// The most credit that one of its words has, by what each word is worth beside a word of a question.
    #[must_use]
    pub fn nearest(&self, credits: &HashMap<String, f32>) -> f32 {
        credits.iter().filter(|(word, _)| self.surfaces.contains(*word)).map(|(_, credit)| *credit).fold(0.0, f32::max)
    }

    /// How far the text holds `word`, 0 … 1. A Chinese word that is not there counts by the pairs of characters that are.
    #[must_use]
    pub fn holds(&self, word: &Content) -> f32 {
        if self.has_term(&word.term) || self.names_dimension(&word.text) {
            return 1.0;
        }
        if word.text.starts_with(is_han) {
            return self.holds_han(&word.text);
        }
        // "warranties" and "guaranteed": what stemming leaves apart meets in a long common beginning.
        let letters = word.term.chars().count();
        if letters >= 6 && !word.is_code && self.terms.iter().any(|term| same_root(term, &word.term)) {
            return 0.9;
        }
        // One slip of the pen.
        if letters >= 6 && !word.is_code && self.terms.iter().any(|term| slipped(term, &word.term)) {
            return 0.8;
        }
        0.0
    }

    fn holds_han(&self, word: &str) -> f32 {
        if self.folded.contains(word) {
            return 1.0;
        }
        let chars: Vec<char> = word.chars().collect();
        if chars.len() < 3 {
            return 0.0;
        }
        let pairs: Vec<String> = chars.windows(2).map(|pair| pair.iter().collect()).collect();
        let there = pairs.iter().filter(|pair| self.folded.contains(pair.as_str())).count();
        #[expect(clippy::cast_precision_loss, reason = "a few pairs")]
        let share = there as f32 / pairs.len() as f32;
        share * 0.9
    }

    /// The share of terms that two texts have in common (Jaccard), leaving out those of `ignored`.
    #[must_use]
    pub fn likeness(&self, other: &Self, ignored: &HashSet<String>) -> f32 {
        self.likeness_in(other, |term| !ignored.contains(term))
    }

    /// The same among the terms that count.
    #[must_use]
    pub fn likeness_in(&self, other: &Self, counts: impl Fn(&String) -> bool) -> f32 {
        let own: HashSet<&String> = self.terms.iter().filter(|term| counts(term)).collect();
        let theirs: HashSet<&String> = other.terms.iter().filter(|term| counts(term)).collect();
        let common = own.intersection(&theirs).count();
        let union = own.union(&theirs).count();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred terms")]
        let share = if union == 0 { 0.0 } else { common as f32 / union as f32 };
        share
    }

    /// All words as they are written, folded, stop words and codes aside.
    pub fn surfaces(&self) -> impl Iterator<Item = &String> {
        self.surfaces.iter()
    }

    /// All terms.
    pub fn terms(&self) -> impl Iterator<Item = &String> {
        self.terms.iter()
    }
}

/// What names of several words are called for short, folded: "European Union" is the EU.
fn acronyms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut initials = String::new();
    let mut close = |initials: &mut String| {
        if initials.len() >= 2 {
            found.push(initials.to_lowercase());
        }
        initials.clear();
    };
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_name = bare.len() >= 2 && bare.starts_with(|c: char| c.is_ascii_uppercase());
        if !is_name || !word.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            close(&mut initials);
        }
        if is_name {
            initials.extend(bare.chars().next());
        }
        if !word.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            close(&mut initials);
        }
    }
    close(&mut initials);
    found
}

fn slipped(left: &str, right: &str) -> bool {
    left.chars().count() >= 5
        && left.chars().next() == right.chars().next()
        && strsim::damerau_levenshtein(left, right) <= 1
}

fn same_root(left: &str, right: &str) -> bool {
    let common = left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count();
    let longer = left.chars().count().max(right.chars().count());
    common >= 6 && common * 10 >= longer * 7
}

#[cfg(test)]
mod tests {
    use super::{super::question::Question, *};

    fn holds(question: &str, text: &str) -> Vec<f32> {
        let vocabulary = Vocabulary::read(text);
        Question::read(question).content.iter().map(|word| vocabulary.holds(word)).collect()
    }

    #[test]
    fn english_words_by_stem_and_root() {
        assert_eq!(holds("warranties of the battery", "The warranty covers batteries."), [1.0, 1.0]);
        assert_eq!(holds("installation", "Install it."), [1.0]);
        assert_eq!(holds("solar charger", "The charging dock"), [0.0, 0.0]);
    }

    #[test]
    fn names_of_several_words_by_their_initials() {
        let text = "It is free within the European Union. Elsewhere you pay.";
        assert_eq!(holds("Is it free in the EU?", text), [1.0, 1.0]);
        assert_eq!(holds("Is it free in the UK?", text), [1.0, 0.0]);
    }

    #[test]
    fn chinese_words_by_pairs() {
        assert_eq!(holds("保修期", "整机保修期为两年"), [1.0]);
        assert_eq!(holds("保修期", "提供保修服务"), [0.45]);
        assert_eq!(holds("价格", "提供保修服务"), [0.0]);
    }
}
