//! A reply in clauses: what it names and what it rules out stand apart.

use std::sync::LazyLock;

use super::said::{Phrases, Token};
use crate::text::reply_words as table;

static BUT: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::BUT));
static NEGATORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATORS));
static TURNS_AWAY: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::TURNS_AWAY));
static TURNS_BACK: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::TURNS_BACK));
static JOINTS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::JOINTS));
static CORRECTS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::CORRECTS));
/// Phrases with a negation of their own: nothing turns inside "not sure", "none of these", "is not it".
static FIXED: LazyLock<Phrases> = LazyLock::new(|| {
    let whole = [
        table::UNDECIDED,
        table::NONE,
        table::WHETHER,
        table::DECLINES,
        "is not it|isn't it|do not care|does not matter|last but one",
    ];
    Phrases::new(&whole.join("|"))
});

/// Parts between the ends of clauses, before "but", and before what is not meant ("the first, not the second", also
/// without its comma).
pub(super) fn clauses(tokens: &[Token]) -> Vec<&[Token]> {
    let mut clauses = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < tokens.len() {
        if tokens[at].after_break && at > from {
            clauses.push(&tokens[from..at]);
            from = at;
        }
        if let Some(taken) = FIXED.at_start(&tokens[at..]) {
            at += taken;
            continue;
        }
        // The "but" of "anything but" turns nothing.
        let is_inside = (from..at).any(|start| NEGATORS.at_start(&tokens[start..]).is_some_and(|len| start + len > at));
        if is_inside {
            at += 1;
            continue;
        }
        // "不要B7要A5" turns back to what is meant.
        let is_ruling_out = NEGATORS.at_start(&tokens[from..]).is_some_and(|taken| from + taken < at);
        let back = TURNS_BACK.at_start(&tokens[at..]).filter(|taken| is_ruling_out && is_followed(tokens, at + taken));
        if let Some(taken) = back {
            clauses.push(&tokens[from..at]);
            from = at;
            at += taken;
            continue;
        }
        let turn = BUT.at_start(&tokens[at..]);
        // What a clause ends with excludes what stands before it: "极光不要".
        let away = TURNS_AWAY.at_start(&tokens[at..]).filter(|taken| is_followed(tokens, at + taken));
        if let Some(taken) = away {
            if at > from {
                clauses.extend(without_joint(&tokens[from..at]));
                from = at;
            }
            at += taken;
        } else if let Some(taken) = turn {
            if at > from {
                clauses.push(&tokens[from..at]);
            }
            // "anything but" at the beginning rules out by itself, and stays with what it rules out.
            from = if NEGATORS.at_start(&tokens[at..]).is_some() { at } else { at + taken };
            at += taken;
        } else {
            at += 1;
        }
    }
    if from < tokens.len() {
        clauses.push(&tokens[from..]);
    }
    clauses
}

fn is_followed(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|next| !next.after_break)
}

/// Without the "and" of "the first and not the second".
fn without_joint(tokens: &[Token]) -> Option<&[Token]> {
    let left = JOINTS.at_end(tokens).map_or(tokens, |taken| &tokens[..tokens.len() - taken]);
    (!left.is_empty()).then_some(left)
}

/// Whether a clause takes back what stands before it: "no", "sorry", 不对.
pub(super) fn is_correction(tokens: &[Token]) -> bool {
    CORRECTS.is(tokens)
}

/// How many tokens at the beginning of a clause take back what stands before it: "actually Plus". 不是 before a name
/// rules the name out instead, and "no. 2" is a number.
pub(super) fn correction(tokens: &[Token]) -> Option<usize> {
    let taken = CORRECTS.at_start(tokens).filter(|taken| *taken < tokens.len())?;
    let rules_out =
        NEGATORS.at_start(tokens).is_some() || matches!(tokens, [only, ..] if only.text == "不" && taken == 1);
    let is_number = tokens[taken - 1].text == "no" && tokens[taken].is_number();
    (!rules_out && !is_number).then_some(taken)
}

/// Whether "and" or the like stands between two parts.
pub(super) fn are_joined(left: &[Token], right: &[Token]) -> bool {
    JOINTS.at_end(left).is_some() || JOINTS.at_start(right).is_some()
}

/// Parts between separators. A separator that is a name itself (the plan "Plus") separates only what stands on both
/// sides of it.
pub(super) fn split_at<'t>(
    tokens: &'t [Token],
    separators: &Phrases,
    is_name: impl Fn(&[Token]) -> bool,
) -> Vec<&'t [Token]> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < tokens.len() {
        let Some(taken) = separators.at_start(&tokens[at..]) else {
            at += 1;
            continue;
        };
        let is_between = at > from && at + taken < tokens.len() && separators.at_start(&tokens[at + taken..]).is_none();
        if !is_between && is_name(&tokens[at..at + taken]) {
            at += taken;
            continue;
        }
        if at > from {
            parts.push(&tokens[from..at]);
        }
        at += taken;
        from = at;
    }
    if from < tokens.len() {
        parts.push(&tokens[from..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::chat::reply::said::Said;

    fn of(text: &str) -> Vec<String> {
        let said = Said::new(text);
        let join = |clause: &[Token]| clause.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
        clauses(&said.tokens).into_iter().map(join).collect()
    }

    #[test]
    fn what_is_not_meant_stands_apart() {
        for (text, expected) in [
            ("the first, the second", vec!["the first", "the second"]),
            ("the first not the second", vec!["the first", "not the second"]),
            ("not a and not b", vec!["not a", "and not b"]),
            ("a instead of b", vec!["a", "instead of b"]),
            ("a rather than b", vec!["a", "rather than b"]),
            ("I'd rather have a than b", vec!["i'd", "have a", "than b"]),
            ("not sure, maybe a", vec!["not sure", "maybe a"]),
            ("anything but a", vec!["anything but a"]),
            ("not a but b", vec!["not a", "b"]),
            ("a is not it", vec!["a is not it"]),
            ("a 不要", vec!["a 不 要"]),
            ("不要a也不要b", vec!["不 要 a", "也 不 要 b"]),
            ("是a不是b", vec!["是 a", "不 是 b"]),
            ("a而不是b", vec!["a", "不 是 b"]),
            ("不要b要a", vec!["不 要 b", "要 a"]),
            ("不是b是a", vec!["不 是 b", "是 a"]),
            ("除了b都要", vec!["除 了 b 都 要"]),
            ("the last but one", vec!["the last but one"]),
            ("是不是a", vec!["是 不 是 a"]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
