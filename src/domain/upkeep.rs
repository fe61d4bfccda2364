//! Keeping what is stored in step with what is known: which files are of no use, and what disagrees.

use async_trait::async_trait;

use super::{error::StoreError, time::Millis};

/// What SQL knows of files and parts that nothing points at any more.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Marks files as dying that no version needs, and gives at most `limit` that are: their file is to be removed, and
    /// then they are to be [forgotten](Self::forget_blob). The file of a job that failed after `failed_after` is kept for
    /// another try, unless the job was cancelled or the document deleted. An upload of the same bytes revives it.
    async fn dying_blobs(&self, failed_after: Millis, limit: i64) -> Result<Vec<String>, StoreError>;
    /// Removes the last traces of a dying file that was removed. One that is in use again stays.
    async fn forget_blob(&self, sha256: &str) -> Result<(), StoreError>;
}
