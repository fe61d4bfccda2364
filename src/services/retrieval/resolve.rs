//! A question seen against the conversation: what it leans on, and what is searched for.

use crate::text::{cut, fold, question::Question};

use super::Ask;

/// Most characters of the turn before that are searched with.
const LEANING: usize = 400;

/// A question, resolved.
pub(crate) struct Resolved {
    /// What is shown and stored as the question.
    pub text: String,
    /// What is searched for.
    pub search_text: String,
    /// Read, with what a follow-up leaves out filled in.
    pub question: Question,
    /// The turn that it leans on.
    pub leans_on: Option<String>,
}

impl Resolved {
    /// A follow-up is searched together with the user's turn before. A query that the agent has put into its own words
    /// is taken to stand by itself unless it still points back.
    pub(crate) fn new(ask: &Ask<'_>) -> Self {
        let question = Question::read(ask.question);
        let previous = ask.background.user_turns.last().filter(|turn| fold(turn) != fold(ask.question));
        let as_typed = fold(ask.question.trim()) == fold(ask.message.trim());
        let leans_on = previous
            .filter(|_| question.is_follow_up && (as_typed || !question.has_name()))
            .map(|turn| cut(turn, LEANING).to_owned());
        let asked = ask.question.trim();
        match leans_on {
            Some(turn) => Self {
                text: format!("{asked} ({turn})"),
                search_text: format!("{asked}\n{turn}"),
                question: question.following(&Question::read(&turn)),
                leans_on: Some(turn),
            },
            None => Self { text: asked.to_owned(), search_text: asked.to_owned(), question, leans_on: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{event::Silent, knowledge::Access, tool::Background};

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
    }
}
