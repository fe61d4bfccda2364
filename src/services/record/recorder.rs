//! Puts a tape into each turn, and keeps what is on it when the turn is over.

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{TAPE, Tape};
use crate::domain::{
    chat::{ChatStore, TurnRequest},
    error::StoreError,
    id::{RunId, UserId},
    recording::{Head, Recording, RecordingStore},
    time::{Clock, Millis},
    user::Role,
};

/// Batches of frames that are read at once.
const PAGE: i64 = 64;
/// Recordings that are removed in one transaction.
const BATCH: i64 = 32;
/// How often those that have expired are looked for.
const ROUND: Duration = Duration::from_secs(10 * 60);
/// Turns that are played at the same time.
const PLACES: usize = 2;

/// What is recorded, and for how long it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// Whether turns are recorded at all.
    pub records: bool,
    /// Most bytes of a run's recording.
    pub limit: usize,
    /// How long it is kept.
    pub retention: Duration,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { records: false, limit: 4 << 20, retention: Duration::from_secs(7 * 24 * 60 * 60) }
    }
}

/// What a turn begins with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Who asks.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// The session's name, if the client gave one.
    pub session_name: Option<String>,
    /// What is asked for.
    pub request: TurnRequest,
    /// The model that is to answer.
    pub model: String,
    /// Whether it waited in line.
    pub waited: bool,
}

/// See the module. Cheap to clone.
#[derive(Clone)]
pub enum Recorder {
    /// Records into a store, if it is to, and finds recordings there.
    Store(Shelf),
    /// Plays this.
    Playing(Arc<Tape>),
}

/// Where recordings are kept.
#[derive(Clone)]
pub struct Shelf {
    recordings: Arc<dyn RecordingStore>,
    /// Has the frames that a run told.
    chats: Arc<dyn ChatStore>,
    clock: Arc<dyn Clock>,
    keeping: Keeping,
    places: Arc<Semaphore>,
}

impl Recorder {
    /// Records into `recordings`.
    #[must_use]
    pub fn new(
        recordings: Arc<dyn RecordingStore>,
        chats: Arc<dyn ChatStore>,
        clock: Arc<dyn Clock>,
        keeping: Keeping,
    ) -> Self {
        Self::Store(Shelf { recordings, chats, clock, keeping, places: Arc::new(Semaphore::new(PLACES)) })
    }

    /// Does the work of a turn with its tape; it gives what the turn began with, if it began. What was recorded is kept
    /// when the turn is over and everyone has been told.
    pub async fn turn<T>(self, work: impl Future<Output = (Option<Opening>, T)>) -> T {
        match self {
            Self::Store(shelf) if shelf.keeping.records => {
                let tape = Tape::recording(shelf.keeping.limit);
                let began_at = shelf.clock.now();
                let (opening, value) = TAPE.scope(Arc::clone(&tape), work).await;
                if let Some(opening) = opening {
                    shelf.keep(opening, began_at, &tape).await;
                }
                value
            }
            Self::Store(_) => work.await.1,
            Self::Playing(tape) => TAPE.scope(tape, work).await.1,
        }
    }

    /// Where recordings are, unless this one plays itself.
    #[must_use]
    pub const fn shelf(&self) -> Option<&Shelf> {
        match self {
            Self::Store(shelf) => Some(shelf),
            Self::Playing(_) => None,
        }
    }
}

impl Shelf {
    /// The recording of a run.
    ///
    /// # Errors
    /// See [`RecordingStore::recording`].
    pub async fn recording(&self, run: RunId) -> Result<Option<Recording>, StoreError> {
        self.recordings.recording(run).await
    }

    /// A place to play in; none when all are taken.
    #[must_use]
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// A failure costs the recording, not the turn, which is over.
    async fn keep(&self, opening: Opening, began_at: Millis, tape: &Tape) {
        let notes = tape.take();
        // Refused, or its end is not in the store yet: there is nothing that a replay could be compared with.
        let (Some(run), Some((status, error_code))) = (notes.run, notes.end.clone()) else { return };
        let kept = async {
            let frames = self.frames(run).await?;
            let is_complete = notes.is_complete() && frames.is_some();
            let Opening { user, role, session_name, request, model, waited } = opening;
            let v = Head::VERSION;
            let head =
                Head { v, user, role, session_name, request, model, waited, began_at, status, error_code, is_complete };
            let (frames, replies) =
                if is_complete { (frames.unwrap_or_default(), notes.replies()) } else { Default::default() };
            let recording = Recording { run, head, frames, replies };
            self.recordings.keep(&recording, began_at + self.keeping.retention).await
        };
        if let Err(error) = kept.await {
            tracing::warn!(run_id = %run, %error, "the recording of a run was not kept");
        }
    }

    /// What the run told; none when that alone is more than the cap.
    async fn frames(&self, run: RunId) -> Result<Option<Vec<u8>>, StoreError> {
        let mut lines = Vec::new();
        let mut after = 0;
        loop {
            let batches = self.chats.frames(run, after, PAGE).await?;
            let Some(last) = batches.last() else { return Ok(Some(lines)) };
            after = last.last_seq;
            for batch in batches {
                lines.extend_from_slice(&batch.lines);
            }
            if lines.len() > self.keeping.limit {
                return Ok(None);
            }
        }
    }
}

/// Removes recordings that have expired, for as long as it is polled.
pub async fn tend(recordings: &dyn RecordingStore, clock: &dyn Clock) -> Infallible {
    loop {
        match recordings.forget(clock.now(), BATCH).await {
            // There may be more.
            Ok(forgotten) if forgotten >= BATCH.unsigned_abs() => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "expired recordings were not removed"),
        }
        tokio::time::sleep(ROUND).await;
    }
}
