//! The chat service: one turn from request to committed answer, the run log and its watchers, recovery, conversations.
//!
//! A turn is owned by one task, which accepts it, works on it and ends it; callers only watch. What a turn says goes
//! into the run's log; the journal brings the log to the store, and watchers see what is there.

mod answer;
mod ask;
pub mod cite;
mod context;
mod ended;
mod extend;
mod finish;
mod frame;
mod history;
mod journal;
mod labels;
mod late;
mod live;
mod pace;
mod queue;
mod recover;
mod replay;
pub mod reply;
mod resume;
mod runs;
mod seam;
mod sessions;
mod stored;
mod title;
mod transcript;
mod turn;
mod waiting;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Semaphore, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    frame::Frame,
    history::Pieces,
    replay::ReplayError,
    runs::{Events, EventsError, RunState},
    sessions::Conversation,
    watch::{Turn, Watch},
};
use self::{journal::Journal, late::Late, live::LiveRun, turn::TurnId, waiting::Waiting};
use crate::{
    domain::{
        chat::{ChatStore, HistoryStore, HitlAction, OnBusy, QueueBounds, QueueStore, Refused, TurnRequest},
        id::{RunId, SessionId, UserId},
        knowledge::DocumentStore,
        memory::MemoryStore,
        model::{ChatModel, ToolSpec},
        problem::FieldError,
        setting::SettingStore,
        time::Clock,
        user::{Role, User},
    },
    services::{
        agent::registry::Registry,
        record::{Opening, Recorder},
        retrieval::Retrieval,
    },
};

/// How long the store may take, at shutdown, for what is still to be written.
const LAST_TRY: Duration = Duration::from_secs(10);

/// What the chat service works with.
pub struct ChatPorts {
    /// Keeps conversations and runs.
    pub chats: Arc<dyn ChatStore>,
    /// Keeps runs that wait for their session.
    pub queue: Arc<dyn QueueStore>,
    /// Reads and tends them as trees.
    pub history: Arc<dyn HistoryStore>,
    /// Keeps notes and events.
    pub memory: Arc<dyn MemoryStore>,
    /// Keeps what users want remembered.
    pub settings: Arc<dyn SettingStore>,
    /// Says what a user may read.
    pub documents: Arc<dyn DocumentStore>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Answers.
    pub chat_model: Arc<dyn ChatModel>,
    /// Understands replies and writes notes; without it, rules do.
    pub fast: Option<Arc<dyn ChatModel>>,
    /// Goes on with answered questions, and keeps what they stand on.
    pub retrieval: Arc<Retrieval>,
    /// What the agent may do; the knowledge tool over `retrieval` among it.
    pub tools: Registry,
    /// Records turns and finds their recordings.
    pub recorder: Recorder,
}

/// Bounds and names of the chat service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatConfig {
    /// Names this process among others over the same store; stays through restarts.
    pub node: String,
    /// Names this start of it.
    pub boot: String,
    /// Steps of an agent's turn: a model call is one, a batch of tool calls is one.
    pub recursion_limit: u32,
    /// Searches of one turn.
    pub knowledge_quota: u32,
    /// Earlier messages that a model is shown.
    pub history: usize,
    /// How long a question stays open.
    pub hitl_expiry: Duration,
    /// Longest that a turn may take.
    pub turn_deadline: Duration,
    /// Turns that run at once; more are refused.
    pub max_running: usize,
    /// Turns that wait at once; more are refused.
    pub queue: QueueBounds,
    /// Tokens of system prompt, history and question together.
    pub window_tokens: usize,
    /// Longest message of a user, in characters.
    pub max_message_chars: usize,
}

impl ChatConfig {
    /// The defaults for the process `node` at its start `boot`.
    #[must_use]
    pub fn new(node: impl Into<String>, boot: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            boot: boot.into(),
            recursion_limit: 8,
            knowledge_quota: 1,
            history: 6,
            hitl_expiry: Duration::from_secs(24 * 60 * 60),
            turn_deadline: Duration::from_secs(300),
            max_running: 256,
            queue: QueueBounds { session: 32, total: 1_024 },
            window_tokens: 16_000,
            max_message_chars: 32_000,
        }
    }
}

/// A turn as a door hands it in.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Who asks.
    pub user: User,
    /// The client's name of the session; absent: a new one.
    pub session_name: Option<String>,
    /// What is asked for.
    pub request: TurnRequest,
    /// `Idempotency-Key` and the hex SHA-256 of the body.
    pub idempotency: Option<(String, String)>,
    /// Names the request in the log and in problems.
    pub request_id: Option<String>,
}

/// Why a turn was not started. Nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// A field of the request cannot be used.
    #[error("{}: {}", .0.field, .0.message)]
    Invalid(FieldError),
    /// The store refused it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// As many turns run as may. Worth another try after this long.
    #[error("too many turns are running")]
    Overloaded {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// A defect of askback.
    #[error("internal error")]
    Internal,
}

fn overloaded() -> StartError {
    metrics::counter!("askback_turns_refused_total").increment(1);
    StartError::Overloaded { retry_after: Duration::from_secs(2) }
}

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Chat {
    inner: Arc<Inner>,
}

/// What the service's tasks share.
struct Inner {
    ports: ChatPorts,
    config: ChatConfig,
    /// `node:boot`.
    owner: String,
    journal: Arc<Journal>,
    live: Mutex<HashMap<RunId, Arc<LiveRun>>>,
    /// Who watches the others.
    waiting: Waiting,
    /// Sessions whose next run is about to begin.
    starting: Mutex<HashSet<SessionId>>,
    /// Runs whose ends the store has not taken yet.
    late: Mutex<Vec<Late>>,
    admission: Arc<Semaphore>,
    tasks: TaskTracker,
    /// The tasks that serve all turns; they end after the last turn.
    upkeep: TaskTracker,
    closing: CancellationToken,
}

impl Inner {
    /// A panic leaves the map whole, so a poisoned lock is as good as any.
    fn live(&self) -> MutexGuard<'_, HashMap<RunId, Arc<LiveRun>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run, if it is at work here and this user's.
    fn live_of(&self, id: TurnId) -> Option<Arc<LiveRun>> {
        self.live().get(&id.run).filter(|live| live.user == id.user).cloned()
    }

    fn watch(self: &Arc<Self>, user: UserId, run: RunId, after: u64) -> Watch {
        let id = TurnId { run, user };
        match self.live_of(id) {
            Some(live) => Watch::live(&live, after),
            None => self.follow(id, after, false),
        }
    }
}

impl Chat {
    /// The service, with its journal and its heartbeat at work. Call [`recover`](Self::recover) before turns are taken.
    /// Must be called inside a runtime.
    #[must_use]
    pub fn new(ports: ChatPorts, config: ChatConfig) -> Self {
        let inner = Arc::new(Inner {
            owner: format!("{}:{}", config.node, config.boot),
            journal: Arc::default(),
            live: Mutex::default(),
            waiting: Waiting::default(),
            starting: Mutex::default(),
            late: Mutex::default(),
            admission: Arc::new(Semaphore::new(config.max_running)),
            tasks: TaskTracker::new(),
            upkeep: TaskTracker::new(),
            closing: CancellationToken::new(),
            ports,
            config,
        });
        let (journal, chats, closing) =
            (Arc::clone(&inner.journal), Arc::clone(&inner.ports.chats), inner.closing.clone());
        inner.upkeep.spawn(async move { journal.work(chats.as_ref(), closing).await });
        let beating = Arc::clone(&inner);
        inner.upkeep.spawn(async move { beating.heartbeat().await });
        Self { inner }
    }

    /// What the agent may do for users of `role`.
    #[must_use]
    pub fn tools(&self, role: Role) -> Vec<ToolSpec> {
        self.inner.ports.tools.specs(role)
    }

    /// Starts a turn; gives it as soon as it is accepted. Dropping the future before that leaves nothing behind;
    /// dropping the turn after it is leaving (see `on_disconnect`).
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(&self, submission: Submission) -> Result<Turn, StartError> {
        self.check(&submission.request).map_err(StartError::Invalid)?;
        self.inner.check_continuable(submission.user.id, submission.request.kind).await?;
        // Held while the turn is not spawned yet, so that `shutdown` either is seen here or waits for the turn.
        let _starting = self.inner.tasks.token();
        if self.inner.tasks.is_closed() {
            return Err(StartError::Overloaded { retry_after: Duration::from_secs(5) });
        }
        let permit = Arc::clone(&self.inner.admission).try_acquire_owned().ok();
        // A turn that may wait in line needs no place now, if its session is busy.
        if permit.is_none() && submission.request.on_busy == OnBusy::Reject {
            return Err(overloaded());
        }
        let (reply, accepted) = oneshot::channel();
        let opening = self.opening(&submission);
        let turn = Arc::clone(&self.inner).turn(submission, reply, permit);
        let turn = async move {
            turn.await;
            (Some(opening), ())
        };
        self.inner.tasks.spawn(self.inner.ports.recorder.clone().turn(turn));
        // The sender is dropped without an answer only when accepting panicked.
        accepted.await.unwrap_or(Err(StartError::Internal))
    }

    fn opening(&self, submission: &Submission) -> Opening {
        let request = submission.request.clone();
        Opening {
            user: submission.user.id,
            role: submission.user.role,
            session_name: submission.session_name.clone(),
            model: request.model.clone().unwrap_or_else(|| self.inner.ports.chat_model.name().to_owned()),
            request,
            waited: false,
        }
    }

    /// What can be seen without the store.
    fn check(&self, request: &TurnRequest) -> Result<(), FieldError> {
        let wrong = |message: String| Err(FieldError { field: "message".into(), message, valid: Vec::new() });
        let speaker = &self.inner.ports.chat_model;
        if request.model.as_ref().is_some_and(|model| !speaker.offers(model)) {
            let valid = vec![speaker.name().to_owned()];
            return Err(FieldError { field: "model".into(), message: "there is no such model here".into(), valid });
        }
        if let Some(reply) = &request.hitl
            && reply.action == Some(HitlAction::Dismiss)
            && !reply.option_ids.is_empty()
        {
            let message = "who dismisses a question chooses none of its options".into();
            return Err(FieldError { field: "hitl.option_ids".into(), message, valid: Vec::new() });
        }
        if !request.kind.speaks() {
            return Ok(());
        }
        let says_by_hitl = request
            .hitl
            .as_ref()
            .is_some_and(|reply| !reply.option_ids.is_empty() || reply.action == Some(HitlAction::Dismiss));
        if request.message.trim().is_empty() && !says_by_hitl {
            return wrong("must not be empty".into());
        }
        if request.message.contains('\0') {
            return wrong("must not contain NUL".into());
        }
        let most = self.inner.config.max_message_chars;
        if request.message.len() > most && request.message.chars().count() > most {
            return wrong(format!("must not be longer than {most} characters"));
        }
        Ok(())
    }

    /// Ends: no turn is taken any more, running ones get `grace`, then they are interrupted. Returns when all is written.
    pub async fn shutdown(&self, grace: Duration) {
        let inner = &self.inner;
        inner.tasks.close();
        // What waits for a place waits for the next start.
        inner.admission.close();
        if tokio::time::timeout(grace, inner.tasks.wait()).await.is_err() {
            inner.live().values().for_each(|live| live.stop(live::StopReason::Shutdown));
            // Their ends need the store only; should that hang, the next start finds and ends them.
            if tokio::time::timeout(LAST_TRY, inner.tasks.wait()).await.is_err() {
                tracing::error!("some turns could not be ended; the next start ends them");
            }
        }
        inner.upkeep.close();
        inner.closing.cancel();
        inner.upkeep.wait().await;
        if tokio::time::timeout(LAST_TRY, inner.catch_up()).await.is_err() || !inner.late().is_empty() {
            tracing::error!("the ends of some turns were not written; the next start ends them as interrupted");
        }
    }
}
