//! A run while it is at work here: its log in memory, who watches it, and how it is stopped.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{frame::Frame, turn::TurnId};
use crate::domain::{
    chat::{Basis, OnDisconnect},
    event::TurnEvent,
    id::{RunId, UserId},
    run::FrameBatch,
    trace::RagTrace,
};

/// Most frames of one run, far above what answers and reasoning of the greatest length come to.
const MAX_FRAMES: usize = 1_000_000;

/// Why a run is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// Its user said so.
    User,
    /// Its last watcher left, and it was to be cancelled then.
    Left,
    /// The process ends.
    Shutdown,
    /// Another process has taken it for dead and ended it.
    Fenced,
}

/// How far a run's log has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    /// Frames up to this one are committed: watchers may have them.
    pub(super) committed: u64,
    /// A flush is on its way to the store.
    in_flight: bool,
    /// Nothing more will come.
    pub(super) ended: bool,
}

#[derive(Debug, Default)]
struct Buffer {
    frames: Vec<Frame>,
    /// How many of them the store has.
    flushed: usize,
    /// How many of them are from when the run was waiting.
    logged_before: usize,
    /// Waits in the journal's list.
    queued: bool,
    /// Only the finish transaction may still write.
    sealed: bool,
    /// Where the terminal frames begin, once there are any.
    closed_at: Option<usize>,
    /// What the text rests on, until the store has it.
    basis: Option<Arc<RagTrace>>,
}

/// A run at work in this process.
#[derive(Debug)]
pub(super) struct LiveRun {
    pub(super) run: RunId,
    pub(super) user: UserId,
    owner: String,
    on_disconnect: OnDisconnect,
    buffer: Mutex<Buffer>,
    mark: watch::Sender<Mark>,
    stop: CancellationToken,
    reason: OnceLock<StopReason>,
    watchers: AtomicUsize,
    started: Instant,
}

impl LiveRun {
    /// The last frame that a run can have: behind a full log comes its end.
    pub(super) const MAX_SEQ: u64 = MAX_FRAMES as u64 + 3;

    /// `log` is what the store has of its frames already.
    pub(super) fn new(
        id: TurnId,
        owner: String,
        on_disconnect: OnDisconnect,
        started: Instant,
        log: Vec<Frame>,
    ) -> Self {
        let flushed = log.len();
        Self {
            run: id.run,
            user: id.user,
            owner,
            on_disconnect,
            mark: watch::Sender::new(Mark { committed: flushed as u64, ..Mark::default() }),
            buffer: Mutex::new(Buffer { frames: log, flushed, logged_before: flushed, ..Buffer::default() }),
            stop: CancellationToken::new(),
            reason: OnceLock::new(),
            watchers: AtomicUsize::new(0),
            started,
        }
    }

    /// A panic between two pushes leaves the buffer whole, so a poisoned lock is as good as any.
    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the run to stop; the first reason counts.
    pub(super) fn stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }

    /// Whether somebody asked it to stop.
    pub(super) fn is_to_stop(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until nothing more will come.
    pub(super) async fn ended(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.marks().wait_for(|mark| mark.ended).await;
    }

    /// Waits until the run is to stop.
    pub(super) async fn stopped(&self) -> StopReason {
        self.stop.cancelled().await;
        self.reason.get().copied().unwrap_or(StopReason::User)
    }

    /// Appends an event. Gives `None` when the log is sealed or full, else whether the journal must be told of it and
    /// whether it is the run's first.
    pub(super) fn push(&self, event: &TurnEvent) -> Option<Pushed> {
        let mut buffer = self.buffer();
        if buffer.sealed || buffer.frames.len() >= MAX_FRAMES {
            return None;
        }
        self.append(&mut buffer, event);
        let must_queue = !std::mem::replace(&mut buffer.queued, true);
        Some(Pushed { must_queue, is_first: buffer.frames.len() == 1 + buffer.logged_before })
    }

    fn append(&self, buffer: &mut Buffer, event: &TurnEvent) {
        let seq = buffer.frames.len() as u64 + 1;
        match Frame::new(self.run, seq, event) {
            Ok(frame) => buffer.frames.push(frame),
            Err(error) => tracing::error!(run_id = %self.run, %error, "an event does not serialize"),
        }
    }

    /// What the text that is pushed from here on rests on.
    pub(super) fn rest_on(&self, trace: RagTrace) {
        self.buffer().basis = Some(Arc::new(trace));
    }

    /// What the text rests on, if the store does not have it yet.
    pub(super) fn basis(&self) -> Option<Basis> {
        let trace = self.buffer().basis.clone()?;
        Some(Basis { run: self.run, owner: self.owner.clone(), trace })
    }

    /// The store has it.
    pub(super) fn rests(&self, basis: &Basis) {
        self.buffer().basis.take_if(|trace| Arc::ptr_eq(trace, &basis.trace));
    }

    /// What the store does not have yet; a flush of it is then on its way until [`flushed`](Self::flushed) or
    /// [`not_flushed`](Self::not_flushed).
    pub(super) fn take_unflushed(&self) -> Option<FrameBatch> {
        let mut buffer = self.buffer();
        buffer.queued = false;
        if buffer.sealed {
            return None;
        }
        let batch = self.batch(&buffer)?;
        // Inside the lock, so that whoever seals the log sees it.
        self.mark.send_modify(|mark| mark.in_flight = true);
        Some(batch)
    }

    fn batch(&self, buffer: &Buffer) -> Option<FrameBatch> {
        let frames = &buffer.frames[buffer.flushed..];
        let (first, last) = (frames.first()?, frames.last()?);
        let mut lines = Vec::with_capacity(frames.iter().map(|frame| frame.json.len() + 1).sum());
        for frame in frames {
            lines.extend_from_slice(&frame.json);
            lines.push(b'\n');
        }
        Some(FrameBatch { run: self.run, owner: self.owner.clone(), first_seq: first.seq, last_seq: last.seq, lines })
    }

    /// The store has everything up to `last_seq`.
    pub(super) fn flushed(&self, last_seq: u64) {
        self.buffer().flushed = usize::try_from(last_seq).unwrap_or(usize::MAX);
        self.mark.send_modify(|mark| {
            if mark.committed == 0 {
                metrics::histogram!("askback_first_frame_seconds").record(self.started.elapsed().as_secs_f64());
            }
            mark.committed = last_seq;
            mark.in_flight = false;
        });
    }

    /// The flush failed. Gives whether the run must be queued again.
    pub(super) fn not_flushed(&self) -> bool {
        let must_queue = {
            let mut buffer = self.buffer();
            !buffer.sealed && !std::mem::replace(&mut buffer.queued, true)
        };
        self.mark.send_modify(|mark| mark.in_flight = false);
        must_queue
    }

    /// Keeps everyone but the finish transaction from writing, and waits for a flush that is on its way.
    pub(super) async fn seal(&self) {
        self.buffer().sealed = true;
        let mut mark = self.mark.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = mark.wait_for(|mark| !mark.in_flight).await;
    }

    /// Appends the terminal events to a sealed log, in place of those of an earlier try; gives all frames that the
    /// store does not have.
    pub(super) fn close_with(&self, events: &[TurnEvent]) -> FrameBatch {
        let mut buffer = self.buffer();
        let end = buffer.frames.len();
        let closed_at = *buffer.closed_at.get_or_insert(end);
        buffer.frames.truncate(closed_at);
        for event in events {
            self.append(&mut buffer, event);
        }
        let last = buffer.frames.len() as u64;
        self.batch(&buffer).unwrap_or_else(|| FrameBatch {
            run: self.run,
            owner: self.owner.clone(),
            first_seq: last + 1,
            last_seq: last,
            lines: Vec::new(),
        })
    }

    /// Nothing more will come.
    pub(super) fn end(&self) {
        self.mark.send_modify(|mark| mark.ended = true);
    }

    /// Changes of the mark.
    pub(super) fn marks(&self) -> watch::Receiver<Mark> {
        self.mark.subscribe()
    }

    /// At most `limit` frames after `after` and up to `committed`.
    pub(super) fn frames(&self, after: u64, committed: u64, limit: usize) -> Vec<Frame> {
        let buffer = self.buffer();
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(buffer.frames.len());
        let to =
            usize::try_from(committed).unwrap_or(usize::MAX).min(buffer.frames.len()).min(from.saturating_add(limit));
        buffer.frames.get(from..to).map(<[Frame]>::to_vec).unwrap_or_default()
    }

    /// Stops it if it is to be cancelled without watchers, and has none. Who leaves when the end was told has heard it: what
    /// an answer leaves to do is done all the same.
    pub(super) fn stop_unwatched(&self) {
        let is_unwatched = self.watchers.load(Ordering::Acquire) == 0;
        if is_unwatched && self.on_disconnect == OnDisconnect::Cancel && !self.is_told() {
            self.stop(StopReason::Left);
        }
    }

    /// Whether the store has the end, so that watchers have it too.
    fn is_told(&self) -> bool {
        let buffer = self.buffer();
        buffer.closed_at.is_some() && buffer.flushed == buffer.frames.len()
    }

    /// Registers a watcher; it counts until the guard drops.
    pub(super) fn watcher(self: &Arc<Self>) -> Watcher {
        self.watchers.fetch_add(1, Ordering::AcqRel);
        Watcher(Arc::clone(self))
    }
}

/// What pushing a frame asks of the journal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pushed {
    pub(super) must_queue: bool,
    pub(super) is_first: bool,
}

/// Someone who watches. When the last one leaves a run that is to be cancelled then, it stops.
#[derive(Debug)]
pub(super) struct Watcher(Arc<LiveRun>);

impl Drop for Watcher {
    fn drop(&mut self) {
        if self.0.watchers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.stop_unwatched();
        }
    }
}
