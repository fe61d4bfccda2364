//! Documents that can be searched for real: read, cut, embedded and indexed as uploads are.

use std::{path::Path, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        embed::builtin::Builtin,
        extract::{file_type, read},
        storage::Storage,
        vector::embedded::{EmbeddedIndex, EmbeddedIndexes},
    },
    domain::{
        error::{EngineError, ExtractError},
        extract::{Extractor, FileType, Part},
        index::Embedder,
        job::JobState,
        knowledge::Submitted,
        profile::{Embedders, Serving},
        time::{Clock, Millis},
    },
    services::{
        ingest::{Ingest, Ports, Vectors, WorkerConfig},
        record::{TapedClock, TapedDocuments, TapedEmbedder, taped},
        retrieval::{Judges, Retrieval, RetrievalConfig, search::Search},
    },
};
use async_trait::async_trait;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::faults::{Faults, FaultyEmbedder};

/// Reads files on the caller's thread; the tests' own files are not hostile.
struct InProcess;

#[async_trait]
impl Extractor for InProcess {
    fn name(&self) -> &str {
        "in-process"
    }

    fn file_type(&self, filename: &str) -> Option<FileType> {
        file_type(filename)
    }

    async fn extract(&self, path: &Path, filename: &str, _: u64) -> Result<Part, ExtractError> {
        read(&std::fs::read(path).unwrap(), filename, 1 << 30).map(Part::from)
    }
}

/// An embedder for tests that search nothing, or by words alone: no text has a direction.
struct Wordless;

#[async_trait]
impl Embedder for Wordless {
    fn name(&self) -> &str {
        "none"
    }

    fn dims(&self) -> usize {
        1
    }

    fn weight(&self) -> f32 {
        0.0
    }

    fn embeds_words(&self) -> bool {
        false
    }

    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        Ok(vec![None; texts.len()])
    }

    async fn query(&self, _: &str) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(None)
    }
}

/// Retrieval over no documents.
pub fn empty(store: &Storage, clock: &Arc<dyn Clock>) -> Arc<Retrieval> {
    let (index, embedder) = (Arc::new(EmbeddedIndex::new(Wordless.dims())), Arc::new(Wordless));
    retrieval(store, clock, Serving::alone(index, embedder.clone()), embedder)
}

/// Retrieval over these files, by name and content, in the collection `default`. The embedder meets `faults`.
pub async fn library(
    store: &Storage,
    clock: &Arc<dyn Clock>,
    folder: &Path,
    files: &[(&str, &str)],
    faults: &Faults,
) -> Arc<Retrieval> {
    let embedder: Arc<dyn Embedder> =
        Arc::new(FaultyEmbedder { inner: Arc::new(Builtin::load().unwrap()), faults: faults.clone() });
    let serving = vectors(store, &embedder).await.serving;
    let library = retrieval(store, clock, serving, embedder);
    shelve(store, &library, folder, files).await;
    library
}

async fn vectors(store: &Storage, embedder: &Arc<dyn Embedder>) -> Vectors {
    let store = Arc::new(store.clone());
    let indexes = EmbeddedIndexes::over(store.clone());
    Vectors::open(store, indexes, Embedders::new(Arc::clone(embedder)), Millis(0)).await.unwrap()
}

/// Puts these files into a library; one that is there gets a new version, unless it is the same. `name` or `collection/name`.
pub async fn shelve(store: &Storage, library: &Retrieval, folder: &Path, files: &[(&str, &str)]) {
    let ports = Ports {
        documents: Arc::new(store.clone()),
        jobs: Arc::new(store.clone()),
        upkeep: Arc::new(store.clone()),
        blobs: Arc::new(LocalBlobs::open(&folder.join("blobs")).unwrap()),
        vectors: Vectors {
            serving: library.search.serving().clone(),
            ..vectors(store, library.search.embedder()).await
        },
        extractor: Arc::new(InProcess),
        clock: Arc::clone(&library.clock),
    };
    let config = WorkerConfig { poll: Duration::from_millis(20), ..WorkerConfig::new("library") };
    let ingest = Ingest::new(ports, config);
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    ingest.start(&tasks, &stop).await.unwrap();
    for (name, content) in files {
        let path = folder.join("upload");
        std::fs::write(&path, content).unwrap();
        let (collection, name) = name.split_once('/').unwrap_or(("default", name));
        let Submitted::Queued { job, .. } = ingest.submit(None, collection, name, &path).await.unwrap() else {
            continue;
        };
        let job = ingest.wait(job, Duration::from_secs(60)).await.unwrap();
        assert_eq!((job.state, job.error), (JobState::Completed, None));
    }
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

fn retrieval(store: &Storage, clock: &Arc<dyn Clock>, serving: Serving, embedder: Arc<dyn Embedder>) -> Arc<Retrieval> {
    Arc::new(Retrieval {
        search: Search::new(serving.through(taped), TapedEmbedder::over(embedder)),
        documents: TapedDocuments::over(Arc::new(store.clone())),
        clock: TapedClock::over(Arc::clone(clock)),
        reranker: None,
        fast: None,
        grade: None,
        judges: Judges::default(),
        config: RetrievalConfig::default(),
    })
}
