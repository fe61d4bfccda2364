//! Takes files in: an upload becomes a durable job, a worker turns it into a version that answers, and only the whole
//! version replaces the one before.
//!
//! `mod` is what the doors call, `worker` claims jobs, `steps` does them, `chunk` and `passage` are its pure parts. What is
//! searched, and by whose vectors, is in `vectors`; `reindex` makes them anew, `mirror` keeps the index in step with SQL.

mod audit;
pub mod chunk;
mod collect;
pub mod folders;
mod follow;
mod mirror;
mod passage;
mod points;
mod progress;
mod reindex;
mod stage;
mod steps;
mod vectors;
mod worker;

use std::{
    collections::HashSet,
    fmt::Write as _,
    io::Read,
    path::Path,
    sync::{Arc, atomic::AtomicI64},
};

use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, Notify, RwLock, watch};
use unicode_normalization::UnicodeNormalization as _;

use crate::domain::{
    error::{ExtractError, StoreError},
    extract::Extractor,
    id::{CollectionId, DocumentId, JobId, UserId, VersionId},
    index::Filter,
    job::{Job, JobKind, JobQueue, JobState, Retried},
    knowledge::{BlobStore, Document, DocumentStore, Submitted, Upload},
    time::{Clock, Millis},
    upkeep::Upkeep,
};

pub use audit::Findings;
pub use passage::{ANALYSER, passage_text};
pub use vectors::Vectors;
pub use worker::WorkerConfig;

/// Longest name of a document or a collection, in characters.
pub const LONGEST_NAME: usize = 255;

/// Why the service refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IngestError {
    /// The name of the file cannot be kept.
    #[error("a file name has 1 to 255 characters and no NUL")]
    Filename,
    /// The name of the collection cannot be kept.
    #[error("a collection's name has 1 to 255 characters and no NUL")]
    Collection,
    /// The file was refused before it became a job: empty, or of a type that askback does not read.
    #[error(transparent)]
    File(#[from] ExtractError),
    /// The name stands in several collections, and none was given.
    #[error("the name stands in several collections")]
    Ambiguous(Vec<String>),
    /// A job that has not failed cannot be tried again.
    #[error("the job has not failed")]
    NotFailed,
    /// This job makes the vectors of another embedder just now.
    #[error("all documents are being indexed anew for another embedder")]
    OtherReindex(JobId),
    /// What the job would read is not kept any more.
    #[error("the file of the job is gone")]
    FileGone,
    /// The uploaded file could not be read on this machine.
    #[error("the upload could not be read: {0}")]
    Upload(String),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The ports that ingestion works with.
#[derive(Clone)]
pub struct Ports {
    /// Versions and their parts.
    pub documents: Arc<dyn DocumentStore>,
    /// The queue.
    pub jobs: Arc<dyn JobQueue>,
    /// The files.
    pub blobs: Arc<dyn BlobStore>,
    /// What of it is of no use any more.
    pub upkeep: Arc<dyn Upkeep>,
    /// Where leaves are found, and who makes their vectors.
    pub vectors: Vectors,
    /// Reads files.
    pub extractor: Arc<dyn Extractor>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// A deletion that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The document.
    pub document: DocumentId,
    /// Its name.
    pub filename: String,
    /// Leaves that answered until now.
    pub chunks: i64,
}

/// A deletion after which a job clears up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleting {
    /// The job.
    pub job: JobId,
    /// The document.
    pub document: DocumentId,
    /// Its name.
    pub filename: String,
}

/// The ingest service. Clones share it.
#[derive(Clone)]
pub struct Ingest {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    config: WorkerConfig,
    /// Work has come.
    wake: Notify,
    /// All documents are to be indexed anew.
    wake_reindexer: Notify,
    /// Counts jobs of this process that ended.
    ended: watch::Sender<u64>,
    /// Counts jobs that this process was asked to cancel: their workers look at once.
    cancels: watch::Sender<u64>,
    /// There may be files that nothing needs.
    untidy: Notify,
    /// Read by who needs the file of a blob until SQL says so, written by who removes files.
    files: RwLock<()>,
    /// Jobs whose version is current in SQL while the index still takes it up.
    settling: std::sync::Mutex<HashSet<JobId>>,
    /// Held from a change of what is current in SQL until the index knows, so that two changes of one document reach
    /// the index in the order in which they were committed.
    swap: Mutex<()>,
    /// Held while another index is opened.
    renewal: Mutex<()>,
    /// Documents that had no vectors of the configured embedder when that was last looked at.
    lacking: AtomicI64,
    /// Documents whose current version the index has not taken: it is offered again with each survey.
    behind: std::sync::Mutex<HashSet<DocumentId>>,
}

impl Ingest {
    /// A service over these ports. Nothing runs before [`start`](Self::start).
    #[must_use]
    pub fn new(ports: Ports, config: WorkerConfig) -> Self {
        let inner = Inner {
            ports,
            config,
            wake: Notify::new(),
            wake_reindexer: Notify::new(),
            ended: watch::Sender::new(0),
            cancels: watch::Sender::new(0),
            untidy: Notify::new(),
            files: RwLock::new(()),
            settling: std::sync::Mutex::new(HashSet::new()),
            swap: Mutex::new(()),
            renewal: Mutex::new(()),
            lacking: AtomicI64::new(0),
            behind: std::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Accepts the file at `path`, which stays the caller's. When this returns the file is safe and its job is queued,
    /// or nothing has changed.
    ///
    /// # Errors
    /// See [`IngestError`].
    pub async fn submit(
        &self,
        user: Option<UserId>,
        collection: &str,
        filename: &str,
        path: &Path,
    ) -> Result<Submitted, IngestError> {
        let filename = &kept_name(filename);
        if !is_name(filename) {
            return Err(IngestError::Filename);
        }
        if !is_name(collection) {
            return Err(IngestError::Collection);
        }
        let ports = &self.inner.ports;
        let kind = ports.extractor.file_type(filename).ok_or(ExtractError::Unsupported)?;
        let (blob, bytes) = digest(path).await?;
        if bytes == 0 {
            return Err(ExtractError::EmptyFile.into());
        }
        let _kept = self.inner.files.read().await;
        ports.blobs.put_file(&blob, path).await?;
        fail::fail_point!("submit:filed");
        let now = ports.clock.now();
        let upload = Upload {
            job: JobId::at(now),
            user,
            collection: collection.to_owned(),
            new_collection: CollectionId::at(now),
            filename: filename.clone(),
            new_document: DocumentId::at(now),
            version: VersionId::at(now),
            blob,
            bytes,
            node: Some(self.inner.config.node().to_owned()),
            media_type: kind.media_type().to_owned(),
            now,
        };
        let submitted = ports.documents.submit(&upload).await?;
        fail::fail_point!("submit:queued");
        self.inner.wake.notify_one();
        Ok(submitted)
    }

    /// Deletes a document now.
    ///
    /// # Errors
    /// `Ambiguous` when the name stands in several collections and none is given.
    pub async fn delete(&self, filename: &str, collection: Option<&str>) -> Result<Deleted, IngestError> {
        let document = self.named(filename, collection).await?;
        let chunks = self.remove(document.id).await?;
        Ok(Deleted { document: document.id, filename: document.filename, chunks })
    }

    /// Deletes this document now. Gives the leaves that answered until then.
    async fn remove(&self, document: DocumentId) -> Result<i64, StoreError> {
        let inner = &self.inner;
        inner.withdraw(document, inner.ports.documents.delete_document(document, inner.ports.clock.now())).await
    }

    /// Deletes a document and queues the removal of what it leaves. What is uploaded under its name from now on is
    /// another document.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    pub async fn submit_delete(
        &self,
        user: UserId,
        filename: &str,
        collection: Option<&str>,
    ) -> Result<Deleting, IngestError> {
        let document = self.named(filename, collection).await?;
        let now = self.inner.ports.clock.now();
        let job = JobId::at(now);
        self.inner.ports.jobs.enqueue_delete(job, user, document.id, &document.filename, now).await?;
        self.inner.wake.notify_one();
        Ok(Deleting { job, document: document.id, filename: document.filename })
    }

    /// The one live document of this name.
    async fn named(&self, filename: &str, collection: Option<&str>) -> Result<Document, IngestError> {
        let documents = &self.inner.ports.documents;
        let name = kept_name(filename);
        let mut found = documents.documents_named(&name, collection).await?;
        if found.is_empty() && name != filename {
            // Uploaded before names were composed.
            found = documents.documents_named(filename, collection).await?;
        }
        if found.len() > 1 {
            return Err(IngestError::Ambiguous(found.into_iter().map(|document| document.collection_name).collect()));
        }
        found.pop().ok_or(IngestError::Store(StoreError::NotFound))
    }

    /// A job. It counts as completed once a search would find what it made.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn job(&self, id: JobId) -> Result<Job, IngestError> {
        Ok(self.inner.honest(self.inner.ports.jobs.job(id).await?))
    }

    /// Jobs of a kind, newest first, those after `after`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn jobs(
        &self,
        kind: JobKind,
        after: Option<(Millis, JobId)>,
        limit: i64,
    ) -> Result<Vec<Job>, IngestError> {
        let jobs = self.inner.ports.jobs.jobs(kind, after, limit).await?;
        Ok(jobs.into_iter().map(|job| self.inner.honest(job)).collect())
    }

    /// Cancels the job of an upload, whatever it is doing; its document stays as it was. A job at work ends within
    /// moments, one that has ended stays as it is.
    ///
    /// # Errors
    /// `NotFound` for an unknown id, and for deletions.
    pub async fn cancel(&self, id: JobId) -> Result<Job, IngestError> {
        self.cancel_kind(id, JobKind::Ingest).await
    }

    async fn cancel_kind(&self, id: JobId, kind: JobKind) -> Result<Job, IngestError> {
        let job = self.inner.ports.jobs.cancel(id, kind, self.inner.ports.clock.now()).await?;
        self.inner.cancels.send_modify(|count| *count = count.wrapping_add(1));
        self.inner.ended.send_modify(|count| *count = count.wrapping_add(1));
        self.inner.untidy.notify_one();
        Ok(self.inner.honest(job))
    }

    /// Queues the failed job of an upload again.
    ///
    /// # Errors
    /// `NotFailed`, `FileGone`; `NotFound` for an unknown id, and for deletions.
    pub async fn retry(&self, id: JobId) -> Result<Job, IngestError> {
        let _kept = self.inner.files.read().await;
        match self.inner.ports.jobs.retry(id, self.inner.ports.clock.now()).await? {
            Retried::Queued(job) => {
                self.inner.wake.notify_one();
                Ok(self.inner.honest(*job))
            }
            Retried::NotFailed => Err(IngestError::NotFailed),
            Retried::FileGone => Err(IngestError::FileGone),
        }
    }

    /// Live documents, newest upload first, those after `after`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn documents(
        &self,
        collection: Option<&str>,
        after: Option<(Millis, DocumentId)>,
        limit: i64,
    ) -> Result<Vec<Document>, IngestError> {
        Ok(self.inner.ports.documents.documents(collection, after, limit).await?)
    }
}

impl Inner {
    /// Deletes a document by `deletion` from SQL, then from the index.
    async fn withdraw(
        &self,
        document: DocumentId,
        deletion: impl Future<Output = Result<i64, StoreError>>,
    ) -> Result<i64, StoreError> {
        let _order = self.swap.lock().await;
        let chunks = deletion.await?;
        fail::fail_point!("delete:purged");
        let filter = Filter { documents: Some(vec![document]), ..Filter::default() };
        // SQL is the truth: hits of a deleted document are dropped when they are read, so a failure costs space only.
        if let Err(error) = self.served().index.delete(&filter).await {
            tracing::error!(%error, %document, "a deleted document stays in the index");
        }
        self.untidy.notify_one();
        Ok(chunks)
    }

    fn honest(&self, mut job: Job) -> Job {
        let settling = self.settling.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if job.state == JobState::Completed && settling.contains(&job.id) {
            job.state = JobState::Running;
        }
        progress::shown(job)
    }

    fn settle(&self, job: JobId, settling: bool) {
        let mut jobs = self.settling.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if settling {
            jobs.insert(job);
        } else {
            jobs.remove(&job);
        }
    }
}

/// A file's name as it is kept and compared: in NFC. Systems that write the same letters in other code points (NFD, as
/// some do in their folders) mean the same document.
#[must_use]
pub fn kept_name(given: &str) -> String {
    given.nfc().collect()
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME && !name.contains('\0')
}

/// SHA-256 in hex, and the size.
async fn digest(path: &Path) -> Result<(String, i64), IngestError> {
    let path = path.to_owned();
    let hashed = tokio::task::spawn_blocking(move || -> std::io::Result<(String, i64)> {
        let mut file = std::fs::File::open(path)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += i64::try_from(read).unwrap_or(0);
        }
        let mut hex = String::with_capacity(64);
        for byte in hasher.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Ok((hex, bytes))
    })
    .await;
    match hashed {
        Ok(Ok(digest)) => Ok(digest),
        Ok(Err(error)) => Err(IngestError::Upload(error.to_string())),
        Err(error) => Err(IngestError::Upload(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_composed() {
        assert_eq!(kept_name("cafe\u{301} 가.txt"), "café 가.txt");
        assert_eq!(kept_name("ﬁle ２.txt"), "ﬁle ２.txt", "what is written otherwise is another name");
    }

    #[test]
    fn names_are_data() {
        assert!(is_name("../../etc/passwd"));
        assert!(is_name("报告 (最终).pdf"));
        assert!(is_name(&"报".repeat(255)));
        assert!(!is_name(&"报".repeat(256)));
        assert!(!is_name(" "));
        assert!(!is_name("a\0b"));
    }
}
