//! The port that keeps conversations.

use std::time::Duration;

use async_trait::async_trait;

use super::{Accept, Accepted, Basis, Finish, Message, Refused, Said, Session};
use crate::domain::{
    error::StoreError,
    hitl::{HitlStatus, Pending},
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    run::{FrameBatch, Orphan, Run},
    time::Millis,
};

/// A row of a question's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitlMove {
    /// From where.
    pub from: HitlStatus,
    /// To where.
    pub to: HitlStatus,
    /// By which run.
    pub run: Option<RunId>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Millis,
}

/// Keeps conversations, runs, run logs and questions.
///
/// Contract: `accept` and `finish` are one transaction each and durable when they return; a refusal writes nothing;
/// every write that must win is a compare-and-set; what is not the caller's is `NotFound`. `log` may lose its tail in
/// a power failure, not in a crash of the process.
#[async_trait]
pub trait ChatStore: Send + Sync {
    /// Claims the session, takes the branch's open question, appends both messages, creates the run. `Busy` while a run
    /// has the session or waits for it.
    async fn accept(&self, accept: &Accept) -> Result<Accepted, Refused>;
    /// Appends frames of many runs; those of a run that is not running or not the owner's are dropped. Gives the runs
    /// whose frames were dropped.
    async fn log(&self, batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError>;
    /// Keeps what running runs rest on, before the text that does is logged: an answer that a dead process left can be
    /// checked as any other. What is not running, or not the owner's, is passed over.
    async fn rest(&self, bases: &[Basis]) -> Result<(), StoreError>;
    /// Ends a run.
    async fn finish(&self, finish: &Finish) -> Result<(), StoreError>;

    /// Tells that the process `id:boot` lives for `lease` from now, by the store's time: processes that share one need
    /// not agree on theirs.
    async fn beat_process(&self, id: &str, boot: &str, lease: Duration) -> Result<(), StoreError>;
    /// Running rows whose process is dead, by the same time.
    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError>;

    /// A run of `user`.
    async fn run(&self, user: UserId, run: RunId) -> Result<Run, StoreError>;
    /// The log of a run after `after`, in order, at most `limit` batches. A batch may begin before `after + 1`.
    async fn frames(&self, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError>;
    /// Drops the logs of runs that had ended by `before`, oldest first, at most `limit`; gives how many. Their rows stay.
    async fn drop_logs(&self, before: Millis, limit: i64) -> Result<u64, StoreError>;
    /// Marks a run to be stopped, wherever it runs; its owner sees it.
    async fn request_stop(&self, user: UserId, run: RunId, now: Millis) -> Result<Run, StoreError>;
    /// Of these running runs, those to be stopped.
    async fn stops(&self, owner: &str) -> Result<Vec<RunId>, StoreError>;

    /// Sessions of `user`, newest first, after the place `(updated_at, id)`.
    async fn sessions(
        &self,
        user: UserId,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError>;
    /// A session by the client's name.
    async fn session(&self, user: UserId, name: &str) -> Result<Session, StoreError>;
    /// Deletes it with all that hangs on it. `Conflict` while a run has it.
    async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError>;
    /// The branch that ends with `leaf`, oldest first: its last `limit` messages, without all that hangs on them; what a
    /// turn reads of those before it.
    async fn said(&self, session: SessionId, leaf: MessageId, limit: i64) -> Result<Vec<Said>, StoreError>;
    /// A message of `user`.
    async fn message(&self, user: UserId, id: MessageId) -> Result<Message, StoreError>;

    /// A question of `user`, with its moves.
    async fn pending(&self, user: UserId, id: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError>;
}
