//! Conversations as their owners read them.

use super::Chat;
use crate::domain::{
    chat::{Message, MessageStatus, Session},
    error::StoreError,
    evidence::{RetrievalStatus, Route},
    hitl::{HitlStatus, HitlView, Pending},
    id::{HitlId, MessageId, SessionId, UserId},
    time::Millis,
};

/// A session with its active branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The session.
    pub session: Session,
    /// The active branch, oldest first; a running answer is left out until it has text.
    pub messages: Vec<Message>,
    /// The message before them, if there is one.
    pub earlier: Option<MessageId>,
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
        self.conversation(user, name, None, limit).await
    }

    /// A session with the last `limit` messages of the branch up to `end`, or else of the shown one.
    pub(super) async fn conversation(
        &self,
        user: UserId,
        name: &str,
        end: Option<MessageId>,
        limit: i64,
    ) -> Result<Conversation, StoreError> {
        let (session, mut messages) = self.inner.ports.history.conversation(user, name, end, limit).await?;
        let earlier = messages.first().and_then(|first| first.parent);
        self.tell_running(&mut messages).await?;
        messages.retain(|message| message.status != MessageStatus::Running || !message.content.is_empty());
        let pending = match session.question {
            Some(id) => self.question(user, id, &messages).await?.and_then(|pending| self.hitl(&pending)),
            None => None,
        };
        Ok(Conversation { session, messages, earlier, pending })
    }

    /// The question of a branch, as of when its messages were read, or else as it stands.
    async fn question(&self, user: UserId, id: HitlId, messages: &[Message]) -> Result<Option<Pending>, StoreError> {
        let mut asked = messages.iter().rev().filter_map(|message| message.pending.as_ref());
        if let Some(pending) = asked.find(|pending| pending.id == id) {
            return Ok(Some(pending.clone()));
        }
        match self.inner.ports.chats.pending(user, id).await {
            // It may have been answered, or deleted, since the session was read.
            Ok((pending, _)) => {
                Ok(Some(pending).filter(|pending| matches!(self.status(pending), HitlStatus::Open | HitlStatus::Taken)))
            }
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives running answers the text that they have so far.
    pub(super) async fn tell_running(&self, messages: &mut [Message]) -> Result<(), StoreError> {
        for message in messages {
            if let (MessageStatus::Running, Some(run)) = (message.status, message.run) {
                message.content = self.inner.said_so_far(run).await?;
            }
        }
        Ok(())
    }

    /// A stored question as clients see it; `None` when its record cannot be read. One whose time has passed shows as
    /// expired before anything else has noticed.
    #[must_use]
    pub fn hitl(&self, pending: &Pending) -> Option<HitlView> {
        let record = pending.record.as_ref()?;
        let status = self.status(pending);
        Some(HitlView::new(pending.id, record, pending.round, self.max_rounds(), pending.expires_at, status))
    }

    /// The same for a history: of a question whose record cannot be read, what stands beside the record.
    #[must_use]
    pub fn hitl_or_bare(&self, pending: &Pending) -> HitlView {
        self.hitl(pending).unwrap_or_else(|| HitlView {
            id: pending.id,
            prompt: pending.prompt.clone(),
            options: Vec::new(),
            option_list: Vec::new(),
            route: pending.route,
            retrieval_status: match pending.route {
                Route::ScopeSelect => RetrievalStatus::NeedsScopeSelection,
                _ => RetrievalStatus::NeedsClarification,
            },
            original_question: String::new(),
            missing_slots: Vec::new(),
            round: pending.round,
            max_rounds: self.max_rounds(),
            expires_at: pending.expires_at.to_string(),
            status: self.status(pending),
        })
    }

    fn status(&self, pending: &Pending) -> HitlStatus {
        let has_expired = pending.status == HitlStatus::Open && pending.expires_at <= self.inner.ports.clock.now();
        if has_expired { HitlStatus::Expired } else { pending.status }
    }

    fn max_rounds(&self) -> u32 {
        self.inner.ports.retrieval.config.max_rounds
    }

    /// Deletes a session with all that hangs on it.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; `Conflict` while a run has it; the store's.
    pub async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        self.inner.ports.chats.delete_session(user, name).await
    }
}
