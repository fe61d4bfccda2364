//! Whether candidates say the same: each one's answer in a form that can be compared, and the groups that agree.

use std::collections::{BTreeSet, HashSet};

use crate::text::{negation::is_negated, question::Wants, vocabulary::Vocabulary};

use super::{reading::Reading, support::Support};

/// Windows that share this much of their words, with the same numbers and the same negation, say the same.
const SAME: f32 = 0.6;

/// What a candidate answers.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// Keys of quantities of the wanted kind; empty: the words count.
    keys: BTreeSet<String>,
    /// The nearest of them.
    first: Option<String>,
    /// All numbers of the window.
    numbers: BTreeSet<String>,
    negated: bool,
    words: Vocabulary,
}

impl Said {
    /// What `support`, whose window reads `text`, says to a question that wants `wants`.
    pub(crate) fn read(support: &Support, reading: &Reading, text: &str, wants: Wants) -> Self {
        let keys: BTreeSet<String> = if wants.quantities().is_empty() {
            BTreeSet::new()
        } else {
            support.answers.iter().map(|quantity| quantity.key.clone()).collect()
        };
        Self {
            first: support.answers.first().filter(|_| !keys.is_empty()).map(|quantity| quantity.key.clone()),
            keys,
            numbers: reading.quantities_in(&support.window).map(|quantity| quantity.key.clone()).collect(),
            negated: is_negated(text),
            words: support.words.clone(),
        }
    }

    /// Whether both say the same. `ignored` are words that name the candidates themselves.
    pub(crate) fn agrees(&self, other: &Self, ignored: &HashSet<String>) -> bool {
        if let (Some(own), Some(theirs)) = (&self.first, &other.first) {
            return own == theirs || self.keys == other.keys;
        }
        self.negated == other.negated
            && self.numbers == other.numbers
            && self.words.likeness(&other.words, ignored) >= SAME
    }
}

/// Groups of candidates that agree (union-find over pairs), by the smallest member; `group[i]` is candidate i's group.
pub(crate) fn groups(said: &[Said], ignored: &HashSet<String>) -> Vec<usize> {
    let mut group: Vec<usize> = (0..said.len()).collect();
    for i in 0..said.len() {
        for j in 0..i {
            if said[i].agrees(&said[j], ignored) {
                let (from, to) = (group[i].max(group[j]), group[i].min(group[j]));
                for member in &mut group {
                    if *member == from {
                        *member = to;
                    }
                }
            }
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::index::TermStats,
        services::retrieval::grade::{
            fixture::passage,
            lexicon::{Kin, weigh},
            support::{Frame, support},
        },
        text::question::Question,
    };

    fn said(question: &str, texts: &[&str]) -> Vec<usize> {
        let question = Question::read(question);
        let weighted = weigh(&question, &TermStats::default());
        let frame = Frame { question: &question, weighted: &weighted, kin: &Kin::new(), names_several: false };
        let said: Vec<Said> = texts
            .iter()
            .map(|text| {
                let leaf = passage("a.md", text);
                let reading = Reading::of(&leaf);
                let found = support(&frame, 0, &leaf, &reading);
                Said::read(&found, &reading, &text[found.window.clone()], question.wants)
            })
            .collect();
        groups(&said, &HashSet::new())
    }

    #[test]
    fn the_same_length_of_time_agrees_across_spellings_and_languages() {
        assert_eq!(
            said(
                "How long is the warranty?",
                &[
                    "The warranty is two years.",
                    "We give a warranty of 24 months.",
                    "保修期为两年。",
                    "The warranty lasts 3 years."
                ]
            ),
            [0, 0, 0, 3]
        );
    }

    #[test]
    fn sentences_agree_by_words_numbers_and_negation() {
        assert_eq!(
            said(
                "Can the battery be changed by the user?",
                &[
                    "The battery can be changed by the user.",
                    "The user can change the battery.",
                    "The battery cannot be changed by the user.",
                ]
            ),
            [0, 0, 2]
        );
    }
}
