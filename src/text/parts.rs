//! The questions that one text consists of.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{lang::Lang, question::Question, words::words};

/// Most questions of one text.
pub const MOST: usize = 4;

static JOINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)[?？]\s*(?:and\s+)?|[,;]?\s+and\s+(?:also\s+)?(?P<next>(?:how|what|when|where|who|which|why)\b)|[，,；;](?:以及|还有|并且|另外|同时)",
    )
    .ok()
});

/// "What are the weight and the price of the X1?", "X1的重量和价格是多少？": two things asked of one.
static TWO_OF_ONE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?i)^(?P<ask>what (?:is|are|was|were)) the (?P<a>[\w' -]{3,40}?),? and (?:the )?(?P<b>[\w' -]{3,40}?) (?P<of>of .{2,80}?)[?？]?$",
        r"^(?P<one>[^和与及的，。？?]{1,20})的(?P<a>\p{Han}{2,8}?)(?:和|与|及|以及)(?P<b>\p{Han}{2,8}?)(?:分别|各)?(?P<ask>是?多少|是?什么|是?多久|多长)[？?]?$",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Cuts `text` into its questions: one, or two to [`MOST`]. A later one may lean on the one before it ("and how much does
/// it weigh").
#[must_use]
pub fn parts(text: &str) -> Vec<String> {
    if let Some(two) = TWO_OF_ONE.iter().find_map(|pattern| pattern.captures(text.trim())) {
        return two_of_one(&two);
    }
    let Some(joint) = JOINT.as_ref() else { return vec![text.to_owned()] };
    let mut pieces = Vec::new();
    let mut start = 0;
    for captures in joint.captures_iter(text) {
        let Some(whole) = captures.get(0) else { continue };
        let end = captures.name("next").map_or(whole.end(), |next| next.start());
        pieces.push(text.get(start..whole.start()).unwrap_or_default());
        start = end;
    }
    pieces.push(text.get(start..).unwrap_or_default());
    let mut kept: Vec<String> = Vec::new();
    for piece in pieces {
        let piece = piece.trim();
        if asks_something(piece, !kept.is_empty()) && !kept.iter().any(|known| known == piece) {
            kept.push(piece.to_owned());
        }
    }
    if (2..=MOST).contains(&kept.len()) { kept } else { vec![text.to_owned()] }
}

fn two_of_one(found: &Captures<'_>) -> Vec<String> {
    let of = |name: &str| found.name(name).map_or("", |group| group.as_str().trim());
    ["a", "b"]
        .into_iter()
        .map(|name| match found.name("one") {
            Some(one) => format!("{}的{}{}", one.as_str(), of(name), of("ask")),
            None => format!("{} the {} {}", of("ask"), of(name), of("of")),
        })
        .collect()
}

/// A piece that asks nothing ("Thanks!") or adds no word of its own ("why?") is no part.
fn asks_something(piece: &str, follows: bool) -> bool {
    let question = Question::read(piece);
    let long_enough = if question.lang == Lang::Zh { piece.chars().count() >= 5 } else { words(piece).len() >= 3 };
    long_enough && !question.content.is_empty() && (follows || !question.is_follow_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_questions_are_parts() {
        for (text, expected) in [
            (
                "How long is the warranty of the robot and how much does the care plan cost?",
                &["How long is the warranty of the robot", "how much does the care plan cost"][..],
            ),
            ("出差餐补每天多少钱？住宿标准是多少？", &["出差餐补每天多少钱", "住宿标准是多少"]),
            ("How wide is the mower and how much does it weigh?", &["How wide is the mower", "how much does it weigh"]),
            (
                "What are the weight and the price of the mower?",
                &["What are the weight of the mower", "What are the price of the mower"],
            ),
            ("M3的重量和价格分别是多少？", &["M3的重量是多少", "M3的价格是多少"]),
            ("How long is the warranty? Why?", &["How long is the warranty? Why?"]),
            ("Compare A1 and B2", &["Compare A1 and B2"]),
            ("Who approves trips and bookings?", &["Who approves trips and bookings?"]),
        ] {
            let found = parts(text);
            assert_eq!(found, expected, "{text}");
        }
    }
}
