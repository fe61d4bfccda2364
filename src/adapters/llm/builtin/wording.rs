//! Small questions about the wording of pieces.

use std::{collections::HashSet, ops::Range};

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
    places(text, phrase).next().is_some()
}

/// Those of `names` that `text` says outside of a longer one of them: 铂金卡 says no 金卡.
pub(super) fn said<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> HashSet<&'n str> {
    let names: HashSet<&str> = names.into_iter().collect();
    let said: Vec<(&str, Range<usize>)> =
        names.into_iter().flat_map(|name| places(text, name).map(move |place| (name, place))).collect();
    let is_inside = |place: &Range<usize>| {
        said.iter().any(|(_, other)| other.len() > place.len() && other.start <= place.start && place.end <= other.end)
    };
    said.iter().filter(|(_, place)| !is_inside(place)).map(|(name, _)| *name).collect()
}

/// Where `text` holds `phrase` between word bounds.
fn places(text: &str, phrase: &str) -> impl Iterator<Item = Range<usize>> {
    let is_bound = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_han(c));
    let is_whole = move |place: &Range<usize>| {
        phrase.chars().all(is_han)
            || is_bound(text[..place.start].chars().next_back()) && is_bound(text[place.end..].chars().next())
    };
    let found = text.match_indices(phrase).map(|(at, found)| at..at + found.len());
    found.filter(move |place| !place.is_empty() && is_whole(place))
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::said;

    #[test]
    fn a_name_inside_a_longer_one_is_not_said() {
        for (text, names, expected) in [
            ("铂金卡多少钱", &["银卡", "金卡", "铂金卡"][..], &["铂金卡"][..]),
            ("金卡多少钱", &["银卡", "金卡", "铂金卡"], &["金卡"]),
            ("金卡和铂金卡多少钱", &["银卡", "金卡", "铂金卡"], &["金卡", "铂金卡"]),
            ("how much is premium plus", &["plus", "premium", "premium plus"], &["premium plus"]),
            ("how much is the plus plan", &["plus", "premium plus"], &["plus"]),
            ("the pro or the pro max", &["pro", "pro max"], &["pro", "pro max"]),
            ("the x10", &["x1", "x10", ""], &["x10"]),
        ] {
            assert_eq!(said(text, names.iter().copied()), expected.iter().copied().collect::<HashSet<_>>(), "{text}");
        }
    }
}
