//! Conversations that clients keep themselves. Such a client knows no session: it sends all messages with every question,
//! and an answer that it wants anew, or a message that it words otherwise, it simply leaves out or puts in their place.
//! What the messages before a question are known to be tells where the question belongs.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::domain::{
    chat::MessageStatus,
    conversation::{ConversationStore, Fingerprint, Held, Standing},
    error::StoreError,
    id::{MessageId, UserId},
    run::RunKind,
    time::Clock,
};

/// How long a conversation that is not gone on with is remembered.
const LIFE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Most places of a user's conversations that are remembered so.
const MOST: i64 = 4_096;

/// Who speaks a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person.
    User,
    /// askback.
    Assistant,
    /// A tool of the client.
    Tool,
}

/// A message as its client holds it. Instructions are none: clients change them as they like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Who.
    pub speaker: Speaker,
    /// What; white space is not told apart.
    pub text: String,
}

/// Where a message belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The client's name of the session; `None`: a new one.
    pub session_name: Option<String>,
    /// What the message does to the session's tree.
    pub kind: RunKind,
    /// The message that it answers, of a [`RunKind::Turn`]; `None`: the end of the shown branch.
    pub parent: Option<MessageId>,
}

/// The conversations that clients keep.
#[derive(Clone)]
pub struct Conversations {
    store: Arc<dyn ConversationStore>,
    clock: Arc<dyn Clock>,
}

impl Conversations {
    /// Conversations in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ConversationStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Where `message` belongs that `user` says after `before`, in the session `named` if the client names one. Said a
    /// second time it asks for another answer, said in other words it stands beside the first: so a reply to a question
    /// stays one. What is not known begins a conversation, or goes on with that of the session.
    ///
    /// # Errors
    /// The store's.
    pub async fn place(
        &self,
        user: UserId,
        named: Option<String>,
        before: &[Line],
        message: &str,
    ) -> Result<Place, StoreError> {
        let is_there = |known: &Standing| named.as_deref().is_none_or(|named| named == known.session_name);
        let Some(known) = self.standing(user, before).await?.filter(is_there) else {
            return Ok(Place { session_name: named, kind: RunKind::Turn, parent: None });
        };
        let (kind, parent) = match known.reply {
            None => (RunKind::Turn, Some(known.answer)),
            Some((reply, text)) if words(&text).eq(words(message)) => (RunKind::Regenerate(reply), None),
            Some((reply, _)) => (RunKind::Edit(reply), None),
        };
        Ok(Place { session_name: Some(known.session_name), kind, parent })
    }

    /// Where the conversation of these lines stands. How much of an answer that was cut short its client has, nobody
    /// knows: such a one is known by the lines before it.
    async fn standing(&self, user: UserId, lines: &[Line]) -> Result<Option<Standing>, StoreError> {
        let Some((last, asked)) = lines.split_last() else { return Ok(None) };
        let known = self.store.held(user, fingerprint(lines)).await?;
        if known.is_some() || last.speaker != Speaker::Assistant {
            return Ok(known);
        }
        Ok(self.store.held(user, fingerprint(asked)).await?.filter(|known| was_cut(known.status)))
    }

    /// Remembers what the client of `user` holds of a conversation: `lines`, up to `answer` or with it.
    ///
    /// # Errors
    /// The store's.
    pub async fn hold(&self, user: UserId, lines: &[Line], answer: MessageId) -> Result<(), StoreError> {
        let at = self.clock.now();
        self.store.hold(&Held { user, fingerprint: fingerprint(lines), answer, at }, at - LIFE, MOST).await
    }
}

/// Who says something after an answer that is being told has left it, whether that was noticed yet or not.
const fn was_cut(status: MessageStatus) -> bool {
    match status {
        MessageStatus::Running | MessageStatus::Stopped | MessageStatus::Failed | MessageStatus::Interrupted => true,
        MessageStatus::Completed | MessageStatus::AwaitingInput => false,
    }
}

/// Each line by its speaker, its length and its words, so that no two conversations run into one.
fn fingerprint(lines: &[Line]) -> Fingerprint {
    let mut hash = Sha256::new();
    for line in lines {
        let text = words(&line.text).collect::<Vec<_>>().join(" ");
        let speaker: u8 = match line.speaker {
            Speaker::User => 1,
            Speaker::Assistant => 2,
            Speaker::Tool => 3,
        };
        hash.update([speaker]);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    Fingerprint(hash.finalize().into())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(speaker: Speaker, text: &str) -> Line {
        Line { speaker, text: text.into() }
    }

    #[test]
    fn white_space_makes_no_other_conversation() {
        let sent = [line(Speaker::User, "How  long?\n"), line(Speaker::Assistant, "Which one?\n\n1. A\n2. B")];
        let held = [line(Speaker::User, "How long?"), line(Speaker::Assistant, " Which one?\r\n\r\n1. A\r\n2. B ")];
        assert_eq!(fingerprint(&sent), fingerprint(&held));
    }

    #[test]
    fn words_speakers_and_their_bounds_do() {
        let conversations = [
            vec![line(Speaker::User, "a b")],
            vec![line(Speaker::Assistant, "a b")],
            vec![line(Speaker::Tool, "a b")],
            vec![line(Speaker::User, "ab")],
            vec![line(Speaker::User, "A b")],
            vec![line(Speaker::User, "a"), line(Speaker::User, "b")],
            vec![line(Speaker::User, "b"), line(Speaker::User, "a")],
            vec![line(Speaker::User, "a b"), line(Speaker::Assistant, "")],
        ];
        for (place, one) in conversations.iter().enumerate() {
            for other in &conversations[..place] {
                assert_ne!(fingerprint(one), fingerprint(other), "{one:?} {other:?}");
            }
        }
    }
}
