//! The index, the embedder and the reranker, recorded.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Unrecorded, tape,
    tape::{Counts, Turned},
    through,
};
use crate::domain::{
    error::EngineError,
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    index::{Embedder, Filter, Hit, Reranker, Segment, Sparse, TermStats, VectorIndex},
    profile::Served,
};

/// An index and its embedder, recorded.
#[must_use]
pub fn taped(served: Served) -> Served {
    let Served { stored, index, embedder } = served;
    Served { stored, index: TapedIndex::over(index), embedder: TapedEmbedder::over(embedder) }
}

/// An index whose searches are recorded.
pub struct TapedIndex(Arc<dyn VectorIndex>);

impl TapedIndex {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn VectorIndex>) -> Arc<dyn VectorIndex> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl VectorIndex for TapedIndex {
    async fn upsert(&self, segments: Vec<Segment>) -> Result<(), EngineError> {
        self.0.upsert(segments).await
    }

    async fn delete(&self, filter: &Filter) -> Result<(), EngineError> {
        self.0.delete(filter).await
    }

    async fn replace(&self, document: DocumentId, segments: Vec<Segment>) -> Result<(), EngineError> {
        self.0.replace(document, segments).await
    }

    async fn dense(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError> {
        through("index.dense", &(query, filter, limit), self.0.dense(query, filter, limit)).await
    }

    async fn sparse(&self, query: &Sparse, filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError> {
        through("index.sparse", &(query, filter, limit), self.0.sparse(query, filter, limit)).await
    }

    async fn cosines(&self, query: &[f32], chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError> {
        through("index.cosines", &(query, chunks), self.0.cosines(query, chunks)).await
    }

    async fn overlaps(&self, query: &Sparse, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError> {
        through("index.overlaps", &(query, chunks), self.0.overlaps(query, chunks)).await
    }

    /// The statistics of a whole index are large and shared: only what the turn weighs of them is recorded.
    async fn stats(&self, collections: Option<&[CollectionId]>) -> Result<Arc<TermStats>, EngineError> {
        let Some(tape) = tape() else { return self.0.stats(collections).await };
        match tape.turn::<Result<Counts, EngineError>>("index.stats", &collections) {
            Turned::Through => self.0.stats(collections).await,
            Turned::Note(note) => {
                let stats = self.0.stats(collections).await;
                match &stats {
                    Ok(stats) => note.counted(Arc::clone(stats)),
                    Err(error) => note.answered(&Err::<(), _>(error)),
                }
                stats
            }
            Turned::Played(counts) => counts.map(|counts| Arc::new(counts.into())),
            Turned::Cut => std::future::pending().await,
            Turned::Missing => Err(EngineError::unrecorded()),
        }
    }

    // No turn asks for these.
    async fn versions(&self) -> Result<Vec<(DocumentId, VersionId)>, EngineError> {
        self.0.versions().await
    }

    async fn chunks(&self, version: VersionId) -> Result<Vec<ChunkId>, EngineError> {
        self.0.chunks(version).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, EngineError> {
        through("index.count", filter, self.0.count(filter)).await
    }
}

/// An embedder whose questions are recorded.
pub struct TapedEmbedder(Arc<dyn Embedder>);

impl TapedEmbedder {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl Embedder for TapedEmbedder {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn dims(&self) -> usize {
        self.0.dims()
    }

    fn weight(&self) -> f32 {
        self.0.weight()
    }

    fn embeds_words(&self) -> bool {
        self.0.embeds_words()
    }

    /// Within a turn these are single words, and only of an embedder that gives the same for them always.
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        self.0.passages(texts).await
    }

    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        if let Some(tape) = tape() {
            tape.weighs(text);
        }
        through("embedder.query", &text, self.0.query(text)).await
    }
}

/// A reranker whose scores are recorded.
pub struct TapedReranker(Arc<dyn Reranker>);

impl TapedReranker {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn Reranker>) -> Arc<dyn Reranker> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl Reranker for TapedReranker {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Vec<Option<f32>>, EngineError> {
        through("reranker", &(query, passages), self.0.rerank(query, passages)).await
    }
}
