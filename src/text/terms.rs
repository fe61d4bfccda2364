//! What a text is found by: terms, for the index and for questions alike.
//!
//! English words are stemmed and stop words left out. Chinese is cut by dictionary into words and the words inside
//! them, and every two neighbouring characters are a term too, so that 保修 finds 保修期 and the other way round even
//! where the dictionary cuts differently. Codes such as "X1-200" are found whole and by their parts.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::{
    fold,
    words::{DICTIONARY, Word, is_han, is_stop, runs},
};

/// How a term came out of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word, or a code as a whole.
    Word,
    /// A word inside a longer Chinese word, or a group of a code.
    Part,
    /// Two neighbouring Chinese characters that are no word of the dictionary's cut.
    Pair,
}

/// A term of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Folded, stemmed.
    pub text: String,
    /// How it came out.
    pub kind: Kind,
    /// Its first byte in the *folded* text. Terms of one word share or overlap it.
    pub start: usize,
}

/// The number of a folded term: FNV-1a of its UTF-8 in 64 bits, the two halves XORed. Stored with every chunk, so it
/// must never change.
#[must_use]
pub fn term_id(term: &str) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let [a, b, c, d, e, f, g, h] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d]) ^ u32::from_le_bytes([e, f, g, h])
}

/// The terms of `text` in order, repetitions included.
#[must_use]
pub fn analyse(text: &str) -> Vec<Term> {
    analyse_folded(&fold(text))
}

/// As [`analyse`], of a text that is folded already.
#[must_use]
pub fn analyse_folded(folded: &str) -> Vec<Term> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = Vec::new();
    for run in runs(folded) {
        if run.is_han() {
            chinese(run, &mut terms);
        } else {
            latin(run, &stemmer, &mut terms);
        }
    }
    terms
}

/// What the index keeps of a passage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    /// Term and how often it occurs; terms ascending and unique.
    pub frequencies: Vec<(u32, u32)>,
    /// Length as a share of a usual leaf's: 1.0 is as long as an average paragraph-sized chunk of either language.
    pub length: f32,
}

/// Content words of a usual English leaf (600 characters), and Chinese characters in words of a usual Chinese one.
const USUAL_WORDS: f32 = 62.0;
const USUAL_CHARACTERS: f32 = 330.0;

/// Counts the terms of a passage.
#[must_use]
pub fn count(text: &str) -> Counted {
    let mut ids = Vec::new();
    let mut length = 0.0;
    for term in analyse(text) {
        ids.push(term_id(&term.text));
        if term.kind == Kind::Word {
            length += if term.text.starts_with(is_han) {
                f32::from(u16::try_from(term.text.chars().count()).unwrap_or(u16::MAX)) / USUAL_CHARACTERS
            } else {
                1.0 / USUAL_WORDS
            };
        }
    }
    ids.sort_unstable();
    let frequencies =
        ids.chunk_by(|a, b| a == b).map(|same| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX))).collect();
    Counted { frequencies, length }
}

/// Term and how often it occurs, terms ascending and unique.
#[must_use]
pub fn frequencies(text: &str) -> Vec<(u32, u32)> {
    count(text).frequencies
}

/// How much a part or a pair counts in a question beside a whole word.
const PART: f32 = 0.5;
const PAIR: f32 = 0.25;

/// The distinct terms of a question, ascending, each with its importance before idf: 1 for a word, less for parts of
/// words and for pairs of characters, so that what happens to stand side by side does not drown what was meant.
#[must_use]
pub fn question(text: &str) -> Vec<(u32, f32)> {
    let mut terms: Vec<(u32, f32)> = analyse(text)
        .iter()
        .map(|term| {
            let weight = match term.kind {
                Kind::Word => 1.0,
                Kind::Part => PART,
                Kind::Pair => PAIR,
            };
            (term_id(&term.text), weight)
        })
        .collect();
    terms.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    terms.dedup_by_key(|term| term.0);
    terms
}

fn latin(word: Word<'_>, stemmer: &Stemmer, terms: &mut Vec<Term>) {
    let plain = plain(word.text);
    if !word.is_code() {
        if !is_stop(&plain) {
            terms.push(Term { text: stemmer.stem(&plain).into_owned(), kind: Kind::Word, start: word.start });
        }
        return;
    }
    // The whole without its joints: X1-200, X1/200 and X1200 are one term.
    let whole: String = code_parts(&plain).collect();
    let grouped = whole.len() != plain.len();
    terms.push(Term { text: whole, kind: Kind::Word, start: word.start });
    if grouped {
        for part in code_parts(&plain).filter(|part| !is_stop(part)) {
            terms.push(Term { text: stemmer.stem(part).into_owned(), kind: Kind::Part, start: word.start });
        }
    }
}

/// The groups of a code.
pub(super) fn code_parts(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

/// `word` without accents on Latin letters, and without the commas that group thousands.
pub(super) fn plain(word: &str) -> Cow<'_, str> {
    if is_number(word) && word.contains(',') {
        return Cow::Owned(word.replace(',', ""));
    }
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut base = 'x';
    let bare = word.nfd().filter(|&c| {
        let accent = is_combining_mark(c) && base.is_ascii();
        if !is_combining_mark(c) {
            base = c;
        }
        !accent
    });
    Cow::Owned(bare.nfc().collect())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'.')
}

fn chinese(run: Word<'_>, terms: &mut Vec<Term>) {
    let from = terms.len();
    let mut start = run.start;
    for token in DICTIONARY.cut(run.text, false) {
        if !is_stop(token.word) {
            terms.push(Term { text: token.word.to_owned(), kind: Kind::Word, start });
            inner_words(token.word, start, terms);
        }
        start += token.word.len();
    }
    let known = terms.len();
    let characters: Vec<(usize, char)> = run.text.char_indices().collect();
    for pair in characters.windows(2) {
        let (at, last) = (pair[0].0, pair[1]);
        let text = run.text.get(at..last.0 + last.1.len_utf8()).unwrap_or_default();
        let start = run.start + at;
        let is_known = terms[from..known].iter().any(|term| term.start == start && term.text == text);
        if !is_known && !is_stop(text) {
            terms.push(Term { text: text.to_owned(), kind: Kind::Pair, start });
        }
    }
}

/// The dictionary's words of two and three characters inside a longer word.
fn inner_words(word: &str, start: usize, terms: &mut Vec<Term>) {
    let bounds: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let count = bounds.len() - 1;
    for size in 2..count.min(4) {
        for window in bounds.windows(size + 1) {
            let (from, to) = (window[0], window[size]);
            let inner = word.get(from..to).unwrap_or_default();
            if DICTIONARY.has_word(inner) {
                terms.push(Term { text: inner.to_owned(), kind: Kind::Part, start: start + from });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{analyse, count, frequencies, question, term_id};

    fn texts(text: &str) -> Vec<String> {
        analyse(text).into_iter().map(|term| term.text).collect()
    }

    fn share(question_text: &str, passage: &str) -> usize {
        let passage: BTreeSet<u32> = frequencies(passage).into_iter().map(|(id, _)| id).collect();
        question(question_text).iter().filter(|(id, _)| passage.contains(id)).count()
    }

    #[test]
    fn english_is_stemmed_without_stop_words() {
        assert_eq!(texts("How long do the batteries' warranties last?"), ["long", "batteri", "warranti", "last"]);
        assert_eq!(texts("Café prices: 1,200.50"), ["cafe", "price", "1200.50"]);
    }

    #[test]
    fn chinese_is_found_by_words_and_by_parts() {
        assert!(share("保修", "本产品的保修期为两年") > 0);
        assert!(share("保修期", "提供保修服务") > 0);
        assert!(share("保養維修", "保养维修") >= 2);
        assert!(share("ＷｉＦｉ", "wifi 设置") > 0);
        assert_eq!(share("保修", "价格是十元"), 0);
    }

    #[test]
    fn codes_are_found_whole_and_in_parts() {
        assert_eq!(texts("X1-200"), ["x1200", "x1", "200"]);
        assert!(share("X1200", "the X1-200 model") > 0);
        assert!(share("X1", "the X1-200 model") > 0);
    }

    #[test]
    fn terms_have_fixed_numbers() {
        assert_eq!([term_id(""), term_id("a")], [0x4fd0_bfc1, 0x2962_30c0]);
    }

    #[test]
    fn counts_are_sorted_and_unique() {
        let counted = count("battery battery 电池 电池 电池");
        assert!(counted.frequencies.is_sorted_by(|a, b| a.0 < b.0));
        let of = |term| counted.frequencies.iter().find(|(id, _)| *id == term_id(term)).map(|(_, n)| *n);
        assert_eq!((of("batteri"), of("电池")), (Some(2), Some(3)));
        assert!(count("").frequencies.is_empty());
    }

    #[test]
    fn nothing_but_stop_words_has_no_terms() {
        assert_eq!(texts("who are you?"), Vec::<String>::new());
        assert_eq!(texts(" \n\t…"), Vec::<String>::new());
    }
}
