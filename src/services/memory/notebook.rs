//! Sessions' notes and episodes as their owner reads, writes and erases them.

use std::sync::Arc;

use crate::domain::{
    chat::ChatStore,
    episode::{Episode, EpisodeId, EpisodeStore},
    error::StoreError,
    id::UserId,
    memory::{MemoryStore, Note},
    time::{Clock, Millis},
};

use super::{MAX_NOTE, named};

/// Why a note was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text is too long.
    #[error("a note has at most {MAX_NOTE} characters and no NUL")]
    Text,
    /// It is another one by now.
    #[error("the note was changed meanwhile")]
    Changed,
    /// `NotFound` when the session is not the user's; the store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is remembered of sessions, for those whose they are.
#[derive(Clone)]
pub struct Notebook {
    memory: Arc<dyn MemoryStore>,
    episodes: Arc<dyn EpisodeStore>,
    chats: Arc<dyn ChatStore>,
    clock: Arc<dyn Clock>,
}

impl Notebook {
    /// Over these stores; `chats` knows the sessions.
    #[must_use]
    pub fn new(
        memory: Arc<dyn MemoryStore>,
        episodes: Arc<dyn EpisodeStore>,
        chats: Arc<dyn ChatStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { memory, episodes, chats, clock }
    }

    /// The note of a session; before there is any, the empty one of version 0.
    ///
    /// # Errors
    /// `NotFound` when the session is not the user's; the store's.
    pub async fn note(&self, user: UserId, session_name: &str) -> Result<Note, StoreError> {
        let session = self.chats.session(user, session_name).await?.id;
        Ok(self.memory.note(session).await?.unwrap_or_default())
    }

    /// Writes it in place of that of `version`. What it says of the conversation goes on from there.
    ///
    /// # Errors
    /// See [`NoteError`].
    pub async fn write_note(
        &self,
        user: UserId,
        session_name: &str,
        body: &str,
        version: i64,
    ) -> Result<Note, NoteError> {
        let body = body.trim();
        if body.chars().count() > MAX_NOTE || body.contains('\0') {
            return Err(NoteError::Text);
        }
        let session = self.chats.session(user, session_name).await?.id;
        let written = self.memory.edit_note(user, session, body, Some(version), self.clock.now()).await?;
        written.ok_or(NoteError::Changed)
    }

    /// Erases it, whichever it is. What it covered is not told again.
    ///
    /// # Errors
    /// `NotFound` when the session is not the user's; the store's.
    pub async fn erase_note(&self, user: UserId, session_name: &str) -> Result<(), StoreError> {
        let session = self.chats.session(user, session_name).await?.id;
        self.memory.edit_note(user, session, "", None, self.clock.now()).await.map(|_| ())
    }

    /// Episodes of a user, in one session or in all of them, newest first, those after `after`.
    ///
    /// # Errors
    /// `NotFound` when the session is not the user's; the store's.
    pub async fn episodes(
        &self,
        user: UserId,
        session_name: Option<&str>,
        after: Option<(Millis, EpisodeId)>,
        limit: i64,
    ) -> Result<Vec<Episode>, StoreError> {
        let session = named(&*self.chats, user, session_name).await?;
        self.episodes.episodes(user, session, after, limit).await
    }

    /// Erases them.
    ///
    /// # Errors
    /// `NotFound` when the session is not the user's; the store's.
    pub async fn forget_episodes(&self, user: UserId, session_name: Option<&str>) -> Result<(), StoreError> {
        let session = named(&*self.chats, user, session_name).await?;
        self.episodes.forget_episodes(user, session).await
    }
}
