//! Watching a run: what was logged, then what is being logged, and an end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt, stream::BoxStream};
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    frame::Frame,
    live::{LiveRun, Watcher},
    stored::StoredLog,
    turn::TurnId,
};
use crate::domain::{
    chat::TurnResult,
    error::{StoreError, TurnError},
    event::TurnEvent,
    id::{MessageId, RunId},
    problem::Problem,
    run::RunStatus,
};

/// Frames that are taken out of a live log at once.
const LIVE_PAGE: usize = 256;
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
    /// Cuts it, where it follows a run that this process does not run.
    closing: Option<CancellationToken>,
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
        Self { frames: frames.boxed(), _watcher: Some(watcher), closing: None }
    }
}

impl Inner {
    /// Replays a run from the store, and follows it there while it waits, or runs in another process; once it is at
    /// work here, its log in memory. `cancels`: it is to be stopped when nobody watches it any more.
    pub(super) fn follow(self: &Arc<Self>, id: TurnId, after: u64, cancels: bool) -> Watch {
        let (attendance, mut changed) = self.attend(id, cancels);
        let inner = Arc::clone(self);
        let frames = async_stream::try_stream! {
            let _attendance = attendance;
            let mut log = StoredLog::new(Arc::clone(&inner), after);
            loop {
                changed.mark_unchanged();
                if let Some(live) = inner.live_of(id) {
                    let mut watch = Watch::live(&live, log.seen());
                    while let Some(frame) = watch.next().await {
                        yield frame;
                    }
                    break;
                }
                // Read before the frames: if it had ended by then, no frame can be missing behind them.
                let run = inner.ports.chats.run(id.user, id.run).await?;
                if let Some(snapshot) = log.replace_lost(&run).await? {
                    yield snapshot;
                }
                while let Some(page) = log.page(&run).await? {
                    for frame in page {
                        yield frame;
                    }
                }
                for frame in log.end(&run).await? {
                    yield frame;
                }
                let Some(pause) = pause(run.status) else { break };
                // What happens here is told; the rest is asked for. A process that ends holds nobody: the rest can be
                // had from the next one.
                let told = tokio::time::timeout(pause, changed.changed());
                if inner.closing.run_until_cancelled(told).await.is_none() {
                    break;
                }
            }
        };
        let told = move |frame: Result<Frame, StoreError>| {
            let cut =
                |error: &StoreError| tracing::warn!(run_id = %id.run, %error, "a run cannot be watched any further");
            std::future::ready(frame.inspect_err(cut).ok())
        };
        Watch { frames: frames.filter_map(told).boxed(), _watcher: None, closing: Some(self.closing.clone()) }
    }
}

/// How long to wait before the store is asked again; none when the run has ended.
const fn pause(status: RunStatus) -> Option<Duration> {
    match status {
        RunStatus::Queued => Some(AWAIT),
        RunStatus::Running => Some(FOLLOW),
        RunStatus::Completed
        | RunStatus::AwaitingInput
        | RunStatus::Stopped
        | RunStatus::Failed
        | RunStatus::Interrupted => None,
    }
}

/// A turn that was accepted, and how it goes on.
pub struct Turn {
    /// Its run.
    pub run: RunId,
    /// The client's name of its session, also when the client gave none.
    pub session_name: String,
    /// The message that it writes; none as long as it waits in line, and when nothing was said.
    pub answer: Option<MessageId>,
    /// What happens.
    pub watch: Watch,
}

impl Turn {
    /// Waits for its end, note included.
    ///
    /// # Errors
    /// What the client is told of a turn that failed, with `run_id` and `session_id`.
    pub async fn finish(mut self) -> Result<TurnResult, Problem> {
        let last = (&mut self.watch)
            .filter(|frame| std::future::ready(frame.is_terminal()))
            .fold(None, |_, frame| std::future::ready(Some(frame)))
            .await;
        match last.map(|frame| frame.event()) {
            Some(Ok(TurnEvent::Message { message })) => Ok(*message),
            Some(Ok(TurnEvent::Error { error, .. })) => Err(*error),
            Some(Ok(_) | Err(_)) | None => Err(self.lost()),
        }
    }

    /// What the client is told where the frames of a run end without its end: of a turn in line whose server ends, that it
    /// is only put off.
    #[must_use]
    pub fn lost(&self) -> Problem {
        let problem = if self.watch.closing.as_ref().is_some_and(CancellationToken::is_cancelled) {
            let detail = "The server is shutting down. The message is kept: its run goes on with the next start.";
            Problem::new(503, "shutting_down", detail)
        } else {
            TurnError::Store(StoreError::Unavailable("the run's end could not be read".into())).problem()
        };
        Problem { run_id: Some(self.run.to_string()), session_id: Some(self.session_name.clone()), ..problem }
    }
}
