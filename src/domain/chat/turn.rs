//! A turn: as it is asked for, accepted or refused, and ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Citation, MessagePart, Session, Timings};
use crate::domain::{
    episode::Remembered,
    error::StoreError,
    hitl::{HitlStatus, HitlView, NewPending, Pending, Settlement},
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    memory::EventId,
    model::{Sampling, Usage},
    problem::Problem,
    run::{FrameBatch, RunKind, RunStatus},
    time::Millis,
    trace::RagTrace,
};

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
    /// What it does to the tree.
    #[serde(default)]
    pub kind: RunKind,
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
    /// When the session is busy.
    #[serde(default)]
    pub on_busy: OnBusy,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// The session, after the claim.
    pub session: Session,
    /// Whether this is its first turn.
    pub first_turn: bool,
    /// What is done: an answer that is made anew is made under the conditions of the first one.
    pub request: TurnRequest,
    /// The message that the user's message hangs on.
    pub parent: Option<MessageId>,
    /// The user's message.
    pub human: MessageId,
    /// Its text as stored.
    pub text: String,
    /// The answer that is written.
    pub message: MessageId,
    /// The question above the user's message that this run may resume: `Taken`, when it was open and this run took it;
    /// `Answered`, when another wording of its reply, or another answer to that, is asked for.
    pub question: Option<Pending>,
}

/// Why a turn was not accepted. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The session has a running turn.
    #[error("the session is busy with run {0}")]
    Busy(RunId),
    /// The session is free: nothing has to wait in it.
    #[error("the session is free")]
    Idle,
    /// As many runs wait in the session as may.
    #[error("too many turns wait in the session")]
    QueueFull,
    /// As many runs wait in all sessions as may.
    #[error("too many turns wait")]
    Overloaded,
    /// The message is not of the kind that this can be done to.
    #[error("{0}")]
    WrongMessage(&'static str),
    /// Nothing can be added to the message.
    #[error("{0}")]
    NotContinuable(&'static str),
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

/// Everything that ending a turn writes, in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// The run.
    pub run: RunId,
    /// Its owner; another one is fenced (`Conflict`, nothing written).
    pub owner: String,
    /// Whether it wrote on at an answer that was there before.
    pub extends: bool,
    /// Its session.
    pub session: SessionId,
    /// The user's message.
    pub human: MessageId,
    /// The answer.
    pub message: MessageId,
    /// Its end.
    pub status: RunStatus,
    /// The whole answer. Empty: there is nothing to write, so a new answer's row is removed, and an earlier answer that
    /// was written on stays as it was.
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
    /// What it leaves for the turns after it, if it leaves a message.
    pub episodes: Vec<Remembered>,
    /// The background events that this turn told. By id: one that is committed while the turn runs stays untold.
    pub told: Vec<EventId>,
    /// Why it failed.
    pub error: Option<Problem>,
    /// The frames not yet logged, terminal ones included.
    pub frames: FrameBatch,
    /// Now.
    pub now: Millis,
}

/// What a running answer rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// The run.
    pub run: RunId,
    /// Its owner.
    pub owner: String,
    /// What retrieval did; its `retrieved_chunks` are what markers point at.
    pub trace: Arc<RagTrace>,
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
    /// None of a turn that was stopped while it waited: nothing of it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message_id: Option<MessageId>,
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
