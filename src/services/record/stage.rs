//! Where a turn is played: a store in which it may begin and end, and that keeps nothing.

use std::time::Duration;

use async_trait::async_trait;

use crate::domain::{
    chat::{
        Accept, Accepted, Basis, ChatStore, EndQueued, Enqueued, Extent, Feedback, Finish, Head, HistoryStore,
        HitlMove, Message, Outline, QueueBounds, QueueStore, Refused, Said, Session, SessionChange, StartQueued,
        Started,
    },
    error::StoreError,
    hitl::Pending,
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    run::{FrameBatch, Orphan, Run},
    time::Millis,
};

/// See the module. What is read of it comes from a tape; by itself it is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stage;

const EMPTY: StoreError = StoreError::NotFound;

#[async_trait]
impl ChatStore for Stage {
    async fn accept(&self, _: &Accept) -> Result<Accepted, Refused> {
        Err(Refused::NotFound)
    }

    async fn log(&self, _: &[FrameBatch]) -> Result<Vec<RunId>, StoreError> {
        Ok(Vec::new())
    }

    async fn finish(&self, _: &Finish) -> Result<(), StoreError> {
        Ok(())
    }

    async fn rest(&self, _: &[Basis]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn beat_process(&self, _: &str, _: &str, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        Ok(Vec::new())
    }

    async fn run(&self, _: UserId, _: RunId) -> Result<Run, StoreError> {
        Err(EMPTY)
    }

    async fn frames(&self, _: RunId, _: u64, _: i64) -> Result<Vec<FrameBatch>, StoreError> {
        Ok(Vec::new())
    }

    async fn drop_logs(&self, _: Millis, _: i64) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn request_stop(&self, _: UserId, _: RunId, _: Millis) -> Result<Run, StoreError> {
        Err(EMPTY)
    }

    async fn stops(&self, _: &str) -> Result<Vec<RunId>, StoreError> {
        Ok(Vec::new())
    }

    async fn sessions(&self, _: UserId, _: Option<(Millis, SessionId)>, _: i64) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }

    async fn session(&self, _: UserId, _: &str) -> Result<Session, StoreError> {
        Err(EMPTY)
    }

    async fn delete_session(&self, _: UserId, _: &str) -> Result<(), StoreError> {
        Err(EMPTY)
    }

    async fn said(&self, _: SessionId, _: MessageId, _: i64) -> Result<Vec<Said>, StoreError> {
        Err(EMPTY)
    }

    async fn message(&self, _: UserId, _: MessageId) -> Result<Message, StoreError> {
        Err(EMPTY)
    }

    async fn pending(&self, _: UserId, _: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError> {
        Err(EMPTY)
    }
}

#[async_trait]
impl HistoryStore for Stage {
    async fn search(
        &self,
        _: UserId,
        _: &str,
        _: Option<(Millis, SessionId)>,
        _: i64,
    ) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }

    async fn change_session(&self, _: UserId, _: &str, _: &SessionChange) -> Result<Session, StoreError> {
        Err(EMPTY)
    }

    async fn entitle(&self, _: SessionId, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn conversation(
        &self,
        _: UserId,
        _: &str,
        _: Option<MessageId>,
        _: i64,
    ) -> Result<(Session, Vec<Message>), StoreError> {
        Err(EMPTY)
    }

    async fn tree(&self, _: UserId, _: &str, _: i64, _: i64) -> Result<(Session, Vec<Message>), StoreError> {
        Err(EMPTY)
    }

    async fn outline(&self, _: UserId, _: &str, _: Extent) -> Result<Outline, StoreError> {
        Err(EMPTY)
    }

    async fn messages(&self, _: SessionId, _: &[MessageId]) -> Result<Vec<Message>, StoreError> {
        Ok(Vec::new())
    }

    async fn delete_message(&self, _: UserId, _: &str, _: MessageId) -> Result<(), StoreError> {
        Err(EMPTY)
    }

    async fn rate(&self, _: UserId, _: &str, _: MessageId, _: &Feedback, _: Millis) -> Result<(), StoreError> {
        Err(EMPTY)
    }

    async fn questions(
        &self,
        _: SessionId,
        _: Option<(Millis, HitlId)>,
        _: i64,
    ) -> Result<Vec<(Pending, Vec<HitlMove>)>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl QueueStore for Stage {
    async fn enqueue(&self, _: &Accept, _: &FrameBatch, _: QueueBounds) -> Result<Enqueued, Refused> {
        Err(Refused::Idle)
    }

    async fn heads(&self, _: &str, _: Option<SessionId>, _: i64) -> Result<Vec<Head>, StoreError> {
        Ok(Vec::new())
    }

    async fn start(&self, _: &StartQueued) -> Result<Started, Refused> {
        Err(Refused::NotFound)
    }

    async fn end_queued(&self, _: &EndQueued) -> Result<(), StoreError> {
        Err(EMPTY)
    }
}
