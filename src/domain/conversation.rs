//! Conversations that clients keep themselves: they know no sessions and send all messages with every question. Such a
//! conversation is found again by its messages.

use async_trait::async_trait;

use super::{
    chat::MessageStatus,
    error::StoreError,
    id::{MessageId, UserId},
    time::Millis,
};

/// Stands for the messages of a conversation as its client holds them: equal ones have equal fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// What a client holds of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whose conversation it is.
    pub user: UserId,
    /// Of all messages up to the answer, with it or without.
    pub fingerprint: Fingerprint,
    /// The answer.
    pub answer: MessageId,
    /// Since when.
    pub at: Millis,
}

/// Where a conversation stands that was found by its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The client's name of its session.
    pub session_name: String,
    /// The answer that the messages end with, or lack.
    pub answer: MessageId,
    /// Where that stands.
    pub status: MessageStatus,
    /// What the user said to that answer last, and its text, where something was said to it.
    pub reply: Option<(MessageId, String)>,
}

/// Remembers the conversations that clients keep.
#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// Remembers one, in place of one that reads the same; it is forgotten with its answer. Of those of its user the
    /// ones held since before `since` are forgotten, and the oldest beyond `most`. Nothing is remembered of an answer
    /// that is not the user's or is gone.
    async fn hold(&self, held: &Held, since: Millis, most: i64) -> Result<(), StoreError>;
    /// The conversation of `user` with this fingerprint.
    async fn held(&self, user: UserId, fingerprint: Fingerprint) -> Result<Option<Standing>, StoreError>;
}
