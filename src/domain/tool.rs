//! The agent's tools.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    error::ToolError,
    event::Progress,
    evidence::Evidence,
    hitl::{OptionFilter, Question},
    id::{RunId, SessionId, UserId},
    knowledge::Access,
    model::ToolSpec,
    trace::RagTrace,
    user::Role,
};

/// What a tool knows of the turn that calls it. Identity and limits come from here, never from a tool's arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// Who asks.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// What they may search; already narrowed to the request's collections.
    pub access: Access,
    /// The names that the request narrowed it to.
    pub only: Option<Vec<String>>,
    /// Where.
    pub session: SessionId,
    /// In which run.
    pub run: RunId,
    /// The user's message, as typed.
    pub message: String,
    /// The conversation before it.
    pub background: Background,
    /// Searches that this turn may still make.
    pub quota: Arc<Quota>,
    /// Numbers the passages that its searches find.
    pub markers: Arc<Markers>,
    /// Where progress goes.
    pub progress: Arc<dyn Progress>,
}

/// What the conversation has settled already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Background {
    /// Earlier user messages of the branch, oldest first, at most the last few.
    pub user_turns: Vec<String>,
    /// Earlier answers of the branch, oldest first, at most the last few.
    pub answers: Vec<String>,
    /// The session's note.
    pub note: Option<String>,
    /// Options of the question before that this message names, though it asks something of its own.
    pub given: Vec<OptionFilter>,
}

/// Counts down the searches of a turn.
#[derive(Debug)]
pub struct Quota(AtomicU32);

impl Quota {
    /// A quota of `searches`.
    #[must_use]
    pub const fn new(searches: u32) -> Self {
        Self(AtomicU32::new(searches))
    }

    /// Takes one search; `false` when none is left.
    pub fn take(&self) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }
}

/// Numbers the passages of a turn, those of all its searches one after the other.
#[derive(Debug, Default)]
pub struct Markers(AtomicUsize);

impl Markers {
    /// Numbers the passages of a further search.
    #[must_use]
    pub fn number(&self, evidence: Evidence) -> Evidence {
        let before = self.0.fetch_add(evidence.passages.len(), Ordering::AcqRel);
        evidence.after(before)
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model reads. Never empty.
    pub text: String,
    /// `ok` or `limit`.
    pub status: String,
    /// One line for people.
    pub summary: String,
    /// Numbered passages that the answer may cite.
    pub evidence: Option<Evidence>,
    /// A question that ends the turn.
    pub question: Option<Question>,
    /// What retrieval did.
    pub trace: Option<Box<RagTrace>>,
}

/// Something that the agent can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How models are told of it.
    fn spec(&self) -> &ToolSpec;
    /// Whether it counts its own calls: then an equal call of the same turn reaches it again, so that it can say that
    /// its quota is spent, in place of being answered from the first.
    fn metered(&self) -> bool {
        false
    }
    /// Runs it. Dropping the future cancels the call.
    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError>;
}
