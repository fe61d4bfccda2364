//! Errors of the ports, classed by what the caller does next.
//!
//! Serialized, for recordings, they keep their class and lose the text for the log: what an upstream says may hold
//! anything.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a store refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StoreError {
    /// The row does not exist, or not for this caller.
    #[error("not found")]
    NotFound,
    /// A compare-and-set lost, or a unique name is taken. Read again to say why.
    #[error("conflict: {0}")]
    Conflict(#[serde(skip)] &'static str),
    /// The database cannot be reached, is full, or failed. The text is for the log, never for a client.
    #[error("store unavailable: {0}")]
    Unavailable(#[serde(skip)] String),
}

/// Why a vector index, an embedder or a reranker failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum EngineError {
    /// May work on the next try: unreachable, too slow, restarting.
    #[error("engine unavailable: {0}")]
    Unavailable(#[serde(skip)] String),
    /// Asked to slow down; the wait that the server named, if it named one.
    #[error("rate limited")]
    RateLimited {
        /// `Retry-After` of the server.
        retry_after: Option<Duration>,
    },
    /// Will fail again: a wrong dimension, a refused input.
    #[error("engine refused: {0}")]
    Rejected(#[serde(skip)] String),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Why a model call failed. The texts are for the log, never for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ModelError {
    /// The request does not fit the model's window.
    #[error("context too long: {0}")]
    ContextTooLong(#[serde(skip)] String),
    /// Asked to slow down; the wait that the server named, if it named one.
    #[error("rate limited")]
    RateLimited {
        /// `Retry-After` of the server.
        retry_after: Option<Duration>,
    },
    /// Did not answer within its time.
    #[error("model timed out: {0}")]
    Timeout(#[serde(skip)] String),
    /// Unreachable, or failed in a way that may pass: refused connection, 5xx.
    #[error("model unavailable: {0}")]
    Transient(#[serde(skip)] String),
    /// Answered with something that is no answer: broken JSON, an end without completion.
    #[error("bad response: {0}")]
    BadResponse(#[serde(skip)] String),
    /// Will fail again: a wrong key, an unknown model.
    #[error("model refused: {0}")]
    Permanent(#[serde(skip)] String),
}

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ToolError {
    /// The model is told this and goes on.
    #[error(transparent)]
    RespondToModel(#[from] ToolFault),
    /// The turn fails.
    #[error(transparent)]
    Fatal(#[from] TurnError),
}

/// What a model is told in place of a tool's result, to explain it to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, utoipa::ToSchema)]
#[error("Error ({}): {message}", .code.as_str())]
pub struct ToolFault {
    /// Its class.
    pub code: FaultCode,
    /// For the model.
    pub message: String,
}

impl ToolFault {
    /// A fault of this class.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Classes of [`ToolFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// There is no such tool, or not for this user.
    UnknownTool,
    /// The arguments are not JSON, or do not fit the tool's schema.
    InvalidArguments,
    /// The tool's time was up.
    Timeout,
    /// A defect of the tool.
    Failed,
    /// No search of the conversation has results.
    NoResults,
    /// The last search has no result of this number.
    OutOfRange,
    /// The result was changed or removed since, or may not be read any more.
    Gone,
    /// The operator has not set it up.
    NotConfigured,
    /// What the tool asks did not answer.
    Unavailable,
    /// What the tool asks answered with an error of its own.
    Refused,
    /// There is no room for more.
    Full,
}

impl FaultCode {
    /// The word for models.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
            Self::NoResults => "no_results",
            Self::OutOfRange => "out_of_range",
            Self::Gone => "gone",
            Self::NotConfigured => "not_configured",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
            Self::Full => "full",
        }
    }

    /// The class that [`as_str`](Self::as_str) calls so.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
    }
}

/// Why a turn failed after it was accepted. Each has one code on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TurnError {
    /// A model that the turn cannot do without failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Neither search worked.
    #[error("retrieval unavailable: {0}")]
    Retrieval(#[serde(skip)] String),
    /// The store failed while the turn ran.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The turn's deadline passed.
    #[error("the turn ran out of time")]
    Deadline,
    /// The process that ran the turn ended before the turn did.
    #[error("the turn was interrupted")]
    Interrupted,
    /// A defect of askback.
    #[error("internal error: {0}")]
    Internal(#[serde(skip)] String),
}

/// Why a text could not be taken out of a file. Each has one code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum ExtractError {
    /// No bytes, or nothing but white space.
    #[error("the file is empty")]
    EmptyFile,
    /// A readable file without text, such as scanned pages.
    #[error("the file holds no text; scanned pages need OCR first")]
    NoText,
    /// Opens with a password only.
    #[error("the file is encrypted; remove its password and upload it again")]
    Encrypted,
    /// Not what its name or type says, or broken.
    #[error("the file cannot be read: it is damaged or not of the type that its name says")]
    Malformed,
    /// An archive that unpacks to more than the limit.
    #[error("the file unpacks to more than the limit")]
    ArchiveLimit,
    /// Took longer than the limit.
    #[error("reading the file took longer than the limit")]
    Timeout,
    /// Took more memory than the limit.
    #[error("reading the file took more memory than the limit")]
    Memory,
    /// A type that askback does not read.
    #[error("files of this type are not supported")]
    Unsupported,
    /// Nothing is known of the file: the reader could not start, or could not get at it. May work on the next try.
    #[error("files cannot be read just now")]
    Unavailable,
}

impl ExtractError {
    /// The code of protocol.md.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::EmptyFile => "empty_file",
            Self::NoText => "no_text",
            Self::Encrypted => "encrypted",
            Self::Malformed => "malformed",
            Self::ArchiveLimit => "archive_limit",
            Self::Timeout => "extract_timeout",
            Self::Memory => "extract_memory",
            Self::Unsupported => "unsupported_media_type",
            Self::Unavailable => "extract_unavailable",
        }
    }

    /// The same for people, as a sentence.
    #[must_use]
    pub fn sentence(self) -> String {
        let message = self.to_string();
        let mut letters = message.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{}.", letters.as_str())
    }
}
