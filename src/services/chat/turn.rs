//! The task that owns a run: it accepts the turn itself, does its work, and brings it to an end, whatever happens.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, future::join};
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};
use tracing::Instrument;

use super::{
    Inner, StartError, Submission, Turn, Watch, context,
    finish::Written,
    frame::Frame,
    labels::{self, Labels},
    late::{Late, LateEnd},
    live::{LiveRun, StopReason},
    title::{self, title},
    transcript::{Sink, Transcript},
};
use crate::{
    domain::{
        chat::{Accept, Accepted, Idempotency, OnBusy, Refused, TurnRequest},
        error::{StoreError, TurnError},
        event::TurnEvent,
        hitl::{HitlView, NewPending, Settlement},
        id::{MessageId, RunId, SessionId, UserId},
        memory::EventId,
        problem::Problem,
        run::RunStatus,
        setting::{Setting, render_settings},
        tool::Markers,
        user::Role,
    },
    services::memory::{Notes, settings::Preferences},
};

/// How long an idempotency key is remembered.
const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Messages before the history that one note takes in at most.
const NOTE_REACH: usize = 24;

/// One accepted turn: everything about it that does not change.
pub(super) struct Scene {
    pub(super) user: UserId,
    pub(super) role: Role,
    pub(super) request: TurnRequest,
    pub(super) request_id: Option<String>,
    pub(super) accepted: Accepted,
    pub(super) session_name: String,
    pub(super) run: RunId,
    pub(super) labels: &'static Labels,
    /// How long it had waited in line.
    pub(super) queued: Option<Duration>,
}

/// A run, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnId {
    pub(super) run: RunId,
    pub(super) user: UserId,
}

impl Scene {
    pub(super) fn of(id: TurnId, role: Role, accepted: Accepted) -> Self {
        Self {
            user: id.user,
            role,
            request: accepted.request.clone(),
            request_id: None,
            session_name: accepted.session.name.clone(),
            labels: labels::of(&accepted.text, accepted.question.as_ref()),
            accepted,
            run: id.run,
            queued: None,
        }
    }

    /// What the client is told of a failure.
    pub(super) fn problem(&self, error: &TurnError) -> Problem {
        let mut problem = error.problem();
        problem.run_id = Some(self.run.to_string());
        problem.session_id = Some(self.session_name.clone());
        problem.request_id.clone_from(&self.request_id);
        problem
    }
}

/// What a turn has come to so far. It outlives the work when that fails or is stopped.
pub(super) struct Work {
    pub(super) transcript: Transcript,
    /// What becomes of the question that was open, if the turn ends well; and why.
    pub(super) settlement: Option<(Settlement, String)>,
    /// What the message was judged to be, if a question was open.
    pub(super) verdict: Option<Value>,
    /// Background events that the model was told.
    pub(super) told: Vec<EventId>,
    /// Messages before the question, as far as a turn reads back; `None` where it read none.
    pub(super) earlier: Option<usize>,
    /// Numbers what is found.
    pub(super) markers: Arc<Markers>,
    /// What the user wants remembered.
    pub(super) settings: Vec<Setting>,
    /// What that means to the turn.
    pub(super) preferences: Preferences,
}

impl Work {
    /// What askback says by itself, in the language that the user wants.
    pub(super) fn labels(&self, scene: &Scene) -> &'static Labels {
        self.preferences.language.map_or(scene.labels, labels::in_language)
    }

    fn new(sink: Arc<Sink>) -> Self {
        Self {
            transcript: Transcript::new(sink),
            settlement: None,
            verdict: None,
            told: Vec::new(),
            earlier: None,
            markers: Arc::default(),
            settings: Vec::new(),
            preferences: Preferences::default(),
        }
    }
}

/// How a turn ended.
pub(super) enum Ending {
    Answered,
    Asked(Box<Asked>),
    Stopped,
    Failed(TurnError),
    Interrupted,
}

/// A question that a turn ends with.
pub(super) struct Asked {
    pub(super) pending: NewPending,
    pub(super) text: String,
    pub(super) view: HitlView,
}

impl Ending {
    pub(super) const fn status(&self) -> RunStatus {
        match self {
            Self::Answered => RunStatus::Completed,
            Self::Asked(_) => RunStatus::AwaitingInput,
            Self::Stopped => RunStatus::Stopped,
            Self::Failed(_) => RunStatus::Failed,
            Self::Interrupted => RunStatus::Interrupted,
        }
    }
}

type Reply = oneshot::Sender<Result<Turn, StartError>>;

/// What becomes of a turn that comes in.
enum Entry {
    /// It runs.
    Accepted(Box<Accepted>, OwnedSemaphorePermit),
    /// It waits.
    Queued(Turn),
    /// Neither.
    Refused(StartError),
}

/// Tries of a turn that may wait: between two its session can become free, and busy again.
const ENTRIES: usize = 8;
/// How long a turn waits for one that is being stopped.
const ENDING: Duration = Duration::from_secs(2);

impl Inner {
    /// One turn from accept to end. The reply goes out as soon as it is accepted, put in line, or refused. Without a
    /// permit it can only be put in line.
    pub(super) async fn turn(
        self: Arc<Self>,
        submission: Submission,
        reply: Reply,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let started = Instant::now();
        let run = RunId::at(self.ports.clock.now());
        let span = tracing::info_span!("turn", run_id = %run, status = tracing::field::Empty);
        async {
            if reply.is_closed() {
                return;
            }
            fail::fail_point!("turn:begun");
            let accept = self.acceptance(&submission, run);
            let (accepted, permit) = match self.accept(&accept, permit).await {
                Entry::Accepted(accepted, permit) => (*accepted, permit),
                Entry::Queued(turn) => {
                    // When the caller has left, the turn is dropped here, and its watcher with it.
                    let _ = reply.send(Ok(turn));
                    return;
                }
                Entry::Refused(error) => {
                    let answer = match error {
                        StartError::Refused(Refused::Duplicate(first)) => self.again(submission.user.id, first).await,
                        other => Err(other),
                    };
                    // A caller that left needs no answer.
                    let _ = reply.send(answer);
                    return;
                }
            };
            fail::fail_point!("accept:told");
            let id = TurnId { run, user: submission.user.id };
            let scene = Scene { request_id: submission.request_id, ..Scene::of(id, submission.user.role, accepted) };
            let (live, sink) = self.enter(&scene, Vec::new(), started);
            let answer = Some(scene.accepted.message);
            let turn = Turn { run, session_name: scene.session_name.clone(), answer, watch: Watch::live(&live, 0) };
            // When the caller has left, the turn is dropped here, and its watcher with it.
            let _ = reply.send(Ok(turn));
            fail::fail_point!("turn:replied");
            self.conduct(scene, live, sink, started, permit).await;
        }
        .instrument(span)
        .await;
    }

    /// Accepts a turn or, where its session is busy and it says so, puts it in line.
    async fn accept(self: &Arc<Self>, accept: &Accept, mut permit: Option<OwnedSemaphorePermit>) -> Entry {
        let may_wait = accept.request.on_busy != OnBusy::Reject;
        for _ in 0..ENTRIES {
            if let Some(place) = permit.take() {
                match self.ports.chats.accept(accept).await {
                    Ok(accepted) => return Entry::Accepted(Box::new(accepted), place),
                    Err(Refused::Busy(_)) if may_wait => permit = Some(place),
                    Err(Refused::Busy(run)) if self.is_stopped_by_now(run).await => {
                        permit = Some(place);
                        continue;
                    }
                    Err(refused) => {
                        if let Refused::Store(StoreError::Unavailable(_)) = &refused {
                            // It may have been committed all the same; then nobody else would end it.
                            let (user, run, end) = (accept.user, accept.run, LateEnd::IfAccepted);
                            self.late().push(Late { user, run, end, tries: 0, _permit: place });
                        }
                        return Entry::Refused(refused.into());
                    }
                }
            }
            match self.line_up(accept).await {
                Ok(turn) => return Entry::Queued(turn),
                // The session has become free meanwhile.
                Err(StartError::Refused(Refused::Idle)) if permit.is_some() => {}
                Err(StartError::Refused(Refused::Idle | Refused::Overloaded)) => break,
                Err(error) => return Entry::Refused(error),
            }
        }
        Entry::Refused(super::overloaded())
    }

    /// Whether the run that holds a session was to stop, and has ended now: whoever stops it, or leaves it, may go on at
    /// once.
    async fn is_stopped_by_now(&self, run: RunId) -> bool {
        let live = self.live().get(&run).cloned();
        match live.filter(|live| live.is_to_stop()) {
            Some(live) => tokio::time::timeout(ENDING, live.ended()).await.is_ok(),
            None => false,
        }
    }

    /// An accepted run is at work here from now on: it can be watched, and says so.
    pub(super) fn enter(&self, scene: &Scene, log: Vec<Frame>, started: Instant) -> (Arc<LiveRun>, Arc<Sink>) {
        let id = TurnId { run: scene.run, user: scene.user };
        let live = LiveRun::new(id, self.owner.clone(), scene.request.on_disconnect, started, log);
        let live = Arc::new(live);
        self.live().insert(scene.run, Arc::clone(&live));
        let sink = Arc::new(Sink::new(Arc::clone(&self.journal), Arc::clone(&live), started));
        let accepted = &scene.accepted;
        sink.first(scene.labels.received, &scene.session_name, accepted.message, accepted.human);
        if accepted.first_turn
            && let Some(title) = accepted.session.title.clone().filter(|title| !title.is_empty())
        {
            sink.tell(&TurnEvent::SessionTitle { title, session_id: scene.session_name.clone() });
        }
        fail::fail_point!("turn:first-frame");
        (live, sink)
    }

    fn acceptance(&self, submission: &Submission, run: RunId) -> Accept {
        let now = self.ports.clock.now();
        let session = SessionId::at(now);
        let request = submission.request.clone();
        Accept {
            user: submission.user.id,
            session_name: submission.session_name.clone().unwrap_or_else(|| session.to_string()),
            new_session: session,
            human: MessageId::at(now),
            message: MessageId::at(now),
            run,
            owner: self.owner.clone(),
            title: title(&request.message),
            model: request.model.clone().unwrap_or_else(|| self.ports.chat_model.name().to_owned()),
            idempotency: submission.idempotency.clone().map(|(key, body_sha256)| Idempotency {
                // One for all doors and sessions: a key stands for one body, and that says what it is about.
                scope: "turn".into(),
                key,
                body_sha256,
                expires_at: now + KEY_LIFE,
            }),
            request,
            now,
        }
    }

    /// The turn that an equal request started before.
    async fn again(self: &Arc<Self>, user: UserId, run: RunId) -> Result<Turn, StartError> {
        let stored = self.ports.chats.run(user, run).await.map_err(|error| StartError::Refused(error.into()))?;
        let watch = self.watch(user, run, 0);
        Ok(Turn { run, session_name: stored.session_name, answer: stored.message, watch })
    }

    /// The work of an accepted turn, its end, and its note.
    pub(super) async fn conduct(
        self: &Arc<Self>,
        scene: Scene,
        live: Arc<LiveRun>,
        sink: Arc<Sink>,
        started: Instant,
        permit: OwnedSemaphorePermit,
    ) {
        metrics::gauge!("askback_turns_running").increment(1.0);
        let mut work = Work::new(Arc::clone(&sink));
        let ending = self.work(&scene, &live, &mut work).await;
        fail::fail_point!("turn:ending");
        let status = ending.status();
        if let Ending::Failed(error) = &ending {
            tracing::warn!(%error, "the turn failed");
        }
        let (retrieval, earlier) = (work.transcript.retrieval, work.earlier);
        let finished = AssertUnwindSafe(self.finish(&scene, &live, work, ending)).catch_unwind().await;
        let written = match finished {
            Ok(written) => written,
            Err(_) => {
                // The log is sealed and may hold half an end; a fresh one says only that it failed.
                tracing::error!("ending the turn panicked; it is ended as failed");
                let bare = Work::new(sink);
                let failed = Ending::Failed(TurnError::Internal("panic while ending".into()));
                AssertUnwindSafe(self.finish(&scene, &live, bare, failed)).catch_unwind().await.unwrap_or(Written::No)
            }
        };
        tracing::Span::current().record("status", status.as_str());
        metrics::counter!("askback_turns_total", "status" => status.as_str()).increment(1);
        metrics::histogram!("askback_turn_seconds").record(started.elapsed().as_secs_f64());
        if !retrieval.is_zero() {
            metrics::histogram!("askback_retrieval_seconds").record(retrieval.as_secs_f64());
        }
        match written {
            Written::Yes => {
                self.hand_over(scene.accepted.session.id);
                if status.is_good() {
                    self.after_answer(&scene, &live, earlier).await;
                }
            }
            Written::No => {}
            Written::Late(finish) => {
                let (user, run, end) = (scene.user, scene.run, LateEnd::AsItWas(finish));
                self.late().push(Late { user, run, end, tries: 0, _permit: permit });
            }
        }
        // Whoever comes from here on watches the store, which may still be told of the end.
        self.live().remove(&scene.run);
        live.end();
        fail::fail_point!("turn:ended");
        metrics::gauge!("askback_turns_running").decrement(1.0);
        tracing::info!(elapsed_ms = super::transcript::millis(started.elapsed()), "turn ended");
    }

    /// What an answer leaves to do. A stop waits for none of it; what left the history is taken up by the next turn that
    /// ends well.
    async fn after_answer(&self, scene: &Scene, live: &LiveRun, earlier: Option<usize>) {
        tokio::select! {
            biased;
            _ = live.stopped() => {}
            _ = join(self.note(scene, earlier), self.entitle(scene)) => {}
        }
    }

    /// Does the work until it is done, fails, panics, is stopped, or its time is up.
    async fn work(&self, scene: &Scene, live: &LiveRun, work: &mut Work) -> Ending {
        let answering = AssertUnwindSafe(self.answer(scene, work)).catch_unwind();
        tokio::select! {
            biased;
            reason = live.stopped() => match reason {
                StopReason::User | StopReason::Left => Ending::Stopped,
                StopReason::Shutdown | StopReason::Fenced => Ending::Interrupted,
            },
            () = tokio::time::sleep(self.config.turn_deadline) => Ending::Failed(TurnError::Deadline),
            answered = answering => match answered {
                Ok(Ok(ending)) => ending,
                Ok(Err(error)) => Ending::Failed(error),
                Err(_) => Ending::Failed(TurnError::Internal("panic".into())),
            },
        }
    }

    /// Brings the session's note up to date, once its history no longer fits. A failure costs the note, not the turn.
    async fn note(&self, scene: &Scene, earlier: Option<usize>) {
        // The next turn reads the question and its answer too.
        if earlier.is_some_and(|earlier| earlier + 2 <= self.config.history) {
            return;
        }
        let session = scene.accepted.session.id;
        let reach = self.config.history + NOTE_REACH;
        let branch =
            self.ports.chats.said(session, scene.accepted.human, i64::try_from(reach).unwrap_or(i64::MAX)).await;
        let stored = match branch {
            // The answer is the newest message of the next turn's history, so the question ends one before it.
            Ok(messages) => {
                let leaving = messages.len().saturating_sub(self.config.history.saturating_sub(1));
                if leaving == 0 {
                    return;
                }
                let notes = Notes::new(Arc::clone(&self.ports.memory), self.ports.fast.clone());
                notes.update(session, &messages[..leaving], self.ports.clock.now()).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "the session's note was not updated");
        }
    }

    /// Gives a new session the title that the fast model has for it. A failure costs the title, not the turn.
    async fn entitle(&self, scene: &Scene) {
        let Some(model) = self.ports.fast.as_ref().filter(|_| scene.accepted.first_turn) else { return };
        let stored = match self.ports.chats.message(scene.user, scene.accepted.message).await {
            Ok(answer) => match title::by_model(model.as_ref(), &scene.accepted.text, &answer.content).await {
                Some(title) => self.ports.history.entitle(scene.accepted.session.id, &title).await.map(|_| ()),
                None => return,
            },
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "the session keeps its first words as title");
        }
    }

    /// Reads what the turn knows of its conversation.
    pub(super) async fn context(&self, scene: &Scene, work: &Work) -> Result<context::Context, TurnError> {
        let accepted = &scene.accepted;
        let (chats, memory) = (self.ports.chats.as_ref(), self.ports.memory.as_ref());
        let history = self.config.history;
        let read = context::read(chats, memory, accepted.session.id, accepted.parent, history).await?;
        Ok(context::Context { settings: render_settings(&work.settings), ..read })
    }
}
