//! A place to upload to.

use std::{path::PathBuf, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{Isolated, Limits, Ocr},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndex,
    },
    domain::{
        id::{JobId, UserId},
        index::{Embedder, Filter, Profile, VectorIndex},
        job::Job,
        knowledge::{DocumentStore, Placed, Submitted, Version},
        time::{Clock, Millis},
    },
    services::ingest::{Ingest, IngestError, Ports, WorkerConfig},
    text::terms,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::support::{
    faults::{Faults, FaultyEmbedder},
    faulty_ports::{FaultyBlobs, FaultyDocuments, FaultyExtractor},
    store::{Schema, rows, tamper},
};

/// How long a test waits for a job before it calls it lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// A service over a folder of its own.
pub(super) struct Desk {
    pub(super) storage: Storage,
    pub(super) index: Arc<EmbeddedIndex>,
    pub(super) ingest: Ingest,
    pub(super) user: UserId,
    /// What the desk's own workers meet; its colleagues meet nothing.
    pub(super) faults: Faults,
    ports: Ports,
    folder: tempfile::TempDir,
    engine: Engine,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What a test changes about the desk.
pub(super) struct Setup {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) limits: Limits,
    pub(super) program: PathBuf,
    pub(super) ocr: Option<Ocr>,
    pub(super) clock: Arc<dyn Clock>,
    /// What the worker's settings are made to.
    pub(super) config: fn(&mut WorkerConfig),
    /// Where on Postgres; else SQLite.
    pub(super) schema: Option<Schema>,
    pub(super) node: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            embedder: Arc::new(Builtin::load().unwrap()),
            limits: Limits::default(),
            program: env!("CARGO_BIN_EXE_askback").into(),
            ocr: None,
            clock: Arc::new(SystemClock),
            config: |_| {},
            schema: None,
            node: "node",
        }
    }
}

impl Desk {
    pub(super) async fn open() -> Self {
        let desk = Self::closed(Setup::default()).await;
        desk.start().await;
        desk
    }

    /// A desk at which nobody works yet.
    pub(super) async fn closed(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = match &setup.schema {
            None => Engine::Sqlite { folder: folder.path().join("data") },
            Some(schema) => Engine::Postgres { url: schema.url().into(), connections: 4 },
        };
        let clock = setup.clock;
        let storage = Storage::open(Options { engine: engine.clone(), clock: Arc::clone(&clock) }).await.unwrap();
        let index = Arc::new(EmbeddedIndex::new(setup.embedder.dims()));
        let ports = Ports {
            documents: Arc::new(storage.clone()),
            jobs: Arc::new(storage.clone()),
            upkeep: Arc::new(storage.clone()),
            blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
            index: Arc::<EmbeddedIndex>::clone(&index),
            embedder: setup.embedder,
            extractor: Arc::new(Isolated { program: setup.program, limits: setup.limits, ocr: setup.ocr }),
            clock,
        };
        let faults = Faults::default();
        let own = Ports {
            documents: Arc::new(FaultyDocuments { inner: Arc::clone(&ports.documents), faults: faults.clone() }),
            blobs: Arc::new(FaultyBlobs { inner: Arc::clone(&ports.blobs), faults: faults.clone() }),
            embedder: Arc::new(FaultyEmbedder { inner: Arc::clone(&ports.embedder), faults: faults.clone() }),
            extractor: Arc::new(FaultyExtractor { inner: Arc::clone(&ports.extractor), faults: faults.clone() }),
            ..ports.clone()
        };
        let mut config = config(&format!("{}:now", setup.node));
        (setup.config)(&mut config);
        Self {
            storage,
            index,
            ingest: Ingest::new(own, config),
            user: UserId::at(Millis(1)),
            faults,
            ports,
            folder,
            engine,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Another process over the same store and index, at work.
    pub(super) async fn colleague(&self) -> Colleague {
        let ingest = Ingest::new(self.ports.clone(), config("colleague:now"));
        let colleague = Colleague { ingest, tasks: TaskTracker::new(), stop: self.stop.child_token() };
        colleague.ingest.start(&colleague.tasks, &colleague.stop).await.unwrap();
        colleague
    }

    pub(super) async fn start(&self) {
        self.ingest.start(&self.tasks, &self.stop).await.unwrap();
    }

    /// Uploads to the collection `shelf`.
    pub(super) async fn submit(&self, filename: &str, bytes: &[u8]) -> Result<Submitted, IngestError> {
        self.submit_to("shelf", filename, bytes).await
    }

    pub(super) async fn submit_to(
        &self,
        collection: &str,
        filename: &str,
        bytes: &[u8],
    ) -> Result<Submitted, IngestError> {
        let path = self.folder.path().join("upload");
        std::fs::write(&path, bytes).unwrap();
        self.ingest.submit(Some(self.user), collection, filename, &path).await
    }

    /// As [`submit`](Self::submit), from a file of its own: several at once.
    pub(super) async fn submit_from(&self, file: &str, filename: &str, bytes: &[u8]) -> Result<Submitted, IngestError> {
        let path = self.folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        self.ingest.submit(Some(self.user), "shelf", filename, &path).await
    }

    pub(super) async fn ended(&self, submitted: &Submitted) -> Job {
        self.ended_job(job_of(submitted)).await
    }

    pub(super) async fn ended_job(&self, job: JobId) -> Job {
        self.ingest.wait(job, PATIENCE).await.unwrap()
    }

    /// Uploads and waits. Gives how the job ended: nothing, or its error's code.
    pub(super) async fn upload(&self, filename: &str, bytes: &[u8]) -> Option<String> {
        let submitted = self.submit(filename, bytes).await.unwrap();
        let job = self.ended(&submitted).await;
        assert_eq!(job.error_code.is_some(), job.error.is_some());
        job.error_code
    }

    /// The current version of a document.
    pub(super) async fn current(&self, filename: &str) -> Version {
        let found = self.storage.documents_named(filename, None).await.unwrap();
        found.into_iter().next().unwrap().current.unwrap()
    }

    /// The best passages for a question by its words.
    pub(super) async fn search(&self, question: &str) -> Vec<Placed> {
        let stats = self.index.stats(None).await.unwrap();
        let query = Profile::CURRENT.question(&terms::question(question), &stats);
        let hits = self.index.sparse(&query.sparse, &Filter::default(), 5).await.unwrap();
        let access = self.storage.readable(self.user, None).await.unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
        self.storage.hydrate(&access, &ids).await.unwrap()
    }

    /// The best passage's text, and the name of its document.
    pub(super) async fn best(&self, question: &str) -> Option<(String, String)> {
        self.search(question).await.into_iter().next().map(|placed| (placed.filename, placed.chunk.body))
    }

    /// Files in the blob store, after a round of collecting.
    pub(super) async fn files(&self) -> usize {
        self.ingest.collect().await.unwrap();
        let folders = std::fs::read_dir(self.folder.path().join("blobs")).unwrap();
        folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }

    /// Rows of what is kept of documents.
    pub(super) async fn rows(&self) -> [(&'static str, i64); 4] {
        let mut counted = ["pages", "chunks", "segments", "blobs"].map(|table| (table, 0));
        for (table, count) in &mut counted {
            *count = rows(&self.engine, table).await;
        }
        counted
    }

    /// Ends the workers and the store.
    pub(super) async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.storage.close().await;
    }

    /// Changes what is stored behind the service's back.
    pub(super) async fn tamper(&self, statement: &'static str) {
        tamper(&self.engine, statement).await;
    }

    /// Where the file of these bytes lies.
    pub(super) fn file(&self, sha256: &str) -> PathBuf {
        self.folder.path().join("blobs").join(&sha256[..2]).join(&sha256[2..])
    }

    /// Leaves that a search could find.
    pub(super) async fn leaves(&self) -> u64 {
        self.index.count(&Filter::default()).await.unwrap()
    }

    /// The whole text of a document's current version.
    pub(super) async fn text(&self, filename: &str) -> String {
        let version = self.current(filename).await;
        let access = self.storage.readable(self.user, None).await.unwrap();
        self.storage.text(&access, version.document, version.no, 0, i64::MAX).await.unwrap()
    }
}

/// Someone who works at the same documents.
pub(super) struct Colleague {
    ingest: Ingest,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Colleague {
    /// The job of an upload once it has ended, as this process sees it: a worker that is stalled in its last step keeps
    /// the other from telling.
    pub(super) async fn ended(&self, submitted: &Submitted) -> Job {
        self.ingest.wait(job_of(submitted), PATIENCE).await.unwrap()
    }

    pub(super) async fn leave(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The job of an upload.
pub(super) fn job_of(submitted: &Submitted) -> JobId {
    let (Submitted::Queued { job, .. } | Submitted::Unchanged { job, .. }) = submitted;
    *job
}

fn config(owner: &str) -> WorkerConfig {
    WorkerConfig {
        poll: Duration::from_millis(20),
        backoff: Duration::from_millis(1),
        attempts: 3,
        ..WorkerConfig::new(owner)
    }
}

/// Makes each named function a test on both engines.
macro_rules! on_both_engines {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(None).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let Some(schema) = crate::support::store::Schema::make().await else { return };
                super::$case(Some(schema.clone())).await;
                schema.remove().await;
            })+
        }
    };
}
pub(super) use on_both_engines;
