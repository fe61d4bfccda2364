//! What the organisation knows: collections of documents, their versions, pages and chunks, and the ports that keep them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    extract::PageMark,
    id::{ChunkId, CollectionId, DocumentId, JobId, ProfileId, UserId, VersionId},
    index::Segment,
    job::{Fence, JobReport},
    time::Millis,
    user::GroupId,
};

/// Documents that the same people may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Never changes.
    pub id: CollectionId,
    /// Unique.
    pub name: String,
    /// Who may read it.
    pub visibility: Visibility,
    /// Names of the users in its list, ascending.
    pub users: Vec<String>,
    /// Names of the groups in its list, ascending.
    pub groups: Vec<String>,
    /// When it was made.
    pub created_at: Millis,
}

/// Who may read a collection. Admins manage all of them but read by the same rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Every account.
    Everyone,
    /// The users and groups in its list.
    Listed,
}

/// Who is to read a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readers {
    /// Every account.
    Everyone,
    /// These, and nobody else.
    Listed {
        /// Users by themselves.
        users: Vec<UserId>,
        /// Whoever is in one of these.
        groups: Vec<GroupId>,
    },
}

/// A file under its name in a collection; its content lives in versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Stays through all versions.
    pub id: DocumentId,
    /// Where it lies.
    pub collection: CollectionId,
    /// The collection's name.
    pub collection_name: String,
    /// As uploaded: data only, never a path. Unique in its collection.
    pub filename: String,
    /// The number of the version that answers now; none until the first is whole.
    pub current_no: Option<i64>,
    /// That version.
    pub current: Option<Version>,
    /// The newest job about it, while that has not completed.
    pub job_state: Option<super::job::JobState>,
    /// When the name was first uploaded.
    pub created_at: Millis,
}

/// One content of a document. Immutable but for its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Never changes.
    pub id: VersionId,
    /// Of which document.
    pub document: DocumentId,
    /// 1, 2, 3 … per document.
    pub no: i64,
    /// SHA-256 of the file, in hex: its name in the blob store.
    pub blob: String,
    /// Bytes of the file.
    pub bytes: i64,
    /// How the file was read.
    pub media_type: String,
    /// Which extractor read it, with its version.
    pub extractor: String,
    /// The title that the file gives itself, if any.
    pub title: Option<String>,
    /// `en`, `zh`, …: the language of most of the text.
    pub lang: Option<String>,
    /// What tells this text from its siblings.
    pub facets: Facets,
    /// Notes for people about how well it could be read.
    pub warnings: Vec<Warning>,
    /// Where it stands.
    pub state: VersionState,
    /// Unicode scalar values of the stored text.
    pub chars: i64,
    /// Leaf chunks.
    pub chunk_count: i64,
    /// When it was uploaded.
    pub created_at: Millis,
}

/// staged → current → retired → purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// Being built; nobody sees it.
    Staged,
    /// Answers.
    Current,
    /// Replaced; its text stays while citations name it.
    Retired,
    /// Its text is gone.
    Purged,
}

/// Something a reader of a document should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Warning {
    /// Stable word.
    pub code: String,
    /// For people.
    pub message: String,
}

impl Warning {
    /// A document's file is gone, until the same bytes are uploaded again.
    #[must_use]
    pub fn file_missing() -> Self {
        Self {
            code: Self::FILE_MISSING.into(),
            message: "The uploaded file is gone from the disk; upload it again.".into(),
        }
    }

    /// The code of [`file_missing`](Self::file_missing).
    pub const FILE_MISSING: &str = "file_missing";
}

/// What tells a text from its siblings, read from it at ingestion. Values keep their original case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facets {
    /// The product or thing that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The edition of the *text* ("2023", "v2", "Third edition"), not the upload version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// ISO date from which it holds, or that it bears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<String>,
    /// The place that it holds for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The kind of document: "manual", "policy", …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A stretch of a version's text: a page of a PDF, a sheet, or a cut of at most 64k characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// 0, 1, 2 … in the version.
    pub no: i64,
    /// "1", "Prices": what people call it; none where the file has no pages.
    pub label: Option<String>,
    /// First character (Unicode scalar values, in the version's text).
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// The text.
    pub body: String,
}

/// How coarse a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Level {
    /// About a section.
    Section = 1,
    /// About a page's half.
    Block = 2,
    /// About a paragraph; the only level that is embedded.
    Leaf = 3,
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level as Self
    }
}

impl TryFrom<u8> for Level {
    type Error = &'static str;

    fn try_from(level: u8) -> Result<Self, &'static str> {
        match level {
            1 => Ok(Self::Section),
            2 => Ok(Self::Block),
            3 => Ok(Self::Leaf),
            _ => Err("a level is 1, 2 or 3"),
        }
    }
}

/// A part of a version's text. `body` stands verbatim at `start..end` of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// `Id::derived(version, "level/no")`.
    pub id: ChunkId,
    /// Of which version.
    pub version: VersionId,
    /// How coarse.
    pub level: Level,
    /// 0, 1, 2 … within version and level.
    pub no: i64,
    /// The next coarser chunk that holds it.
    pub parent: Option<ChunkId>,
    /// What people call the page it begins on: "3", "Prices".
    pub page: Option<String>,
    /// First character (Unicode scalar values, in the version's text).
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// Heading path, outermost first, joined by " > ".
    pub section: Option<String>,
    /// For a part of a table: its header row, which `body` may lack.
    pub header: Option<String>,
    /// The text.
    pub body: String,
}

/// A chunk with what a reader needs to place it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The chunk.
    pub chunk: Chunk,
    /// Its document.
    pub document: DocumentId,
    /// Its collection.
    pub collection: CollectionId,
    /// The document's name.
    pub filename: String,
    /// The version's number.
    pub version_no: i64,
    /// The version's title.
    pub title: Option<String>,
    /// The version's language.
    pub lang: Option<String>,
    /// The version's facets.
    pub facets: Facets,
}

/// Which collections a question may touch. Made only by [`DocumentStore::readable`], so that it cannot be made up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Access {
    /// Sorted. Empty: the user may read nothing.
    pub collections: Vec<CollectionId>,
}

/// A new version as ingestion stages it, before its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    /// Its id.
    pub id: VersionId,
    /// The media type that it is read as.
    pub media_type: String,
    /// Which extractor read it.
    pub extractor: String,
    /// See [`Version`].
    pub title: Option<String>,
    /// See [`Version`].
    pub lang: Option<String>,
    /// See [`Version`].
    pub facets: Facets,
    /// See [`Version`].
    pub warnings: Vec<Warning>,
    /// Characters of the text.
    pub chars: i64,
}

/// An upload that was accepted: the file is in the blob store, the job is in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The job to make.
    pub job: JobId,
    /// Who uploads.
    pub user: Option<UserId>,
    /// Target collection; made, readable by everyone, when unknown.
    pub collection: String,
    /// The id it gets if it has to be made.
    pub new_collection: CollectionId,
    /// Name in the collection.
    pub filename: String,
    /// The id that the document gets if the name is new.
    pub new_document: DocumentId,
    /// The id of the version to come.
    pub version: VersionId,
    /// SHA-256 of the file, in hex.
    pub blob: String,
    /// Its size.
    pub bytes: i64,
    /// The node that has the file, if not every node has.
    pub node: Option<String>,
    /// Declared or guessed media type.
    pub media_type: String,
    /// Now.
    pub now: Millis,
}

/// What [`DocumentStore::submit`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// A job will read it.
    Queued {
        /// The job.
        job: JobId,
        /// The document.
        document: DocumentId,
        /// The number of the version to come.
        no: i64,
    },
    /// The name already answers with exactly these bytes; a completed job says so.
    Unchanged {
        /// The job, already completed.
        job: JobId,
        /// The document.
        document: DocumentId,
        /// Its current version.
        version: Box<Version>,
    },
}

/// What a published version replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It answers now.
    Current {
        /// The version that it replaced.
        replaced: Option<VersionId>,
    },
    /// A newer upload of the same name is already current; the version is purged.
    TooLate,
    /// The job was cancelled, or the document deleted; the version is purged, and the job has failed as `cancelled`.
    Cancelled,
}

/// What became of the wish to delete a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptied {
    /// It is deleted.
    Deleted,
    /// It holds documents, or some are still being removed.
    NotEmpty,
    /// A watched folder puts its files there.
    Watched,
}

/// Keeps collections, documents, versions, pages, chunks and staged segments.
///
/// Contract: nothing staged is visible to readers; [`publish`](Self::publish) is one transaction; a fenced job
/// (`Fence` no longer the job's) changes nothing and gets `Conflict`.
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// What `user` may search: all collections for everyone, and those that list the user or one of their groups.
    /// `only` restricts to these names; unknown and unreadable names are left out alike.
    async fn readable(&self, user: UserId, only: Option<&[String]>) -> Result<Access, StoreError>;
    /// At most `limit` collections after this name, by name.
    async fn collections(&self, after: Option<&str>, limit: i64) -> Result<Vec<Collection>, StoreError>;
    /// A collection by name.
    async fn collection(&self, name: &str) -> Result<Collection, StoreError>;
    /// Deletes a collection that nothing is in, with its readers and what deleted documents left in it.
    async fn delete_collection(&self, name: &str) -> Result<Emptied, StoreError>;
    /// Sets who may read a collection, making it when unknown.
    async fn set_readers(
        &self,
        name: &str,
        new_id: CollectionId,
        readers: &Readers,
        now: Millis,
    ) -> Result<Collection, StoreError>;

    /// Accepts an upload in one transaction: collection, document, version row, blob row, job.
    async fn submit(&self, upload: &Upload) -> Result<Submitted, StoreError>;
    /// Live documents, newest upload first, a page of at most `limit` after `cursor` (the last seen id's place).
    async fn documents(
        &self,
        collection: Option<&str>,
        after: Option<(Millis, DocumentId)>,
        limit: i64,
    ) -> Result<Vec<Document>, StoreError>;
    /// Live documents of this name.
    async fn documents_named(&self, filename: &str, collection: Option<&str>) -> Result<Vec<Document>, StoreError>;
    /// A live document.
    async fn document(&self, id: DocumentId) -> Result<Document, StoreError>;
    /// A version by number.
    async fn version(&self, document: DocumentId, no: i64) -> Result<Version, StoreError>;

    /// Describes the staged version of a running job.
    async fn stage_version(&self, fence: Fence, version: &NewVersion) -> Result<(), StoreError>;
    /// Adds pages to it.
    async fn stage_pages(&self, fence: Fence, version: VersionId, pages: &[Page]) -> Result<(), StoreError>;
    /// Adds chunks of any level to it.
    async fn stage_chunks(&self, fence: Fence, version: VersionId, chunks: &[Chunk]) -> Result<(), StoreError>;
    /// Adds a segment of its leaves in a profile.
    async fn stage_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        version: VersionId,
        no: i64,
        segment: &Segment,
    ) -> Result<(), StoreError>;
    /// Throws away everything staged for the job's version (a retry begins anew).
    async fn unstage(&self, fence: Fence, version: VersionId) -> Result<(), StoreError>;
    /// One transaction: the staged version becomes current, the old one retired and its chunks and segments removed,
    /// the job completed with `report`.
    async fn publish(
        &self,
        fence: Fence,
        version: VersionId,
        chunk_count: i64,
        report: &JobReport,
        now: Millis,
    ) -> Result<Published, StoreError>;
    /// One transaction: the document is deleted, its versions purged (pages stay out of reach), its chunks and segments
    /// removed. Gives the number of leaves that were current.
    async fn delete_document(&self, id: DocumentId, now: Millis) -> Result<i64, StoreError>;
    /// The second half of [`delete_document`](Self::delete_document), for a document that
    /// [`enqueue_delete`](super::job::JobQueue::enqueue_delete) has deleted: removes what it leaves. Gives the number of
    /// leaves that were current; none when nothing is left to remove.
    async fn purge_document(&self, id: DocumentId) -> Result<i64, StoreError>;

    /// Every segment of a current version in a profile, or in the one that stands for it there, for the embedded index's
    /// start, in pages: those after `after`, at most `limit`, in the order of (version, no). A damaged one comes without
    /// points, and is logged.
    async fn current_segments(
        &self,
        profile: ProfileId,
        after: Option<(VersionId, i64)>,
        limit: i64,
    ) -> Result<Vec<(VersionId, i64, Segment)>, StoreError>;

    /// The chunks of these ids that are current and inside `access`; the order is that of `ids`, what is gone or
    /// not allowed is left out.
    async fn hydrate(&self, access: &Access, ids: &[ChunkId]) -> Result<Vec<Placed>, StoreError>;
    /// Of these documents those that can be read, each with itself, or, where it was deleted, with the live one that has
    /// its name in its collection now.
    async fn present(&self, access: &Access, ids: &[DocumentId]) -> Result<Vec<(DocumentId, DocumentId)>, StoreError>;
    /// The children of `parent`, in order.
    async fn children(&self, access: &Access, parent: ChunkId) -> Result<Vec<Placed>, StoreError>;
    /// The pages that begin inside these chunks, in order; chunks of which none begins are left out.
    async fn pages_inside(&self, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, PageMark)>, StoreError>;
    /// How many children each of these chunks has.
    async fn child_counts(&self, parents: &[ChunkId]) -> Result<Vec<(ChunkId, i64)>, StoreError>;
    /// Characters `start..end` of a version's text, cut to its length; for readers of its collection.
    async fn text(
        &self,
        access: &Access,
        document: DocumentId,
        no: i64,
        start: i64,
        end: i64,
    ) -> Result<String, StoreError>;
}

/// Keeps files by the SHA-256 of their bytes. What is there is whole.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores the file at `path` under `sha256` (hex); already there is fine.
    async fn put_file(&self, sha256: &str, path: &std::path::Path) -> Result<(), StoreError>;
    /// A local path at which the whole file can be read, and that stays while the guard lives.
    async fn fetch(&self, sha256: &str) -> Result<BlobFile, StoreError>;
    /// The files whose hash begins with this byte, in no order.
    async fn list(&self, first_byte: u8) -> Result<Vec<String>, StoreError>;
    /// Removes what writes left half-done in a process that died. Nobody may write meanwhile.
    async fn sweep(&self) -> Result<(), StoreError>;
    /// Removes it; not there is fine.
    async fn remove(&self, sha256: &str) -> Result<(), StoreError>;
}

/// A readable file of the blob store.
#[derive(Debug)]
pub struct BlobFile {
    /// Where it can be read.
    pub path: std::path::PathBuf,
    /// Whether the path is a copy that the holder removes after use.
    pub temporary: bool,
}
