//! Removing what nothing needs: versions that were replaced and that no answer cites, the files of deleted documents, of
//! cancelled uploads and of jobs that failed long ago, what an upload left that died before it became a job, and the
//! vectors of an embedder whose place another has taken.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::{Ingest, IngestError, Inner};
use crate::domain::time::Millis;

/// Files or versions that are removed in one go.
const BATCH: usize = 64;
/// Versions whose old vectors are removed in one go.
const DROPS: usize = 1_000;

impl Ingest {
    /// Removes what nothing needs now. Gives the number of files.
    ///
    /// # Errors
    /// When a store fails; what is left is found again.
    pub async fn collect(&self) -> Result<usize, IngestError> {
        while self.inner.expire_batch().await? == BATCH {}
        while self.inner.drop_batch().await? == DROPS {}
        let mut collected = 0;
        loop {
            let batch = self.inner.collect_batch().await?;
            collected += batch;
            if batch < BATCH {
                return Ok(collected);
            }
        }
    }

    /// Removes files that SQL does not know: an upload that died between the two left them. Gives how many.
    ///
    /// # Errors
    /// When a store fails; what is left is found again.
    pub async fn sweep(&self) -> Result<usize, IngestError> {
        {
            let _alone = self.inner.files.write().await;
            self.inner.ports.blobs.sweep().await?;
        }
        let orphans = self.orphan_files().await?;
        self.remove_orphans(&orphans).await?;
        Ok(orphans.len())
    }

    /// Collects until `stop`: at first what a dead process left, then after deletions and failures, and every now and
    /// then.
    pub(super) async fn tidy(self, stop: CancellationToken) {
        let rounds = async {
            match self.sweep().await {
                Ok(0) => {}
                Ok(files) => tracing::info!(files, "files of uploads that never became jobs were removed"),
                Err(error) => tracing::warn!(%error, "what a dead process left was not removed"),
            }
            // All documents are counted for how the vectors stand: not again at once after the start, not after each
            // deletion, and no deletion puts it off.
            let every = self.inner.config.tidy;
            let mut time = interval_at(Instant::now() + every, every);
            time.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut is_time = false;
            loop {
                if let Err(error) = self.collect().await {
                    tracing::warn!(%error, "what nothing needs was not removed");
                }
                if is_time && let Err(error) = self.survey().await {
                    tracing::warn!(%error, "how the vectors stand is not known");
                }
                is_time = tokio::select! {
                    () = self.inner.untidy.notified() => false,
                    _ = time.tick() => true,
                };
            }
        };
        stop.run_until_cancelled(rounds).await;
    }
}

impl Inner {
    /// A version that was replaced stays for a while, as turns may be at work that have read it, and then as long as
    /// answers cite it.
    async fn expire_batch(&self) -> Result<usize, IngestError> {
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        Ok(self.ports.upkeep.expire(self.ago(self.config.keep_replaced), limit).await?)
    }

    async fn drop_batch(&self) -> Result<usize, IngestError> {
        let dropped = self.ports.vectors.profiles.drop_retired(i64::try_from(DROPS).unwrap_or(i64::MAX)).await?;
        if dropped > 0 {
            tracing::info!(versions = dropped, "the vectors of a former embedder were removed");
        }
        Ok(dropped)
    }

    async fn collect_batch(&self) -> Result<usize, IngestError> {
        let ports = &self.ports;
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        // No upload may find a file there that is about to go.
        let _alone = self.files.write().await;
        let dying = ports.upkeep.dying_blobs(self.ago(self.config.keep_failed), limit).await?;
        for sha256 in &dying {
            fail::fail_point!("collect:marked");
            ports.blobs.remove(sha256).await?;
            fail::fail_point!("collect:removed");
            ports.upkeep.forget_blob(sha256).await?;
        }
        Ok(dying.len())
    }

    fn ago(&self, span: Duration) -> Millis {
        self.ports.clock.now() - span
    }
}
