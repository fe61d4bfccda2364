//! Ports that fail or wait at the n-th call, around real ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::domain::{
    chat::{
        Accept, Accepted, Basis, ChatStore, EndQueued, Enqueued, Finish, Head, HitlMove, Message, QueueBounds,
        QueueStore, Refused, Said, Session, StartQueued, Started,
    },
    error::{EngineError, ModelError, StoreError},
    hitl::Pending,
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    index::Embedder,
    model::{ChatModel, ModelRequest, ModelStream},
    run::{FrameBatch, Orphan, Run},
    time::Millis,
};
use async_trait::async_trait;
use tokio::sync::Notify;

/// What happens to a call in place of, or before, what it does.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It fails as unavailable, without being carried out.
    Fail,
    /// It is carried out, and fails as unavailable all the same: a commit whose answer was lost.
    Lose,
    /// It is refused for a while: how long, if it is said (embedders).
    SlowDown(Option<Duration>),
    /// It says here that it was reached, and is carried out when the test lets it go.
    Hold { reached: Arc<Notify>, go: Arc<Notify> },
}

/// The test's end of a [`Fault::Hold`].
#[derive(Debug, Clone, Default)]
pub struct Held {
    reached: Arc<Notify>,
    go: Arc<Notify>,
}

impl Held {
    /// Returns once the call was reached.
    pub async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Lets it be carried out.
    pub fn let_go(&self) {
        self.go.notify_one();
    }
}

/// Which calls of which operation meet which fault. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    counts: HashMap<&'static str, usize>,
    planned: HashMap<(&'static str, usize), Fault>,
    always: HashMap<&'static str, Fault>,
}

impl Faults {
    /// The `nth` call of `op` from here on (1 is the next) meets `fault`.
    pub fn at(&self, op: &'static str, nth: usize, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        let done = state.counts.get(op).copied().unwrap_or(0);
        state.planned.insert((op, done + nth), fault);
    }

    /// The `nth` call of `op` from here on waits until it is let go.
    pub fn hold(&self, op: &'static str, nth: usize) -> Held {
        let held = Held::default();
        self.at(op, nth, Fault::Hold { reached: Arc::clone(&held.reached), go: Arc::clone(&held.go) });
        held
    }

    /// Every call of `op` meets `fault`, until [`heal`](Self::heal).
    pub fn always(&self, op: &'static str, fault: Fault) {
        self.0.lock().unwrap().always.insert(op, fault);
    }

    /// `op` works again.
    pub fn heal(&self, op: &'static str) {
        self.0.lock().unwrap().always.remove(op);
    }

    /// What is planned does not happen.
    pub fn forget(&self) {
        self.0.lock().unwrap().planned.clear();
    }

    /// How often `op` was called.
    pub fn count(&self, op: &'static str) -> usize {
        self.0.lock().unwrap().counts.get(op).copied().unwrap_or(0)
    }

    /// Gives whether the call fails.
    pub(super) async fn meet(&self, op: &'static str) -> bool {
        !matches!(self.happens(op).await, Outcome::AsEver)
    }

    pub(super) async fn happens(&self, op: &'static str) -> Outcome {
        let fault = {
            let mut state = self.0.lock().unwrap();
            let count = state.counts.entry(op).or_default();
            *count += 1;
            let nth = *count;
            state.planned.remove(&(op, nth)).or_else(|| state.always.get(op).cloned())
        };
        match fault {
            None => Outcome::AsEver,
            Some(Fault::Fail) => Outcome::Failed,
            Some(Fault::Lose) => Outcome::Lost,
            Some(Fault::SlowDown(named)) => Outcome::SlowDown(named),
            Some(Fault::Hold { reached, go }) => {
                reached.notify_one();
                go.notified().await;
                Outcome::AsEver
            }
        }
    }

    pub(super) async fn store(&self, op: &'static str) -> Result<(), StoreError> {
        if self.meet(op).await { Err(unavailable()) } else { Ok(()) }
    }

    /// A write, which can also be carried out without its caller learning of it.
    pub(super) async fn write<T, E: From<StoreError>>(
        &self,
        op: &'static str,
        carry_out: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let outcome = self.happens(op).await;
        if let Outcome::Failed | Outcome::SlowDown(_) = outcome {
            return Err(unavailable().into());
        }
        let value = carry_out.await?;
        if let Outcome::Lost = outcome { Err(unavailable().into()) } else { Ok(value) }
    }
}

/// What a call comes to.
pub(super) enum Outcome {
    AsEver,
    Failed,
    Lost,
    SlowDown(Option<Duration>),
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("planned fault".into())
}

/// A chat model with faults at `stream`.
pub struct FaultyModel<M> {
    pub inner: Arc<M>,
    pub faults: Faults,
}

#[async_trait]
impl<M: ChatModel> ChatModel for FaultyModel<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn offers(&self, model: &str) -> bool {
        self.inner.offers(model)
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if self.faults.meet("stream").await {
            return Err(ModelError::Transient("planned fault".into()));
        }
        self.inner.stream(request).await
    }
}

/// An embedder with faults at `passages` and `query`.
pub struct FaultyEmbedder {
    pub inner: Arc<dyn Embedder>,
    pub faults: Faults,
}

#[async_trait]
impl Embedder for FaultyEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn dims(&self) -> usize {
        self.inner.dims()
    }

    fn weight(&self) -> f32 {
        self.inner.weight()
    }

    fn embeds_words(&self) -> bool {
        self.inner.embeds_words()
    }

    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        match self.faults.happens("passages").await {
            Outcome::AsEver => {}
            Outcome::Failed | Outcome::Lost => return Err(EngineError::Unavailable("planned fault".into())),
            Outcome::SlowDown(retry_after) => return Err(EngineError::RateLimited { retry_after }),
        }
        self.inner.passages(texts).await
    }

    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        if self.faults.meet("query").await {
            return Err(EngineError::Unavailable("planned fault".into()));
        }
        self.inner.query(text).await
    }
}

/// A chat store with faults at every operation, by its name.
pub struct FaultyChats {
    pub inner: Arc<dyn ChatStore>,
    pub faults: Faults,
}

#[async_trait]
impl ChatStore for FaultyChats {
    async fn accept(&self, accept: &Accept) -> Result<Accepted, Refused> {
        self.faults.write("accept", self.inner.accept(accept)).await
    }

    async fn log(&self, batches: &[FrameBatch]) -> Result<Vec<RunId>, StoreError> {
        self.faults.store("log").await?;
        self.inner.log(batches).await
    }

    async fn finish(&self, finish: &Finish) -> Result<(), StoreError> {
        self.faults.write("finish", self.inner.finish(finish)).await
    }

    async fn rest(&self, bases: &[Basis]) -> Result<(), StoreError> {
        self.faults.store("rest").await?;
        self.inner.rest(bases).await
    }

    async fn beat_process(&self, id: &str, boot: &str, lease: Duration) -> Result<(), StoreError> {
        self.faults.store("beat_process").await?;
        self.inner.beat_process(id, boot, lease).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        self.faults.store("orphans").await?;
        self.inner.orphans().await
    }

    async fn run(&self, user: UserId, run: RunId) -> Result<Run, StoreError> {
        self.faults.store("run").await?;
        self.inner.run(user, run).await
    }

    async fn frames(&self, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError> {
        self.faults.store("frames").await?;
        self.inner.frames(run, after, limit).await
    }

    async fn drop_logs(&self, before: Millis, limit: i64) -> Result<u64, StoreError> {
        self.faults.store("drop_logs").await?;
        self.inner.drop_logs(before, limit).await
    }

    async fn request_stop(&self, user: UserId, run: RunId, now: Millis) -> Result<Run, StoreError> {
        self.faults.store("request_stop").await?;
        self.inner.request_stop(user, run, now).await
    }

    async fn stops(&self, owner: &str) -> Result<Vec<RunId>, StoreError> {
        self.faults.store("stops").await?;
        self.inner.stops(owner).await
    }

    async fn sessions(
        &self,
        user: UserId,
        after: Option<(Millis, SessionId)>,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        self.faults.store("sessions").await?;
        self.inner.sessions(user, after, limit).await
    }

    async fn session(&self, user: UserId, name: &str) -> Result<Session, StoreError> {
        self.faults.store("session").await?;
        self.inner.session(user, name).await
    }

    async fn delete_session(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        self.faults.store("delete_session").await?;
        self.inner.delete_session(user, name).await
    }

    async fn said(&self, session: SessionId, leaf: MessageId, limit: i64) -> Result<Vec<Said>, StoreError> {
        self.faults.store("said").await?;
        self.inner.said(session, leaf, limit).await
    }

    async fn message(&self, user: UserId, id: MessageId) -> Result<Message, StoreError> {
        self.faults.store("message").await?;
        self.inner.message(user, id).await
    }

    async fn pending(&self, user: UserId, id: HitlId) -> Result<(Pending, Vec<HitlMove>), StoreError> {
        self.faults.store("pending").await?;
        self.inner.pending(user, id).await
    }
}

/// A line of waiting runs with faults at every operation, by its name.
pub struct FaultyQueue {
    pub inner: Arc<dyn QueueStore>,
    pub faults: Faults,
}

#[async_trait]
impl QueueStore for FaultyQueue {
    async fn enqueue(&self, accept: &Accept, first: &FrameBatch, bounds: QueueBounds) -> Result<Enqueued, Refused> {
        self.faults.write("enqueue", self.inner.enqueue(accept, first, bounds)).await
    }

    async fn heads(&self, owner: &str, session: Option<SessionId>, limit: i64) -> Result<Vec<Head>, StoreError> {
        self.faults.store("heads").await?;
        self.inner.heads(owner, session, limit).await
    }

    async fn start(&self, start: &StartQueued) -> Result<Started, Refused> {
        self.faults.write("start", self.inner.start(start)).await
    }

    async fn end_queued(&self, end: &EndQueued) -> Result<(), StoreError> {
        self.faults.write("end_queued", self.inner.end_queued(end)).await
    }
}
