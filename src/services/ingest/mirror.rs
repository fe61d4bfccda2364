//! Keeping an index in memory in step with what other processes change. SQL counts the changes; each process looks at the
//! count every now and then, and takes up the documents that changed since.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Ingest, IngestError, Inner};
use crate::domain::{
    error::{EngineError, StoreError},
    id::DocumentId,
    index::Filter,
};

/// Changes that are read in one go.
const BATCH: i64 = 64;

impl Ingest {
    /// Takes up what others change from the change `seen` on, until `stop`. Not needed where one process has the store.
    pub fn mirror(&self, seen: i64, tasks: &TaskTracker, stop: &CancellationToken) {
        let ingest = self.clone();
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            let (mut seen, mut is_failing) = (seen, false);
            loop {
                match ingest.take_up(seen).await {
                    Ok(no) => (seen, is_failing) = (no, false),
                    Err(error) => {
                        // Once, not with every look.
                        if !std::mem::replace(&mut is_failing, true) {
                            tracing::error!(%error, "what other processes changed is not in the index yet");
                        }
                    }
                }
                tokio::time::sleep(ingest.inner.config.look).await;
            }
        }));
    }

    /// Takes up what changed after the change `seen`. Gives the last change that the index knows then.
    ///
    /// # Errors
    /// When the store or the index fails; it may be repeated.
    pub async fn take_up(&self, mut seen: i64) -> Result<i64, IngestError> {
        loop {
            let changes = self.inner.ports.upkeep.changes(seen, BATCH).await?;
            let Some((last, _)) = changes.last() else { return Ok(seen) };
            seen = *last;
            for (_, document) in changes {
                self.inner.take_up(document).await?;
            }
        }
    }
}

impl Inner {
    /// Makes the index hold what answers in a document now.
    async fn take_up(&self, document: DocumentId) -> Result<(), StoreError> {
        let ports = &self.ports;
        // This process's own changes are told to the index under it; what is read here is not older than they are.
        let _order = self.swap.lock().await;
        let current = match ports.documents.document(document).await {
            Ok(document) => document.current,
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error),
        };
        let taken = match current {
            None => ports.index.delete(&Filter { documents: Some(vec![document]), ..Filter::default() }).await,
            Some(version) => {
                let this = Filter { versions: Some(vec![version.id]), ..Filter::default() };
                // A version never changes: this process's own are there already.
                match ports.index.count(&this).await {
                    Ok(leaves) if i64::try_from(leaves) == Ok(version.chunk_count) => Ok(()),
                    Ok(_) => ports.index.replace(document, ports.upkeep.segments(version.id).await?).await,
                    Err(error) => Err(error),
                }
            }
        };
        match taken {
            Err(error @ (EngineError::Unavailable(_) | EngineError::RateLimited { .. })) => {
                Err(StoreError::Unavailable(error.to_string()))
            }
            // It would be refused for ever; the others are not to wait for it.
            Err(error @ EngineError::Rejected(_)) => {
                tracing::error!(%error, %document, "the index does not have the current version");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}
