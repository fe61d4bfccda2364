//! The port that reads and tends conversations as trees, beside their turns.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{HitlMove, Message, Session};
use crate::domain::{
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, SessionId, UserId},
    time::Millis,
};

/// Whether a message was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// It was.
    Up,
    /// It was not.
    Down,
}

/// What a reader thinks of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Feedback {
    /// In one word.
    pub rating: Rating,
    /// In their own.
    pub comment: Option<String>,
}

/// What is to change of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionChange {
    /// The user's title; no other replaces it later.
    pub title: Option<String>,
    /// Shows the branch through this message that was written on last.
    pub shown: Option<MessageId>,
}

/// Which messages of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Those of the shown branch.
    Shown,
    /// Those of all branches.
    All,
}

/// A session and which messages it has, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The session.
    pub session: Session,
    /// Its messages by `ord`, without the one that is being written: that may be gone before it is read.
    pub messages: Vec<MessageId>,
    /// The answer that is being written, and what it answers.
    pub written: Option<(MessageId, Option<MessageId>)>,
}

/// Reads and tends conversations.
///
/// Contract: each write is one transaction; what is not the caller's is `NotFound`; reads take a bounded number of rows
/// and do not grow with the session.
#[async_trait]
pub trait HistoryStore: Send + Sync {
    /// Sessions of `user` that hold the words of `query` in their title or in one message, newest first, after the place
    /// `(updated_at, id)`.
    async fn search(
        &self,
        user: UserId,
        query: &str,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError>;
    /// Changes a session, also while a run has it. `NotFound`, and nothing changed, when the message is not in it.
    async fn change_session(&self, user: UserId, name: &str, change: &SessionChange) -> Result<Session, StoreError>;
    /// Gives the session a model's title in place of the first words; gives whether it did.
    async fn entitle(&self, session: SessionId, title: &str) -> Result<bool, StoreError>;

    /// A session of `user` and its branch up to `end`, or else the shown one, as of one moment: its last `limit` messages,
    /// oldest first, whole.
    async fn conversation(
        &self,
        user: UserId,
        name: &str,
        end: Option<MessageId>,
        limit: i64,
    ) -> Result<(Session, Vec<Message>), StoreError>;
    /// A session of `user` and, as of the same moment, messages of all its branches after `after`, by `ord`, at most
    /// `limit`, whole.
    async fn tree(
        &self,
        user: UserId,
        name: &str,
        after: i64,
        limit: i64,
    ) -> Result<(Session, Vec<Message>), StoreError>;
    /// Which messages a session of `user` has, however many.
    async fn outline(&self, user: UserId, name: &str, extent: Extent) -> Result<Outline, StoreError>;
    /// Those of these messages that the session has, by `ord`, whole. Of siblings none may be left out between two.
    async fn messages(&self, session: SessionId, ids: &[MessageId]) -> Result<Vec<Message>, StoreError>;
    /// Deletes a message and all below it, with everything that came of them. `Conflict` while a run has the session.
    async fn delete_message(&self, user: UserId, session: &str, message: MessageId) -> Result<(), StoreError>;
    /// Keeps what `user` thinks of a message, in place of what they thought before.
    async fn rate(
        &self,
        user: UserId,
        session: &str,
        message: MessageId,
        feedback: &Feedback,
        now: Millis,
    ) -> Result<(), StoreError>;

    /// Questions of a session with their moves, oldest first, after the place `(created_at, id)`.
    async fn questions(
        &self,
        session: SessionId,
        after: Option<(Millis, HitlId)>,
        limit: i64,
    ) -> Result<Vec<(Pending, Vec<HitlMove>)>, StoreError>;
}
