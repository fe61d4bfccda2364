//! Conversations: sessions, messages, a turn's request and end, and the port that keeps them.

mod history;
mod queue;
mod store;
mod turn;

use serde::{Deserialize, Serialize};

pub use self::{history::*, queue::*, store::*, turn::*};
use super::{
    event::CallView,
    hitl::Pending,
    id::{DocumentId, HitlId, MessageId, RunId, SessionId, UserId},
    model::Usage,
    time::Millis,
    trace::RagTrace,
};

/// A conversation. Clients name it; the name is unique per user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Internal; never leaves the server.
    pub id: SessionId,
    /// Whose it is.
    pub owner: UserId,
    /// The client's id of it.
    pub name: String,
    /// What it is about: in the user's words, a model's, or those of the first question.
    pub title: Option<String>,
    /// The message that the shown branch ends with.
    pub active_leaf: Option<MessageId>,
    /// The run that has the session now.
    pub running_run: Option<RunId>,
    /// Messages of all branches.
    pub message_count: i64,
    /// The question of the active branch, if it is open or being answered.
    pub question: Option<HitlId>,
    /// Whether that question waits for a reply.
    pub awaiting_input: bool,
    /// When it was made.
    pub created_at: Millis,
    /// When a turn last began or ended in it.
    pub updated_at: Millis,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    /// The user.
    Human,
    /// The assistant.
    Ai,
}

/// Where a message stands. Human messages are always `Completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// Being written.
    Running,
    /// Whole.
    Completed,
    /// A question to the user.
    AwaitingInput,
    /// Stopped by the user.
    Stopped,
    /// The turn failed after this much.
    Failed,
    /// The process died after this much.
    Interrupted,
}

impl MessageStatus {
    /// The word of the wire, for logs and sentences.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::AwaitingInput => "awaiting_input",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A message with everything that hangs on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Never changes.
    pub id: MessageId,
    /// The message that it answers or follows.
    pub parent: Option<MessageId>,
    /// 1, 2, 3 … in the session: the only order.
    pub ord: i64,
    /// Who speaks.
    pub kind: MessageKind,
    /// Where it stands.
    pub status: MessageStatus,
    /// The run that wrote it, or that it started.
    pub run: Option<RunId>,
    /// The text.
    pub content: String,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Why the model ended.
    pub finish_reason: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Times.
    pub timings: Option<Timings>,
    /// What retrieval did.
    pub trace: Option<RagTrace>,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// The question that it asked.
    pub pending: Option<Pending>,
    /// The model's reasoning.
    pub reasoning: Option<String>,
    /// Calls that were made for it.
    pub tool_calls: Vec<CallView>,
    /// What its reader thinks of it.
    pub feedback: Option<Feedback>,
    /// Its place among messages of the same parent and kind, from 0, and how many there are.
    pub siblings: (i64, i64),
    /// When it was accepted.
    pub created_at: Millis,
}

/// How long the parts of a turn took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Timings {
    /// Waiting for the session.
    pub queue_ms: u64,
    /// Inside retrieval.
    pub retrieval_ms: u64,
    /// Until the first character of the answer.
    pub first_token_ms: u64,
    /// All of it.
    pub total_ms: u64,
    /// Of the model's last call, from its first piece on; left out where that took too short a time to mean anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// A marker of an answer and what it points at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Citation {
    /// `[n]` of the text; each once.
    pub marker: u32,
    /// The document.
    pub document_id: DocumentId,
    /// The number of the version that was read.
    pub version: i64,
    /// The document's name at that time.
    pub filename: String,
    /// Page label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// First character of the quote in that version's text (Unicode scalar values).
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// Stands verbatim at `start..end`.
    pub quote: String,
    /// Hex SHA-256 of the quote's UTF-8.
    pub quote_sha256: String,
    /// The document has been deleted since.
    pub removed: bool,
}

/// What a message says, as later turns of its branch read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Its place among the messages of its session.
    pub ord: i64,
    /// Who says it.
    pub kind: MessageKind,
    /// The text.
    pub content: String,
}

/// A piece of an assistant message beside its text, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text that a model said before it called tools.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A call.
    ToolCall {
        /// Which.
        call: CallView,
    },
    /// Its answer.
    ToolResult {
        /// Which call.
        id: String,
        /// Which tool.
        name: String,
        /// As in [`super::event::ResultView`].
        status: String,
        /// What the model read.
        text: String,
    },
}

#[cfg(test)]
impl Message {
    /// A message of which a test says no more than this.
    pub(crate) fn said(kind: MessageKind, content: &str) -> Self {
        Self {
            id: MessageId::at(Millis(1)),
            parent: None,
            ord: 1,
            kind,
            status: MessageStatus::Completed,
            run: None,
            content: content.into(),
            model: None,
            finish_reason: None,
            usage: None,
            timings: None,
            trace: None,
            citations: vec![],
            pending: None,
            reasoning: None,
            tool_calls: vec![],
            feedback: None,
            siblings: (0, 1),
            created_at: Millis(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::domain::{hitl::HitlStatus, run::RunStatus};

    /// The states that the wire calls so.
    fn read<T: DeserializeOwned>(words: &[&str]) -> Vec<T> {
        words.iter().map(|word| serde_json::from_value((*word).into()).unwrap()).collect()
    }

    #[test]
    fn states_have_one_word_for_logs_and_wire() {
        let ends = ["completed", "awaiting_input", "stopped", "failed", "interrupted"];
        let words = [&["running"], &ends[..]].concat();
        assert_eq!(read(&words).into_iter().map(MessageStatus::as_str).collect::<Vec<_>>(), words);
        let words = [&["queued", "running"], &ends[..]].concat();
        assert_eq!(read(&words).into_iter().map(RunStatus::as_str).collect::<Vec<_>>(), words);
        let words = ["open", "taken", "answered", "dismissed", "superseded", "expired"];
        assert_eq!(read(&words).into_iter().map(HitlStatus::as_str).collect::<Vec<_>>(), words);
    }
}
