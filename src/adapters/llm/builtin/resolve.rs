//! What to search for: the user's message, with what it leans on.

use crate::{
    domain::{evidence::parse_evidence, model::Prompt},
    text::{cut, question::Question, words::is_han},
};

/// Most earlier messages that a follow-up takes up.
const MAX_EARLIER: usize = 3;
/// Most characters of a query.
const MAX_QUERY: usize = 1_000;

/// The search text for the last message of the user. "And the battery?" takes up the question before it; a reply such
/// as "the second one" in between takes up the question that it answered.
pub(super) fn query(messages: &[Prompt]) -> String {
    let mut said = messages.iter().rev().filter_map(|message| match message {
        Prompt::User { content } if parse_evidence(content).is_none() => Some(content.trim()),
        _ => None,
    });
    let Some(last) = said.next() else { return String::new() };
    let mut parts = vec![last];
    let mut leans = Question::read(last).is_follow_up;
    for earlier in said.take(MAX_EARLIER) {
        if !leans {
            break;
        }
        parts.push(earlier);
        leans = is_fragment(earlier);
    }
    parts.reverse();
    let mut query = String::new();
    for part in parts {
        let is_chinese = query.ends_with(|c: char| is_han(c) || "。？！".contains(c)) && part.starts_with(is_han);
        if !query.is_empty() && !is_chinese {
            query.push(' ');
        }
        query.push_str(part);
    }
    cut(&query, MAX_QUERY).to_owned()
}

/// Whether a message says too little to be searched for by itself.
fn is_fragment(message: &str) -> bool {
    let question = Question::read(message);
    question.is_follow_up || (question.content.len() <= 2 && !message.ends_with(['?', '？']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(turns: &[&str]) -> Vec<Prompt> {
        let mut messages = Vec::new();
        for turn in turns {
            messages.push(Prompt::User { content: (*turn).to_owned() });
            messages.push(Prompt::Assistant { content: "…".into(), tool_calls: Vec::new() });
        }
        messages.pop();
        messages
    }

    #[test]
    fn follow_ups_take_up_what_they_lean_on() {
        for (turns, expected) in [
            (&["How long is the warranty of the Aurora X1?"][..], "How long is the warranty of the Aurora X1?"),
            (
                &["How long is the warranty of the Aurora X1?", "And the battery?"],
                "How long is the warranty of the Aurora X1? And the battery?",
            ),
            (
                &["How long is the warranty?", "Aurora X1", "And the battery?"],
                "How long is the warranty? Aurora X1 And the battery?",
            ),
            (&["保修期多久？", "那电池呢？"], "保修期多久？那电池呢？"),
            (
                &["How long is the warranty?", "How do I clean the HEPA filter of the Borealis Z9?"],
                "How do I clean the HEPA filter of the Borealis Z9?",
            ),
        ] {
            assert_eq!(query(&conversation(turns)), expected);
        }
    }
}
