//! Turns that wait for their session: they are put in line, started one after the other by whichever process comes
//! first, and can be stopped there.

use std::{
    collections::HashSet,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tracing::Instrument;

use super::{
    Inner, StartError, Turn,
    finish::terminal,
    frame::Frame,
    labels,
    live::{LiveRun, StopReason},
    stored::lines,
    turn::{Scene, TurnId},
};
use crate::{
    domain::{
        chat::{Accept, EndQueued, Head, OnDisconnect, Refused, StartQueued, Timings, TurnResult},
        error::StoreError,
        event::{Step, TurnEvent},
        id::{MessageId, RunId, SessionId},
        model::Usage,
        problem::Problem,
        run::{FrameBatch, Run, RunStatus},
        time::Millis,
    },
    services::record::Opening,
};

/// Sessions that one look for waiting runs takes up.
const SWEEP: i64 = 64;
/// How long a run that is next waits for a place among those that run; the next look takes it up again.
const PATIENCE: Duration = Duration::from_secs(30);
/// Runs of one line that are refused one after the other before the next look goes on.
const REFUSALS: usize = 32;

impl Inner {
    /// Puts a turn in line. `Idle` when its session is free.
    pub(super) async fn line_up(self: &Arc<Self>, accept: &Accept) -> Result<Turn, StartError> {
        let (run, user) = (accept.run, accept.user);
        let label = labels::of(&accept.request.message, None).queued;
        let step = Step { icon: "⏳".into(), label: label.into(), ..Step::default() };
        let session_id = Some(accept.session_name.clone());
        let waiting = TurnEvent::RagStep { session_id, message_id: None, user_message_id: None, step };
        let first = self.batch(run, 1, &waiting).map_err(Refused::Store)?;
        // From before it is in line, so that nothing that happens to it is missed.
        let cancels = accept.request.on_disconnect == OnDisconnect::Cancel;
        let watch = self.follow(TurnId { run, user }, 0, cancels);
        let enqueued = self.ports.queue.enqueue(accept, &first, self.config.queue).await?;
        metrics::counter!("askback_turns_queued_total").increment(1);
        fail::fail_point!("queue:told");
        if let Some(live) = enqueued.interrupted.and_then(|run| self.live().get(&run).cloned()) {
            live.stop(StopReason::User);
        }
        Ok(Turn { run, session_name: accept.session_name.clone(), answer: None, watch })
    }

    /// Starts the next runs of all sessions in which nothing runs.
    pub(super) async fn sweep(self: &Arc<Self>) {
        match self.ports.queue.heads(&self.owner, None, SWEEP).await {
            Ok(heads) => heads.into_iter().for_each(|head| self.hand_over(head.session)),
            Err(error) => tracing::warn!(%error, "waiting turns could not be looked for"),
        }
    }

    /// Lets the next run of the session begin, if one waits.
    pub(super) fn hand_over(self: &Arc<Self>, session: SessionId) {
        if !self.tasks.is_closed() && self.starting().insert(session) {
            let inner = Arc::clone(self);
            self.tasks.spawn(async move { inner.next_of(session).await });
        }
    }

    async fn next_of(self: Arc<Self>, session: SessionId) {
        let mut starting = Some(Starting { inner: &self, session });
        for _ in 0..REFUSALS {
            let head = match self.ports.queue.heads(&self.owner, Some(session), 1).await {
                Ok(heads) => heads.into_iter().next(),
                Err(error) => {
                    tracing::warn!(%error, "the next turn of a session could not be read");
                    return;
                }
            };
            let Some(head) = head else { return };
            if head.is_to_stop {
                self.end_head(&head, None).await;
                continue;
            }
            let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.admission).acquire_owned()).await;
            let Ok(Ok(permit)) = place else { return };
            if self.tasks.is_closed() {
                return;
            }
            match self.run_head(&head, permit, |_| drop(starting.take())).await {
                Ok(()) => return,
                // Another process was faster, it was stopped, or the store is away.
                Err(Refused::Store(error)) => {
                    tracing::debug!(run_id = %head.run, %error, "a waiting turn was not started");
                    return;
                }
                Err(refused) => self.end_head(&head, Some(problem(&refused))).await,
            }
        }
    }

    /// Starts a run that waited, and works on it to its end. `entered` gets it as soon as it is at work here.
    pub(super) async fn run_head(
        self: &Arc<Self>,
        head: &Head,
        permit: OwnedSemaphorePermit,
        entered: impl FnOnce(&Arc<LiveRun>),
    ) -> Result<(), Refused> {
        let work = async {
            let (scene, log, is_interrupted) = match self.start_queued(head).await {
                Ok(started) => started,
                Err(refused) => return (None, Err(refused)),
            };
            let opening = Opening {
                user: scene.user,
                role: scene.role,
                session_name: Some(scene.session_name.clone()),
                request: scene.request.clone(),
                model: scene.request.model.clone().unwrap_or_else(|| self.ports.chat_model.name().to_owned()),
                waited: true,
            };
            let span = tracing::info_span!("turn", run_id = %scene.run, status = tracing::field::Empty);
            async {
                let started = Instant::now();
                let (live, sink) = self.enter(&scene, log, started);
                entered(&live);
                if is_interrupted {
                    live.stop(StopReason::User);
                }
                self.waiting.changed(scene.run);
                self.conduct(scene, live, sink, started, permit).await;
            }
            .instrument(span)
            .await;
            (Some(opening), Ok(()))
        };
        self.ports.recorder.clone().turn(Box::pin(work)).await
    }

    /// Its scene, what its log holds, and whether another one interrupts it at once.
    async fn start_queued(&self, head: &Head) -> Result<(Scene, Vec<Frame>, bool), Refused> {
        let now = self.ports.clock.now();
        let start = StartQueued {
            head: head.clone(),
            owner: self.owner.clone(),
            message: MessageId::at(now),
            model: self.ports.chat_model.name().to_owned(),
            now,
        };
        let started = self.ports.queue.start(&start).await?;
        fail::fail_point!("queue:started");
        let id = TurnId { run: head.run, user: head.user };
        let queued = Some(since(started.queued_at, now));
        let scene = Scene { queued, ..Scene::of(id, started.role, started.accepted) };
        Ok((scene, started.log.into_iter().flat_map(lines).collect(), started.is_interrupted))
    }

    /// Ends a run that does not begin: it is to be stopped, or what it was to start from is not there any more.
    async fn end_head(&self, head: &Head, problem: Option<Problem>) {
        let ended = match self.ports.chats.run(head.user, head.run).await {
            Ok(run) => {
                let problem = problem.map(|problem| Problem {
                    run_id: Some(run.id.to_string()),
                    session_id: Some(run.session_name.clone()),
                    ..problem
                });
                self.end_queued(&run, problem).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(run_id = %head.run, %error, "a waiting turn that does not begin was not ended");
        }
    }

    /// Ends a run that waits: as failed, or else as stopped. `Conflict` when it does not wait any more.
    pub(super) async fn end_queued(&self, run: &Run, problem: Option<Problem>) -> Result<(), StoreError> {
        let now = self.ports.clock.now();
        let status = if problem.is_some() { RunStatus::Failed } else { RunStatus::Stopped };
        let waited = super::transcript::millis(since(run.created_at, now));
        let result = TurnResult {
            response: String::new(),
            status,
            session_id: run.session_name.clone(),
            run_id: run.id,
            message_id: None,
            user_message_id: None,
            parent_id: None,
            rag_trace: None,
            citations: Vec::new(),
            hitl: None,
            model: self.ports.chat_model.name().to_owned(),
            finish_reason: None,
            usage: Usage::default(),
            timings: Timings { queue_ms: waited, total_ms: waited, ..Timings::default() },
        };
        let mut frames = FrameBatch {
            run: run.id,
            owner: self.owner.clone(),
            first_seq: run.last_seq + 1,
            last_seq: run.last_seq,
            lines: Vec::new(),
        };
        for event in terminal(&result, problem.as_ref()) {
            let next = self.batch(run.id, frames.last_seq + 1, &event)?;
            frames.last_seq = next.last_seq;
            frames.lines.extend(next.lines);
        }
        self.ports.queue.end_queued(&EndQueued { run: run.id, status, error: problem, frames, now }).await?;
        metrics::counter!("askback_turns_total", "status" => status.as_str()).increment(1);
        self.waiting.changed(run.id);
        Ok(())
    }

    /// Stops a run whose last watcher left, and that was to be cancelled then.
    pub(super) async fn left(&self, id: TurnId) {
        let live = self.live().get(&id.run).cloned();
        if let Some(live) = live {
            live.stop_unwatched();
            return;
        }
        let asked = self.ports.chats.request_stop(id.user, id.run, self.ports.clock.now()).await;
        let ended = match asked {
            Ok(run) if run.status == RunStatus::Queued => self.end_queued(&run, None).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        match ended {
            // It began meanwhile, and whoever runs it sees that it is to be stopped.
            Ok(()) | Err(StoreError::Conflict(_) | StoreError::NotFound) => {}
            Err(error) => tracing::warn!(run_id = %id.run, %error, "a waiting turn that nobody watches goes on"),
        }
    }

    fn batch(&self, run: RunId, seq: u64, event: &TurnEvent) -> Result<FrameBatch, StoreError> {
        let frame = Frame::new(run, seq, event)
            .map_err(|error| StoreError::Unavailable(format!("an event does not serialize: {error}")))?;
        let mut lines = frame.json.to_vec();
        lines.push(b'\n');
        Ok(FrameBatch { run, owner: self.owner.clone(), first_seq: seq, last_seq: seq, lines })
    }

    /// A panic leaves the set whole, so a poisoned lock is as good as any.
    fn starting(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session whose next run is about to begin; one task cares for it.
struct Starting<'i> {
    inner: &'i Inner,
    session: SessionId,
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.inner.starting().remove(&self.session);
    }
}

fn since(earlier: Millis, now: Millis) -> Duration {
    Duration::from_millis(u64::try_from(now.0.saturating_sub(earlier.0)).unwrap_or(0))
}

/// What is told of a turn that was accepted into the line and then could not begin.
fn problem(refused: &Refused) -> Problem {
    match refused {
        Refused::NotFound => Problem::new(404, "not_found", "What this turn was to start from is not there any more."),
        Refused::HitlExpired => Problem::new(410, "hitl_expired", "This question has expired. Ask again."),
        Refused::HitlNotOpen(_) => Problem::new(409, "hitl_not_open", "This question is not open any more."),
        Refused::NotContinuable(why) => Problem::new(422, "not_continuable", format!("Nothing can be added: {why}.")),
        Refused::WrongMessage(why) => Problem::field("message_id", *why),
        Refused::UnknownOption { .. }
        | Refused::Busy(_)
        | Refused::Idle
        | Refused::QueueFull
        | Refused::Overloaded
        | Refused::Duplicate(_)
        | Refused::IdempotencyMismatch
        | Refused::Store(_) => Problem::new(409, "conflict", "Something else changed the conversation meanwhile."),
    }
}
