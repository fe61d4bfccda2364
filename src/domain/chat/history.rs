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

    /// Messages of all branches after `after`, by `ord`, at most `limit`, whole.
    async fn tree(&self, session: SessionId, after: i64, limit: i64) -> Result<Vec<Message>, StoreError>;
    /// Cuts the branch that ends with `leaf` into pieces of `size` messages, the first of what is left over: the last
    /// message of each, oldest first.
    async fn pieces(&self, session: SessionId, leaf: MessageId, size: i64) -> Result<Vec<MessageId>, StoreError>;
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
