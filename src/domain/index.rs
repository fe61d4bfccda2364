//! The vector index, the embedder and the reranker: what finds chunks.

mod strict;

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub(super) use self::strict::Strict;
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
/// frequency; in a query it is idf times the term's importance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sparse {
    /// Ascending.
    pub terms: Vec<TermId>,
    /// As long as `terms`.
    pub weights: Vec<f32>,
}

impl Quantized {
    /// Rounds a vector to eight bits, the largest value to ±127.
    #[must_use]
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return Self { scale: 0.0, codes: vec![0; vector.len()] };
        }
        let scale = largest / 127.0;
        #[expect(clippy::cast_possible_truncation, reason = "rounded values lie within ±127")]
        let codes = vector.iter().map(|value| (value / scale).round() as i8).collect();
        Self { scale, codes }
    }
}

/// How sparse weights are made. A change asks for a new index of everything (see `services::ingest::ANALYSER`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Where the weight of a repeated term ends: at `k1 + 1`.
    pub k1: f32,
    /// How much a long leaf is held against it, 0 … 1.
    pub b: f32,
}

impl Bm25 {
    /// The one in use. Lengths come as shares of a usual leaf's (see `text::terms::count`), so that no average has to
    /// be kept. The optimum is flat: on the development sets nDCG moves by up to about .02 between k1 .9 and 1.6, b .5 and .9.
    pub const CURRENT: Self = Self { k1: 0.9, b: 0.6 };

    /// The weights of a passage: BM25's term frequency part. `frequencies` has unique terms in ascending order, `length`
    /// is the share of a usual leaf's.
    #[must_use]
    pub fn passage(&self, frequencies: &[(TermId, u32)], length: f32) -> Sparse {
        let norm = self.k1 * (1.0 - self.b + self.b * length);
        let (terms, weights) = frequencies
            .iter()
            .map(|&(term, count)| {
                #[expect(clippy::cast_precision_loss, reason = "terms are counted in hundreds")]
                let count = count as f32;
                (term, count * (self.k1 + 1.0) / (count + norm))
            })
            .unzip();
        Sparse { terms, weights }
    }

    /// The weights of a question: idf times importance. `terms` are unique, ascending (see `text::terms::question`);
    /// those that no leaf holds stay in, at the idf of a term never seen, and so count in the mass.
    #[must_use]
    pub fn question(&self, terms: &[(TermId, f32)], stats: &TermStats) -> QueryTerms {
        let (terms, weights): (Vec<_>, Vec<_>) =
            terms.iter().map(|&(term, importance)| (term, stats.idf(term) * importance)).unzip();
        let mass = weights.iter().sum::<f32>() * (self.k1 + 1.0);
        QueryTerms { sparse: Sparse { terms, weights }, mass }
    }
}

/// A question as the sparse side sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryTerms {
    /// Its terms.
    pub sparse: Sparse,
    /// The score that no passage can pass. A score divided by it is the share of the question's weight that the passage
    /// holds, 0 … 1. 0 when the question has no terms.
    pub mass: f32,
}

impl QueryTerms {
    /// The share of the question's weight behind a sparse score.
    #[must_use]
    pub fn share(&self, score: f32) -> f32 {
        if self.mass > 0.0 { (score / self.mass).clamp(0.0, 1.0) } else { 0.0 }
    }
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The leaf.
    pub chunk: ChunkId,
    /// Of which document.
    pub document: DocumentId,
    /// Dense: cosine, −1 … 1. Sparse: Σ over shared terms of query weight × point weight, above 0.
    pub score: f32,
}

/// How often terms occur in some collections, frozen for one generation: the source of idf.
#[derive(Debug, Clone, Default)]
pub struct TermStats {
    /// Names the content of the collections: another content has another number, the same content the same one.
    pub generation: u64,
    /// Leaves.
    pub points: u64,
    /// Of each collection: in how many leaves each term occurs; absent = 0.
    pub collections: Vec<Arc<HashMap<TermId, u32>>>,
}

impl TermStats {
    /// In how many leaves a term occurs.
    #[must_use]
    pub fn df(&self, term: TermId) -> u32 {
        self.collections.iter().filter_map(|df| df.get(&term)).sum()
    }

    /// Robertson–Spärck Jones idf as BM25 uses it, `ln(1 + (N − df + ½) / (df + ½))`: never negative.
    #[must_use]
    pub fn idf(&self, term: TermId) -> f32 {
        let df = f64::from(self.df(term));
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
    /// Adds or replaces the points of these segments. A chunk belongs to one version for good; the last of two points of
    /// one chunk stays.
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
    /// The current generation of term statistics, of these collections alone: what somebody may not read must not show
    /// in how their words are weighed. `None`: of all.
    async fn stats(&self, collections: Option<&[CollectionId]>) -> Result<Arc<TermStats>, EngineError>;
    /// The versions that it holds points of, in no order.
    async fn versions(&self) -> Result<Vec<(DocumentId, VersionId)>, EngineError>;
    /// The points of a version, ascending.
    async fn chunks(&self, version: VersionId) -> Result<Vec<ChunkId>, EngineError>;
    /// How many points match.
    async fn count(&self, filter: &Filter) -> Result<u64, EngineError>;
}

/// Turns text into vectors of unit length. Work is bounded and never on the runtime's threads. What breaks this contract is
/// `Rejected` where embedders are held ([`Embedders`](super::profile::Embedders)): a vector of another length, one with a
/// value that is no number, more or fewer vectors than texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Model and revision: vectors of different names are never compared (see [`Profile`](super::profile::Profile)).
    fn name(&self) -> &str;
    /// Length of every vector.
    fn dims(&self) -> usize;
    /// How much the cosine counts beside the lexical share (see `services::retrieval::search`).
    fn weight(&self) -> f32;
    /// Whether thousands of single words may be embedded while a question waits; contextual models take too long for it.
    fn embeds_words(&self) -> bool;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Bm25, Quantized, QueryTerms, Sparse, TermStats};

    #[test]
    fn eight_bits() {
        assert_eq!(Quantized::of(&[1.0, -0.5, 0.0]), Quantized { scale: 1.0 / 127.0, codes: vec![127, -64, 0] });
        assert_eq!(Quantized::of(&[0.0, 0.0]), Quantized { scale: 0.0, codes: vec![0, 0] });
        assert_eq!(Quantized::of(&[f32::NAN, 0.0]).codes, [0, 0]);
    }

    #[test]
    fn a_passage_of_usual_length() {
        let bm25 = Bm25 { k1: 1.0, b: 0.75 };
        assert_eq!(bm25.passage(&[(3, 1), (9, 3)], 1.0), Sparse { terms: vec![3, 9], weights: vec![1.0, 1.5] });
    }

    #[test]
    fn unknown_terms_count_in_the_mass() {
        let stats = TermStats { generation: 1, points: 3, collections: vec![Arc::new([(1, 3)].into())] };
        let question = Bm25 { k1: 1.0, b: 0.75 }.question(&[(1, 1.0), (2, 0.5)], &stats);
        let (known, unknown) = (stats.idf(1), stats.idf(2) * 0.5);
        assert_eq!(
            question,
            QueryTerms {
                sparse: Sparse { terms: vec![1, 2], weights: vec![known, unknown] },
                mass: (known + unknown) * 2.0
            }
        );
        assert_eq!(question.share(question.mass), 1.0);
        assert_eq!(QueryTerms::default().share(1.0), 0.0);
    }
}
