//! Runs that wait for their session, and the port that keeps them in line.

use async_trait::async_trait;

use super::{Accept, Accepted, Refused};
use crate::domain::{
    error::StoreError,
    id::{MessageId, RunId, SessionId, UserId},
    problem::Problem,
    run::{FrameBatch, RunStatus},
    time::Millis,
    user::Role,
};

/// How many runs may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueBounds {
    /// In one session.
    pub session: usize,
    /// In all of them.
    pub total: usize,
}

/// A run that was put in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// Its session.
    pub session: SessionId,
    /// The running run that it stops, marked as to be stopped.
    pub interrupted: Option<RunId>,
}

/// The run that is the next of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// Whether it is to be stopped instead of started: someone said so, or it was to be cancelled when nobody watches
    /// it, and the process where it was watched is dead.
    pub is_to_stop: bool,
}

/// What a waiting run is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartQueued {
    /// Which.
    pub head: Head,
    /// The process that runs it: `id:boot`.
    pub owner: String,
    /// Id of its answer.
    pub message: MessageId,
    /// Model named in the answer's row, if the request names none.
    pub model: String,
    /// Now.
    pub now: Millis,
}

/// A waiting run that now runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// As if it had been accepted now.
    pub accepted: Accepted,
    /// The role of its user, now.
    pub role: Role,
    /// When it was put in line.
    pub queued_at: Millis,
    /// Whether one that interrupts waits behind it: then it is marked as to be stopped.
    pub is_interrupted: bool,
    /// What its log holds so far.
    pub log: Vec<FrameBatch>,
}

/// The end of a run that never ran.
#[derive(Debug, Clone, PartialEq)]
pub struct EndQueued {
    /// Which.
    pub run: RunId,
    /// `Stopped` or `Failed`.
    pub status: RunStatus,
    /// Why it failed.
    pub error: Option<Problem>,
    /// Its terminal frame.
    pub frames: FrameBatch,
    /// Now.
    pub now: Millis,
}

/// Keeps runs in line, each session's in the order in which they came; those that interrupt stand before the others.
///
/// Contract: as [`super::ChatStore`]'s. Of processes that start or end the same run one wins, and the others meet
/// `Conflict`.
#[async_trait]
pub trait QueueStore: Send + Sync {
    /// Puts a run in line in a busy session, with the first frames of its log. `Idle` when the session is free,
    /// `QueueFull` and `Overloaded` at the bounds.
    async fn enqueue(&self, accept: &Accept, first: &FrameBatch, bounds: QueueBounds) -> Result<Enqueued, Refused>;
    /// The next runs of sessions in which nothing runs, of one session or of all; at most `limit`, oldest first. The
    /// process `owner` asks, and does not count as dead.
    async fn heads(&self, owner: &str, session: Option<SessionId>, limit: i64) -> Result<Vec<Head>, StoreError>;
    /// Starts the next run of a session in which nothing runs: claims the session and appends the messages. A refusal
    /// leaves it in line. Behind one that interrupts, another one that does is an interruption too.
    async fn start(&self, start: &StartQueued) -> Result<Started, Refused>;
    /// Ends a run that still waits.
    async fn end_queued(&self, end: &EndQueued) -> Result<(), StoreError>;
}
