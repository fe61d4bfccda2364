//! Keeping what is stored in step with what is known: which files are of no use, and what disagrees.

use async_trait::async_trait;

use super::{
    error::StoreError,
    id::{DocumentId, JobId, VersionId},
    index::Segment,
    knowledge::Warning,
    time::Millis,
};

/// A live document in which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Which.
    pub document: DocumentId,
    /// Its name.
    pub filename: String,
    /// The name of its collection.
    pub collection: String,
}

/// What SQL knows of files and parts that nothing points at any more.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Marks files as dying that no version needs, and gives at most `limit` that are: their file is to be removed, and
    /// then they are to be [forgotten](Self::forget_blob). The file of a job that failed after `failed_after` is kept for
    /// another try, unless the job was cancelled or the document deleted. An upload of the same bytes revives it.
    async fn dying_blobs(&self, failed_after: Millis, limit: i64) -> Result<Vec<String>, StoreError>;
    /// Removes the last traces of a dying file that was removed. One that is in use again stays.
    async fn forget_blob(&self, sha256: &str) -> Result<(), StoreError>;

    /// Those of these files that SQL knows.
    async fn known_blobs(&self, sha256s: &[String]) -> Result<Vec<String>, StoreError>;
    /// The files that current versions were read from, ascending, a page of at most `limit` after `after`.
    async fn current_blobs(&self, after: &str, limit: i64) -> Result<Vec<String>, StoreError>;
    /// The documents whose current version was read from this file.
    async fn documents_of(&self, sha256: &str) -> Result<Vec<Damaged>, StoreError>;
    /// Adds a warning to a document's current version, unless it has one of this code.
    async fn warn(&self, document: DocumentId, warning: &Warning) -> Result<(), StoreError>;
    /// At most `limit` versions that do not answer and have parts all the same: staged without a job, purged or retired
    /// with chunks or segments.
    async fn leftovers(&self, limit: i64) -> Result<Vec<VersionId>, StoreError>;
    /// Removes the parts of such a version; the pages of a retired one stay.
    async fn clear(&self, version: VersionId) -> Result<(), StoreError>;
    /// At most `limit` documents whose current version has not as many leaves, in chunks and in segments, as it says.
    async fn unsound(&self, limit: i64) -> Result<Vec<Damaged>, StoreError>;
    /// The number of the last change of what answers, in any document.
    async fn last_change(&self) -> Result<i64, StoreError>;
    /// The documents in which something else answers since the change `after`, each with the number of its last change,
    /// ascending, at most `limit`. Whoever has seen a number misses no change below it.
    async fn changes(&self, after: i64, limit: i64) -> Result<Vec<(i64, DocumentId)>, StoreError>;
    /// The segments of a version.
    async fn segments(&self, version: VersionId) -> Result<Vec<Segment>, StoreError>;
    /// Queues a job that reads the file of a document's current version again, into a new version.
    async fn read_again(
        &self,
        document: DocumentId,
        job: JobId,
        version: VersionId,
        now: Millis,
    ) -> Result<(), StoreError>;
}
