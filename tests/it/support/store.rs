//! Real stores for tests: SQLite in a folder of its own, Postgres in a schema of its own.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use askback::{
    adapters::storage::{Engine, OpenError, Options, Storage},
    domain::{
        id::Id,
        time::{Clock, Millis},
    },
};
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// A clock that stands still until a test moves it, or someone waits: then the span has passed at once.
pub(crate) struct TestClock {
    now: AtomicI64,
    waits: Mutex<Vec<Duration>>,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { now: AtomicI64::new(1_767_225_600_000), waits: Mutex::default() })
    }

    pub(crate) fn forward(&self, span: Duration) {
        self.now.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// The spans that were waited for, in order.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::SeqCst))
    }

    async fn sleep(&self, span: Duration) {
        self.waits.lock().unwrap().push(span);
        self.forward(span);
    }
}

/// A store, where it lives, and its clock.
pub(crate) struct TestStore {
    pub(crate) store: Storage,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) engine: Engine,
    home: Home,
}

enum Home {
    Folder { _folder: TempDir },
    Schema(Schema),
}

/// A schema of its own on the Postgres of the tests. Clones lead to the same one.
#[derive(Clone)]
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// `None`, and a line that says so, where no server answers.
    pub(crate) async fn make() -> Option<Self> {
        let configured = std::env::var("ASKBACK_TEST_DATABASE_URL").ok();
        let server = configured.clone().unwrap_or_else(|| "postgres://postgres@127.0.0.1:5432/test".into());
        let mut admin = match tokio::time::timeout(Duration::from_secs(5), PgConnection::connect(&server)).await {
            Ok(Ok(admin)) => admin,
            failure if configured.is_some() => panic!("ASKBACK_TEST_DATABASE_URL does not answer: {failure:?}"),
            _ => {
                println!("skipped: no Postgres at ASKBACK_TEST_DATABASE_URL or 127.0.0.1:5432");
                return None;
            }
        };
        let name = format!("askback_{}", uuid::Uuid::now_v7().simple());
        admin.execute(AssertSqlSafe(format!("create schema {name}"))).await.unwrap();
        Some(Self { server, name })
    }

    /// Leads to this schema alone.
    pub(crate) fn url(&self) -> String {
        let joint = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{joint}options[search_path]={}", self.server, self.name)
    }

    pub(crate) async fn remove(&self) {
        let mut admin = PgConnection::connect(&self.server).await.unwrap();
        admin.execute(AssertSqlSafe(format!("drop schema {} cascade", self.name))).await.unwrap();
    }
}

/// How many rows a table has.
pub(crate) async fn rows(engine: &Engine, table: &str) -> i64 {
    let count = AssertSqlSafe(format!("select count(*) from {table}"));
    match engine {
        Engine::Sqlite { folder } => {
            let url = format!("sqlite://{}", folder.join("askback.sqlite").display());
            let mut reader = SqliteConnection::connect(&url).await.unwrap();
            sqlx::query_scalar(count).fetch_one(&mut reader).await.unwrap()
        }
        Engine::Postgres { url, .. } => {
            let mut reader = PgConnection::connect(secrecy::ExposeSecret::expose_secret(url)).await.unwrap();
            sqlx::query_scalar(count).fetch_one(&mut reader).await.unwrap()
        }
    }
}

/// Runs a statement that no part of the product would.
pub(crate) async fn tamper(engine: &Engine, statement: &'static str) {
    match engine {
        Engine::Sqlite { folder } => {
            let url = format!("sqlite://{}", folder.join("askback.sqlite").display());
            SqliteConnection::connect(&url).await.unwrap().execute(statement).await.unwrap();
        }
        Engine::Postgres { url, .. } => {
            let url = secrecy::ExposeSecret::expose_secret(url);
            PgConnection::connect(url).await.unwrap().execute(statement).await.unwrap();
        }
    }
}

impl TestStore {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::Sqlite { folder: folder.path().to_owned() };
        Self::open(engine, Home::Folder { _folder: folder }).await
    }

    /// `None` where no server answers.
    pub(crate) async fn postgres() -> Option<Self> {
        let schema = Schema::make().await?;
        let engine = Engine::Postgres { url: schema.url().into(), connections: 4 };
        Some(Self::open(engine, Home::Schema(schema)).await)
    }

    async fn open(engine: Engine, home: Home) -> Self {
        let clock = TestClock::new();
        let store = Storage::open(Options { engine: engine.clone(), clock: clock.clone() }).await.unwrap();
        Self { store, clock, engine, home }
    }

    /// As after a restart of the process.
    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.store = self.try_reopen().await.unwrap();
    }

    /// Opens the closed store a second time.
    pub(crate) async fn try_reopen(&self) -> Result<Storage, OpenError> {
        Storage::open(Options { engine: self.engine.clone(), clock: self.clock.clone() }).await
    }

    /// Closes the store and removes what it kept.
    pub(crate) async fn remove(self) {
        self.store.close().await;
        if let Home::Schema(schema) = &self.home {
            schema.remove().await;
        }
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// A new id.
    pub(crate) fn id<T>(&self) -> Id<T> {
        Id::at(self.now())
    }
}
