//! Ends that the store refused when their turns ended. They wait here, each with its turn's place, and are written when
//! the store is back: no run stays `running` while its process lives, and no more can wait than turns may run.

use std::sync::{MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use super::{Inner, finish::commit};
use crate::domain::{
    chat::Finish,
    error::StoreError,
    id::{RunId, UserId},
    run::{Orphan, RunStatus},
};

/// Tries of a turn's own end, one a beat. One that is refused for longer is not refused because the store is away; the
/// run is then ended by what its log says.
const TRIES: u32 = 600;
/// Looks for a run whose accept failed in a way that says nothing. Not there by then: it was not accepted.
const LOOKS: u32 = 3;

/// A run that is to be ended.
pub(super) struct Late {
    pub(super) user: UserId,
    pub(super) run: RunId,
    pub(super) end: LateEnd,
    pub(super) tries: u32,
    /// Its turn's place among those that may run.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// How it is to be ended.
pub(super) enum LateEnd {
    /// As its turn ended.
    AsItWas(Box<Finish>),
    /// As interrupted, if it was accepted: its turn never began, because the store did not say whether it was.
    IfAccepted,
}

impl Inner {
    /// A panic leaves the list whole, so a poisoned lock is as good as any.
    pub(super) fn late(&self) -> MutexGuard<'_, Vec<Late>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One try for each end that waits. The first that the store does not take ends the round.
    pub(super) async fn catch_up(&self) {
        let mut waiting = std::mem::take(&mut *self.late()).into_iter();
        while let Some(mut late) = waiting.next() {
            late.tries += 1;
            let error = match self.end_late(&late).await {
                Ok(()) => {
                    tracing::info!(run_id = %late.run, "the end of a run was written late");
                    continue;
                }
                Err(StoreError::NotFound) if late.is_unsure() => {
                    self.late().push(late);
                    continue;
                }
                // Another process ended it, its session was deleted, or it was never accepted.
                Err(StoreError::Conflict(_) | StoreError::NotFound) => continue,
                Err(error @ StoreError::Unavailable(_)) => error,
            };
            tracing::warn!(run_id = %late.run, tries = late.tries, %error, "the end of a run still cannot be written");
            let mut list = self.late();
            // Behind the others, so that one that is never taken does not keep them from being tried.
            list.extend(waiting);
            list.push(late);
            return;
        }
    }

    async fn end_late(&self, late: &Late) -> Result<(), StoreError> {
        if let LateEnd::AsItWas(finish) = &late.end
            && late.tries <= TRIES
        {
            return commit(self, finish).await;
        }
        let run = self.ports.chats.run(late.user, late.run).await?;
        let (RunStatus::Running, Some(message)) = (run.status, run.message) else { return Ok(()) };
        let answer = self.ports.chats.message(late.user, message).await?;
        let orphan = Orphan {
            run: run.id,
            session: run.session,
            session_name: run.session_name,
            owner: self.owner.clone(),
            human: run.human,
            message,
            earlier: run.extends.then_some(answer.content),
            // Ending a run opens again whatever it had taken.
            taken: None,
            trace: answer.trace,
        };
        self.end_orphan(orphan).await
    }
}

impl Late {
    /// Whether not being there may still change: a commit whose connection broke can come a little later.
    const fn is_unsure(&self) -> bool {
        matches!(self.end, LateEnd::IfAccepted) && self.tries < LOOKS
    }
}
