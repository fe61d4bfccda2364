//! A place to upload to.

use std::{path::PathBuf, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{Isolated, Limits, Ocr},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndexes,
    },
    domain::{
        id::{JobId, ProfileId, UserId},
        index::{Bm25, Embedder, Filter, VectorIndex},
        job::{Job, JobQueue},
        knowledge::{DocumentStore, Placed, Submitted, Version},
        profile::Embedders,
        time::{Clock, Millis},
    },
    services::{
        ingest::{Ingest, IngestError, Ports, Vectors, WorkerConfig},
        retrieval::search::{Candidates, Search},
    },
    text::terms,
};
use tempfile::TempDir;
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
    pub(super) ingest: Ingest,
    pub(super) user: UserId,
    /// What the desk's own workers meet; its colleagues meet nothing.
    pub(super) faults: Faults,
    ports: Ports,
    folder: Arc<TempDir>,
    engine: Engine,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What a test changes about the desk.
pub(super) struct Setup {
    pub(super) embedder: Arc<dyn Embedder>,
    /// One that was configured before, and is still there.
    pub(super) former: Option<Arc<dyn Embedder>>,
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
            former: None,
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
        Self::over(Arc::new(tempfile::tempdir().unwrap()), setup).await
    }

    /// Ends the process; gives another one over the same data, at work.
    pub(super) async fn restarted(self, setup: Setup) -> Self {
        let folder = Arc::clone(&self.folder);
        self.close().await;
        let desk = Self::over(folder, setup).await;
        desk.start().await;
        desk
    }

    async fn over(folder: Arc<TempDir>, setup: Setup) -> Self {
        let engine = match &setup.schema {
            None => Engine::Sqlite { folder: folder.path().join("data") },
            Some(schema) => Engine::Postgres { url: schema.url().into(), connections: 4 },
        };
        let clock = setup.clock;
        let storage = Storage::open(Options { engine: engine.clone(), clock: Arc::clone(&clock) }).await.unwrap();
        let indexes = EmbeddedIndexes::over(Arc::new(storage.clone()));
        let mut embedders = Embedders::new(setup.embedder);
        if let Some(former) = setup.former {
            embedders = embedders.and(former);
        }
        let vectors = Vectors::open(Arc::new(storage.clone()), indexes, embedders, clock.now()).await.unwrap();
        let ports = Ports {
            documents: Arc::new(storage.clone()),
            jobs: Arc::new(storage.clone()),
            upkeep: Arc::new(storage.clone()),
            blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
            vectors,
            extractor: Arc::new(Isolated { program: setup.program, limits: setup.limits, ocr: setup.ocr }),
            clock,
        };
        let faults = Faults::default();
        let own = Ports {
            documents: Arc::new(FaultyDocuments { inner: Arc::clone(&ports.documents), faults: faults.clone() }),
            blobs: Arc::new(FaultyBlobs { inner: Arc::clone(&ports.blobs), faults: faults.clone() }),
            vectors: Vectors { embedders: faulty(&ports.vectors.embedders, &faults), ..ports.vectors.clone() },
            extractor: Arc::new(FaultyExtractor { inner: Arc::clone(&ports.extractor), faults: faults.clone() }),
            ..ports.clone()
        };
        let mut config = config(&format!("{}:now", setup.node));
        (setup.config)(&mut config);
        Self {
            storage,
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

    /// What is searched now.
    pub(super) fn index(&self) -> Arc<dyn VectorIndex> {
        self.ports.vectors.serving.current().index
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
        let index = self.index();
        let stats = index.stats(None).await.unwrap();
        let query = Bm25::CURRENT.question(&terms::question(question), &stats);
        let hits = index.sparse(&query.sparse, &Filter::default(), 5).await.unwrap();
        let access = self.storage.readable(self.user, None).await.unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
        self.storage.hydrate(&access, &ids).await.unwrap()
    }

    /// The best passage's text, and the name of its document.
    pub(super) async fn best(&self, question: &str) -> Option<(String, String)> {
        self.search(question).await.into_iter().next().map(|placed| (placed.filename, placed.chunk.body))
    }

    /// The best leaves for a question by words and meaning.
    pub(super) async fn candidates(&self, question: &str) -> Candidates {
        let vectors = &self.ports.vectors;
        let search = Search::new(vectors.serving.clone(), Arc::clone(vectors.embedders.configured()));
        search.candidates(question, &Filter::default(), 50).await.expect("no error reaches who asks")
    }

    /// Indexes all documents anew. Gives how the job ended.
    pub(super) async fn reindex(&self) -> Job {
        let job = self.ingest.submit_reindex(Some(self.user)).await.unwrap();
        self.ended_job(job.id).await
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

    /// The leases of this desk's workers run out, whatever they are doing.
    pub(super) async fn lose_lease(&self) {
        self.storage.release("node:", self.ports.clock.now()).await.unwrap();
    }

    /// The profile that is searched.
    pub(super) fn profile(&self) -> ProfileId {
        self.ports.vectors.serving.current().stored.id
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
        self.index().count(&Filter::default()).await.unwrap()
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

/// The same embedders; the configured one meets faults.
fn faulty(embedders: &Embedders, faults: &Faults) -> Embedders {
    let configured = Arc::clone(embedders.configured());
    let faulty = Embedders::new(Arc::new(FaultyEmbedder { inner: configured, faults: faults.clone() }));
    embedders.former().map_or(faulty.clone(), |former| faulty.and(Arc::clone(former)))
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
