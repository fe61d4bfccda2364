//! The one task that brings the frames of all runs to the store, in batches. Watchers get a frame only after its batch
//! was committed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::live::{LiveRun, StopReason};
use crate::domain::{
    chat::{Basis, ChatStore},
    error::StoreError,
    event::TurnEvent,
    id::RunId,
    run::FrameBatch,
};

/// Time between two batches. The first frame of a run does not wait for it.
const PACE: Duration = Duration::from_millis(15);
/// Wait before a failed batch is tried again. Runs are bounded by their deadline, and with them the tries.
const RETRY: Duration = Duration::from_millis(200);

/// Runs with frames that the store does not have yet. Each run stands in it at most once.
#[derive(Debug, Default)]
pub(super) struct Journal {
    dirty: Mutex<Vec<Arc<LiveRun>>>,
    wake: Notify,
    urgent: Notify,
}

impl Journal {
    /// Appends an event to a run's log. Never waits.
    pub(super) fn push(&self, run: &Arc<LiveRun>, event: &TurnEvent) {
        let Some(pushed) = run.push(event) else { return };
        if pushed.must_queue {
            self.queue(Arc::clone(run));
        }
        if pushed.is_first {
            self.urgent.notify_one();
        }
    }

    fn queue(&self, run: Arc<LiveRun>) {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        self.wake.notify_one();
    }

    /// Flushes until `closing`.
    pub(super) async fn work(&self, store: &dyn ChatStore, closing: CancellationToken) {
        loop {
            tokio::select! {
                () = closing.cancelled() => return,
                () = self.wake.notified() => {}
            }
            let pause = if self.flush(store).await { PACE } else { RETRY };
            tokio::select! {
                () = closing.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                () = self.urgent.notified() => {}
            }
        }
    }

    /// One batch. Gives whether the store took it.
    async fn flush(&self, store: &dyn ChatStore) -> bool {
        let runs = std::mem::take(&mut *self.dirty.lock().unwrap_or_else(PoisonError::into_inner));
        let mut taken = Vec::with_capacity(runs.len());
        let mut batches = Vec::with_capacity(runs.len());
        let (mut resting, mut bases) = (Vec::new(), Vec::new());
        for run in runs {
            if let Some(batch) = run.take_unflushed() {
                if let Some(basis) = run.basis() {
                    resting.push(Arc::clone(&run));
                    bases.push(basis);
                }
                taken.push(run);
                batches.push(batch);
            }
        }
        if batches.is_empty() {
            return true;
        }
        match log(store, &bases, &batches).await {
            Ok(fenced) => {
                resting.iter().zip(&bases).for_each(|(run, basis)| run.rests(basis));
                for (run, batch) in taken.iter().zip(&batches) {
                    if fenced.contains(&run.run) {
                        // Its frames are not in the store, so nobody may see them.
                        run.not_flushed();
                        run.stop(StopReason::Fenced);
                    } else {
                        run.flushed(batch.last_seq);
                    }
                }
                fail::fail_point!("log:shown", |_| true);
                true
            }
            Err(error) => {
                tracing::warn!(%error, runs = taken.len(), "frames could not be logged; they are tried again");
                for run in taken {
                    if run.not_flushed() {
                        self.queue(run);
                    }
                }
                false
            }
        }
    }
}

async fn log(store: &dyn ChatStore, bases: &[Basis], batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError> {
    fail::fail_point!("log:before", |_| Err(StoreError::Unavailable("failpoint".into())));
    if !bases.is_empty() {
        store.rest(bases).await?;
        fail::fail_point!("log:rests", |_| Err(StoreError::Unavailable("failpoint".into())));
    }
    let fenced = store.log(batches).await?;
    fail::fail_point!("log:after", |_| Err(StoreError::Unavailable("failpoint".into())));
    Ok(fenced)
}
