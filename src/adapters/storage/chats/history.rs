//! The port that reads and tends conversations, over the tables of their turns.

use async_trait::async_trait;

use super::{
    super::{Storage, writer::Kind},
    change, feedback, messages, prune, questions, sessions,
};
use crate::domain::{
    chat::{Extent, Feedback, HistoryStore, HitlMove, Message, Outline, Session, SessionChange},
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

    async fn conversation(
        &self,
        user: UserId,
        name: &str,
        end: Option<MessageId>,
        limit: i64,
    ) -> Result<(Session, Vec<Message>), StoreError> {
        let (mut tx, now) = (self.read().await?, self.now());
        let session = sessions::session(&mut tx, user, name, now).await?;
        let messages = match end.or(session.active_leaf) {
            Some(end) => messages::branch(&mut tx, session.id, end, limit, now).await?,
            None => Vec::new(),
        };
        Ok((session, messages))
    }

    async fn tree(
        &self,
        user: UserId,
        name: &str,
        after: i64,
        limit: i64,
    ) -> Result<(Session, Vec<Message>), StoreError> {
        let (mut tx, now) = (self.read().await?, self.now());
        let session = sessions::session(&mut tx, user, name, now).await?;
        let messages = messages::tree(&mut tx, session.id, after, limit, now).await?;
        Ok((session, messages))
    }

    async fn outline(&self, user: UserId, name: &str, extent: Extent) -> Result<Outline, StoreError> {
        let mut tx = self.read().await?;
        let session = sessions::session(&mut tx, user, name, self.now()).await?;
        messages::outline(&mut tx, session, extent).await
    }

    async fn messages(&self, session: SessionId, ids: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        messages::whole(&mut self.read().await?, session, ids, self.now()).await
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
