//! What a turn tells while it runs. One stream; every door is a projection of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{chat::TurnResult, hitl::HitlView, id::MessageId, model::ToolCall, problem::Problem, trace::RagTrace};

/// One event of a turn. Serialized, with `seq` and `run_id` beside `type`, it is a frame of protocol.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// Live progress. The first one also names the session and both messages.
    RagStep {
        /// On the first frame.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// On the first frame.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        /// On the first frame.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_message_id: Option<MessageId>,
        /// What happens.
        step: Step,
    },
    /// On a session's first turn.
    SessionTitle {
        /// First words of the question.
        title: String,
        /// The client's name of the session.
        session_id: String,
    },
    /// A piece of the model's reasoning.
    Reasoning {
        /// The piece.
        content: String,
        /// Unicode scalar values before it.
        offset: u64,
    },
    /// A tool was called.
    ToolCall {
        /// Which.
        call: CallView,
    },
    /// It answered.
    ToolResult {
        /// How.
        result: ResultView,
    },
    /// A piece of the answer.
    Content {
        /// The piece.
        content: String,
        /// Unicode scalar values of the answer before it.
        offset: u64,
    },
    /// The text so far was not the answer.
    ContentReset,
    /// After commit, if retrieval ran.
    Trace {
        /// What it did.
        rag_trace: Box<RagTrace>,
    },
    /// After commit, if the turn asks back.
    HitlRequest {
        /// The question.
        hitl: Box<HitlView>,
    },
    /// After commit: the whole turn.
    Message {
        /// As `POST /chat` answers.
        message: Box<TurnResult>,
    },
    /// The turn failed. The stream ends without `[DONE]`.
    Error {
        /// For people.
        content: String,
        /// For programs.
        error: Box<Problem>,
    },
    /// Replaces all earlier text, where a power failure took the tail of the log.
    Snapshot {
        /// What was said.
        content: String,
    },
}

impl TurnEvent {
    /// The `type` of its frame, which is also the SSE event's name.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RagStep { .. } => "rag_step",
            Self::SessionTitle { .. } => "session_title",
            Self::Reasoning { .. } => "reasoning",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::Content { .. } => "content",
            Self::ContentReset => "content_reset",
            Self::Trace { .. } => "trace",
            Self::HitlRequest { .. } => "hitl_request",
            Self::Message { .. } => "message",
            Self::Error { .. } => "error",
            Self::Snapshot { .. } => "snapshot",
        }
    }
}

/// A line of live progress.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    /// One emoji.
    pub icon: String,
    /// A few words in the user's language.
    pub label: String,
    /// More, or empty.
    pub detail: String,
    /// Since the turn began.
    pub elapsed_ms: u64,
    /// Since the step before.
    pub stage_elapsed_ms: u64,
    /// Steps of one part of a complex question share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The part's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_label: Option<String>,
}

/// A tool call as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CallView {
    /// Unique within the turn.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// As an object where the model wrote one, else as its text.
    pub arguments: Value,
}

impl From<&ToolCall> for CallView {
    fn from(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone())),
        }
    }
}

/// A tool's answer as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ResultView {
    /// Which call it answers.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// `ok`, `error`, `asked`, `limit`, `cancelled`.
    pub status: String,
    /// One line for people.
    pub summary: String,
}

/// Takes live progress. Never blocks: what cannot be kept is dropped, progress is not truth.
pub trait Progress: Send + Sync {
    /// One step; the receiver fills in the times.
    fn step(&self, icon: &str, label: &str, detail: &str, group: Option<(&str, &str)>);
}

/// Progress that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: &str, _: &str, _: &str, _: Option<(&str, &str)>) {}
}
