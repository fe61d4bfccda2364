//! What a job does, step by step. Nothing that a step stages is seen by anyone before `publish`.

use super::{
    Inner, chunk,
    passage::{passage_text, point, title_of},
    progress::{Progress, Stopped},
};
use crate::{
    domain::{
        error::{EngineError, ExtractError, StoreError},
        extract::Extracted,
        id::{DocumentId, VersionId},
        index::Segment,
        job::{Fence, Job},
        knowledge::{Chunk, Facets, Level, NewVersion, Page, Published},
    },
    text::{facets, lang},
};

/// Rows in one write, so that a chat never waits long for the writer.
const ROWS: usize = 256;
/// Longest page row, in characters.
const PAGE_CHARS: usize = 64_000;
/// Characters of pages in one write.
const WRITE_CHARS: usize = 512_000;
/// The index is offered a new version this often before the job ends without it.
const INDEX_TRIES: i64 = 5;

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
    fn last(code: &str, message: impl Into<String>) -> Self {
        Self::Final { code: code.into(), message: message.into() }
    }

    fn passing(why: &'static str, cause: impl Into<String>) -> Self {
        Self::Passing { why, cause: cause.into() }
    }

    /// The end of a job that was tried as often as it may be, and why the attempts failed.
    pub(super) fn exhausted(why: &str) -> Self {
        let message =
            format!("The job was given up after several attempts: {why}. Try it again, or upload the file again.");
        Self::last("attempts_exhausted", message)
    }
}

impl From<ExtractError> for Failed {
    fn from(error: ExtractError) -> Self {
        let message = error.to_string();
        if error == ExtractError::Unavailable {
            return Self::passing("the reader of files did not start", message);
        }
        let mut letters = message.chars();
        let sentence: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        Self::last(error.code(), format!("{sentence}."))
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
            EngineError::Rejected(reason) => {
                tracing::error!(%reason, "an engine refused a document");
                Self::last("index_rejected", "The text could not be indexed.")
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
    document: DocumentId,
    version: VersionId,
    segments: Vec<Segment>,
}

/// Reads an upload into a staged version.
pub(super) async fn ingest(inner: &Inner, job: &Job, fence: Fence, progress: &Progress) -> Result<Ready, Failed> {
    let (Some(document), Some(version), Some(blob)) = (job.document, job.version, job.blob.as_deref()) else {
        return Err(Failed::last("internal", "The job does not say what to read."));
    };
    let ports = &inner.ports;
    progress.begin("cleanup", "Removing what an earlier attempt left").await?;
    ports.documents.unstage(fence, version).await?;

    progress.begin("parse", "Reading the file").await?;
    let file = ports.blobs.fetch(blob).await?;
    let extracted = ports.extractor.extract(&file.path, &job.filename).await;
    if file.temporary
        && let Err(error) = tokio::fs::remove_file(&file.path).await
    {
        tracing::warn!(%error, "a temporary copy stays");
    }
    let parsed = parse(extracted?, &job.filename, version, inner.config.shape).await?;

    progress.begin("parent_store", format!("Storing {} chunks", parsed.chunks.len())).await?;
    store(inner, job, fence, &parsed, version, progress).await?;

    let leaves = parsed.leaves();
    progress.begin("vector_store", format!("Indexing {leaves} passages")).await?;
    progress.advance(0, leaves).await?;
    let segments = index(inner, fence, &parsed, document, version, progress).await?;
    Ok(Ready { document, version, segments })
}

/// A file that has been read and cut.
struct Parsed {
    extracted: Extracted,
    /// The title that leaves are indexed under.
    title: String,
    chunks: Vec<Chunk>,
    facets: Facets,
    lang: Option<String>,
    chars: i64,
}

impl Parsed {
    fn leaves(&self) -> usize {
        self.chunks.iter().filter(|chunk| chunk.level == Level::Leaf).count()
    }
}

/// Cuts the text and reads what tells it from its siblings. Off the runtime's threads; workers bound how many.
async fn parse(
    extracted: Extracted,
    filename: &str,
    version: VersionId,
    shape: chunk::Shape,
) -> Result<Parsed, Failed> {
    let filename = filename.to_owned();
    let parsed = tokio::task::spawn_blocking(move || {
        let chunks = chunk::chunks(version, &extracted, &shape);
        let head: String = extracted.text.chars().take(20_000).collect();
        let lang = lang::detect(&head).code().map(str::to_owned).or_else(|| extracted.lang.clone());
        let found = facets::read(extracted.title.as_deref(), &filename, &extracted.declared, &head);
        let facets = Facets {
            subject: found.subject,
            edition: found.edition,
            effective_from: found.effective_from,
            place: found.place,
            kind: found.kind,
        };
        let title = extracted.title.clone().unwrap_or_else(|| title_of(&filename));
        let chars = i64::try_from(extracted.text.chars().count()).unwrap_or(i64::MAX);
        Parsed { extracted, title, chunks, facets, lang, chars }
    })
    .await;
    parsed.map_err(|error| {
        tracing::error!(%error, "cutting a text failed");
        Failed::last("internal", "The text could not be cut into passages.")
    })
}

/// Stages the version, its text and its chunks.
async fn store(
    inner: &Inner,
    job: &Job,
    fence: Fence,
    parsed: &Parsed,
    version: VersionId,
    progress: &Progress,
) -> Result<(), Failed> {
    let ports = &inner.ports;
    let media_type =
        ports.extractor.file_type(&job.filename).map_or("application/octet-stream", |kind| kind.media_type());
    let described = NewVersion {
        id: version,
        media_type: media_type.into(),
        extractor: ports.extractor.name().into(),
        title: parsed.extracted.title.clone(),
        lang: parsed.lang.clone(),
        facets: parsed.facets.clone(),
        warnings: parsed.extracted.warnings.clone(),
        chars: parsed.chars,
    };
    ports.documents.stage_version(fence, &described).await?;
    let pages = pages(&parsed.extracted);
    for write in pages.chunks((WRITE_CHARS / PAGE_CHARS).max(1)) {
        ports.documents.stage_pages(fence, version, write).await?;
    }
    let mut stored = 0;
    for write in parsed.chunks.chunks(ROWS) {
        ports.documents.stage_chunks(fence, version, write).await?;
        stored += write.len();
        progress.count(stored, parsed.chunks.len());
    }
    Ok(())
}

/// The text in rows: at the pages' borders, and cut where a page is too long for a row.
fn pages(extracted: &Extracted) -> Vec<Page> {
    let chars: Vec<char> = extracted.text.chars().collect();
    let mut borders: Vec<(usize, Option<&str>)> =
        extracted.pages.iter().map(|page| (page.start, Some(page.label.as_str()))).collect();
    if borders.first().is_none_or(|(start, _)| *start > 0) {
        // What stands before the first mark belongs to the first page, if there is one.
        match borders.first_mut() {
            Some(first) => first.0 = 0,
            None => borders.push((0, None)),
        }
    }
    let ends = borders.iter().skip(1).map(|(start, _)| *start).chain([chars.len()]).collect::<Vec<_>>();
    let mut pages = Vec::new();
    for ((start, label), end) in borders.into_iter().zip(ends) {
        let mut from = start;
        while from < end {
            let to = end.min(from + PAGE_CHARS);
            pages.push(Page {
                no: i64::try_from(pages.len()).unwrap_or(i64::MAX),
                label: label.map(str::to_owned),
                start: i64::try_from(from).unwrap_or(i64::MAX),
                end: i64::try_from(to).unwrap_or(i64::MAX),
                body: chars.get(from..to).unwrap_or_default().iter().collect(),
            });
            from = to;
        }
    }
    pages
}

/// Embeds the leaves and stages them in segments. Gives the segments for the index.
async fn index(
    inner: &Inner,
    fence: Fence,
    parsed: &Parsed,
    document: DocumentId,
    version: VersionId,
    progress: &Progress,
) -> Result<Vec<Segment>, Failed> {
    let ports = &inner.ports;
    let collection = ports.documents.document(document).await?.collection;
    let leaves: Vec<&Chunk> = parsed.chunks.iter().filter(|chunk| chunk.level == Level::Leaf).collect();
    let mut segments: Vec<Segment> = Vec::new();
    let (mut done, total) = (0, leaves.len());
    for (no, part) in leaves.chunks(Segment::CAPACITY).enumerate() {
        let mut points = Vec::with_capacity(part.len());
        for batch in part.chunks(inner.config.batch.max(1)) {
            let texts: Vec<String> = batch.iter().map(|leaf| passage_text(Some(&parsed.title), leaf)).collect();
            let vectors = ports.embedder.passages(&texts).await?;
            if vectors.len() != batch.len() {
                return Err(EngineError::Rejected("the embedder gave another number of vectors".into()).into());
            }
            let leaves: Vec<Chunk> = batch.iter().map(|leaf| (*leaf).clone()).collect();
            // Splitting words of a batch takes milliseconds: long enough to stall a runtime thread.
            let made = tokio::task::spawn_blocking(move || {
                let each = leaves.iter().zip(texts.iter()).zip(&vectors);
                each.map(|((leaf, text), vector)| point(leaf, text, vector.as_deref())).collect::<Vec<_>>()
            });
            points.extend(made.await.map_err(|error| Failed::passing("reading was cut short", error.to_string()))?);
            done += batch.len();
            progress.advance(done, total).await?;
        }
        let segment = Segment { collection, document, version, points };
        let no = i64::try_from(no).unwrap_or(i64::MAX);
        ports.documents.stage_segment(fence, version, no, &segment).await?;
        segments.push(segment);
    }
    Ok(segments)
}

/// Makes the version current, then tells the index. From the commit on nothing may stop this but the end of the process.
pub(super) async fn publish(
    inner: &Inner,
    job: &Job,
    fence: Fence,
    ready: Ready,
    progress: &Progress,
) -> Result<(), Failed> {
    let Ready { document, version, segments } = ready;
    let leaves: usize = segments.iter().map(|segment| segment.points.len()).sum();
    let report = progress.done(format!("{leaves} passages are ready"));
    let count = i64::try_from(leaves).unwrap_or(i64::MAX);
    let _order = inner.swap.lock().await;
    inner.settle(job.id, true);
    let now = inner.ports.clock.now();
    let published = inner.ports.documents.publish(fence, version, count, &report, now).await;
    if let Ok(Published::Current { .. }) = &published {
        replace(inner, document, segments).await;
    }
    inner.settle(job.id, false);
    published.map(|_| ()).map_err(Failed::from)
}

/// Tells the index of the version that answers now. It is current in SQL already: a failure here cannot be undone, so it
/// is tried again, and logged.
async fn replace(inner: &Inner, document: DocumentId, segments: Vec<Segment>) {
    for attempt in 1..=INDEX_TRIES {
        match inner.ports.index.replace(document, segments.clone()).await {
            Ok(()) => return,
            Err(EngineError::Unavailable(reason)) if attempt < INDEX_TRIES => {
                tracing::warn!(%reason, "the index did not take a version; trying again");
                tokio::time::sleep(inner.config.backoff).await;
            }
            Err(error) => return tracing::error!(%error, %document, "the index does not have the current version"),
        }
    }
}

/// Removes what a deleted document leaves.
pub(super) async fn delete(inner: &Inner, job: &Job, fence: Fence, progress: &Progress) -> Result<(), Failed> {
    let Some(document) = job.document else {
        return Err(Failed::last("internal", "The job does not say what to delete."));
    };
    progress.begin("prepare", "Deleting the document").await?;
    let chunks = inner.withdraw(document, inner.ports.documents.purge_document(document)).await?;
    let report = progress.done(format!("{chunks} passages were deleted"));
    inner.ports.jobs.complete(fence, &report, inner.ports.clock.now()).await?;
    Ok(())
}
