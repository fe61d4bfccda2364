//! Runs from outside: their state, their frames, stopping them; and the heartbeat that carries stops between processes.

use std::{sync::Arc, time::Duration};

use super::{
    Chat, Inner, Watch,
    live::{LiveRun, StopReason},
    stored::lines,
};
use crate::domain::{
    chat::TurnResult,
    error::StoreError,
    event::TurnEvent,
    id::{RunId, UserId},
    run::{Run, RunStatus},
};

/// Time between two looks at what is to be stopped.
const BEAT: Duration = Duration::from_secs(1);
/// Every how many beats the process says that it lives, and looks for runs of dead ones.
const BEATS_PER_LEASE: u32 = 5;
/// Every how many beats old logs are dropped.
const BEATS_PER_ROUND: u32 = 60;
/// How long it counts as alive without saying so.
const LEASE: Duration = Duration::from_secs(20);
/// How long a caller that stops a run waits for its end.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What is left to tell of a run.
pub enum Events {
    /// These, and an end.
    Follow(Watch),
    /// The end alone.
    AllSeen,
}

/// Why the events of a run cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventsError {
    /// They are kept no longer.
    #[error("the events have expired")]
    Expired,
    /// The event that was seen last is none of the run's.
    #[error("no such event")]
    Unknown,
    /// `NotFound`, also for another user's; the store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// The run.
    pub run: Run,
    /// How it ended, unless it failed or its answer was deleted.
    pub result: Option<TurnResult>,
}

impl Chat {
    /// A run of `user`.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn run(&self, user: UserId, run: RunId) -> Result<RunState, StoreError> {
        let chats = &self.inner.ports.chats;
        let run = chats.run(user, run).await?;
        let mut result = None;
        if run.status.is_terminal() && run.last_seq > 0 {
            let last = chats.frames(run.id, run.last_seq - 1, 1).await?;
            result = last
                .into_iter()
                .flat_map(lines)
                .find(|frame| frame.seq == run.last_seq)
                .and_then(|frame| frame.event().ok())
                .and_then(|event| match event {
                    TurnEvent::Message { message } => Some(*message),
                    _ => None,
                });
            if result.is_none() {
                result = self.inner.result_of(&run).await?;
            }
        }
        Ok(RunState { run, result })
    }

    /// The frames of a run after `after`: replayed, then followed while it runs.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn watch(&self, user: UserId, run: RunId, after: u64) -> Result<Watch, StoreError> {
        let is_live_here = self.inner.live().get(&run).is_some_and(|live| live.user == user);
        if !is_live_here {
            self.inner.ports.chats.run(user, run).await?;
        }
        Ok(self.inner.watch(user, run, after))
    }

    /// The same for clients, which say what they have seen.
    ///
    /// # Errors
    /// See [`EventsError`].
    pub async fn events(&self, user: UserId, run: RunId, after: u64) -> Result<Events, EventsError> {
        // Whatever a client was shown is in the store, so it is not past what is read now.
        let state = self.inner.ports.chats.run(user, run).await?;
        let is_past = after > state.last_seq;
        if state.status.is_terminal() {
            if self.inner.is_log_gone(&state) {
                return Err(EventsError::Expired);
            }
            // A power failure can take frames that were seen; only a run that it ended has fewer than it had told.
            let may_be_lost = state.status == RunStatus::Interrupted && after <= LiveRun::MAX_SEQ;
            if is_past && !may_be_lost {
                return Err(EventsError::Unknown);
            }
            if after == state.last_seq && !may_be_lost {
                return Ok(Events::AllSeen);
            }
        } else if is_past {
            return Err(EventsError::Unknown);
        }
        Ok(Events::Follow(self.inner.watch(user, run, after)))
    }

    /// Stops a run, wherever it runs, and waits a while for its end. One that has ended stays as it is.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; the store's.
    pub async fn stop(&self, user: UserId, run: RunId) -> Result<RunState, StoreError> {
        let asked = self.inner.ports.chats.request_stop(user, run, self.inner.ports.clock.now()).await?;
        if asked.status.is_terminal() {
            return self.run(user, run).await;
        }
        if asked.status == RunStatus::Queued {
            fail::fail_point!("queue:stopping");
            match self.inner.end_queued(&asked, None).await {
                Ok(()) => return self.run(user, run).await,
                // It began meanwhile.
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let live = self.inner.live().get(&run).cloned();
        match live {
            Some(live) => {
                live.stop(StopReason::User);
                if tokio::time::timeout(STOP_PATIENCE, live.ended()).await.is_err() {
                    tracing::warn!(run_id = %run, "a stopped run has not ended yet");
                }
            }
            None => self.wait_elsewhere(user, run).await?,
        }
        self.run(user, run).await
    }

    /// Waits for the end of a run of another process.
    async fn wait_elsewhere(&self, user: UserId, run: RunId) -> Result<(), StoreError> {
        let pause = Duration::from_millis(200);
        for _ in 0..(STOP_PATIENCE.as_millis() / pause.as_millis()) {
            if self.inner.ports.chats.run(user, run).await?.status.is_terminal() {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }
}

impl Inner {
    /// Says that this process lives, stops what is to be stopped, ends the runs of dead processes, and starts those whose
    /// turn has come.
    pub(super) async fn heartbeat(self: &Arc<Self>) {
        let mut beat: u32 = 0;
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(BEAT) => {}
            }
            beat = beat.wrapping_add(1);
            self.catch_up().await;
            if beat.is_multiple_of(BEATS_PER_LEASE) {
                self.beat().await;
                self.recover().await;
            }
            if beat.is_multiple_of(BEATS_PER_ROUND) {
                self.drop_logs().await;
            }
            self.stop_requested().await;
            self.sweep().await;
        }
    }

    /// Renews the lease of this process.
    pub(super) async fn beat(&self) {
        if let Err(error) = self.ports.chats.beat_process(&self.config.node, &self.config.boot, LEASE).await {
            tracing::warn!(%error, "the process could not say that it lives");
        }
    }

    /// Stops the runs that someone asked another process to stop.
    async fn stop_requested(&self) {
        if self.live().is_empty() {
            return;
        }
        match self.ports.chats.stops(&self.owner).await {
            Ok(runs) => {
                let live = self.live();
                runs.iter().filter_map(|run| live.get(run)).for_each(|live| live.stop(StopReason::User));
            }
            Err(error) => tracing::warn!(%error, "it could not be read which runs are to be stopped"),
        }
    }
}
