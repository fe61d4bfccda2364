//! What a turn leaves for the turns after it, beside its message: what was found, and what could not be done.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::{StoreError, ToolFault},
    evidence::Passage,
    id::{ChunkId, DocumentId, Id, MessageId, SessionId, UserId},
    time::Millis,
};

/// Names an [`Episode`].
pub type EpisodeId = Id<Episode>;

/// Something that a turn left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// Never changes.
    pub id: EpisodeId,
    /// The client's name of its session.
    pub session_name: String,
    /// The answer that it came with; it goes with it.
    pub message: MessageId,
    /// What.
    pub what: Remembered,
    /// When.
    pub created_at: Millis,
}

/// What is remembered of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remembered {
    /// The numbered results of its search.
    Results {
        /// By number.
        sources: Vec<Source>,
    },
    /// A tool could not do what it was asked to.
    ToolError {
        /// Which.
        tool: String,
        /// Why.
        #[serde(flatten)]
        fault: ToolFault,
    },
}

impl Remembered {
    /// The word of the wire and of SQL.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Results { .. } => Self::RESULTS,
            Self::ToolError { .. } => "tool_error",
        }
    }

    /// The kind of the results of a search.
    pub const RESULTS: &str = "results";
}

/// A result: its number and its place. What stands there is read when it is opened, as far as its reader may then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Source {
    /// The number under which it was given.
    pub marker: u32,
    /// The chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: DocumentId,
    /// That document's version.
    pub version: i64,
    /// First character in that version's text.
    pub start: i64,
    /// One past the last.
    pub end: i64,
}

impl Source {
    /// Where the passage of this number stands.
    #[must_use]
    pub const fn of(marker: u32, passage: &Passage) -> Self {
        let Passage { chunk_id, document_id, version, start, end, .. } = *passage;
        Self { marker, chunk_id, document_id, version, start, end }
    }
}

/// Keeps episodes, of each session the last ones. They are written by a turn's
/// [`finish`](super::chat::ChatStore::finish).
#[async_trait]
pub trait EpisodeStore: Send + Sync {
    /// The results of the last search on the branch that ends with `leaf`, in a session of `user`; none: empty.
    async fn results(&self, user: UserId, session: SessionId, leaf: MessageId) -> Result<Vec<Source>, StoreError>;
    /// Episodes of a user, in one session or in all of them, newest first, those after `after`, at most `limit`.
    async fn episodes(
        &self,
        user: UserId,
        session: Option<SessionId>,
        after: Option<(Millis, EpisodeId)>,
        limit: i64,
    ) -> Result<Vec<Episode>, StoreError>;
    /// Erases them, in one session or in all of them.
    async fn forget_episodes(&self, user: UserId, session: Option<SessionId>) -> Result<(), StoreError>;
}
