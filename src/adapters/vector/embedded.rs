//! The embedded index: every leaf in memory, searched exactly.
//!
//! A search takes the current snapshot (one `Arc` behind a lock that is held for its clone alone) and works on it
//! undisturbed; a write makes the next snapshot beside it and swaps. Writes come one after the other. Searches and writes
//! run on the blocking pool, bounded by the number of processors. Nothing is kept on disk: SQL is the truth, and
//! [`EmbeddedIndex::load`] reads it back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::{
    part::Entry,
    scan::Wide,
    snapshot::{Delta, Snapshot},
    top::Top,
};
use crate::domain::{
    error::EngineError,
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    index::{Filter, Hit, Segment, Sparse, TermId, TermStats, VectorIndex},
    knowledge::DocumentStore,
    profile::{Indexes, StoredProfile},
};

/// See the module. Clones share one index.
#[derive(Debug, Clone)]
pub struct EmbeddedIndex {
    dims: usize,
    shared: Arc<Shared>,
    /// Bounds how many searches run at once.
    searches: Arc<Semaphore>,
    /// Held while a write runs.
    writer: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    snapshot: RwLock<Arc<Snapshot>>,
    ledgers: Mutex<HashMap<CollectionId, Ledger>>,
}

/// Term statistics of a collection in the current snapshot, kept by adding and subtracting.
#[derive(Debug, Default)]
struct Ledger {
    /// The XOR of the marks of all entries: names the content, so that the same documents give the same generation in
    /// another process and after a restart.
    generation: u64,
    points: u64,
    /// Copied by a change where a search still weighs by it.
    df: Arc<HashMap<TermId, u32>>,
}

/// Segments read from SQL at a time, at start.
const PAGE: i64 = 128;

impl EmbeddedIndex {
    /// An empty index for dense vectors of `dims` values.
    #[must_use]
    pub fn new(dims: usize) -> Self {
        let searches = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self { dims, shared: Arc::default(), searches: Arc::new(Semaphore::new(searches)), writer: Arc::default() }
    }

    /// An index of every current version in this profile.
    ///
    /// # Errors
    /// `Unavailable` if the store fails; `Rejected` if it holds vectors of another length.
    pub async fn load(stored: &StoredProfile, documents: &dyn DocumentStore) -> Result<Self, EngineError> {
        let index = Self::new(stored.profile.dims);
        let mut after = None;
        loop {
            let page = documents.current_segments(stored.id, after, PAGE).await?;
            let Some((version, no, _)) = page.last() else { return Ok(index) };
            after = Some((*version, *no));
            index.upsert(page.into_iter().map(|(_, _, segment)| segment).collect()).await?;
        }
    }

    async fn search<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Snapshot) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let permit = Arc::clone(&self.searches).acquire_owned().await.map_err(|_| shut_down())?;
        let shared = Arc::clone(&self.shared);
        on_pool(move || {
            let found = work(&shared.current());
            drop(permit);
            found
        })
        .await
    }

    async fn write(&self, remove: Option<Filter>, segments: Vec<Segment>) -> Result<(), EngineError> {
        // The guard travels with the work, so that a caller who goes away does not let a second writer in.
        let guard = Arc::clone(&self.writer).lock_owned().await;
        let (shared, dims) = (Arc::clone(&self.shared), self.dims);
        on_pool(move || {
            let (next, delta) = shared.current().change(dims, remove.as_ref(), segments);
            shared.publish(next, &delta);
            drop(guard);
        })
        .await
    }

    fn check_dims(&self, query: &[f32]) -> Result<(), EngineError> {
        if query.len() == self.dims {
            return Ok(());
        }
        Err(EngineError::Rejected(format!("a vector of {} values in an index of {}", query.len(), self.dims)))
    }

    fn check(&self, segments: &[Segment]) -> Result<(), EngineError> {
        for point in segments.iter().flat_map(|segment| &segment.points) {
            let Sparse { terms, weights } = &point.sparse;
            if !terms.is_sorted_by(|a, b| a < b) || terms.len() != weights.len() {
                return Err(EngineError::Rejected(format!("chunk {}: its terms are not in order", point.chunk)));
            }
            if point.dense.as_ref().is_some_and(|dense| dense.codes.len() != self.dims) {
                return Err(EngineError::Rejected(format!("chunk {}: not {} dimensions", point.chunk, self.dims)));
            }
        }
        Ok(())
    }
}

impl Shared {
    fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, next: Snapshot, delta: &Delta) {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in &delta.removed {
            ledgers.entry(entry.collection).or_default().take(entry);
        }
        for entry in &delta.added {
            ledgers.entry(entry.collection).or_default().give(entry);
        }
        ledgers.retain(|_, ledger| ledger.points > 0);
        let old = {
            let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, Arc::new(next))
        };
        drop(ledgers);
        drop(old);
    }

    fn stats(&self, collections: Option<&[CollectionId]>) -> TermStats {
        let ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = TermStats::default();
        let wanted: Vec<&Ledger> = match collections {
            Some(ids) => ids.iter().filter_map(|id| ledgers.get(id)).collect(),
            None => ledgers.values().collect(),
        };
        for ledger in wanted {
            stats.generation ^= ledger.generation;
            stats.points += ledger.points;
            stats.collections.push(Arc::clone(&ledger.df));
        }
        stats
    }
}

impl Ledger {
    fn give(&mut self, entry: &Entry) {
        self.generation ^= entry.mark;
        self.points += u64::from(entry.rows.end - entry.rows.start);
        let df = Arc::make_mut(&mut self.df);
        for (term, count) in &*entry.df {
            *df.entry(*term).or_default() += count;
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.generation ^= entry.mark;
        self.points -= u64::from(entry.rows.end - entry.rows.start);
        let df = Arc::make_mut(&mut self.df);
        for (term, count) in &*entry.df {
            if let Some(known) = df.get_mut(term) {
                *known = known.saturating_sub(*count);
                if *known == 0 {
                    df.remove(term);
                }
            }
        }
    }
}

async fn on_pool<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::Unavailable(format!("the index stopped: {error}")))
}

fn shut_down() -> EngineError {
    EngineError::Unavailable("the index is shut down".to_owned())
}

/// Opens embedded indexes over this store.
pub struct EmbeddedIndexes(Arc<dyn DocumentStore>);

impl EmbeddedIndexes {
    /// Over `documents`.
    #[must_use]
    pub fn over(documents: Arc<dyn DocumentStore>) -> Arc<dyn Indexes> {
        Arc::new(Self(documents))
    }
}

#[async_trait]
impl Indexes for EmbeddedIndexes {
    async fn open(&self, stored: &StoredProfile) -> Result<Arc<dyn VectorIndex>, EngineError> {
        Ok(Arc::new(EmbeddedIndex::load(stored, self.0.as_ref()).await?))
    }
}

#[async_trait]
impl VectorIndex for EmbeddedIndex {
    async fn upsert(&self, segments: Vec<Segment>) -> Result<(), EngineError> {
        self.check(&segments)?;
        self.write(None, segments).await
    }

    async fn delete(&self, filter: &Filter) -> Result<(), EngineError> {
        self.write(Some(filter.clone()), Vec::new()).await
    }

    async fn replace(&self, document: DocumentId, segments: Vec<Segment>) -> Result<(), EngineError> {
        self.check(&segments)?;
        if segments.iter().any(|segment| segment.document != document) {
            return Err(EngineError::Rejected(format!("segments of another document than {document}")));
        }
        let old = Filter { documents: Some(vec![document]), ..Filter::default() };
        self.write(Some(old), segments).await
    }

    async fn dense(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError> {
        self.check_dims(query)?;
        let (query, filter) = (Wide::of(query), filter.clone());
        self.search(move |snapshot| {
            let mut top = Top::new(limit);
            for (part, ranges) in snapshot.matching(&filter) {
                part.dense(&query, &ranges, &mut top);
            }
            top.into_hits()
        })
        .await
    }

    async fn sparse(&self, query: &Sparse, filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError> {
        let (query, filter) = (query.clone(), filter.clone());
        self.search(move |snapshot| {
            let mut top = Top::new(limit);
            for (part, ranges) in snapshot.matching(&filter) {
                part.sparse(&query, &ranges, &mut top);
            }
            top.into_hits()
        })
        .await
    }

    async fn cosines(&self, query: &[f32], chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError> {
        self.check_dims(query)?;
        let (query, chunks) = (Wide::of(query), chunks.to_vec());
        self.search(move |snapshot| {
            let cosine = |chunk: ChunkId| snapshot.find(chunk).and_then(|(part, row)| part.cosine(row, &query));
            chunks.into_iter().filter_map(|chunk| Some((chunk, cosine(chunk)?))).collect()
        })
        .await
    }

    async fn overlaps(&self, query: &Sparse, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError> {
        let (query, chunks) = (query.clone(), chunks.to_vec());
        self.search(move |snapshot| {
            let overlap = |chunk: ChunkId| snapshot.find(chunk).map(|(part, row)| part.overlap(row, &query));
            chunks.into_iter().filter_map(|chunk| Some((chunk, overlap(chunk)?))).collect()
        })
        .await
    }

    async fn stats(&self, collections: Option<&[CollectionId]>) -> Result<Arc<TermStats>, EngineError> {
        let (shared, collections) = (Arc::clone(&self.shared), collections.map(<[CollectionId]>::to_vec));
        self.search(move |_| Arc::new(shared.stats(collections.as_deref()))).await
    }

    async fn versions(&self) -> Result<Vec<(DocumentId, VersionId)>, EngineError> {
        self.search(Snapshot::versions).await
    }

    async fn chunks(&self, version: VersionId) -> Result<Vec<ChunkId>, EngineError> {
        self.search(move |snapshot| snapshot.chunks(version)).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, EngineError> {
        let filter = filter.clone();
        self.search(move |snapshot| {
            let matching = snapshot.matching(&filter);
            matching.iter().flat_map(|(_, ranges)| ranges).map(|range| u64::from(range.end - range.start)).sum()
        })
        .await
    }
}
