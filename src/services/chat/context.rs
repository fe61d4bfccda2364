//! What a model is told: the system prompt, the note, untold events, the last messages, the question, cut to its window.

use std::collections::BTreeMap;

use super::reply::meant;
use crate::{
    domain::{
        chat::{ChatStore, MessageKind, Said},
        error::StoreError,
        id::{MessageId, SessionId, UserId},
        memory::{BackgroundEvent, EventId, MemoryStore},
        model::Prompt,
        tool::Background,
    },
    text::cut,
};

/// Most untold events that one turn tells, and how many of them one by one: of the many files of one upload the model
/// is told how many there were.
const MAX_EVENTS: i64 = 1_000;
const EVENTS_SHOWN: usize = 8;
/// Longest title or detail of an event that a model is shown, in characters.
const MAX_EVENT_TEXT: usize = 200;
/// Longest earlier message that a model is shown, in characters.
const MAX_HISTORY_MESSAGE: usize = 6_000;

/// A conversation as its next turn sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Context {
    /// Earlier messages of the branch, oldest first, without empty ones.
    pub(super) history: Vec<Said>,
    /// What else the turn knows.
    pub(super) background: Background,
    /// What the user wants remembered, as lines of instructions; empty: nothing.
    pub(super) settings: String,
    /// Told with this turn.
    pub(super) events: Vec<BackgroundEvent>,
    /// How many messages of the branch were read, empty ones too.
    pub(super) read: usize,
}

/// Reads it: the last `limit` messages of the branch that ends with `leaf`, and the note. Events are for
/// [`Context::hear`].
pub(super) async fn read(
    chats: &dyn ChatStore,
    memory: &dyn MemoryStore,
    session: SessionId,
    leaf: Option<MessageId>,
    limit: usize,
) -> Result<Context, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut history = match leaf {
        Some(leaf) => chats.said(session, leaf, limit).await?,
        None => Vec::new(),
    };
    let read = history.len();
    history.retain(|message| !message.content.trim().is_empty());
    let note = memory.note(session).await?.map(|note| note.body).filter(|body| !body.trim().is_empty());
    let of = |kind: MessageKind| history.iter().enumerate().filter(move |(_, message)| message.kind == kind);
    let answers = of(MessageKind::Ai).map(|(_, answer)| answer.content.clone()).collect();
    let user_turns = of(MessageKind::Human).map(|(at, turn)| {
        let before = at.checked_sub(1).and_then(|before| history.get(before));
        let asked = before.filter(|before| before.kind == MessageKind::Ai);
        asked.map_or_else(|| turn.content.clone(), |asked| meant(&turn.content, &asked.content).into_owned())
    });
    let user_turns = user_turns.collect();
    let background = Background { user_turns, answers, note, ..Background::default() };
    Ok(Context { history, background, settings: String::new(), events: Vec::new(), read })
}

impl Context {
    /// Learns what has happened since, which this turn then tells. Not for a turn that only goes on with an earlier one:
    /// it leaves what happened to the next.
    pub(super) async fn hear(
        &mut self,
        memory: &dyn MemoryStore,
        user: UserId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        self.events = memory.untold(user, session, MAX_EVENTS).await?;
        Ok(())
    }

    /// Ids of the events that the turn tells.
    pub(super) fn told(&self) -> Vec<EventId> {
        self.events.iter().map(|event| event.id).collect()
    }

    /// The conversation for a model: `system`, then history and `question`, roles alternating. What does not fit
    /// `window` tokens is left out, the oldest first; the question stays.
    pub(super) fn prompts(&self, system: &str, question: &str, window: usize) -> Vec<Prompt> {
        let mut system = system.trim().to_owned();
        if !self.settings.is_empty() {
            system.push_str("\n\n");
            system.push_str(&self.settings);
        }
        if let Some(note) = &self.background.note {
            system.push_str("\n\nNote about the earlier conversation:\n");
            system.push_str(note);
        }
        if !self.events.is_empty() {
            system.push_str("\n\nHappened since the last turn; mention it if it matters to the user:");
            let (before, shown) = self.events.split_at(self.events.len().saturating_sub(EVENTS_SHOWN));
            if !before.is_empty() {
                system.push_str("\n- ");
                system.push_str(&counted(before));
            }
            for event in shown {
                system.push_str("\n- ");
                system.push_str(&one_line(&event.title));
                if let Some(detail) = &event.detail {
                    system.push_str(": ");
                    system.push_str(&one_line(detail));
                }
            }
        }
        let mut room = window.saturating_sub(tokens(&system) + tokens(question));
        let mut kept: Vec<(MessageKind, &str)> = Vec::new();
        for message in self.history.iter().rev() {
            let text = cut(message.content.trim(), MAX_HISTORY_MESSAGE);
            let Some(left) = room.checked_sub(tokens(text)) else { break };
            room = left;
            kept.push((message.kind, text));
        }
        kept.reverse();
        // A conversation begins with the user.
        let first = kept.iter().position(|(kind, _)| *kind == MessageKind::Human).unwrap_or(kept.len());
        let mut turns: Vec<(MessageKind, String)> = Vec::new();
        for (kind, text) in kept.drain(first..).chain([(MessageKind::Human, question)]) {
            match turns.last_mut() {
                Some((last, merged)) if *last == kind => {
                    merged.push_str("\n\n");
                    merged.push_str(text);
                }
                _ => turns.push((kind, text.to_owned())),
            }
        }
        let mut prompts = vec![Prompt::System { content: system }];
        prompts.extend(turns.into_iter().map(|(kind, content)| match kind {
            MessageKind::Human => Prompt::User { content },
            MessageKind::Ai => Prompt::Assistant { content, tool_calls: Vec::new() },
        }));
        prompts
    }
}

/// Events by kind: "earlier: 12 job_completed, 1 job_failed".
fn counted(events: &[BackgroundEvent]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        *kinds.entry(&event.kind).or_default() += 1;
    }
    let counts: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    one_line(&format!("earlier: {}", counts.join(", ")))
}

/// What an event says, which may come from anywhere, as one line of bounded length: it cannot pass for instructions that
/// stand beside it.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&words.join(" "), MAX_EVENT_TEXT).to_owned()
}

/// An estimate of a text's tokens that errs on the high side for the tokenizers in use: three ASCII characters or one
/// other character each, and some for the message itself.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().count() - ascii;
    ascii.div_ceil(3) + other + 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(content: &str) -> Prompt {
        Prompt::User { content: content.into() }
    }

    fn assistant(content: &str) -> Prompt {
        Prompt::Assistant { content: content.into(), tool_calls: vec![] }
    }

    fn said(kind: MessageKind, content: &str) -> Said {
        Said { ord: 1, kind, content: content.into() }
    }

    fn system(content: &str) -> Prompt {
        Prompt::System { content: content.into() }
    }

    #[test]
    fn neighbouring_questions_are_merged_and_roles_alternate() {
        let context = Context {
            history: vec![
                said(MessageKind::Ai, "cut off"),
                said(MessageKind::Human, "one"),
                said(MessageKind::Ai, "first"),
                said(MessageKind::Human, "two, which failed"),
            ],
            background: Background { note: Some("A note.".into()), ..Background::default() },
            settings: "Remember:\n- tone: brief".into(),
            ..Context::default()
        };
        assert_eq!(
            context.prompts("Be good.\n", "three", 1000),
            [
                system("Be good.\n\nRemember:\n- tone: brief\n\nNote about the earlier conversation:\nA note."),
                user("one"),
                assistant("first"),
                user("two, which failed\n\nthree"),
            ]
        );
    }

    #[test]
    fn the_oldest_goes_first_when_the_window_is_small() {
        let context = Context {
            history: vec![
                said(MessageKind::Human, &"一".repeat(50)),
                said(MessageKind::Ai, "A"),
                said(MessageKind::Human, "B"),
                said(MessageKind::Ai, "C"),
            ],
            ..Context::default()
        };
        assert_eq!(context.prompts("S", "Q", 60), [system("S"), user("B"), assistant("C"), user("Q")]);
        assert_eq!(context.prompts("S", "Q", 0), [system("S"), user("Q")]);
    }
}
