//! What is remembered beside the messages.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    id::{Id, SessionId, UserId},
    time::Millis,
};

/// A session's note: what its early messages settled, at most 500 characters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Note {
    /// The text; empty once it was erased.
    pub body: String,
    /// It covers messages up to this `ord`; 0: none.
    pub upto_ord: i64,
    /// Another one for each text that is stored. 0: there is no note yet.
    #[serde(default)]
    pub version: i64,
}

/// Names a [`BackgroundEvent`].
pub type EventId = Id<BackgroundEvent>;

/// Something that ended while nobody looked, told once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundEvent {
    /// Never changes.
    pub id: EventId,
    /// Whom it concerns.
    pub user: UserId,
    /// `job_completed`, `job_failed`, …
    pub kind: String,
    /// What it is about; one event per user, kind and subject, the latest.
    pub subject: String,
    /// The session that it concerns: told in no other one. `None`: told in any.
    #[serde(default)]
    pub session: Option<SessionId>,
    /// One sentence.
    pub title: String,
    /// More, if any.
    pub detail: Option<String>,
    /// When it happened.
    pub created_at: Millis,
}

/// An event as its user lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    /// The event.
    pub event: BackgroundEvent,
    /// The client's name of its session.
    pub session_name: Option<String>,
    /// No turn has told it yet.
    pub is_unread: bool,
}

/// Keeps notes and background events.
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// The session's note.
    async fn note(&self, session: SessionId) -> Result<Option<Note>, StoreError>;
    /// Stores a note that covers up to `upto_ord` in place of the one of version `before`, or of none; gives whether it
    /// was stored. It is not when another was stored meanwhile, or when what it covers was deleted.
    async fn put_note(
        &self,
        session: SessionId,
        body: &str,
        upto_ord: i64,
        before: Option<i64>,
        now: Millis,
    ) -> Result<bool, StoreError>;
    /// Stores a text of the user's own in place of the note of version `before` (0: of none; `None`: of whichever there
    /// is), which covers what that covered, in a session of `user`. Gives the note; `None` when there is no such one.
    async fn edit_note(
        &self,
        user: UserId,
        session: SessionId,
        body: &str,
        before: Option<i64>,
        now: Millis,
    ) -> Result<Option<Note>, StoreError>;
    /// Events that no turn has told yet and that a turn of this session may tell, oldest first, at most `limit`. The
    /// turn's `finish` marks them told.
    async fn untold(&self, user: UserId, session: SessionId, limit: i64) -> Result<Vec<BackgroundEvent>, StoreError>;
    /// Events of a user, newest first, those after `after`, at most `limit`; with `unread` only those that no turn has
    /// told yet.
    async fn events(
        &self,
        user: UserId,
        unread: bool,
        after: Option<(Millis, EventId)>,
        limit: i64,
    ) -> Result<Vec<ListedEvent>, StoreError>;
    /// Adds an event; one of a user who is gone is dropped. One of the same user, kind and subject is the same event,
    /// unless it is older: then it has happened again, and is untold again. `NotFound` when its session is not the user's.
    async fn add_event(&self, event: &BackgroundEvent) -> Result<(), StoreError>;
}
