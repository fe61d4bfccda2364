//! What is remembered beside the messages: the session's note, background events, and where conversations stand that
//! clients keep themselves.

pub mod conversations;
pub mod events;
pub mod notebook;
mod remember;
pub mod settings;

use std::{sync::Arc, time::Duration};

pub use self::remember::Remember;
use crate::{
    domain::{
        chat::{ChatStore, MessageKind, Said},
        error::StoreError,
        id::{SessionId, UserId},
        memory::MemoryStore,
        model::{ChatModel, ModelRequest, Prompt, complete},
        time::Millis,
    },
    text::{
        cut,
        lang::{Lang, detect},
        sentences::sentences,
    },
};

/// The session of `user` that a client names, if it names one. `NotFound` when it is not theirs.
async fn named(chats: &dyn ChatStore, user: UserId, name: Option<&str>) -> Result<Option<SessionId>, StoreError> {
    match name {
        Some(name) => chats.session(user, name).await.map(|session| Some(session.id)),
        None => Ok(None),
    }
}

/// Longest note, in characters.
pub const MAX_NOTE: usize = 500;
/// Longest part of one message that a note is made from, in characters.
const MAX_MESSAGE: usize = 1_500;
/// Longest that a question or an answer is in a note made by rule, in characters.
const MAX_LINE: usize = 110;
/// How long the fast model may take; after it the rule decides.
const PATIENCE: Duration = Duration::from_secs(20);

const PROMPT: &str = include_str!("../prompts/note.md");

/// Keeps each session's note: what its early messages settled, once they no longer fit the history.
#[derive(Clone)]
pub struct Notes {
    store: Arc<dyn MemoryStore>,
    fast: Option<Arc<dyn ChatModel>>,
}

impl Notes {
    /// Notes in `store`, written by `fast` or, without it or when it fails, by rule.
    #[must_use]
    pub fn new(store: Arc<dyn MemoryStore>, fast: Option<Arc<dyn ChatModel>>) -> Self {
        Self { store, fast }
    }

    /// Merges `leaving`, the messages that the next turn will no longer see (oldest first), into the session's note.
    /// Messages that the note covers are skipped. Gives whether a note was stored: a lost race is no error, whoever won
    /// covered as much.
    ///
    /// # Errors
    /// The store's.
    pub async fn update(&self, session: SessionId, leaving: &[Said], now: Millis) -> Result<bool, StoreError> {
        let before = self.store.note(session).await?;
        let (covered, version) = before.as_ref().map(|note| (note.upto_ord, note.version)).unzip();
        let fresh: Vec<&Said> = leaving
            .iter()
            .filter(|message| Some(message.ord) > covered && !message.content.trim().is_empty())
            .collect();
        let Some(last) = fresh.last() else { return Ok(false) };
        let body = before.as_ref().map_or("", |note| note.body.as_str());
        let by_model = match &self.fast {
            Some(model) => written(model.as_ref(), body, &fresh).await,
            None => None,
        };
        let body = by_model.unwrap_or_else(|| by_rule(body, &fresh));
        fail::fail_point!("note:before-write", |_| Err(StoreError::Unavailable("failpoint".into())));
        let stored = self.store.put_note(session, &body, last.ord, version, now).await?;
        fail::fail_point!("note:after-write", |_| Err(StoreError::Unavailable("failpoint".into())));
        Ok(stored)
    }
}

/// The note as a model writes it; `None` when it fails, takes too long or says nothing.
async fn written(model: &dyn ChatModel, before: &str, fresh: &[&Said]) -> Option<String> {
    let mut material = String::from("Note so far:\n");
    material.push_str(if before.is_empty() { "(none)" } else { before });
    material.push_str("\n\nMessages:\n");
    for message in fresh {
        material.push_str(match message.kind {
            MessageKind::Human => "User: ",
            MessageKind::Ai => "Assistant: ",
        });
        material.push_str(cut(message.content.trim(), MAX_MESSAGE));
        material.push('\n');
    }
    let request = ModelRequest {
        messages: vec![Prompt::System { content: PROMPT.trim().into() }, Prompt::User { content: material }],
        ..ModelRequest::default()
    };
    match tokio::time::timeout(PATIENCE, complete(model, request)).await {
        Ok(Ok(answer)) => {
            let text = cut(answer.text.trim(), MAX_NOTE).trim_end().to_owned();
            (!text.is_empty()).then_some(text)
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, model = model.name(), "the note is written by rule");
            None
        }
        Err(_) => {
            tracing::warn!(model = model.name(), "the note is written by rule: the model took too long");
            None
        }
    }
}

/// One line per question and per answer, the oldest dropped when there are too many.
fn by_rule(before: &str, fresh: &[&Said]) -> String {
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    for message in fresh {
        let is_chinese = detect(&message.content) == Lang::Zh;
        let key = match (message.kind, is_chinese) {
            (MessageKind::Human, false) => "Asked: ",
            (MessageKind::Human, true) => "问：",
            (MessageKind::Ai, false) => "Answered: ",
            (MessageKind::Ai, true) => "答：",
        };
        let line = format!("{key}{}", first_sentence(&message.content));
        lines.retain(|known| *known != line);
        lines.push(line);
    }
    while lines.len() > 1 && lines.iter().map(|line| line.chars().count() + 1).sum::<usize>() > MAX_NOTE + 1 {
        lines.remove(0);
    }
    cut(&lines.join("\n"), MAX_NOTE).to_owned()
}

fn first_sentence(text: &str) -> String {
    let text = text.trim();
    let first = sentences(text).into_iter().next().and_then(|range| text.get(range)).unwrap_or(text);
    let line: Vec<&str> = first.split_whitespace().collect();
    cut(&line.join(" "), MAX_LINE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(ord: i64, kind: MessageKind, content: &str) -> Said {
        Said { ord, kind, content: content.into() }
    }

    #[test]
    fn a_note_by_rule_merges_and_keeps_the_newest() {
        let (question, answer) = (
            message(1, MessageKind::Human, "How long is the warranty of the Aurora X1?\nThanks"),
            message(2, MessageKind::Ai, "24 months [1]. Keep the receipt."),
        );
        let note = by_rule("Asked: Hello\nAnswered: 24 months [1].", &[&question, &answer]);
        assert_eq!(note, "Asked: Hello\nAsked: How long is the warranty of the Aurora X1?\nAnswered: 24 months [1].");
        let many: Vec<Said> =
            (0..20).map(|n| message(n, MessageKind::Human, &format!("第{n}个问题：{}？", "很长".repeat(20)))).collect();
        let note = by_rule("问：最早的", &many.iter().collect::<Vec<_>>());
        assert!(note.chars().count() <= MAX_NOTE);
        assert!(note.contains("第19个问题") && !note.contains("最早的"));
    }
}
