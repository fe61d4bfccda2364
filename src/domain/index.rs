//! The vector index, the embedder and the reranker: what finds chunks.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::EngineError,
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    knowledge::Level,
};

/// A term of the analyser as a number: a stable hash of its folded text (see `text::terms::term_id`).
pub type TermId = u32;

/// A dense vector in eight bits: `value[i] ≈ scale · codes[i]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantized {
    /// Multiplies every code.
    pub scale: f32,
    /// One per dimension, −127 … 127.
    pub codes: Vec<i8>,
}

/// A sparse vector: term and weight, terms ascending and unique. In a point the weight is BM25's saturated term
/// frequency; in a query it is idf times the term's count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sparse {
    /// Ascending.
    pub terms: Vec<TermId>,
    /// As long as `terms`.
    pub weights: Vec<f32>,
}

/// A leaf as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The leaf.
    pub chunk: ChunkId,
    /// Dense side, of unit length before rounding. `None` when the text has no direction (only white space or
    /// characters unknown to the embedder): it is then found by the sparse side alone.
    pub dense: Option<Quantized>,
    /// Sparse side.
    pub sparse: Sparse,
}

/// Up to [`Segment::CAPACITY`] leaves of one version, packed for one row of SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Of which collection.
    pub collection: CollectionId,
    /// Of which document.
    pub document: DocumentId,
    /// Of which version.
    pub version: VersionId,
    /// The leaves.
    pub points: Vec<Point>,
}

impl Segment {
    /// Most leaves in one segment.
    pub const CAPACITY: usize = 512;
}

/// What a search or a deletion is about; all given parts must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// One of these collections. `Some(vec![])` matches nothing.
    pub collections: Option<Vec<CollectionId>>,
    /// One of these documents.
    pub documents: Option<Vec<DocumentId>>,
    /// None of these documents.
    pub except_documents: Vec<DocumentId>,
    /// One of these versions.
    pub versions: Option<Vec<VersionId>>,
    /// This level. Points are leaves today; the filter is part of the port for engines that hold more.
    pub level: Option<Level>,
}

/// A point that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The leaf.
    pub chunk: ChunkId,
    /// Of which document.
    pub document: DocumentId,
    /// Dense: cosine, −1 … 1. Sparse: Σ over shared terms of query weight × point weight, above 0.
    pub score: f32,
}

/// How often terms occur in the index, frozen for one generation: the source of idf.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TermStats {
    /// Names the generation; every change of the index's content makes a new one.
    pub generation: u64,
    /// Leaves.
    pub points: u64,
    /// In how many leaves each term occurs; absent = 0.
    pub df: HashMap<TermId, u32>,
}

impl TermStats {
    /// Robertson–Spärck Jones idf as BM25 uses it, `ln(1 + (N − df + ½) / (df + ½))`: never negative.
    #[must_use]
    pub fn idf(&self, term: TermId) -> f32 {
        let df = f64::from(self.df.get(&term).copied().unwrap_or(0));
        #[expect(clippy::cast_precision_loss, reason = "leaves are counted in millions, not in 2^53")]
        let n = self.points as f64;
        #[expect(clippy::cast_possible_truncation, reason = "idf lies between 0 and 30")]
        let idf = (1.0 + ((n - df).max(0.0) + 0.5) / (df + 0.5)).ln() as f32;
        idf
    }
}

/// Finds leaves by meaning and by words.
///
/// Contract: writes are visible to every search that starts after they returned; each write may be repeated; results
/// are ordered by score, then by chunk id, so that equal inputs give equal lists; filters apply before the limit.
#[async_trait]
pub trait VectorIndex: Send + Sync {
    /// Adds or replaces the points of these segments.
    async fn upsert(&self, segments: Vec<Segment>) -> Result<(), EngineError>;
    /// Removes every point that matches.
    async fn delete(&self, filter: &Filter) -> Result<(), EngineError>;
    /// Makes these segments the only ones of `document`. An in-process engine does it in one step that no search
    /// sees half of; the default serves engines whose hits are checked against SQL anyway.
    async fn replace(&self, document: DocumentId, segments: Vec<Segment>) -> Result<(), EngineError> {
        let filter = Filter { documents: Some(vec![document]), ..Filter::default() };
        self.delete(&filter).await?;
        self.upsert(segments).await
    }
    /// The `limit` nearest by cosine. `query` has unit length; another dimension is `Rejected`.
    async fn dense(&self, query: &[f32], filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError>;
    /// The `limit` best by shared terms.
    async fn sparse(&self, query: &Sparse, filter: &Filter, limit: usize) -> Result<Vec<Hit>, EngineError>;
    /// The cosine of `query` to each of these points; absent or undirected points are left out.
    async fn cosines(&self, query: &[f32], chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError>;
    /// The sparse score of each of these points (0 where no term is shared); absent points are left out.
    async fn overlaps(&self, query: &Sparse, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, f32)>, EngineError>;
    /// The current generation of term statistics.
    async fn stats(&self) -> Result<Arc<TermStats>, EngineError>;
    /// How many points match.
    async fn count(&self, filter: &Filter) -> Result<u64, EngineError>;
}

/// Turns text into vectors of unit length. Work is bounded and never on the runtime's threads.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Model and revision; vectors of different names are never compared.
    fn name(&self) -> &str;
    /// Length of every vector.
    fn dims(&self) -> usize;
    /// How much the cosine counts beside the lexical share (see `services::retrieval::search`).
    fn weight(&self) -> f32;
    /// One vector per passage, in order; `None` where the text has no direction for this model.
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError>;
    /// The vector of a question.
    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError>;
}

/// Scores passages against a question anew.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// The model.
    fn name(&self) -> &str;
    /// One score in 0 … 1 per passage, in order; `None` where the model gave none.
    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Vec<Option<f32>>, EngineError>;
}
