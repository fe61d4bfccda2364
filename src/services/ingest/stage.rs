//! Staging a version: each part of its file becomes text, chunks and vectors before the next one is read.

use std::path::Path;

use super::{
    Inner,
    chunk::{self, Before},
    passage::title_of,
    points::points,
    progress::Progress,
    steps::Failed,
    vectors::Maker,
};
use crate::{
    domain::{
        error::ExtractError,
        extract::{Extracted, Part},
        id::{CollectionId, DocumentId, VersionId},
        index::Segment,
        job::Fence,
        knowledge::{Chunk, Facets, Level, NewVersion, Page, Warning},
    },
    text::{facets, lang},
};

/// Rows in one write, so that a chat never waits long for the writer.
const ROWS: usize = 256;
/// Longest page row, in characters.
const PAGE_CHARS: usize = 64_000;
/// Characters of pages in one write.
const WRITE_CHARS: usize = 512_000;
/// Between the texts of two parts.
const GAP: &str = "\n\n";

/// A version as it grows.
pub(super) struct Staging<'a> {
    inner: &'a Inner,
    filename: &'a str,
    fence: Fence,
    collection: CollectionId,
    document: DocumentId,
    version: VersionId,
    progress: &'a Progress,
    /// Whose vectors it gets.
    makers: Vec<Maker>,
    /// What the first part says about the whole.
    head: Option<Head>,
    before: Before,
    pages: usize,
    segments: usize,
    /// Leaves that are staged, with their vectors.
    indexed: usize,
    warnings: Vec<Warning>,
}

/// What a file says about itself.
struct Head {
    /// The title that it gives itself.
    title: Option<String>,
    /// The title that leaves are indexed under.
    shown: String,
    facets: Facets,
    lang: Option<String>,
}

/// A part that has been cut.
struct Cut {
    extracted: Extracted,
    chunks: Vec<Chunk>,
    chars: usize,
    head: Option<Head>,
}

impl<'a> Staging<'a> {
    /// Nothing yet; `place` is where it will stand.
    pub(super) fn new(
        inner: &'a Inner,
        filename: &'a str,
        fence: Fence,
        place: (CollectionId, DocumentId, VersionId),
        progress: &'a Progress,
    ) -> Self {
        let (collection, document, version) = place;
        Self {
            inner,
            filename,
            fence,
            collection,
            document,
            version,
            progress,
            makers: inner.ports.vectors.makers(),
            head: None,
            before: Before::default(),
            pages: 0,
            segments: 0,
            indexed: 0,
            warnings: Vec::new(),
        }
    }

    /// Reads the part of the file that begins at byte `from`.
    pub(super) async fn read(&self, path: &Path, from: u64) -> Result<Part, Failed> {
        let part = self.inner.ports.extractor.extract(path, self.filename, from).await?;
        fail::fail_point!("job:read");
        Ok(part)
    }

    /// Stages a part of a file of `length` bytes.
    pub(super) async fn add(&mut self, part: Part, length: u64) -> Result<(), Failed> {
        let Part { mut extracted, next } = part;
        if extracted.blocks.is_empty() {
            return Ok(());
        }
        if next.is_some() {
            extracted.text.push_str(GAP);
        }
        let is_first = self.head.is_none();
        let cut = self.cut(extracted).await?;
        fail::fail_point!("job:cut");
        let leaves = self.before.leaves + cut.chunks.iter().filter(|chunk| chunk.level == Level::Leaf).count();
        // Of a long text the leaves to come are guessed from those of its beginning.
        let expected = match next {
            Some(next) => usize::try_from(leaves as u64 * length / next.max(1)).unwrap_or(leaves).max(leaves),
            None => leaves,
        };
        if is_first {
            self.progress.begin("parent_store", format!("Storing {} chunks", cut.chunks.len())).await?;
        }
        self.store(&cut).await?;
        if is_first {
            self.progress.begin("vector_store", format!("Indexing {expected} passages")).await?;
        }
        self.progress.advance(self.indexed, expected).await?;
        self.index(&cut.chunks, expected).await?;
        self.before.add(&cut.chunks, cut.chars);
        for warning in cut.extracted.warnings {
            if self.warnings.iter().all(|each| each.code != warning.code) {
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// Describes what was staged. Gives the number of leaves.
    pub(super) async fn finish(self) -> Result<usize, Failed> {
        let Some(head) = self.head else { return Err(ExtractError::EmptyFile.into()) };
        let ports = &self.inner.ports;
        let media_type =
            ports.extractor.file_type(self.filename).map_or("application/octet-stream", |kind| kind.media_type());
        let described = NewVersion {
            id: self.version,
            media_type: media_type.into(),
            extractor: ports.extractor.name().into(),
            title: head.title,
            lang: head.lang,
            facets: head.facets,
            warnings: self.warnings,
            chars: number(self.before.chars),
        };
        ports.documents.stage_version(self.fence, &described).await?;
        fail::fail_point!("job:described");
        self.progress.count(self.before.leaves, self.before.leaves);
        Ok(self.before.leaves)
    }

    /// Cuts the text, and of the first part reads what tells it from its siblings. Off the runtime's threads; workers
    /// bound how many.
    async fn cut(&mut self, extracted: Extracted) -> Result<Cut, Failed> {
        let (version, shape, before) = (self.version, self.inner.config.shape, self.before);
        let filename = self.head.is_none().then(|| self.filename.to_owned());
        let cut = tokio::task::spawn_blocking(move || {
            let chunks = chunk::chunks(version, &extracted, &shape, &before);
            let head = filename.map(|filename| head(&extracted, &filename));
            Cut { chars: extracted.text.chars().count(), extracted, chunks, head }
        });
        let mut cut = cut.await.map_err(|error| {
            tracing::error!(%error, "cutting a text failed");
            Failed::last("internal", "The text could not be cut into passages.")
        })?;
        self.head = cut.head.take().or_else(|| self.head.take());
        Ok(cut)
    }

    /// Stages text and chunks.
    async fn store(&mut self, cut: &Cut) -> Result<(), Failed> {
        let documents = &self.inner.ports.documents;
        let pages = pages(&cut.extracted, self.pages, self.before.chars);
        self.pages += pages.len();
        for write in pages.chunks((WRITE_CHARS / PAGE_CHARS).max(1)) {
            documents.stage_pages(self.fence, self.version, write).await?;
            fail::fail_point!("job:paged");
        }
        let mut stored = 0;
        for write in cut.chunks.chunks(ROWS) {
            documents.stage_chunks(self.fence, self.version, write).await?;
            fail::fail_point!("job:chunked");
            stored += write.len();
            if self.indexed == 0 {
                self.progress.count(stored, cut.chunks.len());
            }
        }
        Ok(())
    }

    /// Embeds the leaves and stages them in segments, one of each maker.
    async fn index(&mut self, chunks: &[Chunk], expected: usize) -> Result<(), Failed> {
        let documents = &self.inner.ports.documents;
        let title = self.head.as_ref().map(|head| head.shown.clone()).unwrap_or_default();
        let leaves: Vec<&Chunk> = chunks.iter().filter(|chunk| chunk.level == Level::Leaf).collect();
        for part in leaves.chunks(Segment::CAPACITY) {
            let mut made = vec![Vec::with_capacity(part.len()); self.makers.len()];
            for batch in part.chunks(self.inner.config.batch.max(1)) {
                for (maker, made) in self.makers.iter().zip(&mut made) {
                    let leaves = batch.iter().map(|leaf| (*leaf).clone()).collect();
                    made.extend(points(self.inner, maker, &title, leaves).await?);
                }
                self.indexed += batch.len();
                self.progress.advance(self.indexed, expected).await?;
            }
            let (version, no) = (self.version, number(self.segments));
            for (maker, points) in self.makers.iter().zip(made) {
                let segment = Segment { collection: self.collection, document: self.document, version, points };
                documents.stage_segment(self.fence, maker.profile, version, no, &segment).await?;
            }
            fail::fail_point!("job:indexed");
            self.segments += 1;
        }
        Ok(())
    }
}

fn head(extracted: &Extracted, filename: &str) -> Head {
    let begin: String = extracted.text.chars().take(20_000).collect();
    let found = facets::read(extracted.title.as_deref(), filename, &extracted.declared, &begin);
    Head {
        title: extracted.title.clone(),
        shown: extracted.title.clone().unwrap_or_else(|| title_of(filename)),
        facets: Facets {
            subject: found.subject,
            edition: found.edition,
            effective_from: found.effective_from,
            place: found.place,
            kind: found.kind,
        },
        lang: lang::detect(&begin).code().map(str::to_owned).or_else(|| extracted.lang.clone()),
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The text in rows: at the pages' borders, and cut where a page is too long for a row. So many rows and characters stand
/// before it.
fn pages(extracted: &Extracted, rows: usize, before: usize) -> Vec<Page> {
    let mut borders: Vec<(usize, Option<&str>)> =
        extracted.pages.iter().map(|page| (page.start, Some(page.label.as_str()))).collect();
    if borders.first().is_none_or(|(start, _)| *start > 0) {
        // What stands before the first mark belongs to the first page, if there is one.
        match borders.first_mut() {
            Some(first) => first.0 = 0,
            None => borders.push((0, None)),
        }
    }
    let mut borders = borders.into_iter().peekable();
    let (mut pages, mut label, mut start, mut body) = (Vec::new(), None, 0, String::new());
    let mut close = |label: Option<&str>, start: usize, end: usize, body: &mut String| {
        if end > start {
            pages.push(Page {
                no: number(rows + pages.len()),
                label: label.map(str::to_owned),
                start: number(before + start),
                end: number(before + end),
                body: std::mem::take(body),
            });
        }
    };
    let mut chars = 0;
    for c in extracted.text.chars() {
        let is_border = borders.peek().is_some_and(|(border, _)| *border == chars);
        if is_border || chars - start == PAGE_CHARS {
            close(label, start, chars, &mut body);
            start = chars;
        }
        if is_border {
            label = borders.next().and_then(|(_, label)| label);
        }
        body.push(c);
        chars += 1;
    }
    close(label, start, chars, &mut body);
    pages
}
