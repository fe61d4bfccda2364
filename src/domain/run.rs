//! A run: one turn as a durable thing with its own log.

use serde::{Deserialize, Serialize};

use super::{
    id::{MessageId, RunId, SessionId, UserId},
    problem::Problem,
    time::Millis,
    trace::RagTrace,
};

/// What a run does to the tree of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum RunKind {
    /// Adds a message of the user and its answer.
    #[default]
    Turn,
    /// Adds another wording beside this message of the user, and its answer.
    Edit(MessageId),
    /// Adds an answer beside this one. A message of the user that has none gets its answer.
    Regenerate(MessageId),
    /// Writes on at this answer.
    Continue(MessageId),
}

impl RunKind {
    /// The word of SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Edit(_) => "edit",
            Self::Regenerate(_) => "regenerate",
            Self::Continue(_) => "continue",
        }
    }

    /// Whether the user says something with it.
    #[must_use]
    pub const fn speaks(self) -> bool {
        matches!(self, Self::Turn | Self::Edit(_))
    }

    /// Whether it writes an answer of its own.
    #[must_use]
    pub const fn answers_anew(self) -> bool {
        !matches!(self, Self::Continue(_))
    }

    /// How many messages it adds.
    #[must_use]
    pub const fn adds(self) -> i64 {
        self.speaks() as i64 + self.answers_anew() as i64
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Waits for the session.
    Queued,
    /// At work.
    Running,
    /// Answered, or said that the documents do not hold it.
    Completed,
    /// Asked back.
    AwaitingInput,
    /// Stopped by its user.
    Stopped,
    /// Failed.
    Failed,
    /// Its process died.
    Interrupted,
}

impl RunStatus {
    /// The word of the wire, for logs and sentences.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::AwaitingInput => "awaiting_input",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it came to the end that it was meant to come to.
    #[must_use]
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Completed | Self::AwaitingInput)
    }

    /// Whether nothing more will happen to it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A run as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Never changes.
    pub id: RunId,
    /// Its session.
    pub session: SessionId,
    /// The client's name of the session.
    pub session_name: String,
    /// Whose it is.
    pub user: UserId,
    /// Where it stands.
    pub status: RunStatus,
    /// Whether it writes on at an answer that was there before.
    pub extends: bool,
    /// The user's message.
    pub human: MessageId,
    /// The assistant's message; gone when nothing was said.
    pub message: Option<MessageId>,
    /// First frame that its log still has; past `last_seq` when the log was dropped.
    pub log_from: u64,
    /// Last frame of its log.
    pub last_seq: u64,
    /// Why it failed.
    pub error: Option<Problem>,
    /// When it was accepted.
    pub created_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
}

/// Consecutive frames of a run's log: JSON objects, one a line, each line ended by `\n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameBatch {
    /// Of which run.
    pub run: RunId,
    /// The process that runs it: `id:boot`.
    pub owner: String,
    /// `seq` of the first line.
    pub first_seq: u64,
    /// `seq` of the last line.
    pub last_seq: u64,
    /// The lines.
    pub lines: Vec<u8>,
}

/// A running row whose process is dead.
#[derive(Debug, Clone, PartialEq)]
pub struct Orphan {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The client's name of the session.
    pub session_name: String,
    /// The dead owner.
    pub owner: String,
    /// The user's message.
    pub human: MessageId,
    /// The unfinished answer.
    pub message: MessageId,
    /// The text that the answer had before, if the run was writing on at an earlier one.
    pub earlier: Option<String>,
    /// The question that it had taken.
    pub taken: Option<super::id::HitlId>,
    /// What the answer rests on, if its text had begun.
    pub trace: Option<RagTrace>,
}
