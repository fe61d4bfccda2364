//! The store: every port that keeps rows, over SQLite (embedded) or Postgres.
//!
//! A read is a snapshot, a write is one transaction. On SQLite writes go through one task that groups commits
//! (see `writer`); on Postgres each is its own. Either way a write is whole or nothing, also when its caller leaves.

mod accounts;
mod chats;
mod conversations;
mod documents;
mod episodes;
mod folders;
mod groups;
mod jobs;
mod keys;
mod memory;
mod open;
mod recordings;
mod settings;
mod sql;
mod users;
mod writer;

use std::{fs::File, sync::Arc};

use futures::future::BoxFuture;
use sqlx::{PgPool, SqlitePool};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::open::{Engine, OpenError};
use self::{
    sql::{Sql, Tx, failed},
    writer::{Kind, Writer},
};
use crate::domain::{
    error::StoreError,
    time::{Clock, Millis},
};

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Where it lives.
    pub engine: Engine,
    /// Tells which open questions have expired when they are read.
    pub clock: Arc<dyn Clock>,
}

/// An open store; implements every port that keeps rows. Clones share it.
#[derive(Clone)]
pub struct Storage(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

enum Database {
    Sqlite {
        writer: Writer,
        write_pool: SqlitePool,
        readers: SqlitePool,
        /// The folder's; given back by `close`, or when the store is dropped.
        lock: File,
    },
    Postgres(PgPool),
}

impl Storage {
    /// Opens the store and brings its layout up to date.
    ///
    /// # Errors
    /// See [`OpenError`]; a locked folder is named.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let database = match &options.engine {
            Engine::Sqlite { folder } => {
                let open::Folder { writer, readers, lock } = open::sqlite(folder).await?;
                Database::Sqlite {
                    writer: Writer::start(writer.clone(), &tasks, stop.clone()),
                    write_pool: writer,
                    readers,
                    lock,
                }
            }
            Engine::Postgres { url, connections } => Database::Postgres(open::postgres(url, *connections).await?),
        };
        tasks.close();
        let storage = Self(Arc::new(Inner { database, clock: options.clock, tasks, stop }));
        if let Err(error) = storage.index_earlier().await {
            storage.close().await;
            return Err(OpenError::Database(error.to_string()));
        }
        Ok(storage)
    }

    /// Waits for the writes that were begun and closes all connections. Later calls fail.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.0.tasks.wait().await;
        match &self.0.database {
            Database::Sqlite { write_pool, readers, lock, .. } => {
                readers.close().await;
                write_pool.close().await;
                if let Err(error) = lock.unlock() {
                    tracing::warn!(%error, "the data folder's lock stays until the process ends");
                }
            }
            Database::Postgres(pool) => pool.close().await,
        }
    }

    /// The name of its engine.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match &self.0.database {
            Database::Sqlite { .. } => "sqlite",
            Database::Postgres(_) => "postgres",
        }
    }

    /// Whether other processes may use it at the same time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.0.database, Database::Postgres(_))
    }

    /// Whether the store answers, and on SQLite whether its last commit worked.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn ready(&self) -> Result<(), StoreError> {
        if let Database::Sqlite { writer, .. } = &self.0.database
            && !writer.works()
        {
            return Err(StoreError::Unavailable("the last write was not committed".into()));
        }
        let mut tx = self.read().await?;
        Sql::new("select count(*) from meta").one::<(i64,)>(&mut tx).await.map(|_| ())
    }

    /// A snapshot to read from; dropping it ends it. A read must never be held while a model speaks.
    async fn read(&self) -> Result<Tx, StoreError> {
        match &self.0.database {
            Database::Sqlite { readers, .. } => readers.begin().await.map(Tx::Snapshot),
            Database::Postgres(pool) => {
                pool.begin_with("begin isolation level repeatable read, read only").await.map(Tx::Postgres)
            }
        }
        .map_err(failed)
    }

    /// The same for a single statement, which sees one state by itself: nothing is begun and nothing to be ended.
    async fn glance(&self) -> Result<Tx, StoreError> {
        match &self.0.database {
            Database::Sqlite { readers, .. } => readers.acquire().await.map(Tx::Glance),
            Database::Postgres(pool) => pool.acquire().await.map(Tx::PostgresGlance),
        }
        .map_err(failed)
    }

    /// Runs `work` as one transaction: an error undoes all of it.
    async fn write<T, E, W>(&self, kind: Kind, work: W) -> Result<T, E>
    where
        W: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let pool = match &self.0.database {
            Database::Sqlite { writer, .. } => return writer.write(kind, Box::new(work)).await,
            Database::Postgres(pool) => pool,
        };
        let mut tx = Tx::Postgres(pool.begin().await.map_err(failed)?);
        if !kind.durable {
            Sql::new("set local synchronous_commit = off").run(&mut tx).await?;
        }
        let value = work(&mut tx).await?;
        kind.before_commit()?;
        tx.commit().await?;
        kind.after_commit()?;
        Ok(value)
    }

    fn now(&self) -> Millis {
        self.0.clock.now()
    }
}
