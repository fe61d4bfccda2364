//! Small questions about the wording of pieces.

use std::collections::HashSet;

use crate::text::{fold, quantities::quantities, terms::analyse, words::is_han};

/// `text` with an end mark.
pub(super) fn ended(text: &str) -> String {
    let text = text.trim_end_matches([';', '；', ',', '，', ':', '：', ' ']);
    let is_ended = text.ends_with(|c: char| {
        matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '"' | '”' | '」' | ')' | '）' | '…' | '*')
    });
    if is_ended {
        return text.to_owned();
    }
    format!("{text}{}", if text.chars().any(is_han) { "。" } else { "." })
}

/// Whether `text` holds `phrase` between word bounds.
pub(super) fn says(text: &str, phrase: &str) -> bool {
    let is_bound = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_han(c));
    !phrase.is_empty()
        && text.match_indices(phrase).any(|(at, found)| {
            phrase.chars().all(is_han)
                || is_bound(text[..at].chars().next_back()) && is_bound(text[at + found.len()..].chars().next())
        })
}

pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

pub(super) fn begins_with_pronoun(text: &str) -> bool {
    let folded = fold(text);
    let first = folded.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(first, "it" | "they" | "this" | "these" | "he" | "she" | "its" | "their" | "his" | "her" | "such")
        || ["它", "他", "她", "该", "此", "这", "其"].iter().any(|word| folded.starts_with(word))
}

/// What a sentence states: its quantities, else its words.
pub(super) fn facts(text: &str) -> HashSet<String> {
    let keys: HashSet<String> = quantities(text).into_iter().map(|quantity| quantity.key).collect();
    if keys.is_empty() { terms(text) } else { keys }
}

fn terms(text: &str) -> HashSet<String> {
    analyse(text).into_iter().map(|term| term.text).collect()
}

/// Whether two sentences share most of their words and all of their numbers.
pub(super) fn says_the_same(a: &str, b: &str) -> bool {
    let (left, right) = (terms(a), terms(b));
    let shared = left.intersection(&right).count();
    let smaller = left.len().min(right.len()).max(1);
    shared * 10 >= smaller * 8 && facts(a) == facts(b)
}
