//! The one writer of SQLite. An fsync costs milliseconds, so writes that arrive while one runs share the next.
//!
//! One task owns the write connection. It takes what is queued, runs each of several operations in a savepoint, commits once,
//! and only then gives the answers. A failed operation undoes its savepoint and nothing else; a failed commit fails the
//! whole group. What is queued runs to its end even when its caller has left.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use sqlx::{Connection as _, SqlitePool};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::sql::{Sql, Tx, failed};
use crate::domain::error::StoreError;

/// Most operations in one commit.
const GROUP: usize = 64;
/// A group that has run this long takes no further operation, so that the first one's caller does not wait for all.
const SPAN: Duration = Duration::from_millis(2);
/// Operations that may wait; more callers wait for a place.
const QUEUE: usize = 1024;

/// What kind of write an operation is.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// Whether it must outlive a power failure. Only run logs need not.
    pub(super) durable: bool,
    /// Failpoint just before its commit.
    #[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "read by failpoints only"))]
    before: &'static str,
    /// Failpoint just after.
    #[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "read by failpoints only"))]
    after: &'static str,
}

impl Kind {
    pub(super) const ACCEPT: Self =
        Self { durable: true, before: "accept:before-commit", after: "accept:after-commit" };
    pub(super) const LOG: Self = Self { durable: false, before: "log:before-commit", after: "log:after-commit" };
    pub(super) const FINISH: Self =
        Self { durable: true, before: "finish:before-commit", after: "finish:after-commit" };
    pub(super) const PUBLISH: Self =
        Self { durable: true, before: "publish:before-commit", after: "publish:after-commit" };
    pub(super) const ADOPT: Self = Self { durable: true, before: "adopt:before-commit", after: "adopt:after-commit" };
    pub(super) const OTHER: Self = Self { durable: true, before: "write:before-commit", after: "write:after-commit" };

    /// Where a test fails or holds the process before the commit.
    #[cfg_attr(not(feature = "failpoints"), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "empty"))]
    pub(super) fn before_commit(self) -> Result<(), StoreError> {
        fail::fail_point!(self.before, |_| Err(StoreError::Unavailable("failpoint".into())));
        Ok(())
    }

    /// Where a test fails or holds the process after the commit, before anyone knows of it.
    #[cfg_attr(not(feature = "failpoints"), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "empty"))]
    pub(super) fn after_commit(self) -> Result<(), StoreError> {
        fail::fail_point!(self.after, |_| Err(StoreError::Unavailable("failpoint".into())));
        Ok(())
    }
}

/// What an operation does inside the transaction.
pub(super) type Work<T, E> = Box<dyn for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, E>> + Send>;

/// A queued operation; hides the types of its answer.
trait Op: Send {
    fn kind(&self) -> Kind;
    /// Runs it and keeps its outcome; whether its writes are to stay.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, bool>;
    /// Tells the caller, after the commit.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Queued<T, E> {
    kind: Kind,
    work: Option<Work<T, E>>,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T: Send, E: From<StoreError> + Send> Op for Queued<T, E> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, bool> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return false };
            // A defect in one operation must not take the writer from all others.
            let outcome = AssertUnwindSafe(async move { work(tx).await }).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| Err(StoreError::Unavailable("a write panicked".into()).into()));
            self.outcome.insert(outcome).is_ok()
        })
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.into()),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Unavailable("the write was not run".into()).into()),
        };
        // A caller that has left does not wait for it; the write stands.
        let _ = self.reply.send(answer);
    }
}

/// The way to the writer's task.
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Op>>,
    works: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the task. `pool` has one connection, opened with `synchronous = full`. The task ends when `stop` is
    /// cancelled and all that was queued is done.
    pub(super) fn start(pool: SqlitePool, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let works = Arc::new(AtomicBool::new(true));
        tasks.spawn(Loop { pool, waiting, works: Arc::clone(&works), connection: None, full: true }.run(stop));
        Self { queue, works }
    }

    /// Queues an operation and waits until its group is committed.
    pub(super) async fn write<T, E>(&self, kind: Kind, work: Work<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let op = Queued { kind, work: Some(work), outcome: None, reply };
        if self.queue.send(Box::new(op)).await.is_err() {
            return Err(StoreError::Unavailable("the store is closed".into()).into());
        }
        answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the writer has ended".into()).into()))
    }

    /// Whether the last commit worked.
    pub(super) fn works(&self) -> bool {
        self.works.load(Ordering::Acquire)
    }
}

struct Loop {
    pool: SqlitePool,
    waiting: mpsc::Receiver<Box<dyn Op>>,
    works: Arc<AtomicBool>,
    /// Between transactions; none before the first one, and after one that could not be undone.
    connection: Option<Tx>,
    /// Whether the connection syncs every commit.
    full: bool,
}

impl Loop {
    async fn run(mut self, stop: CancellationToken) {
        self.serve(stop).await;
        if let Some(Tx::Writer(connection)) = self.connection
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the write connection was not closed in order");
        }
    }

    /// Until nothing is waited for any more.
    async fn serve(&mut self, stop: CancellationToken) {
        let mut next: VecDeque<Box<dyn Op>> = VecDeque::with_capacity(GROUP);
        loop {
            if next.is_empty() {
                tokio::select! {
                    biased;
                    op = self.waiting.recv() => match op {
                        Some(op) => next.push_back(op),
                        None => return,
                    },
                    () = stop.cancelled(), if !self.waiting.is_closed() => {
                        self.waiting.close();
                        continue;
                    }
                }
            }
            while next.len() < GROUP {
                let Ok(op) = self.waiting.try_recv() else { break };
                next.push_back(op);
            }
            self.group(&mut next).await;
        }
    }

    /// Runs operations from the front of `next`, commits, answers.
    async fn group(&mut self, next: &mut VecDeque<Box<dyn Op>>) {
        let durable = next.iter().any(|op| op.kind().durable);
        let mut done = Vec::with_capacity(next.len());
        let committed = self.transaction(durable, next, &mut done).await;
        self.works.store(committed.is_ok(), Ordering::Release);
        if let Err(error) = &committed {
            tracing::error!(%error, writes = done.len(), "a group of writes was not committed");
        }
        for op in done {
            op.answer(committed.clone());
        }
    }

    async fn transaction(
        &mut self,
        durable: bool,
        next: &mut VecDeque<Box<dyn Op>>,
        done: &mut Vec<Box<dyn Op>>,
    ) -> Result<(), StoreError> {
        let mut tx = match self.begin(durable).await {
            Ok(tx) => tx,
            Err(error) => {
                done.extend(next.drain(..));
                return Err(error);
            }
        };
        let committed = committed(&mut tx, next, done).await;
        // A connection that does not even undo is let go: closing it undoes what it had begun.
        if committed.is_ok() || say(&mut tx, "rollback").await.is_ok() {
            self.connection = Some(tx);
        }
        committed
    }

    /// `synchronous` cannot change inside a transaction. A later full commit syncs all of the log before it.
    async fn begin(&mut self, durable: bool) -> Result<Tx, StoreError> {
        let mut tx = match self.connection.take() {
            Some(tx) => tx,
            None => {
                self.full = true;
                Tx::Writer(self.pool.acquire().await.map_err(failed)?.detach())
            }
        };
        if durable != self.full {
            say(&mut tx, if durable { "pragma synchronous = full" } else { "pragma synchronous = normal" }).await?;
            self.full = durable;
        }
        say(&mut tx, "begin immediate").await?;
        Ok(tx)
    }
}

/// Runs operations in the transaction that `tx` has begun, and ends it.
async fn committed(
    tx: &mut Tx,
    next: &mut VecDeque<Box<dyn Op>>,
    done: &mut Vec<Box<dyn Op>>,
) -> Result<(), StoreError> {
    let is_alone = next.len() == 1;
    let started = Instant::now();
    while let Some(mut op) = next.pop_front() {
        let stays = if is_alone { Ok(op.run(tx).await) } else { step(tx, op.as_mut()).await };
        done.push(op);
        if !stays? && is_alone {
            return say(tx, "rollback").await;
        }
        if started.elapsed() >= SPAN {
            break;
        }
    }
    done.iter().try_for_each(|op| op.kind().before_commit())?;
    say(tx, "commit").await?;
    done.iter().try_for_each(|op| op.kind().after_commit())
}

/// Runs one of several operations in a savepoint; whether its writes stay. An error means that the transaction is lost,
/// not that the operation failed.
async fn step(tx: &mut Tx, op: &mut dyn Op) -> Result<bool, StoreError> {
    say(tx, "savepoint op").await?;
    let stays = op.run(tx).await;
    if !stays {
        say(tx, "rollback to op").await?;
    }
    say(tx, "release op").await?;
    Ok(stays)
}

async fn say(tx: &mut Tx, statement: &'static str) -> Result<(), StoreError> {
    Sql::new(statement).run(tx).await.map(drop)
}
