//! Conversations as trees: found, read whole, changed and cut back by their owners.

use std::sync::Arc;

use futures::{StreamExt, stream, stream::BoxStream};

use super::{Chat, Conversation};
use crate::domain::{
    chat::{Extent, Feedback, HitlMove, Message, Outline, Session, SessionChange},
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, SessionId, UserId},
    time::Millis,
};

/// Messages that are read at a time where all are wanted.
const PIECE: usize = 100;

/// Messages, some at a time, in order.
pub type Pieces = BoxStream<'static, Result<Vec<Message>, StoreError>>;

impl Chat {
    /// Sessions of `user` whose title, or one of whose messages, holds the words of `query`; newest first, after the
    /// place `(updated_at, id)` of the last one seen.
    ///
    /// # Errors
    /// The store's.
    pub async fn search_sessions(
        &self,
        user: UserId,
        query: &str,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        self.inner.ports.history.search(user, query, after, limit).await
    }

    /// Renames a session, or shows another of its branches.
    ///
    /// # Errors
    /// `NotFound`, also for another user's and for a message of another session; the store's.
    pub async fn change_session(
        &self,
        user: UserId,
        name: &str,
        change: &SessionChange,
    ) -> Result<Session, StoreError> {
        self.inner.ports.history.change_session(user, name, change).await
    }

    /// A session of `user`, and the messages of all its branches after `after`, by their order; a running answer has the
    /// text that it has so far.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn tree(
        &self,
        user: UserId,
        name: &str,
        after: i64,
        limit: i64,
    ) -> Result<(Session, Vec<Message>), StoreError> {
        let (session, mut messages) = self.inner.ports.history.tree(user, name, after, limit).await?;
        self.tell_running(&mut messages).await?;
        Ok((session, messages))
    }

    /// A session of `user` and all its messages to this `extent`, however many there are; a running answer has the text
    /// that it has so far. What is deleted before it is read is left out.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn whole(&self, user: UserId, name: &str, extent: Extent) -> Result<(Session, Pieces), StoreError> {
        let history = Arc::clone(&self.inner.ports.history);
        let Outline { mut session, messages, written } = history.outline(user, name, extent).await?;
        let id = session.id;
        let mut last = Vec::new();
        if let Some((written, answered)) = written {
            last = history.messages(id, &[written]).await?;
            self.tell_running(&mut last).await?;
            last.retain(|answer| !answer.content.is_empty());
            if last.is_empty() && session.active_leaf == Some(written) {
                session.active_leaf = answered;
            }
        }
        let pieces: Vec<_> = messages.chunks(PIECE).map(<[MessageId]>::to_vec).collect();
        let pieces = stream::iter(pieces).then(move |ids| {
            let history = Arc::clone(&history);
            async move { history.messages(id, &ids).await }
        });
        Ok((session, pieces.chain(stream::once(std::future::ready(Ok(last)))).boxed()))
    }

    /// The branch of a session of `user` up to `end`, a message above those that were read before.
    ///
    /// # Errors
    /// `NotFound`, also for another user's and for a message of another session; the store's.
    pub async fn earlier(
        &self,
        user: UserId,
        name: &str,
        end: MessageId,
        limit: i64,
    ) -> Result<Conversation, StoreError> {
        self.conversation(user, name, Some(end), limit).await
    }

    /// Deletes a message and all below it, with everything that came of them.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; `Conflict` while a run has the session; the store's.
    pub async fn delete_message(&self, user: UserId, session: &str, message: MessageId) -> Result<(), StoreError> {
        self.inner.ports.history.delete_message(user, session, message).await
    }

    /// Keeps what `user` thinks of a message.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn rate(
        &self,
        user: UserId,
        session: &str,
        message: MessageId,
        feedback: &Feedback,
    ) -> Result<(), StoreError> {
        let now = self.inner.ports.clock.now();
        self.inner.ports.history.rate(user, session, message, feedback, now).await
    }

    /// Questions of a session of `user` with their moves, oldest first, after the place `(created_at, id)`.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn questions(
        &self,
        user: UserId,
        name: &str,
        after: Option<(Millis, HitlId)>,
        limit: i64,
    ) -> Result<Vec<(Pending, Vec<HitlMove>)>, StoreError> {
        let session = self.inner.ports.chats.session(user, name).await?;
        self.inner.ports.history.questions(session.id, after, limit).await
    }
}
