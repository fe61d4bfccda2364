//! What needs no asking, because it has been said: by the question, the user's last turns, the note or an earlier answer.

use crate::{
    domain::{hitl::Answer, tool::Background},
    text::question::{Question, Wants},
};

use super::super::facets::Mention;

/// How many of the user's turns before the question still fix what is meant.
const TURNS: usize = 3;

/// Words that point at a time.
const POINTING: [&str; 14] = [
    "that period",
    "those periods",
    "same period",
    "that year",
    "those years",
    "same year",
    "these years",
    "both years",
    "that date",
    "that time",
    "当年",
    "同期",
    "该年度",
    "那一年",
];

/// Everything said so far that can fix a facet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    /// Answers to askback's own questions, the question, and, where it leans on it, the turn before: nearest first.
    pub question: Vec<Mention>,
    /// Earlier turns, nearest first, then the note.
    pub before: Vec<Mention>,
    /// Of them what was told and not asked, and the note. The year of an earlier question is that question's.
    pub told: Vec<Mention>,
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
        let (mut before, mut told) = (Vec::new(), Vec::new());
        for (back, turn) in background.user_turns.iter().rev().take(TURNS).enumerate() {
            // The answer before a turn is one further back than the answer to it.
            let mut answers = background.answers.iter().rev().skip(back);
            let (answer, replied_to) = (answers.next(), answers.next());
            // "The second one" chose what the answer to it is about.
            let chose = replied_to.is_some_and(|question| asks_back(question));
            let chosen = answer.filter(|answer| chose && !asks_back(answer)).map_or("", String::as_str);
            before.push(Mention::read(&format!("{turn}\n{chosen}")));
            if !asks(turn) && !replied_to.is_some_and(|answer| asks(answer)) {
                told.push(Mention::read(turn));
            }
        }
        let note = background.note.as_deref().map(Mention::read);
        before.extend(note.clone());
        told.extend(note);
        let answered = background.answers.iter().map(|answer| Mention::read(answer)).collect();
        Self { question, before, told, answered }
    }

    /// All of it, nearest first.
    pub(crate) fn all(&self) -> Vec<Mention> {
        self.question.iter().chain(&self.before).cloned().collect()
    }

    /// What fixes the time that is asked about, nearest first. "In that period" is one that was spoken of.
    pub(crate) fn of_time(&self) -> Vec<Mention> {
        if self.question.iter().any(|mention| POINTING.iter().any(|phrase| mention.has_phrase(phrase))) {
            return self.all();
        }
        self.question.iter().chain(&self.told).cloned().collect()
    }
}

/// Whether an answer is a question of askback's: they go on with their options.
fn asks_back(answer: &str) -> bool {
    answer.trim().lines().next().is_some_and(|first| first.trim_end().ends_with(['?', '？']))
}

/// Whether `text` asks something, in its first line: askback's own questions go on with their options.
fn asks(text: &str) -> bool {
    let first = text.trim().lines().next().unwrap_or_default();
    first.trim_end().ends_with(['?', '？']) || Question::read(first).wants != Wants::Other
}
