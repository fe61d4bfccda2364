//! Turns that waited in line, recorded from where they were started.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Unrecorded, tape, tape::Turned};
use crate::domain::{
    chat::{Accept, Accepted, EndQueued, Enqueued, Head, QueueBounds, QueueStore, Refused, StartQueued, Started},
    error::StoreError,
    id::SessionId,
    run::FrameBatch,
    time::Millis,
    user::Role,
};

/// Runs that wait, as those that are started meet them.
pub struct TapedQueue(Arc<dyn QueueStore>);

impl TapedQueue {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn QueueStore>) -> Arc<dyn QueueStore> {
        Arc::new(Self(inner))
    }
}

/// A [`Started`] on tape; its frames as the text that they are.
#[derive(Serialize, Deserialize)]
struct Taped {
    accepted: Accepted,
    role: Role,
    queued_at: Millis,
    #[serde(default)]
    is_interrupted: bool,
    log: Vec<(u64, u64, String)>,
}

impl From<&Started> for Taped {
    fn from(started: &Started) -> Self {
        let text = |batch: &FrameBatch| String::from_utf8_lossy(&batch.lines).into_owned();
        Self {
            accepted: started.accepted.clone(),
            role: started.role,
            queued_at: started.queued_at,
            is_interrupted: started.is_interrupted,
            log: started.log.iter().map(|batch| (batch.first_seq, batch.last_seq, text(batch))).collect(),
        }
    }
}

impl Taped {
    fn play(self, start: &StartQueued) -> Started {
        let (run, owner) = (start.head.run, &start.owner);
        let log = self.log.into_iter().map(|(first_seq, last_seq, lines)| FrameBatch {
            run,
            owner: owner.clone(),
            first_seq,
            last_seq,
            lines: lines.into_bytes(),
        });
        Started {
            accepted: self.accepted,
            role: self.role,
            queued_at: self.queued_at,
            is_interrupted: self.is_interrupted,
            log: log.collect(),
        }
    }
}

#[async_trait]
impl QueueStore for TapedQueue {
    async fn enqueue(&self, accept: &Accept, first: &FrameBatch, bounds: QueueBounds) -> Result<Enqueued, Refused> {
        self.0.enqueue(accept, first, bounds).await
    }

    async fn heads(&self, owner: &str, session: Option<SessionId>, limit: i64) -> Result<Vec<Head>, StoreError> {
        self.0.heads(owner, session, limit).await
    }

    async fn start(&self, start: &StartQueued) -> Result<Started, Refused> {
        let Some(tape) = tape() else { return self.0.start(start).await };
        // A turn is started once, and under ids of its own.
        match tape.turn::<Taped>("chats.start", &()) {
            Turned::Through => self.0.start(start).await,
            Turned::Note(note) => {
                let started = self.0.start(start).await?;
                tape.accepted(start.head.run);
                tape.weighs(&started.accepted.text);
                note.answered(&Taped::from(&started));
                Ok(started)
            }
            Turned::Played(taped) => Ok(taped.play(start)),
            Turned::Cut | Turned::Missing => Err(Refused::Store(StoreError::unrecorded())),
        }
    }

    async fn end_queued(&self, end: &EndQueued) -> Result<(), StoreError> {
        self.0.end_queued(end).await
    }
}
