//! Conversations: sessions, messages, a turn's request and result, and the port that keeps them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    event::CallView,
    hitl::{HitlStatus, HitlView, NewPending, Pending, Settlement},
    id::{DocumentId, HitlId, MessageId, RunId, SessionId, UserId},
    memory::EventId,
    model::{Sampling, Usage},
    problem::Problem,
    run::{FrameBatch, Orphan, Run, RunStatus},
    time::Millis,
    trace::RagTrace,
};

/// A conversation. Clients name it; the name is unique per user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Internal; never leaves the server.
    pub id: SessionId,
    /// Whose it is.
    pub owner: UserId,
    /// The client's id of it.
    pub name: String,
    /// First words of the first question.
    pub title: Option<String>,
    /// The message that the shown branch ends with.
    pub active_leaf: Option<MessageId>,
    /// The run that has the session now.
    pub running_run: Option<RunId>,
    /// Messages of all branches.
    pub message_count: i64,
    /// Whether the active branch ends with an open question.
    pub awaiting_input: bool,
    /// When it was made.
    pub created_at: Millis,
    /// When it last changed.
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
    /// The word of SQL and of the wire.
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
#[derive(Debug, Clone, PartialEq)]
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
    /// Of the answer.
    pub tokens_per_second: f64,
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

/// What to do when the session has a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// 409.
    #[default]
    Reject,
    /// Wait in line.
    Enqueue,
    /// Stop the running one.
    Interrupt,
}

/// What to do when the last watcher leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    /// Go on; the answer is stored.
    #[default]
    Continue,
    /// Stop at once.
    Cancel,
}

impl OnDisconnect {
    /// The word of SQL and of the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Cancel => "cancel",
        }
    }
}

/// What a client does about an open question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitlAction {
    /// Answers it.
    Answer,
    /// Declines it.
    Dismiss,
}

/// The `hitl` part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HitlReply {
    /// Which question; absent: the one open on the branch.
    pub id: Option<HitlId>,
    /// What is done about it.
    pub action: Option<HitlAction>,
    /// Chosen options.
    #[serde(default)]
    pub option_ids: Vec<String>,
}

/// A turn as the user asked for it; stored with the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnRequest {
    /// What the user said; may be empty when `hitl` says it.
    pub message: String,
    /// About an open question.
    pub hitl: Option<HitlReply>,
    /// The message to answer from, else the active leaf.
    pub parent: Option<MessageId>,
    /// Narrows the knowledge to these collections.
    pub collections: Option<Vec<String>>,
    /// Another model of the same server.
    pub model: Option<String>,
    /// How to answer.
    pub sampling: Sampling,
    /// When the last watcher leaves.
    pub on_disconnect: OnDisconnect,
}

impl TurnRequest {
    /// The text that is stored as the user's message: what they typed, else the labels that they chose, else the
    /// action's name.
    #[must_use]
    pub fn stored_text(&self, pending: Option<&Pending>) -> String {
        if !self.message.trim().is_empty() {
            return self.message.clone();
        }
        let Some(reply) = &self.hitl else { return self.message.clone() };
        let labels: Vec<&str> = pending
            .and_then(|pending| pending.record.as_ref())
            .map(|record| &record.question.options)
            .into_iter()
            .flatten()
            .filter(|option| reply.option_ids.contains(&option.id))
            .map(|option| option.label.as_str())
            .collect();
        if !labels.is_empty() {
            return labels.join(", ");
        }
        match reply.action {
            Some(HitlAction::Dismiss) => "dismiss".into(),
            Some(HitlAction::Answer) | None => reply.option_ids.join(", "),
        }
    }
}

/// Everything that accepting a turn writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Accept {
    /// Who asks.
    pub user: UserId,
    /// The client's name of the session; made when unknown.
    pub session_name: String,
    /// The id it gets if it has to be made.
    pub new_session: SessionId,
    /// Id of the user's message.
    pub human: MessageId,
    /// Id of the answer.
    pub message: MessageId,
    /// Id of the run.
    pub run: RunId,
    /// The process that runs it: `id:boot`.
    pub owner: String,
    /// What was asked for.
    pub request: TurnRequest,
    /// Title of the session if this is its first turn.
    pub title: String,
    /// Model named in the answer's row.
    pub model: String,
    /// `Idempotency-Key`, with the hash of the body.
    pub idempotency: Option<Idempotency>,
    /// Now.
    pub now: Millis,
}

/// A client's promise that equal keys mean one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Route and session are part of it.
    pub scope: String,
    /// At most 255 visible ASCII.
    pub key: String,
    /// Hex SHA-256 of the body.
    pub body_sha256: String,
    /// When it is forgotten.
    pub expires_at: Millis,
}

/// A turn that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The session, after the claim.
    pub session: Session,
    /// Whether this is its first turn.
    pub first_turn: bool,
    /// The message that the user's message hangs on.
    pub parent: Option<MessageId>,
    /// The text of the user's message as stored.
    pub text: String,
    /// The branch's open question, now taken by this run.
    pub taken: Option<Pending>,
}

/// Why a turn was not accepted. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The session has a running turn.
    #[error("the session is busy with run {0}")]
    Busy(RunId),
    /// The parent or the question is not there, or not the caller's.
    #[error("not found")]
    NotFound,
    /// The question is not open.
    #[error("the question is {0:?}")]
    HitlNotOpen(HitlStatus),
    /// The question's time has passed.
    #[error("the question has expired")]
    HitlExpired,
    /// `option_ids` names something that the question does not offer.
    #[error("unknown option")]
    UnknownOption {
        /// The first unknown id.
        option: String,
        /// What would do.
        valid: Vec<String>,
    },
    /// The same key and body were accepted before: that run again.
    #[error("already accepted as run {0}")]
    Duplicate(RunId),
    /// The key was used with another body.
    #[error("the key was used with another body")]
    IdempotencyMismatch,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
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

/// Everything that ending a turn writes, in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// The run.
    pub run: RunId,
    /// Its owner; another one is fenced (`Conflict`, nothing written).
    pub owner: String,
    /// Its session.
    pub session: SessionId,
    /// The user's message: the leaf when nothing was said.
    pub human: MessageId,
    /// The answer.
    pub message: MessageId,
    /// Its end.
    pub status: RunStatus,
    /// What was said; empty: the answer's row is removed.
    pub content: String,
    /// Why the model ended.
    pub finish_reason: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Times.
    pub timings: Option<Timings>,
    /// Beside the text.
    pub parts: Vec<MessagePart>,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// What retrieval did.
    pub trace: Option<RagTrace>,
    /// What becomes of the question that the run had taken, and why.
    pub settle: Option<(HitlId, Settlement, String)>,
    /// The question that is now open on `message`.
    pub ask: Option<NewPending>,
    /// The background events that this turn told. By id: one that is committed while the turn runs stays untold.
    pub told: Vec<EventId>,
    /// Why it failed.
    pub error: Option<Problem>,
    /// The frames not yet logged, terminal ones included.
    pub frames: FrameBatch,
    /// Now.
    pub now: Millis,
}

/// A *turn result* of protocol.md: the body of `POST /chat`, the `message` frame, `result` of `GET /runs/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[expect(missing_docs, reason = "each field is named and explained by protocol.md")]
pub struct TurnResult {
    pub response: String,
    pub status: RunStatus,
    pub session_id: String,
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    pub user_message_id: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rag_trace: Option<RagTrace>,
    pub citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hitl: Option<HitlView>,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    pub usage: Usage,
    pub timings: Timings,
}

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
    /// Claims the session, takes the branch's open question, appends both messages, creates the run.
    async fn accept(&self, accept: &Accept) -> Result<Accepted, Refused>;
    /// Appends frames of many runs; those of a run that is not running or not the owner's are dropped. Gives the runs
    /// whose frames were dropped.
    async fn log(&self, batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError>;
    /// Ends a run.
    async fn finish(&self, finish: &Finish) -> Result<(), StoreError>;

    /// Tells that the process `id:boot` lives until `until`.
    async fn beat_process(&self, id: &str, boot: &str, until: Millis) -> Result<(), StoreError>;
    /// Running rows whose process is dead at `now`.
    async fn orphans(&self, now: Millis) -> Result<Vec<Orphan>, StoreError>;

    /// A run of `user`.
    async fn run(&self, user: UserId, run: RunId) -> Result<Run, StoreError>;
    /// The log of a run after `after`, in order, at most `limit` batches. A batch may begin before `after + 1`.
    async fn frames(&self, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError>;
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
    /// The branch that ends with `leaf`, oldest first: its last `limit` messages, whole.
    async fn branch(&self, session: SessionId, leaf: MessageId, limit: i64) -> Result<Vec<Message>, StoreError>;
    /// A message of `user`.
    async fn message(&self, user: UserId, id: MessageId) -> Result<Message, StoreError>;

    /// A question of `user`, with its moves.
    async fn pending(&self, user: UserId, id: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError>;
    /// Fingerprints already asked under `root`.
    async fn fingerprints(&self, root: HitlId) -> Result<Vec<String>, StoreError>;
}
