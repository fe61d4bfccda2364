//! Terms to find a text by: what a search over conversations keeps of a text, and what it looks for.
//!
//! Other than in [`super::terms`] nothing is left out and nothing is weighed: who searches knows what was said. English
//! words are kept as they stand and stemmed, Chinese as its characters and every two neighbouring ones, so that any part
//! of a Chinese text finds it, however a dictionary would cut it. What a query means is decided when it is read, so
//! texts need not be read again when that changes.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};

use super::{
    clean::clean,
    fold,
    terms::{code_parts, plain},
    words::{DICTIONARY, Word, is_stop, runs},
};

/// Longest term, in characters.
const MAX_TERM: usize = 40;
/// Most bytes of a text's terms. They are distinct, so texts of hundreds of thousands of characters stay below it.
const MAX_BYTES: usize = 512 << 10;
/// Shortest word that finds those that begin with it.
const MIN_PREFIX: usize = 3;

/// What a word of a query looks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// This term.
    Whole(String),
    /// A term that begins so.
    Prefix(String),
}

/// The terms of a text: distinct, of letters, digits and `_` alone.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let seen = clean(text);
    let folded = fold(&seen);
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = BTreeSet::new();
    let mut room = MAX_BYTES;
    for run in runs(&folded) {
        for term in of_run(run, &stemmer) {
            let Some(left) = room.checked_sub(term.len()) else { return terms.into_iter().collect() };
            if terms.insert(term) {
                room = left;
            }
        }
    }
    terms.into_iter().collect()
}

/// What a text must have to be found by `query`: of each group one pattern at least. Words that say nothing count only
/// when there are no others. No group: nothing is found. Chinese words are found in any order, characters that are no
/// words together as they stand.
#[must_use]
pub fn query(query: &str) -> Vec<Vec<Pattern>> {
    let seen = clean(query);
    let folded = fold(&seen);
    let stemmer = Stemmer::create(Algorithm::English);
    let (mut telling, mut others) = (Vec::new(), Vec::new());
    for run in runs(&folded) {
        if run.is_han() {
            for word in stretches(run.text) {
                let groups = if is_stop(word) { &mut others } else { &mut telling };
                groups.extend(pieces(word).into_iter().map(|piece| vec![Pattern::Whole(piece)]));
            }
            continue;
        }
        let word = plain(run.text);
        let groups = if is_stop(&word) && !run.is_code() { &mut others } else { &mut telling };
        groups.push(of_word(run, &stemmer));
    }
    let mut groups = if telling.is_empty() { others } else { telling };
    groups.sort();
    groups.dedup();
    groups
}

/// A word of a query: as it is written or begun, or in another form. A code is looked for without its joints.
fn of_word(word: Word<'_>, stemmer: &Stemmer) -> Vec<Pattern> {
    let text = plain(word.text);
    let (written, other) = if word.is_code() {
        (code_parts(&text).collect::<String>(), None)
    } else {
        (text.to_string(), Some(term(&stemmer.stem(&text))))
    };
    let written = term(&written);
    let first = if written.chars().count() < MIN_PREFIX {
        Pattern::Whole(written.clone())
    } else {
        Pattern::Prefix(written.clone())
    };
    std::iter::once(first).chain(other.filter(|other| *other != written).map(Pattern::Whole)).collect()
}

fn of_run(run: Word<'_>, stemmer: &Stemmer) -> Vec<String> {
    if run.is_han() {
        let characters = run.text.chars().map(String::from);
        return characters.chain(pairs(run.text)).collect();
    }
    let text = plain(run.text);
    let whole = if run.is_code() {
        vec![term(&code_parts(&text).collect::<String>())]
    } else {
        vec![term(&text), term(&stemmer.stem(&text))]
    };
    // The parts of "d'été" are looked for by themselves too.
    whole.into_iter().chain(code_parts(&text).map(term)).collect()
}

/// The words of a Chinese text; neighbouring characters that the dictionary knows no word of are one.
fn stretches(text: &str) -> Vec<&str> {
    let is_character = |word: &str| word.chars().nth(1).is_none() && !is_stop(word);
    let mut stretches = Vec::new();
    let (mut start, mut end, mut is_open) = (0, 0, false);
    for token in DICTIONARY.cut(text, false) {
        let goes_on = is_character(token.word);
        if !(is_open && goes_on) && end > start {
            stretches.extend(text.get(start..end));
            start = end;
        }
        end += token.word.len();
        is_open = goes_on;
    }
    stretches.extend(text.get(start..end).filter(|last| !last.is_empty()));
    stretches
}

/// A Chinese word as the terms that its texts have.
fn pieces(word: &str) -> Vec<String> {
    let pairs: Vec<String> = pairs(word).collect();
    if pairs.is_empty() { vec![word.to_owned()] } else { pairs }
}

fn pairs(text: &str) -> impl Iterator<Item = String> {
    text.chars().zip(text.chars().skip(1)).map(|(first, second)| String::from_iter([first, second]))
}

fn term(word: &str) -> String {
    word.chars().take(MAX_TERM).map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::text::clean::is_unwanted;

    fn finds(wanted: &str, text: &str) -> bool {
        let terms: BTreeSet<String> = terms(text).into_iter().collect();
        let has = |pattern: &Pattern| match pattern {
            Pattern::Whole(term) => terms.contains(term),
            Pattern::Prefix(start) => terms.iter().any(|term| term.starts_with(start)),
        };
        let groups = query(wanted);
        !groups.is_empty() && groups.iter().all(|group| group.iter().any(has))
    }

    #[test]
    fn one_text_by_many_spellings() {
        let text = "The Aurora X1-200's batteries are covered. 本產品的保養維修期限為２年，ＷｉＦｉ 除外。L'été.";
        for wanted in [
            "battery",
            "BATTERIES",
            "batter",
            "aur",
            "x1-200",
            "X1 200",
            "x1200",
            "ｗｉｆｉ",
            "保养维修",
            "保養",
            "養",
            "维修期限",
            "产品 期限",
            "期限产品",
            "2",
            "the battery",
            "covered aurora",
            "除外wifi",
            "the",
            "的",
        ] {
            assert!(finds(wanted, text), "{wanted}");
        }
        for wanted in ["borealis", "batterie pack", "保修", "x2", "au", "价格", "", "！？", "@", "who"] {
            assert!(!finds(wanted, text), "{wanted}");
        }
    }

    #[test]
    fn characters_are_found_as_they_stand() {
        let text = "保修两年，另付三元";
        for wanted in ["两年", "修两", "修两年", "年", "付三元", "两年保修", "另付三", "修 付"] {
            assert!(finds(wanted, text), "{wanted}");
        }
        for wanted in ["年两", "两修", "元三", "付另", "修年"] {
            assert!(!finds(wanted, text), "{wanted}");
        }
    }

    #[test]
    fn words_are_found_beside_any_punctuation() {
        let is_mark =
            |c: &char| !c.is_alphanumeric() && !is_unwanted(*c) && !unicode_normalization::char::is_combining_mark(*c);
        let marks = ('!'..='\u{bf}')
            .chain('\u{2010}'..='\u{206f}')
            .chain('\u{3000}'..='\u{303f}')
            .chain('\u{fe30}'..='\u{ff0f}');
        for mark in marks.filter(is_mark).chain(['＿', '～', '｜', '…', '🙂']) {
            for text in [
                format!("{mark}under{mark}"),
                format!("{mark}{mark}under{mark}{mark}"),
                format!("so {mark}under it{mark}"),
                format!("x{mark}under{mark}2"),
                format!("在{mark}under{mark}下"),
                format!("{mark}保修{mark} x{mark}under"),
            ] {
                assert!(finds("under", &text), "{text} ({})", mark.escape_unicode());
                assert!(finds(&format!("{mark}under{mark}"), &text), "{text} by itself ({})", mark.escape_unicode());
                assert!(!text.contains('保') || finds("保修", &text), "{text}");
            }
        }
    }

    #[test]
    fn terms_are_short_distinct_and_bounded() {
        let found = terms(&format!("a.b-c {} it's 1,200.50 a", "x".repeat(100)));
        assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        for term in &found {
            assert!(
                term.chars().count() <= MAX_TERM && term.chars().all(|c| c.is_alphanumeric() || c == '_'),
                "{term}"
            );
        }
        let long: String = (0..60_000).map(|n| format!("word{n} ")).collect();
        assert!(terms(&long).iter().map(String::len).sum::<usize>() <= MAX_BYTES);
    }
}
