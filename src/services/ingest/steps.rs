//! What a job does, step by step. Nothing that a step stages is seen by anyone before `publish`.

use super::{
    Inner,
    progress::{Progress, Stopped},
    stage::Staging,
};
use crate::domain::{
    error::{EngineError, ExtractError, StoreError},
    id::{DocumentId, VersionId},
    job::{Fence, Job, JobKind},
    knowledge::{BlobFile, Published},
};

/// The index is offered a new version, or opened anew, this often before the job ends without it.
pub(super) const INDEX_TRIES: i64 = 5;

/// Why a job did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// Will fail again.
    Final {
        /// Stable word.
        code: String,
        /// For people.
        message: String,
    },
    /// May work later.
    Passing {
        /// For people.
        why: &'static str,
        /// For the log.
        cause: String,
    },
    /// Another worker has the job.
    Fenced,
}

impl Failed {
    pub(super) fn last(code: &str, message: impl Into<String>) -> Self {
        Self::Final { code: code.into(), message: message.into() }
    }

    pub(super) fn passing(why: &'static str, cause: impl Into<String>) -> Self {
        Self::Passing { why, cause: cause.into() }
    }

    /// The end of a job that was tried as often as it may be, and why the attempts failed.
    pub(super) fn exhausted(kind: JobKind, why: &str) -> Self {
        let next = match kind {
            JobKind::Ingest | JobKind::Delete => "Try it again, or upload the file again.",
            JobKind::Reindex => "What was done stays done; go on with: askback reindex",
        };
        Self::last("attempts_exhausted", format!("The job was given up after several attempts: {why}. {next}"))
    }
}

impl From<ExtractError> for Failed {
    fn from(error: ExtractError) -> Self {
        if error == ExtractError::Unavailable {
            return Self::passing("the reader of files did not start", error.to_string());
        }
        Self::last(error.code(), error.sentence())
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(_) => Self::Fenced,
            StoreError::NotFound => Self::last("not_found", "The document or its file is gone."),
            StoreError::Unavailable(cause) => Self::passing("the storage did not answer", cause),
        }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Unavailable(cause) => Self::passing("the embedder or the index did not answer", cause),
            EngineError::RateLimited { .. } => {
                Self::passing("the embedder asked to slow down again and again", error.to_string())
            }
            EngineError::Rejected(reason) => {
                tracing::error!(%reason, "an engine refused a document");
                let message = "The text could not be indexed: what the embedder gave does not fit. The server's log says \
                               why; try it again once that is mended.";
                Self::last("index_rejected", message)
            }
        }
    }
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Self::last("cancelled", "The job was cancelled."),
            Stopped::Store(error) => error.into(),
        }
    }
}

/// A version that is staged whole.
pub(super) struct Ready {
    pub(super) document: DocumentId,
    pub(super) version: VersionId,
    pub(super) leaves: usize,
}

/// Reads an upload into a staged version.
pub(super) async fn ingest(inner: &Inner, job: &Job, fence: Fence, progress: &Progress) -> Result<Ready, Failed> {
    let (Some(document), Some(version), Some(blob)) = (job.document, job.version, job.blob.as_deref()) else {
        return Err(Failed::last("internal", "The job does not say what to read."));
    };
    let ports = &inner.ports;
    progress.begin("cleanup", "Removing what an earlier attempt left").await?;
    ports.documents.unstage(fence, version).await?;

    fail::fail_point!("job:cleaned");
    progress.begin("parse", "Reading the file").await?;
    let collection = ports.documents.document(document).await?.collection;
    let mut staging = Staging::new(inner, &job.filename, fence, (collection, document, version), progress);
    let file = ports.blobs.fetch(blob).await?;
    let staged = parts(&mut staging, &file).await;
    discard(file).await;
    staged?;
    let leaves = staging.finish().await?;
    Ok(Ready { document, version, leaves })
}

/// Reads and stages the file part by part; most have one.
async fn parts(staging: &mut Staging<'_>, file: &BlobFile) -> Result<(), Failed> {
    let length = tokio::fs::metadata(&file.path).await.map_or(0, |found| found.len());
    let mut from = 0;
    loop {
        let part = staging.read(&file.path, from).await?;
        let next = part.next;
        staging.add(part, length).await?;
        match next {
            // A part that is not behind the last would be read for ever.
            Some(next) if next > from => from = next,
            Some(_) => return Err(Failed::last("internal", "The file could not be read to its end.")),
            None => return Ok(()),
        }
    }
}

/// Removes what was fetched only for reading.
pub(super) async fn discard(file: BlobFile) {
    if file.temporary
        && let Err(error) = tokio::fs::remove_file(&file.path).await
    {
        tracing::warn!(%error, "a temporary copy stays");
    }
}

/// Makes the version current, then tells the index. From the commit on nothing may stop this but the end of the process.
pub(super) async fn publish(
    inner: &Inner,
    job: &Job,
    fence: Fence,
    ready: Ready,
    progress: &Progress,
) -> Result<(), Failed> {
    let Ready { document, version, leaves } = ready;
    let report = progress.done(format!("{leaves} passages are ready"));
    let count = i64::try_from(leaves).unwrap_or(i64::MAX);
    fail::fail_point!("job:staged");
    let _order = inner.swap.lock().await;
    inner.settle(job.id, true);
    let now = inner.ports.clock.now();
    let published = inner.ports.documents.publish(fence, version, count, &report, now).await;
    fail::fail_point!("job:published");
    if let Ok(Published::Current { .. }) = &published {
        replace(inner, document, version).await;
    }
    inner.settle(job.id, false);
    published.map(|_| ()).map_err(Failed::from)
}

/// Tells the index of the version that answers now. It is current in SQL already: a failure here cannot be undone, so it
/// is tried again, logged, and tried again later.
async fn replace(inner: &Inner, document: DocumentId, version: VersionId) {
    for attempt in 1..=INDEX_TRIES {
        match inner.index_version(&inner.served(), document, version).await {
            Ok(()) => return,
            Err(error @ (EngineError::Unavailable(_) | EngineError::RateLimited { .. })) if attempt < INDEX_TRIES => {
                tracing::warn!(%error, "the index did not take a version; trying again");
                inner.ports.clock.sleep(inner.config.wait(attempt)).await;
            }
            Err(error) => return inner.leave_behind(document, &error),
        }
    }
}

/// Removes what a deleted document leaves.
pub(super) async fn delete(inner: &Inner, job: &Job, fence: Fence, progress: &Progress) -> Result<(), Failed> {
    let Some(document) = job.document else {
        return Err(Failed::last("internal", "The job does not say what to delete."));
    };
    progress.begin("prepare", "Deleting the document").await?;
    fail::fail_point!("delete:begun");
    let chunks = inner.withdraw(document, inner.ports.documents.purge_document(document)).await?;
    fail::fail_point!("delete:withdrawn");
    let report = progress.done(format!("{chunks} passages were deleted"));
    inner.ports.jobs.complete(fence, &report, inner.ports.clock.now()).await?;
    Ok(())
}
