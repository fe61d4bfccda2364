//! The questions that one text consists of.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{
    lang::Lang,
    question::{Breadth, Question},
    words::words,
};

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
        r"^(?P<one>[^和与及的，。？?]{1,20})的(?P<a>[\p{Han}&&[^的]]{2,8}?)(?:和|与|及|以及)(?P<b>[\p{Han}&&[^的]]{2,8}?)(?:分别|各)?(?P<ask>是?多少|是?什么|是?多久|多长)[？?]?$",
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
    // "The weight of the A and the price of the B" are of one each.
    if of("a").contains(" of ") {
        return vec![format!("{} the {}", of("ask"), of("a")), format!("{} the {} {}", of("ask"), of("b"), of("of"))];
    }
    ["a", "b"]
        .into_iter()
        .map(|name| match found.name("one") {
            Some(one) => format!("{}的{}{}", one.as_str(), of(name), of("ask")),
            None => format!("{} the {} {}", of("ask"), of(name), of("of")),
        })
        .collect()
}

/// Words that two things may stand behind, as in "how much is the lamp and the shade"; behind the latter a verb has to
/// follow them.
const LEADS: [&str; 8] = [" of ", " for ", " in ", " at ", " is ", " are ", " was ", " were "];
const LEADS_TO_VERB: [&str; 6] = [" do ", " does ", " did ", " will ", " can ", " may "];
/// Most ways to read a question that joins two things.
const READINGS: usize = 3;
/// Longest name of a thing, in words.
const LONGEST_THING: usize = 9;

static TAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?P<b>.+?)(?P<tail> (?:costs?|weighs?|lasts?|takes?|holds?|opens?|closes?|starts?|ends?))?$").ok()
});
static JOINED_ZH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<a>[^和与及，。？?]{1,24})(?P<and>和|与|以及|及)(?P<b>[^和与及，。？?]{1,24}?)(?P<of>的[\p{Han}&&[^的]]{1,8}?)?(?P<ask>(?:分别|各)?[是有为]?(?:多少.*|多久|多长.*|多大|多重|什么.*|哪.*|几.+))[？?]?$",
    )
    .ok()
});

/// "How much are the lamp and the month pass?": one thing asked of two, if they are two; "bed and breakfast" is one. The
/// ways to read it, that in which the two are nearest to each other first; none where nothing is joined or two are
/// compared.
#[must_use]
pub fn joined(text: &str) -> Vec<[String; 2]> {
    let text = text.trim().trim_end_matches(['?', '？']).trim_end();
    if Question::read(text).breadth == Breadth::Compare {
        return Vec::new();
    }
    // "参与" joins nothing.
    let is_word = |found: &Captures<'_>| {
        found
            .name("and")
            .is_some_and(|and| words(text).iter().any(|word| (word.start, word.text) == (and.start(), and.as_str())))
    };
    let chinese = JOINED_ZH.as_ref().and_then(|pattern| pattern.captures(text));
    if let Some(found) = chinese.filter(is_word) {
        let of = |name: &str| found.name(name).map_or("", |group| group.as_str().trim());
        let own = if of("a").contains('的') { "" } else { of("of") };
        return vec![[format!("{}{own}{}", of("a"), of("ask")), format!("{}{}{}", of("b"), of("of"), of("ask"))]];
    }
    let mut sides = text.split(" and ");
    let (Some(left), Some(right), None) = (sides.next(), sides.next(), sides.next()) else { return Vec::new() };
    let Some(found) = TAIL.as_ref().and_then(|pattern| pattern.captures(right)) else { return Vec::new() };
    let of = |name: &str| found.name(name).map_or("", |group| group.as_str());
    let to_verb = if of("tail").is_empty() { &[][..] } else { &LEADS_TO_VERB[..] };
    let leads = LEADS.iter().chain(to_verb);
    let mut cuts: Vec<usize> = leads.flat_map(|lead| left.match_indices(lead).map(|(at, _)| at + lead.len())).collect();
    cuts.sort_unstable_by(|a, b| b.cmp(a));
    let is_thing = |text: &str| (1..=LONGEST_THING).contains(&words(text).len());
    let ways = cuts.into_iter().map(|cut| left.split_at(cut)).filter(|(_, a)| is_thing(a) && is_thing(of("b")));
    ways.take(READINGS)
        .map(|(head, a)| [format!("{head}{a}{}", of("tail")), format!("{head}{}{}", of("b"), of("tail"))])
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
    fn two_things_may_be_joined() {
        for (text, expected) in [
            (
                "How much are the lamp of the hall and the month pass?",
                &[
                    ["How much are the lamp of the hall", "How much are the lamp of the month pass"],
                    ["How much are the lamp of the hall", "How much are the month pass"],
                ][..],
            ),
            (
                "How much do the lamp and the shade cost?",
                &[["How much do the lamp cost", "How much do the shade cost"]],
            ),
            ("M3的保修期和月卡的价格是多少？", &[["M3的保修期是多少", "月卡的价格是多少"]]),
            ("台灯和月卡的价格分别是多少？", &[["台灯的价格分别是多少", "月卡的价格分别是多少"]]),
            ("员工参与培训的时间是多久？", &[]),
            ("Compare the price of the lamp and the shade", &[]),
            ("Who approves trips and bookings?", &[]),
            ("When did the north and the south sign it?", &[]),
            ("How much is the lamp?", &[]),
        ] {
            assert_eq!(joined(text), expected, "{text}");
        }
    }

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
            (
                "What are the weight of the mower and the price of the trailer?",
                &["What are the weight of the mower", "What are the price of the trailer"],
            ),
            ("M3的保修期和月卡的价格是多少？", &["M3的保修期和月卡的价格是多少？"]),
            ("How long is the warranty? Why?", &["How long is the warranty? Why?"]),
            ("Compare A1 and B2", &["Compare A1 and B2"]),
            ("Who approves trips and bookings?", &["Who approves trips and bookings?"]),
        ] {
            let found = parts(text);
            assert_eq!(found, expected, "{text}");
        }
    }
}
