//! The conversation and the clock, recorded.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{Unrecorded, tape, tape::Turned, through};
use crate::domain::{
    chat::{Accept, Accepted, Basis, ChatStore, Finish, HitlMove, Message, Refused, Said, Session},
    episode::{Episode, EpisodeId, EpisodeStore, Source},
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    memory::{BackgroundEvent, EventId, ListedEvent, MemoryStore, Note},
    run::{FrameBatch, Orphan, Run},
    setting::{Setting, SettingStore},
    time::{Clock, Millis},
};

/// Conversations, as turns read them. Beginnings and ends of turns tell the tape what it is a recording of.
pub struct TapedChats(Arc<dyn ChatStore>);

impl TapedChats {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn ChatStore>) -> Arc<dyn ChatStore> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl ChatStore for TapedChats {
    async fn accept(&self, accept: &Accept) -> Result<Accepted, Refused> {
        let Some(tape) = tape() else { return self.0.accept(accept).await };
        // Each turn accepts once, and under ids of its own.
        match tape.turn("chats.accept", &()) {
            Turned::Through => self.0.accept(accept).await,
            Turned::Note(note) => {
                let accepted = self.0.accept(accept).await?;
                tape.accepted(accept.run);
                tape.weighs(&accepted.text);
                note.answered(&accepted);
                Ok(accepted)
            }
            Turned::Played(accepted) => Ok(accepted),
            Turned::Cut | Turned::Missing => Err(Refused::Store(StoreError::unrecorded())),
        }
    }

    async fn log(&self, batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError> {
        self.0.log(batches).await
    }

    async fn finish(&self, finish: &Finish) -> Result<(), StoreError> {
        self.0.finish(finish).await?;
        if let Some(tape) = tape() {
            tape.ended(finish.status, finish.error.as_ref().map(|problem| problem.code.clone()));
        }
        Ok(())
    }

    async fn rest(&self, bases: &[Basis]) -> Result<(), StoreError> {
        self.0.rest(bases).await
    }

    async fn beat_process(&self, id: &str, boot: &str, lease: Duration) -> Result<(), StoreError> {
        self.0.beat_process(id, boot, lease).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        self.0.orphans().await
    }

    async fn run(&self, user: UserId, run: RunId) -> Result<Run, StoreError> {
        self.0.run(user, run).await
    }

    async fn frames(&self, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError> {
        self.0.frames(run, after, limit).await
    }

    async fn drop_logs(&self, before: Millis, limit: i64) -> Result<u64, StoreError> {
        self.0.drop_logs(before, limit).await
    }

    async fn request_stop(&self, user: UserId, run: RunId, now: Millis) -> Result<Run, StoreError> {
        self.0.request_stop(user, run, now).await
    }

    async fn stops(&self, owner: &str) -> Result<Vec<RunId>, StoreError> {
        self.0.stops(owner).await
    }

    async fn sessions(
        &self,
        user: UserId,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        self.0.sessions(user, after, limit).await
    }

    async fn session(&self, user: UserId, name: &str) -> Result<Session, StoreError> {
        self.0.session(user, name).await
    }

    async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        self.0.delete_session(user, name).await
    }

    async fn said(&self, session: SessionId, leaf: MessageId, limit: i64) -> Result<Vec<Said>, StoreError> {
        through("chats.said", &(session, leaf, limit), self.0.said(session, leaf, limit)).await
    }

    async fn message(&self, user: UserId, id: MessageId) -> Result<Message, StoreError> {
        through("chats.message", &(user, id), self.0.message(user, id)).await
    }

    async fn pending(&self, user: UserId, id: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError> {
        self.0.pending(user, id).await
    }
}

/// Notes and events, as turns read them. What plays changes neither.
pub struct TapedMemory(Arc<dyn MemoryStore>);

impl TapedMemory {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn MemoryStore>) -> Arc<dyn MemoryStore> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl MemoryStore for TapedMemory {
    async fn note(&self, session: SessionId) -> Result<Option<Note>, StoreError> {
        through("memory.note", &session, self.0.note(session)).await
    }

    async fn put_note(
        &self,
        session: SessionId,
        body: &str,
        upto_ord: i64,
        before: Option<i64>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        if tape().is_some_and(|tape| tape.plays()) {
            return Ok(false);
        }
        self.0.put_note(session, body, upto_ord, before, now).await
    }

    async fn edit_note(
        &self,
        user: UserId,
        session: SessionId,
        body: &str,
        before: Option<i64>,
        now: Millis,
    ) -> Result<Option<Note>, StoreError> {
        self.0.edit_note(user, session, body, before, now).await
    }

    async fn untold(&self, user: UserId, session: SessionId, limit: i64) -> Result<Vec<BackgroundEvent>, StoreError> {
        through("memory.untold", &(user, session, limit), self.0.untold(user, session, limit)).await
    }

    async fn events(
        &self,
        user: UserId,
        unread: bool,
        after: Option<(Millis, EventId)>,
        limit: i64,
    ) -> Result<Vec<ListedEvent>, StoreError> {
        self.0.events(user, unread, after, limit).await
    }

    async fn add_event(&self, event: &BackgroundEvent) -> Result<(), StoreError> {
        if tape().is_some_and(|tape| tape.plays()) {
            return Ok(());
        }
        self.0.add_event(event).await
    }
}

/// Episodes, as turns read them.
pub struct TapedEpisodes(Arc<dyn EpisodeStore>);

impl TapedEpisodes {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn EpisodeStore>) -> Arc<dyn EpisodeStore> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl EpisodeStore for TapedEpisodes {
    async fn results(&self, user: UserId, session: SessionId, leaf: MessageId) -> Result<Vec<Source>, StoreError> {
        through("memory.results", &(user, session, leaf), self.0.results(user, session, leaf)).await
    }

    async fn episodes(
        &self,
        user: UserId,
        session: Option<SessionId>,
        after: Option<(Millis, EpisodeId)>,
        limit: i64,
    ) -> Result<Vec<Episode>, StoreError> {
        self.0.episodes(user, session, after, limit).await
    }

    async fn forget_episodes(&self, user: UserId, session: Option<SessionId>) -> Result<(), StoreError> {
        self.0.forget_episodes(user, session).await
    }
}

/// Settings, as turns read them.
pub struct TapedSettings(Arc<dyn SettingStore>);

impl TapedSettings {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn SettingStore>) -> Arc<dyn SettingStore> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl SettingStore for TapedSettings {
    async fn settings(&self, user: UserId) -> Result<Vec<Setting>, StoreError> {
        through("memory.settings", &user, self.0.settings(user)).await
    }

    async fn put_setting(&self, user: UserId, setting: &Setting, most: usize) -> Result<bool, StoreError> {
        self.0.put_setting(user, setting, most).await
    }

    async fn replace_settings(&self, user: UserId, settings: &[Setting]) -> Result<(), StoreError> {
        self.0.replace_settings(user, settings).await
    }

    async fn delete_setting(&self, user: UserId, key: &str) -> Result<bool, StoreError> {
        self.0.delete_setting(user, key).await
    }
}

/// A clock that stands still at the recorded time while everything is played.
pub struct TapedClock(Arc<dyn Clock>);

impl TapedClock {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn Clock>) -> Arc<dyn Clock> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl Clock for TapedClock {
    fn now(&self) -> Millis {
        tape().and_then(|tape| tape.at()).unwrap_or_else(|| self.0.now())
    }

    async fn sleep(&self, span: Duration) {
        if tape().is_some_and(|tape| tape.plays()) {
            return;
        }
        self.0.sleep(span).await;
    }
}
