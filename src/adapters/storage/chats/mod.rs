//! Sessions, messages, runs, their logs, and questions to the user.

mod accept;
mod change;
mod claim;
mod earlier;
mod feedback;
mod finish;
mod history;
mod hitl;
mod log;
mod messages;
mod place;
mod prune;
mod questions;
mod queue;
mod runs;
mod search;
mod sessions;
mod tree;

use std::time::Duration;

use async_trait::async_trait;

use self::search::Terms;
use super::{Storage, sql::Tx, writer::Kind};
use crate::domain::{
    chat::{Accept, Accepted, Basis, ChatStore, Finish, HitlMove, Message, Refused, Said, Session},
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    run::{FrameBatch, Orphan, Run},
    time::Millis,
};

#[async_trait]
impl ChatStore for Storage {
    async fn accept(&self, accept: &Accept) -> Result<Accepted, Refused> {
        let (accept, terms) = (accept.clone(), Terms::of(&accept.request.message));
        self.write(Kind::ACCEPT, move |tx| Box::pin(async move { accept::accept(tx, &accept, &terms).await })).await
    }

    async fn log(&self, batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError> {
        let batches = batches.to_vec();
        self.write(Kind::LOG, move |tx| Box::pin(async move { log::append(tx, batches).await })).await
    }

    async fn rest(&self, bases: &[Basis]) -> Result<(), StoreError> {
        let bases = bases.to_vec();
        self.write(Kind::LOG, move |tx| Box::pin(async move { log::rest(tx, bases).await })).await
    }

    async fn finish(&self, finish: &Finish) -> Result<(), StoreError> {
        let (finish, terms) = (finish.clone(), Terms::of(&finish.content));
        self.write(Kind::FINISH, move |tx| Box::pin(async move { finish::finish(tx, finish, &terms).await })).await
    }

    async fn beat_process(&self, id: &str, boot: &str, lease: Duration) -> Result<(), StoreError> {
        let (id, boot, clock) = (id.to_owned(), boot.to_owned(), self.now());
        let beat = async move |tx: &mut Tx| {
            let until = tx.now(clock).await? + lease;
            runs::beat_process(tx, id, boot, until).await
        };
        self.write(Kind::OTHER, move |tx| Box::pin(beat(tx))).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        let mut tx = self.read().await?;
        let now = tx.now(self.now()).await?;
        runs::orphans(&mut tx, now).await
    }

    async fn run(&self, user: UserId, run: RunId) -> Result<Run, StoreError> {
        runs::run(&mut self.glance().await?, user, run).await
    }

    async fn frames(&self, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError> {
        log::frames(&mut self.glance().await?, run, after, limit).await
    }

    async fn drop_logs(&self, before: Millis, limit: i64) -> Result<u64, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { log::drop_ended(tx, before, limit).await })).await
    }

    async fn request_stop(&self, user: UserId, run: RunId, now: Millis) -> Result<Run, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { runs::request_stop(tx, user, run, now).await })).await
    }

    async fn stops(&self, owner: &str) -> Result<Vec<RunId>, StoreError> {
        runs::stops(&mut self.read().await?, owner).await
    }

    async fn sessions(
        &self,
        user: UserId,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        sessions::sessions(&mut self.read().await?, user, after, limit, self.now()).await
    }

    async fn session(&self, user: UserId, name: &str) -> Result<Session, StoreError> {
        sessions::session(&mut self.read().await?, user, name, self.now()).await
    }

    async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { sessions::delete(tx, user, name).await })).await
    }

    async fn said(&self, session: SessionId, leaf: MessageId, limit: i64) -> Result<Vec<Said>, StoreError> {
        messages::said(&mut self.glance().await?, session, leaf, limit).await
    }

    async fn message(&self, user: UserId, id: MessageId) -> Result<Message, StoreError> {
        messages::message(&mut self.read().await?, user, id, self.now()).await
    }

    async fn pending(&self, user: UserId, id: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError> {
        hitl::pending(&mut self.read().await?, user, id, self.now()).await
    }
}
