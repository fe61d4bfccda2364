//! Conversations as their owners read them.

use super::Chat;
use crate::domain::{
    chat::{Message, MessageStatus, Session},
    error::StoreError,
    hitl::{HitlStatus, HitlView, Pending},
    id::{SessionId, UserId},
    time::Millis,
};

/// A session with its active branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The session.
    pub session: Session,
    /// The active branch, oldest first; a running answer is left out until it has text.
    pub messages: Vec<Message>,
    /// The question that the branch ends with, if it is open or being answered.
    pub pending: Option<HitlView>,
}

impl Chat {
    /// Sessions of `user`, newest first, after the place `(updated_at, id)` of the last one seen.
    ///
    /// # Errors
    /// The store's.
    pub async fn sessions(
        &self,
        user: UserId,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        self.inner.ports.chats.sessions(user, after, limit).await
    }

    /// A session of `user` by its name, with the last `limit` messages of its active branch.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn session(&self, user: UserId, name: &str, limit: i64) -> Result<Conversation, StoreError> {
        let chats = &self.inner.ports.chats;
        let session = chats.session(user, name).await?;
        let mut messages = match session.active_leaf {
            Some(leaf) => chats.branch(session.id, leaf, limit).await?,
            None => Vec::new(),
        };
        messages.retain(|message| message.status != MessageStatus::Running || !message.content.is_empty());
        let pending = match session.question {
            Some(id) => {
                let (pending, _) = chats.pending(user, id).await?;
                // It may have been answered since the session was read.
                self.hitl(&pending).filter(|view| matches!(view.status, HitlStatus::Open | HitlStatus::Taken))
            }
            None => None,
        };
        Ok(Conversation { session, messages, pending })
    }

    /// A stored question as clients see it; `None` when its record cannot be read. One whose time has passed shows as
    /// expired before anything else has noticed.
    #[must_use]
    pub fn hitl(&self, pending: &Pending) -> Option<HitlView> {
        let record = pending.record.as_ref()?;
        let ports = &self.inner.ports;
        let has_expired = pending.status == HitlStatus::Open && pending.expires_at <= ports.clock.now();
        let status = if has_expired { HitlStatus::Expired } else { pending.status };
        let max_rounds = ports.retrieval.config.max_rounds;
        Some(HitlView::new(pending.id, record, pending.round, max_rounds, pending.expires_at, status))
    }

    /// Deletes a session with all that hangs on it.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; `Conflict` while a run has it; the store's.
    pub async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        self.inner.ports.chats.delete_session(user, name).await
    }
}
