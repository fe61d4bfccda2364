//! Opening a store: the folder's lock, the engines' settings, migrations, and the guard of the layout.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    Executor as _, PgPool, Postgres, Sqlite, SqlitePool,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub(super) static SQLITE: Migrator = sqlx::migrate!("./migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("./migrations/postgres");

/// Connections that read beside the writer.
const READERS: u32 = 4;
/// How long a statement waits for another process's lock, and a caller for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the store lives.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Embedded: one process owns this folder.
    Sqlite {
        /// Made when missing.
        folder: PathBuf,
    },
    /// A server that several processes may share.
    Postgres {
        /// `postgres://…`
        url: SecretString,
        /// Most connections of this process.
        connections: u32,
    },
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process owns the folder.
    #[error("another askback process is using the data folder {0}; stop it, or give this one a folder of its own")]
    Locked(PathBuf),
    /// The folder cannot be used.
    #[error("the data folder {folder} cannot be used: {error}")]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A newer askback has written this data.
    #[error("the data has layout {found}, and this askback knows layouts up to {known}: use a newer askback")]
    NewerLayout {
        /// Of the data.
        found: i64,
        /// The highest that this binary knows.
        known: i64,
    },
    /// The database refused.
    #[error("the database cannot be opened: {0}")]
    Database(String),
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.to_string())
    }
}

/// An opened data folder.
pub(super) struct Folder {
    /// One connection.
    pub(super) writer: SqlitePool,
    /// Connections that only read.
    pub(super) readers: SqlitePool,
    /// Held as long as the store is open.
    pub(super) lock: File,
}

pub(super) async fn sqlite(folder: &Path) -> Result<Folder, OpenError> {
    let unusable = |error| OpenError::Folder { folder: folder.to_owned(), error };
    std::fs::create_dir_all(folder).map_err(unusable)?;
    let lock =
        File::options().create(true).truncate(false).write(true).open(folder.join("askback.lock")).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(OpenError::Locked(folder.to_owned())),
        Err(TryLockError::Error(error)) => return Err(unusable(error)),
    }
    let options = SqliteConnectOptions::new()
        .filename(folder.join("askback.sqlite"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        // After a burst the write-ahead log shrinks again.
        .pragma("journal_size_limit", "67108864");
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(PATIENCE)
        .connect_with(options.clone())
        .await?;
    guard(sqlite_layout(&writer).await?, &SQLITE)?;
    SQLITE.run(&writer).await.map_err(|error| migration(&error, &SQLITE))?;
    // The lock proves that every process which ever used this folder is dead.
    sqlx::query("delete from processes").execute(&writer).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .max_lifetime(None)
        // A connection to a file of this process does not break while it lies idle.
        .test_before_acquire(false)
        .acquire_timeout(PATIENCE)
        .connect_with(options.pragma("query_only", "on"))
        .await?;
    Ok(Folder { writer, readers, lock })
}

pub(super) async fn postgres(url: &SecretString, connections: u32) -> Result<PgPool, OpenError> {
    let options: PgConnectOptions = url.expose_secret().parse()?;
    let pool = PgPoolOptions::new()
        .max_connections(connections.max(2))
        .acquire_timeout(PATIENCE)
        // Whoever leaves while a transaction begins leaves it begun. The next one would read in it, for ever the same.
        .after_release(|connection, _| {
            Box::pin(async move { connection.execute(sqlx::raw_sql("begin; rollback")).await.map(|_| true) })
        })
        .connect_with(options.application_name("askback"))
        .await?;
    guard(postgres_layout(&pool).await?, &POSTGRES)?;
    // Takes the database's advisory lock: processes that start together migrate one after the other.
    POSTGRES.run(&pool).await.map_err(|error| migration(&error, &POSTGRES))?;
    Ok(pool)
}

const LAYOUT: &str = "select cast(value as bigint) from meta where key = 'layout'";

const SQLITE_HAS_META: &str = "select count(*) from sqlite_master where type = 'table' and name = 'meta'";

async fn sqlite_layout(pool: &SqlitePool) -> Result<Option<i64>, sqlx::Error> {
    let tables: i64 = sqlx::query_scalar::<Sqlite, i64>(SQLITE_HAS_META).fetch_one(pool).await?;
    if tables == 0 {
        return Ok(None);
    }
    sqlx::query_scalar(LAYOUT).fetch_optional(pool).await
}

const POSTGRES_HAS_META: &str =
    "select count(*) from pg_tables where schemaname = current_schema() and tablename = 'meta'";

async fn postgres_layout(pool: &PgPool) -> Result<Option<i64>, sqlx::Error> {
    let tables: i64 = sqlx::query_scalar::<Postgres, i64>(POSTGRES_HAS_META).fetch_one(pool).await?;
    if tables == 0 {
        return Ok(None);
    }
    sqlx::query_scalar(LAYOUT).fetch_optional(pool).await
}

/// Refuses data that a newer binary has written; each migration records its number in `meta`.
fn guard(found: Option<i64>, known: &Migrator) -> Result<(), OpenError> {
    let known = newest(known);
    match found {
        Some(found) if found > known => Err(OpenError::NewerLayout { found, known }),
        _ => Ok(()),
    }
}

fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

fn migration(error: &MigrateError, known: &Migrator) -> OpenError {
    match error {
        // A newer process migrated between the guard and the lock.
        MigrateError::VersionMissing(found) => OpenError::NewerLayout { found: *found, known: newest(known) },
        other => OpenError::Database(other.to_string()),
    }
}
