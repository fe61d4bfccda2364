//! Who watches runs that do not run here: they are told when that changes, and missed when the last one leaves.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{runtime::Handle, sync::watch};

use super::{Inner, turn::TurnId};
use crate::domain::id::RunId;

/// See the module. Holds a run for as long as somebody watches it.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<HashMap<RunId, Watched>>);

#[derive(Debug, Default)]
struct Watched {
    watchers: usize,
    /// Whether the run is to be stopped when the last of them leaves.
    cancels: bool,
    changed: watch::Sender<()>,
}

impl Waiting {
    /// A panic leaves the map whole, so a poisoned lock is as good as any.
    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run began here, or ended: its watchers look again.
    pub(super) fn changed(&self, run: RunId) {
        if let Some(watched) = self.runs().get(&run) {
            watched.changed.send_replace(());
        }
    }
}

/// One who watches such a run.
pub(super) struct Attendance {
    inner: Arc<Inner>,
    id: TurnId,
}

impl Inner {
    /// Counts a watcher in until the first of what it is given drops; `cancels` counts for all of the run.
    pub(super) fn attend(self: &Arc<Self>, id: TurnId, cancels: bool) -> (Attendance, watch::Receiver<()>) {
        let mut runs = self.waiting.runs();
        let watched = runs.entry(id.run).or_default();
        watched.watchers += 1;
        watched.cancels |= cancels;
        (Attendance { inner: Arc::clone(self), id }, watched.changed.subscribe())
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let left = {
            let mut runs = self.inner.waiting.runs();
            let Some(watched) = runs.get_mut(&self.id.run) else { return };
            watched.watchers -= 1;
            if watched.watchers > 0 {
                return;
            }
            runs.remove(&self.id.run)
        };
        // Without a runtime the process ends, and the run waits for the next one.
        if left.is_some_and(|watched| watched.cancels)
            && let Ok(runtime) = Handle::try_current()
        {
            let (inner, id) = (Arc::clone(&self.inner), self.id);
            self.inner.tasks.spawn_on(async move { inner.left(id).await }, &runtime);
        }
    }
}
