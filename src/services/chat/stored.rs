//! A run's log as it stands in the store, read on from what was seen. What a power failure took of it is bridged: one
//! snapshot stands for the whole text, the end is told by what the run wrote.

use std::sync::Arc;

use bytes::Bytes;

use super::{Inner, frame::Frame};
use crate::domain::{
    error::StoreError,
    run::{FrameBatch, Run, RunStatus},
};

/// Batches that are read at once.
const PAGE: i64 = 64;

/// See the module. Only the log of a run that has ended has gaps.
pub(super) struct StoredLog {
    inner: Arc<Inner>,
    seen: u64,
    /// A snapshot was given: pieces of text add nothing to it.
    is_bridged: bool,
    /// The run's end was given.
    has_end: bool,
}

impl StoredLog {
    /// Read on behind `after`.
    pub(super) const fn new(inner: Arc<Inner>, after: u64) -> Self {
        Self { inner, seen: after, is_bridged: false, has_end: false }
    }

    /// The last frame that was given, or passed over.
    pub(super) const fn seen(&self) -> u64 {
        self.seen
    }

    /// What stands for frames that were seen before a power failure took them: nothing is new then but the end. That may
    /// have the number of a frame that was seen, so who has seen as much is told the end once more.
    pub(super) async fn replace_lost(&mut self, run: &Run) -> Result<Option<Frame>, StoreError> {
        if run.status != RunStatus::Interrupted || self.seen < run.last_seq || self.has_end {
            return Ok(None);
        }
        self.seen = run.last_seq.saturating_sub(1);
        self.is_bridged = true;
        self.inner.snapshot(run, self.seen).await.map(Some)
    }

    /// The next frames of the log; none when all that is there was given.
    pub(super) async fn page(&mut self, run: &Run) -> Result<Option<Vec<Frame>>, StoreError> {
        let before = self.seen;
        let mut page = Vec::new();
        for frame in self.inner.ports.chats.frames(run.id, before, PAGE).await?.into_iter().flat_map(lines) {
            if frame.seq <= self.seen {
                continue;
            }
            page.extend(self.bridge(run, frame.seq).await?);
            self.seen = frame.seq;
            self.has_end |= frame.is_terminal();
            if !(self.is_bridged && frame.is_text()) {
                page.push(frame);
            }
        }
        Ok((self.seen > before).then_some(page))
    }

    /// The end of a run whose log lacks it, unless the log is kept no longer.
    pub(super) async fn end(&mut self, run: &Run) -> Result<Vec<Frame>, StoreError> {
        let is_dropped = run.log_from > run.last_seq;
        if !run.status.is_terminal() || self.seen >= run.last_seq || is_dropped {
            return Ok(Vec::new());
        }
        let bridge = self.bridge(run, run.last_seq).await?;
        let last = self.inner.last_frame(run).await?;
        Ok(bridge.into_iter().chain(last).collect())
    }

    /// What stands for the frames that are missing before `seq`.
    async fn bridge(&mut self, run: &Run, seq: u64) -> Result<Option<Frame>, StoreError> {
        let is_gap = run.status.is_terminal() && seq > self.seen + 1;
        if !is_gap || self.is_bridged {
            return Ok(None);
        }
        self.is_bridged = true;
        self.inner.snapshot(run, seq - 1).await.map(Some)
    }
}

/// The frames of a batch.
pub(super) fn lines(batch: FrameBatch) -> Vec<Frame> {
    let whole = Bytes::from(batch.lines);
    let mut frames = Vec::new();
    let mut start = 0;
    for seq in batch.first_seq..=batch.last_seq {
        let Some(length) = whole[start..].iter().position(|&byte| byte == b'\n') else { break };
        frames.extend(Frame::read(seq, whole.slice(start..start + length)));
        start += length + 1;
    }
    frames
}
