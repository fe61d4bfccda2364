//! The port that reads and tends conversations, over the tables of their turns.

use async_trait::async_trait;

use super::{
    super::{Storage, writer::Kind},
    change, feedback, messages, prune, questions, sessions,
};
use crate::domain::{
    chat::{Feedback, HistoryStore, HitlMove, Message, Session, SessionChange},
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, SessionId, UserId},
    time::Millis,
};

#[async_trait]
impl HistoryStore for Storage {
    async fn search(
        &self,
        user: UserId,
        query: &str,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        sessions::search(&mut self.read().await?, user, query, after, limit, self.now()).await
    }

    async fn change_session(&self, user: UserId, name: &str, change: &SessionChange) -> Result<Session, StoreError> {
        let (name, change, now) = (name.to_owned(), change.clone(), self.now());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { change::change(tx, user, name, change, now).await }))
            .await
    }

    async fn entitle(&self, session: SessionId, title: &str) -> Result<bool, StoreError> {
        let title = title.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { change::entitle(tx, session, title).await })).await
    }

    async fn tree(&self, session: SessionId, after: i64, limit: i64) -> Result<Vec<Message>, StoreError> {
        messages::tree(&mut self.read().await?, session, after, limit, self.now()).await
    }

    async fn pieces(&self, session: SessionId, leaf: MessageId, size: i64) -> Result<Vec<MessageId>, StoreError> {
        messages::pieces(&mut self.read().await?, session, leaf, size).await
    }

    async fn delete_message(&self, user: UserId, session: &str, message: MessageId) -> Result<(), StoreError> {
        let session = session.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { prune::delete(tx, user, session, message).await }))
            .await
    }

    async fn rate(
        &self,
        user: UserId,
        session: &str,
        message: MessageId,
        feedback: &Feedback,
        now: Millis,
    ) -> Result<(), StoreError> {
        let (session, feedback) = (session.to_owned(), feedback.clone());
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { feedback::rate(tx, user, session, message, feedback, now).await })
        })
        .await
    }

    async fn questions(
        &self,
        session: SessionId,
        after: Option<(Millis, HitlId)>,
        limit: i64,
    ) -> Result<Vec<(Pending, Vec<HitlMove>)>, StoreError> {
        questions::questions(&mut self.read().await?, session, after, limit, self.now()).await
    }
}
