//! Clauses of one Chinese sentence that say the same of different things: "普通会员……；金卡会员……". An English sentence
//! is quoted whole, with all its clauses.

use std::ops::Range;

use super::{
    blocks::{Kind, Unit},
    write::Writer,
};
use crate::text::{
    common::common,
    generic::is_generic,
    question::{Content, Wants},
    words::{Word, is_han, is_stop, words},
};

/// Most clauses of a sentence that are told together.
const MOST: usize = 6;
/// Longest clauses that are compared, in characters.
const LONGEST: usize = 120;

impl Writer<'_> {
    /// The clauses that go with `best`: those of its sentence that the question names, else all that answer it as `best`
    /// does; and the clauses that are left out then.
    pub(super) fn clauses(&self, best: usize) -> (Vec<usize>, Range<usize>) {
        let units = &self.material.units;
        let sentence = sentence_of(units, best);
        if sentence.len() < 2 || sentence.len() > MOST {
            return (vec![best], best..best);
        }
        let parallel: Vec<usize> = sentence.clone().filter(|&at| at == best || self.answers_too(best, at)).collect();
        let named: Vec<usize> = parallel.iter().copied().filter(|&at| self.is_named(at, &parallel)).collect();
        if named.is_empty() { (parallel, best..best) } else { (named, sentence) }
    }

    /// Whether a clause answers the question as another one of its sentence does, as far as its form tells.
    fn answers_too(&self, best: usize, at: usize) -> bool {
        let (material, units) = (self.material, &self.material.units);
        let fits = |at: usize| material.fit(&units[at]) >= 1.0;
        if material.wants_quantity() && fits(best) {
            return fits(at);
        }
        let is_shared = |word: &&Content| [best, at].iter().all(|&at| units[at].text.contains(&word.text));
        material.question.wants != Wants::Procedure && self.own_words().any(|word| is_shared(&word))
    }

    /// Whether the question names what a clause is about: by a word that no other one has, where they have another.
    fn is_named(&self, at: usize, parallel: &[usize]) -> bool {
        let text = |at: usize| self.material.units[at].text.as_str();
        self.own_words().any(|word| {
            let mut others = parallel.iter().map(|&other| text(other)).filter(|other| *other != text(at)).peekable();
            let is_apart = begins_name(text(at), &word.text);
            let is_other = |other: &str| {
                if other.contains(&word.text) {
                    is_apart && !begins_name(other, &word.text)
                } else {
                    is_contrasted(text(at), &word.text, other)
                }
            };
            text(at).contains(&word.text) && others.peek().is_some() && others.all(is_other)
        })
    }

    fn own_words(&self) -> impl Iterator<Item = &Content> {
        let tells = |word: &&Content| !word.is_borrowed && !is_generic(&word.text) && word.text.chars().count() > 1;
        self.material.question.content.iter().filter(tells)
    }
}

/// The pieces of the sentence that a piece is a clause of: each but the last ends with a semicolon.
fn sentence_of(units: &[Unit], at: usize) -> Range<usize> {
    let goes_on = |at: usize| {
        let (unit, next) = (&units[at], units.get(at + 1));
        let is_open = unit.kind == Kind::Sentence && unit.text.ends_with('；') && unit.text.contains(is_han);
        is_open && next.is_some_and(|next| next.block == unit.block)
    };
    let start = (0..at).rev().take_while(|&before| goes_on(before)).last().unwrap_or(at);
    let end = (at..units.len()).find(|&at| !goes_on(at)).map_or(units.len(), |last| last + 1);
    start..end
}

/// Whether `word` stands somewhere in `text` with no other word before it that makes it part of a longer name, as 铂 does
/// in 铂金卡.
fn begins_name(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = &text[..at];
        let is_free = |last: Word<'_>| last.end < at || is_stop(last.text);
        words(before).pop().is_none_or(is_free)
    })
}

/// Whether `other`, which has no `word`, has something else in the place that it has in `text`: "国内" and "海外" between "对于" and "订单".
/// Where it has nothing there it only leaves out what was said already.
fn is_contrasted(text: &str, word: &str, other: &str) -> bool {
    let Some(place) = text.find(word).map(|at| text[..at].chars().count()) else { return false };
    let (left, right): (Vec<char>, Vec<char>) =
        (text.chars().take(LONGEST).collect(), other.chars().take(LONGEST).collect());
    let pairs = common(&left, &right);
    let end = place + word.chars().count();
    let before = pairs.iter().rev().find(|(own, _)| *own < place).map_or(0, |(_, theirs)| theirs + 1);
    let after = pairs.iter().find(|(own, _)| *own >= end).map_or(right.len(), |(_, theirs)| *theirs);
    right.get(before..after).unwrap_or_default().iter().any(|c| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{begins_name, is_contrasted};

    #[test]
    fn a_word_is_contrasted_where_the_other_clause_has_another() {
        for (word, expected) in [("普通", true), ("退货期", false)] {
            let found = is_contrasted("普通会员退货期为 7 天；", word, "金卡会员为 15 天。");
            assert_eq!(found, expected, "{word}");
        }
        assert!(is_contrasted("对于国内订单，运费为 10 元；", "国内", "对于海外订单，运费为 80 元。"));
        assert!(!is_contrasted("对于国内订单，运费为 10 元；", "运费", "对于海外订单，为 80 元。"));
    }

    #[test]
    fn a_word_behind_another_begins_no_name() {
        for (text, expected) in [
            ("金卡会员为 15 天；", true),
            ("普通会员为 7 天，金卡会员为 15 天；", true),
            ("对于金卡会员，退货期为 15 天；", true),
            ("铂金卡会员为 30 天。", false),
        ] {
            assert_eq!(begins_name(text, "金卡"), expected, "{text}");
        }
    }
}
