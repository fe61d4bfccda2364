//! Keeping an index in memory in step with SQL, which other processes change too. SQL counts the changes; each process looks
//! at the count every now and then, and takes up the documents that changed since. Where another profile is current, it
//! opens its index beside the old one, and then searches that.

use std::{
    collections::HashSet,
    fmt::Display,
    sync::{MutexGuard, PoisonError},
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Ingest, IngestError, Inner};
use crate::domain::{
    error::{EngineError, StoreError},
    id::{DocumentId, VersionId},
    index::Filter,
    knowledge::Version,
    profile::Served,
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
                let looked = match ingest.inner.renew().await {
                    Ok(()) => ingest.take_up(seen).await,
                    Err(error) => Err(error.into()),
                };
                match looked {
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
                // This process's own changes are told to the index under it; what is read here is not older than they are.
                let _order = self.inner.swap.lock().await;
                self.inner.take_up(&self.inner.served(), document).await?;
            }
        }
    }
}

impl Inner {
    /// What this process searches.
    pub(super) fn served(&self) -> Served {
        self.ports.vectors.serving.current()
    }

    /// Searches what SQL says is current, if that is not searched yet. The old index answers until the new one is whole.
    pub(super) async fn renew(&self) -> Result<(), StoreError> {
        let (ports, vectors) = (&self.ports, &self.ports.vectors);
        let _one = self.renewal.lock().await;
        let current = vectors.profiles.current_profile().await?;
        if *self.served().stored == current {
            return Ok(());
        }
        tracing::info!(embedder = current.profile.embedder, "another index is being opened");
        // Read before the index: what changes meanwhile is taken up again.
        let mut seen = ports.upkeep.last_change().await?;
        let index = vectors.indexes.open(&current).await?;
        let next = Served::of(current, index, &vectors.embedders);
        let _order = self.swap.lock().await;
        // It has taken up all that is there.
        self.behind().clear();
        loop {
            let changes = ports.upkeep.changes(seen, BATCH).await?;
            let Some((last, _)) = changes.last() else { break };
            seen = *last;
            for (_, document) in changes {
                self.take_up(&next, document).await?;
            }
        }
        vectors.serving.switch(next);
        Ok(())
    }

    /// Documents whose current version the index has not taken.
    pub(super) fn behind(&self) -> MutexGuard<'_, HashSet<DocumentId>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index has not taken what answers in this document; the others are not to wait for it.
    pub(super) fn leave_behind(&self, document: DocumentId, error: &impl Display) {
        tracing::error!(%error, %document, "the index does not have the current version");
        self.behind().insert(document);
    }

    /// Offers the index once more what it has not taken.
    pub(super) async fn catch_up(&self) {
        let behind: Vec<DocumentId> = self.behind().iter().copied().collect();
        for document in behind {
            let _order = self.swap.lock().await;
            self.behind().remove(&document);
            if let Err(error) = self.take_up(&self.served(), document).await {
                self.leave_behind(document, &error);
            }
        }
    }

    /// Makes an index hold what answers in a document now, or leaves the document behind. Changes of what answers have to
    /// wait meanwhile.
    async fn take_up(&self, served: &Served, document: DocumentId) -> Result<(), StoreError> {
        let taken = match self.current(document).await? {
            None => served.index.delete(&Filter { documents: Some(vec![document]), ..Filter::default() }).await,
            Some(version) => {
                let this = Filter { versions: Some(vec![version.id]), ..Filter::default() };
                // A version never changes: this process's own are there already.
                match served.index.count(&this).await {
                    Ok(leaves) if i64::try_from(leaves) == Ok(version.chunk_count) => Ok(()),
                    Ok(_) => self.index_version(served, document, version.id).await,
                    Err(error) => Err(error),
                }
            }
        };
        // The store has just answered: what fails now is a matter of this document.
        if let Err(error) = taken {
            self.leave_behind(document, &error);
        }
        Ok(())
    }

    /// Makes this version the one that an index holds of a document.
    pub(super) async fn index_version(
        &self,
        served: &Served,
        document: DocumentId,
        version: VersionId,
    ) -> Result<(), EngineError> {
        let segments = self.ports.upkeep.segments(served.stored.id, version).await?;
        served.index.replace(document, segments).await
    }

    /// The version that answers in a document; none of one that is gone.
    pub(super) async fn current(&self, document: DocumentId) -> Result<Option<Version>, StoreError> {
        match self.ports.documents.document(document).await {
            Ok(document) => Ok(document.current),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
