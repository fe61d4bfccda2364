//! Keeping what is stored in step with what is known: which files are of no use, and what disagrees.

use async_trait::async_trait;

use super::{
    error::StoreError,
    id::{ChunkId, DocumentId, JobId, ProfileId, VersionId},
    index::Segment,
    knowledge::Warning,
    time::Millis,
};

/// A live document, by what people call it: one in which something is wrong.
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

    /// Purges at most `limit` versions that were replaced before `before` and that no answer cites: their text goes now,
    /// their file with the next [dying](Self::dying_blobs) ones. Gives how many.
    async fn expire(&self, before: Millis, limit: i64) -> Result<usize, StoreError>;

    /// Those of these files that SQL knows.
    async fn known_blobs(&self, sha256s: &[String]) -> Result<Vec<String>, StoreError>;
    /// The files that current versions were read from, ascending, a page of at most `limit` after `after`.
    async fn current_blobs(&self, after: &str, limit: i64) -> Result<Vec<String>, StoreError>;
    /// The nodes that took this file in. None where it may lie anywhere: one process has the store, or nobody knows.
    async fn holders(&self, sha256: &str) -> Result<Vec<String>, StoreError>;
    /// The documents whose current version was read from this file.
    async fn documents_of(&self, sha256: &str) -> Result<Vec<Damaged>, StoreError>;
    /// Adds a warning to a document's current version, unless it has one of this code.
    async fn warn(&self, document: DocumentId, warning: &Warning) -> Result<(), StoreError>;
    /// At most `limit` versions that do not answer and have parts all the same: staged without a job, purged or retired
    /// with chunks or segments.
    async fn leftovers(&self, limit: i64) -> Result<Vec<VersionId>, StoreError>;
    /// Removes the parts of such a version; the pages of a retired one stay.
    async fn clear(&self, version: VersionId) -> Result<(), StoreError>;
    /// Live documents that answer, with their current version, ascending by id, a page of at most `limit` after `after`.
    async fn current(&self, after: Option<DocumentId>, limit: i64) -> Result<Vec<(Damaged, VersionId)>, StoreError>;
    /// The leaves of a version, ascending. `None` where its parts do not fit together: a chunk that does not stand in the
    /// text where it says, segments in this profile that cannot be read or hold other leaves, or more or fewer leaves than
    /// it says.
    async fn leaves(&self, profile: ProfileId, version: VersionId) -> Result<Option<Vec<ChunkId>>, StoreError>;
    /// The number of the last change of what answers, in any document.
    async fn last_change(&self) -> Result<i64, StoreError>;
    /// The documents in which something else answers since the change `after`, each with the number of its last change,
    /// ascending, at most `limit`. Whoever has seen a number misses no change below it.
    async fn changes(&self, after: i64, limit: i64) -> Result<Vec<(i64, DocumentId)>, StoreError>;
    /// The segments of a current version in a profile, or in the one that stands for it there, in order.
    async fn segments(&self, profile: ProfileId, version: VersionId) -> Result<Vec<Segment>, StoreError>;
    /// Queues a job that reads the file of a document's current version again, into a new version: at this node if it took
    /// the file in, else at one that did.
    async fn read_again(
        &self,
        document: DocumentId,
        node: &str,
        job: JobId,
        version: VersionId,
        now: Millis,
    ) -> Result<(), StoreError>;
}
