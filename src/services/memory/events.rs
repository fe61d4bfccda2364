//! Background events: what happened while nobody looked. The next agent turn of whom it concerns tells it, once.

use std::sync::Arc;

use super::named;
use crate::domain::{
    chat::ChatStore,
    error::StoreError,
    id::UserId,
    memory::{BackgroundEvent, EventId, ListedEvent, MemoryStore},
    time::{Clock, Millis},
};

/// Longest `kind`, title and detail, in characters.
pub const MAX_KIND: usize = 64;
/// See [`MAX_KIND`].
pub const MAX_TITLE: usize = 200;
/// See [`MAX_KIND`].
pub const MAX_DETAIL: usize = 2_000;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// A word for programs: `backup_done`.
    pub kind: String,
    /// One sentence.
    pub title: String,
    /// More, if any.
    pub detail: Option<String>,
    /// The client's name of the session that it concerns; told in no other one.
    pub session_name: Option<String>,
}

/// Why an event was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// A field is not what it must be; the sentence is for people.
    #[error("{field}: {message}")]
    InvalidField {
        /// Which.
        field: &'static str,
        /// What it must be.
        message: String,
    },
    /// `NotFound` when the session is not the user's; the store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The background events of all users.
#[derive(Clone)]
pub struct Events {
    memory: Arc<dyn MemoryStore>,
    chats: Arc<dyn ChatStore>,
    clock: Arc<dyn Clock>,
}

impl Events {
    /// Events in `memory`; `chats` knows the sessions that they concern.
    #[must_use]
    pub fn new(memory: Arc<dyn MemoryStore>, chats: Arc<dyn ChatStore>, clock: Arc<dyn Clock>) -> Self {
        Self { memory, chats, clock }
    }

    /// Events of `user`, newest first, those after `after`; with `unread` only those that no turn has told yet.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(
        &self,
        user: UserId,
        unread: bool,
        after: Option<(Millis, EventId)>,
        limit: i64,
    ) -> Result<Vec<ListedEvent>, StoreError> {
        self.memory.events(user, unread, after, limit).await
    }

    /// Adds an event of `user`.
    ///
    /// # Errors
    /// See [`EventError`].
    pub async fn add(&self, user: UserId, new: NewEvent) -> Result<ListedEvent, EventError> {
        check("kind", &new.kind, MAX_KIND)?;
        check("title", &new.title, MAX_TITLE)?;
        if let Some(detail) = &new.detail {
            check("detail", detail, MAX_DETAIL)?;
        }
        let session = named(&*self.chats, user, new.session_name.as_deref()).await?;
        let now = self.clock.now();
        let id = EventId::at(now);
        let event = BackgroundEvent {
            id,
            user,
            kind: new.kind,
            // It is about itself: two that read the same are two.
            subject: id.to_string(),
            session,
            title: new.title,
            detail: new.detail,
            created_at: now,
        };
        self.memory.add_event(&event).await?;
        Ok(ListedEvent { event, session_name: new.session_name, is_unread: true })
    }
}

fn check(field: &'static str, text: &str, most: usize) -> Result<(), EventError> {
    let is_good = !text.trim().is_empty() && text.chars().count() <= most && !text.contains('\0');
    if is_good {
        return Ok(());
    }
    Err(EventError::InvalidField { field, message: format!("must have 1 to {most} characters and no NUL") })
}
