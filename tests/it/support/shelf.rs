//! Documents in a store of their own, and the retrieval service over them: real parts throughout.

use std::{path::Path, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract,
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndexes,
    },
    domain::{
        error::ExtractError,
        event::Silent,
        extract::{Extractor, FileType, Part},
        hitl::{Answer, Choice, Record},
        id::{DocumentId, UserId},
        index::Embedder,
        knowledge::{Access, DocumentStore, Submitted},
        profile::Embedders,
        time::{Clock, Millis},
        tool::Background,
    },
    services::{
        ingest::{Ingest, Ports, Vectors, WorkerConfig},
        retrieval::{Ask, Found, JudgedLeaf, Judges, Retrieval, RetrievalConfig, search::Search},
    },
};
use async_trait::async_trait;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::faults::{Faults, FaultyEmbedder};

/// How long a test waits for a file before it calls it lost.
const PATIENCE: Duration = Duration::from_secs(600);

/// Reads files in this process: quicker than a child per file, and the same reader.
struct Here;

#[async_trait]
impl Extractor for Here {
    fn name(&self) -> &str {
        extract::NAME
    }

    fn file_type(&self, filename: &str) -> Option<FileType> {
        extract::file_type(filename)
    }

    async fn extract(&self, file: &Path, filename: &str, _: u64) -> Result<Part, ExtractError> {
        let bytes = std::fs::read(file).unwrap();
        extract::read(&bytes, filename, 1 << 30).map(Part::from)
    }
}

/// A shelf of documents.
pub struct Shelf {
    pub retrieval: Retrieval,
    pub access: Access,
    /// Of the embedder.
    pub faults: Faults,
    storage: Storage,
    ingest: Ingest,
    folder: tempfile::TempDir,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shelf {
    /// A shelf with these files.
    pub async fn with(files: &[(&str, &[u8])]) -> Self {
        let mut shelf = Self::open().await;
        shelf.add("shelf", files).await;
        shelf
    }

    pub async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::Sqlite { folder: folder.path().join("data") };
        let storage = Storage::open(Options { engine, clock: Arc::new(SystemClock) }).await.unwrap();
        let faults = Faults::default();
        let embedder: Arc<dyn Embedder> =
            Arc::new(FaultyEmbedder { inner: Arc::new(Builtin::load().unwrap()), faults: faults.clone() });
        let documents: Arc<dyn DocumentStore> = Arc::new(storage.clone());
        let indexes = EmbeddedIndexes::over(Arc::clone(&documents));
        let embedders = Embedders::new(Arc::clone(&embedder));
        let vectors = Vectors::open(Arc::new(storage.clone()), indexes, embedders, SystemClock.now()).await.unwrap();
        let serving = vectors.serving.clone();
        let ports = Ports {
            documents: Arc::clone(&documents),
            jobs: Arc::new(storage.clone()),
            upkeep: Arc::new(storage.clone()),
            blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
            vectors,
            extractor: Arc::new(Here),
            clock: Arc::new(SystemClock),
        };
        let config = WorkerConfig { poll: Duration::from_millis(20), workers: 4, ..WorkerConfig::new("node:now") };
        let ingest = Ingest::new(ports, config);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        ingest.start(&tasks, &stop).await.unwrap();
        let retrieval = Retrieval {
            search: Search::new(serving, embedder),
            documents,
            clock: Arc::new(SystemClock),
            reranker: None,
            fast: None,
            grade: None,
            judges: Judges::default(),
            config: RetrievalConfig::default(),
        };
        Self { retrieval, access: Access::default(), faults, storage, ingest, folder, tasks, stop }
    }

    /// Adds files to a collection and waits until they answer. Gives their ids.
    pub async fn add(&mut self, collection: &str, files: &[(&str, &[u8])]) -> Vec<DocumentId> {
        let mut submitted = Vec::new();
        for (at, (name, bytes)) in files.iter().enumerate() {
            let path = self.folder.path().join(format!("upload-{at}"));
            std::fs::write(&path, bytes).unwrap();
            submitted.push(self.ingest.submit(None, collection, name, &path).await.unwrap());
        }
        let mut documents = Vec::new();
        for (submitted, (name, _)) in submitted.iter().zip(files) {
            let (job, document) = match submitted {
                Submitted::Queued { job, document, .. } | Submitted::Unchanged { job, document, .. } => {
                    (*job, *document)
                }
            };
            let ended = self.ingest.wait(job, PATIENCE).await.unwrap();
            assert_eq!(ended.error, None, "{name}");
            documents.push(document);
        }
        self.access = self.storage.readable(UserId::at(Millis(1)), None).await.unwrap();
        documents
    }

    fn ask<'a>(&'a self, question: &'a str, background: &'a Background) -> Ask<'a> {
        Ask {
            question,
            message: question,
            background,
            access: &self.access,
            only: None,
            progress: &Silent,
            may_ask: true,
        }
    }

    /// Asks a first question.
    pub async fn question(&self, text: &str) -> Found {
        self.retrieval.search(&self.ask(text, &Background::default())).await.unwrap()
    }

    /// Asks after these turns of the user.
    pub async fn question_after(&self, turns: &[&str], text: &str) -> Found {
        let background =
            Background { user_turns: turns.iter().map(|turn| (*turn).into()).collect(), ..Background::default() };
        self.question_with(&background, text).await
    }

    /// Asks against this background.
    pub async fn question_with(&self, background: &Background, text: &str) -> Found {
        self.retrieval.search(&self.ask(text, background)).await.unwrap()
    }

    pub async fn measure(
        &self,
        background: &Background,
        documents: Option<&[DocumentId]>,
        text: &str,
    ) -> (Found, Vec<JudgedLeaf>) {
        self.retrieval.measure(&self.ask(text, background), documents).await.unwrap()
    }

    /// Answers a question with one of its options.
    pub async fn choose(&self, asked: &askback::domain::hitl::Question, choice: &Choice) -> Found {
        self.choose_all(asked, &[choice]).await
    }

    /// Answers a question with several of its options.
    pub async fn choose_all(&self, asked: &askback::domain::hitl::Question, choices: &[&Choice]) -> Found {
        let words = choices.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>().join(" ");
        let answer = Answer {
            text: words.clone(),
            filters: choices.iter().map(|choice| choice.filter.clone()).collect(),
            except_documents: Vec::new(),
            words: words.clone(),
            none: false,
        };
        self.resume(asked, answer).await
    }

    /// Answers a question in words that choose none of its options.
    pub async fn reply(&self, asked: &askback::domain::hitl::Question, words: &str) -> Found {
        let answer = Answer {
            text: words.into(),
            filters: Vec::new(),
            except_documents: Vec::new(),
            words: words.into(),
            none: false,
        };
        self.resume(asked, answer).await
    }

    async fn resume(&self, asked: &askback::domain::hitl::Question, answer: Answer) -> Found {
        let text = answer.text.clone();
        let record = Record {
            v: Record::VERSION,
            question: asked.clone(),
            answers: vec![answer],
            asked: vec![],
            only: None,
            collections: self.access.collections.clone(),
            index_generation: 0,
        };
        let background = Background::default();
        let asked = [askback::services::retrieval::fingerprint(asked)];
        self.retrieval.resume(&record, 1, &self.ask(&text, &background), &asked).await.unwrap()
    }

    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.storage.close().await;
    }
}
