//! Watching a run: what was logged, then what is being logged, and an end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream::BoxStream};

use super::{
    Inner,
    frame::Frame,
    live::{LiveRun, Watcher},
    turn::TurnId,
};
use crate::domain::{
    chat::TurnResult,
    error::{StoreError, TurnError},
    event::TurnEvent,
    id::RunId,
    problem::Problem,
    run::{FrameBatch, RunStatus},
};

/// Frames that are taken out of a live log at once.
const LIVE_PAGE: usize = 256;
/// Batches that are read from the store at once.
const STORED_PAGE: i64 = 64;
/// How often the store is asked about a run that another process runs.
const FOLLOW: Duration = Duration::from_millis(200);
/// How often it is asked about a run that waits.
const AWAIT: Duration = Duration::from_secs(1);

/// The frames of a run in their order, each once.
///
/// The last frame is `message` or `error`; the stream ends a little later, when also the note is written. A stream that
/// ends without either was cut (the store failed, or the run was lost): the rest can be had with `after`. Dropping it
/// is leaving.
pub struct Watch {
    frames: BoxStream<'static, Frame>,
    /// Counts among the run's watchers.
    _watcher: Option<Watcher>,
}

impl Stream for Watch {
    type Item = Frame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        self.frames.poll_next_unpin(cx)
    }
}

impl Watch {
    /// Follows a run of this process.
    pub(super) fn live(run: &Arc<LiveRun>, after: u64) -> Self {
        let watcher = run.watcher();
        let (run, mut marks) = (Arc::clone(run), run.marks());
        let frames = async_stream::stream! {
            let mut seen = after;
            loop {
                let mark = *marks.borrow_and_update();
                while seen < mark.committed {
                    let page = run.frames(seen, mark.committed, LIVE_PAGE);
                    if page.is_empty() {
                        break;
                    }
                    for frame in page {
                        seen = frame.seq;
                        yield frame;
                    }
                }
                if mark.ended || marks.changed().await.is_err() {
                    return;
                }
            }
        };
        Self { frames: frames.boxed(), _watcher: Some(watcher) }
    }
}

impl Inner {
    /// Replays a run from the store, and follows it there while it waits, or runs in another process; once it is at
    /// work here, its log in memory. `cancels`: it is to be stopped when nobody watches it any more.
    pub(super) fn follow(self: &Arc<Self>, id: TurnId, after: u64, cancels: bool) -> Watch {
        let (attendance, mut changed) = self.attend(id, cancels);
        let inner = Arc::clone(self);
        let frames = async_stream::stream! {
            let _attendance = attendance;
            let chats = inner.ports.chats.as_ref();
            let TurnId { run, user } = id;
            let mut seen = after;
            loop {
                changed.mark_unchanged();
                if let Some(live) = inner.live_of(id) {
                    let mut watch = Watch::live(&live, seen);
                    while let Some(frame) = watch.next().await {
                        yield frame;
                    }
                    return;
                }
                // Read before the frames: if it had ended by then, no frame can be missing behind them.
                let state = match chats.run(user, run).await {
                    Ok(state) => state,
                    Err(error) => return cut(run, &error),
                };
                let has_ended = state.status.is_terminal();
                // Seen before a power failure took it: nothing of the log is new but its end.
                let mut is_bridged = has_ended && seen > state.last_seq;
                if is_bridged {
                    match inner.snapshot(&state, state.last_seq.saturating_sub(1)).await {
                        Ok(snapshot) => yield snapshot,
                        Err(error) => return cut(run, &error),
                    }
                    seen = state.last_seq.saturating_sub(1);
                }
                loop {
                    let batches = match chats.frames(run, seen, STORED_PAGE).await {
                        Ok(batches) => batches,
                        Err(error) => return cut(run, &error),
                    };
                    let before = seen;
                    for frame in batches.into_iter().flat_map(lines) {
                        if frame.seq <= seen {
                            continue;
                        }
                        if has_ended && frame.seq > seen + 1 && !is_bridged {
                            is_bridged = true;
                            match inner.snapshot(&state, frame.seq - 1).await {
                                Ok(snapshot) => yield snapshot,
                                Err(error) => return cut(run, &error),
                            }
                        }
                        seen = frame.seq;
                        // The snapshot holds the whole text.
                        if !(is_bridged && frame.is_text()) {
                            yield frame;
                        }
                    }
                    if seen == before {
                        break;
                    }
                }
                if has_ended && seen < state.last_seq && state.log_from <= state.last_seq {
                    if seen + 1 < state.last_seq && !is_bridged {
                        match inner.snapshot(&state, state.last_seq - 1).await {
                            Ok(snapshot) => yield snapshot,
                            Err(error) => return cut(run, &error),
                        }
                    }
                    match inner.last_frame(&state).await {
                        Ok(Some(last)) => yield last,
                        Ok(None) => {}
                        Err(error) => return cut(run, &error),
                    }
                }
                let pause = match state.status {
                    RunStatus::Queued => AWAIT,
                    RunStatus::Running => FOLLOW,
                    RunStatus::Completed
                    | RunStatus::AwaitingInput
                    | RunStatus::Stopped
                    | RunStatus::Failed
                    | RunStatus::Interrupted => return,
                };
                // What happens here is told; the rest is asked for.
                let _ = tokio::time::timeout(pause, changed.changed()).await;
            }
        };
        Watch { frames: frames.boxed(), _watcher: None }
    }
}

fn cut(run: RunId, error: &StoreError) {
    tracing::warn!(run_id = %run, %error, "a run cannot be watched any further");
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

/// A turn that was accepted, and how it goes on.
pub struct Turn {
    /// Its run.
    pub run: RunId,
    /// The client's name of its session, also when the client gave none.
    pub session_name: String,
    /// What happens.
    pub watch: Watch,
}

impl Turn {
    /// Waits for its end, note included.
    ///
    /// # Errors
    /// What the client is told of a turn that failed, with `run_id` and `session_id`.
    pub async fn finish(self) -> Result<TurnResult, Problem> {
        let last = self
            .watch
            .filter(|frame| std::future::ready(frame.is_terminal()))
            .fold(None, |_, frame| std::future::ready(Some(frame)));
        match last.await.map(|frame| frame.event()) {
            Some(Ok(TurnEvent::Message { message })) => Ok(*message),
            Some(Ok(TurnEvent::Error { error, .. })) => Err(*error),
            Some(Ok(_) | Err(_)) | None => {
                let lost = TurnError::Store(StoreError::Unavailable("the run's end could not be read".into()));
                let mut problem = lost.problem();
                problem.run_id = Some(self.run.to_string());
                problem.session_id = Some(self.session_name);
                Err(problem)
            }
        }
    }
}
