//! Removing files that no version needs: those of deleted documents, of cancelled uploads, of jobs that failed long ago.

use tokio_util::sync::CancellationToken;

use super::{Ingest, IngestError, Inner};
use crate::domain::time::Millis;

/// Files that are removed in one go.
const BATCH: usize = 64;

impl Ingest {
    /// Removes the files that nothing needs now. Gives how many.
    ///
    /// # Errors
    /// When a store fails; what is left is found again.
    pub async fn collect(&self) -> Result<usize, IngestError> {
        let mut collected = 0;
        loop {
            let batch = self.inner.collect_batch().await?;
            collected += batch;
            if batch < BATCH {
                return Ok(collected);
            }
        }
    }

    /// Collects until `stop`: after deletions and failures, and every now and then.
    pub(super) async fn tidy(self, stop: CancellationToken) {
        let rounds = async {
            loop {
                if let Err(error) = self.collect().await {
                    tracing::warn!(%error, "files that nothing needs were not removed");
                }
                tokio::select! {
                    () = self.inner.untidy.notified() => {}
                    () = tokio::time::sleep(self.inner.config.tidy) => {}
                }
            }
        };
        stop.run_until_cancelled(rounds).await;
    }
}

impl Inner {
    async fn collect_batch(&self) -> Result<usize, IngestError> {
        let ports = &self.ports;
        let now = ports.clock.now();
        let kept = i64::try_from(self.config.keep_failed.as_millis()).unwrap_or(i64::MAX);
        let failed_after = Millis(now.0.saturating_sub(kept));
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        // No upload may find a file there that is about to go.
        let _alone = self.files.write().await;
        let dying = ports.upkeep.dying_blobs(failed_after, limit).await?;
        for sha256 in &dying {
            ports.blobs.remove(sha256).await?;
            ports.upkeep.forget_blob(sha256).await?;
        }
        Ok(dying.len())
    }
}
