//! A question seen against the conversation: what it leans on, and what is searched for.

use crate::{
    domain::{hitl::OptionFilter, tool::Background},
    text::{
        cut, fold,
        question::{Question, Wants},
    },
};

use super::Ask;

/// Most characters of the turn before that are searched with.
const LEANING: usize = 400;

/// Most turns of a chain of follow-ups.
const CHAIN: usize = 3;

/// A question, resolved.
pub(crate) struct Resolved {
    /// What is shown and stored as the question.
    pub text: String,
    /// What is searched for.
    pub search_text: String,
    /// Read, with what a follow-up leaves out filled in.
    pub question: Question,
    /// What is given without being in it, and the turns that it leans on, nearest first.
    pub leans_on: Vec<String>,
}

impl Resolved {
    /// A follow-up is searched together with the user's turn before, and with more where that is a follow-up too. A query that the agent has put into its own words
    /// is taken to stand by itself unless it still points back.
    pub(crate) fn new(ask: &Ask<'_>) -> Self {
        let question = Question::read(ask.question);
        let as_typed = fold(ask.question.trim()) == fold(ask.message.trim());
        let asked = ask.question.trim();
        let leans = question.is_follow_up && (as_typed || !question.has_name());
        let turns = if leans || as_typed && replies(&question, ask.background) {
            chain(&ask.background.user_turns, asked)
        } else {
            Vec::new()
        };
        let given = unsaid(&ask.background.given, asked);
        if turns.is_empty() && given.is_empty() {
            let search_text = with_dimension(asked.to_owned(), &question);
            return Self { text: asked.to_owned(), search_text, question, leans_on: Vec::new() };
        }
        let leans_on: Vec<String> = given.into_iter().chain(turns).collect();
        let question = leans_on.iter().fold(question, |question, turn| question.following(&Question::read(turn)));
        Self {
            text: format!("{asked} ({})", leans_on.join(" · ")),
            search_text: with_dimension(format!("{asked}\n{}", leans_on.join("\n")), &question),
            question,
            leans_on,
        }
    }
}

/// "How loud" is found under the names of what it asks for.
fn with_dimension(text: String, question: &Question) -> String {
    match question.dimension {
        Some(dimension) => format!("{text}\n{}", dimension.search_words().collect::<Vec<_>>().join(" ")),
        None => text,
    }
}

/// What is given and the agent's own words do not say.
fn unsaid(given: &[OptionFilter], asked: &str) -> Vec<String> {
    let said = fold(asked);
    given.iter().map(|filter| filter.value.clone()).filter(|value| !said.contains(&fold(value))).collect()
}

/// Whether the question only says what askback's last message asked for: "The net sales." after "Which sales?"
fn replies(question: &Question, background: &Background) -> bool {
    let asks = |text: &str| text.trim_end().ends_with(['?', '？']);
    question.wants == Wants::Other
        && !asks(&question.folded)
        && background.answers.last().is_some_and(|answer| asks(answer))
}

/// The user's turns before, nearest first, up to the first that stands by itself: "how long is the warranty?" – "and of
/// the battery?" – "is it longer abroad?".
fn chain(turns: &[String], asked: &str) -> Vec<String> {
    let mut chain = Vec::new();
    for turn in turns.iter().rev().filter(|turn| fold(turn) != fold(asked)).take(CHAIN) {
        chain.push(cut(turn.trim(), LEANING).to_owned());
        if !says_too_little(turn) {
            break;
        }
    }
    chain
}

/// Whether a turn cannot be searched for by itself: a follow-up, or a reply such as "the second one" or "Aurora X1".
fn says_too_little(turn: &str) -> bool {
    let question = Question::read(turn);
    let is_reply =
        question.content.len() <= 2 && question.wants == Wants::Other && !turn.trim_end().ends_with(['?', '？']);
    question.is_follow_up || is_reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{event::Silent, hitl::Facet, knowledge::Access};

    fn search_text(question: &str, turns: &[&str]) -> String {
        let user_turns = turns.iter().map(|turn| (*turn).into()).collect();
        let background = Background { user_turns, ..Background::default() };
        let ask = Ask {
            question,
            message: question,
            background: &background,
            access: &Access::default(),
            only: None,
            progress: &Silent,
            may_ask: true,
        };
        Resolved::new(&ask).search_text
    }

    #[test]
    fn what_is_given_is_searched_for_where_the_query_leaves_it_out() {
        let given = vec![OptionFilter { facet: Facet::Subject, value: "Aurora X1".into(), documents: Vec::new() }];
        let background = Background { given, ..Background::default() };
        let search_text = |question: &str| {
            let ask = Ask {
                question,
                message: "How loud is the Aurora X1?",
                background: &background,
                access: &Access::default(),
                only: None,
                progress: &Silent,
                may_ask: true,
            };
            Resolved::new(&ask).search_text
        };
        assert!(search_text("What is the noise level?").starts_with("What is the noise level?\nAurora X1"));
        let loud = search_text("How loud is the aurora x1?");
        assert!(loud.starts_with("How loud is the aurora x1?\nnoise "), "{loud}");
    }

    #[test]
    fn a_follow_up_is_searched_with_the_turn_before() {
        assert_eq!(
            search_text("And the battery?", &["How long is the warranty?"]),
            "And the battery?\nHow long is the warranty?"
        );
        assert_eq!(
            search_text("How long is the Aurora warranty?", &["Hello there"]),
            "How long is the Aurora warranty?"
        );
        assert_eq!(search_text("And the battery?", &[]), "And the battery?");
        let turns = ["Where is the dock?", "How long is the warranty?", "And of the battery?"];
        assert_eq!(
            search_text("Is it longer?", &turns),
            "Is it longer?\nAnd of the battery?\nHow long is the warranty?"
        );
    }
}
