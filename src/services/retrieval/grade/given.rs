//! What needs no asking, because it has been said: by the question, the user's last turns, the note or an earlier answer.

use crate::domain::{hitl::Answer, tool::Background};

use super::super::facets::Mention;

/// How many of the user's turns before the question still fix what is meant.
const TURNS: usize = 2;

/// Everything said so far that can fix a facet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    /// Answers to askback's own questions, the question, and, where it leans on it, the turn before: nearest first.
    pub question: Vec<Mention>,
    /// Earlier turns, nearest first, then the note.
    pub before: Vec<Mention>,
    /// Earlier answers: what they name can be pointed at.
    pub answered: Vec<Mention>,
}

impl Given {
    /// Collects it. `texts` are the question as searched for, as typed, and the turn that it leans on.
    pub(crate) fn new(texts: &[&str], background: &Background, answers: &[Answer]) -> Self {
        let mut question = Vec::new();
        for answer in answers.iter().rev() {
            let chosen: Vec<&str> = answer.filters.iter().map(|filter| filter.value.as_str()).collect();
            if chosen.is_empty() {
                question.push(Mention::read(&answer.words));
            } else {
                // Several choices are alternatives: one text that names them all.
                question.push(Mention::read(&chosen.join("\n")));
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for text in texts {
            if !seen.contains(text) {
                question.push(Mention::read(text));
                seen.push(text);
            }
        }
        if !background.given.is_empty() {
            let named: Vec<&str> = background.given.iter().map(|filter| filter.value.as_str()).collect();
            question.push(Mention::read(&named.join("\n")));
        }
        let mut before: Vec<Mention> =
            background.user_turns.iter().rev().take(TURNS).map(|turn| Mention::read(turn)).collect();
        before.extend(background.note.as_deref().map(Mention::read));
        let answered = background.answers.iter().map(|answer| Mention::read(answer)).collect();
        Self { question, before, answered }
    }

    /// All of it, nearest first.
    pub(crate) fn all(&self) -> Vec<Mention> {
        self.question.iter().chain(&self.before).cloned().collect()
    }
}
