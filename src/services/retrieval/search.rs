//! Candidates for a question: the dense and the sparse side, fused by coverage.
//!
//! `score = share + w · cosine`. The share is the part of the question's weight that the passage's words cover, 0 … 1,
//! so it speaks loudly when the words are there and falls silent by itself across languages; the weight `w` belongs to
//! the embedder. Fusion by ranks throws that away.

use std::{collections::HashMap, sync::Arc};

use crate::{
    domain::{
        error::EngineError,
        id::{ChunkId, DocumentId},
        index::{Bm25, Embedder, Filter, Hit, QueryTerms, TermStats, VectorIndex},
        profile::{Served, Serving},
    },
    text::terms,
};

/// How many of each side's best take part in the fusion.
const SIDE: usize = 100;

/// Finds candidates.
#[derive(Clone)]
pub struct Search {
    serving: Serving,
    words: Arc<dyn Embedder>,
}

/// A leaf with the scores of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The leaf.
    pub chunk: ChunkId,
    /// Its document.
    pub document: DocumentId,
    /// What it is ranked by.
    pub score: f32,
    /// Share of the question's weight that its words cover, 0 … 1.
    pub lexical: f32,
    /// Cosine, −1 … 1; none where the question or the leaf has no direction, or the dense side failed.
    pub dense: Option<f32>,
}

/// What a search found, and what it asked with.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// Best first; equal scores in the order of chunk ids.
    pub hits: Vec<Scored>,
    /// The question's vector, if it has a direction and the embedder worked.
    pub vector: Option<Vec<f32>>,
    /// The question's terms, weighted.
    pub terms: QueryTerms,
    /// The statistics that weighted them.
    pub stats: Arc<TermStats>,
    /// One side failed, and the other one answered alone.
    pub degraded: bool,
}

/// What one side brings to the fusion: its best, and its scores for the other side's best.
#[derive(Debug, Clone, Default)]
struct Side {
    best: Vec<Hit>,
    others: Vec<(ChunkId, f32)>,
}

impl Search {
    /// Over what is served; `words` compares single words with each other.
    #[must_use]
    pub fn new(serving: Serving, words: Arc<dyn Embedder>) -> Self {
        Self { serving, words }
    }

    /// Over this index, with the embedder that made its vectors.
    #[must_use]
    pub fn alone(index: Arc<dyn VectorIndex>, embedder: Arc<dyn Embedder>) -> Self {
        Self::new(Serving::alone(index, Arc::clone(&embedder)), embedder)
    }

    /// What is searched.
    #[must_use]
    pub const fn serving(&self) -> &Serving {
        &self.serving
    }

    /// The index that is searched now.
    #[must_use]
    pub fn index(&self) -> Arc<dyn VectorIndex> {
        self.serving.current().index
    }

    /// The embedder that compares words. Its vectors need not be those of the index.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.words
    }

    /// The `limit` best leaves for `query` among those that `filter` allows. If one side fails, the other one answers
    /// alone, `degraded`.
    ///
    /// # Errors
    /// The sparse side's error when both sides fail.
    pub async fn candidates(&self, query: &str, filter: &Filter, limit: usize) -> Result<Candidates, EngineError> {
        let side = SIDE.max(limit);
        // One index to the end, whatever is switched meanwhile: vectors of two embedders never meet.
        let Served { index, embedder, .. } = self.serving.current();
        let (index, embedder) = (index.as_ref(), embedder.as_ref());
        let (dense, sparse) =
            futures::join!(dense(index, embedder, query, filter, side), sparse(index, query, filter, side));
        let mut degraded = false;
        let (vector, dense, terms, stats, sparse) = match (dense, sparse) {
            (Ok((vector, dense)), Ok((terms, stats, sparse))) => (vector, dense, terms, stats, sparse),
            (Ok((vector, dense)), Err(error)) => {
                tracing::warn!(%error, "sparse search failed; the dense side answers alone");
                degraded = true;
                (vector, dense, QueryTerms::default(), Arc::default(), Vec::new())
            }
            (Err(error), Ok((terms, stats, sparse))) => {
                tracing::warn!(%error, "dense search failed; the sparse side answers alone");
                degraded = true;
                (None, Vec::new(), terms, stats, sparse)
            }
            (Err(_), Err(error)) => return Err(error),
        };
        let (without_cosine, without_overlap) = (missing(&sparse, &dense), missing(&dense, &sparse));
        let (cosines, overlaps) = futures::join!(
            cosines(index, vector.as_deref(), &without_cosine),
            overlaps(index, &terms, &without_overlap)
        );
        degraded |= cosines.is_err() || overlaps.is_err();
        let dense = Side { best: dense, others: cosines.unwrap_or_default() };
        let sparse = Side { best: sparse, others: overlaps.unwrap_or_default() };
        let hits = fuse(&dense, &sparse, &terms, embedder.weight(), limit);
        Ok(Candidates { hits, vector, terms, stats, degraded })
    }
}

async fn dense(
    index: &dyn VectorIndex,
    embedder: &dyn Embedder,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<(Option<Vec<f32>>, Vec<Hit>), EngineError> {
    let Some(vector) = embedder.query(query).await? else { return Ok((None, Vec::new())) };
    let hits = index.dense(&vector, filter, limit).await?;
    Ok((Some(vector), hits))
}

async fn sparse(
    index: &dyn VectorIndex,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<(QueryTerms, Arc<TermStats>, Vec<Hit>), EngineError> {
    let stats = index.stats(filter.collections.as_deref()).await?;
    let terms = Bm25::CURRENT.question(&terms::question(query), &stats);
    let hits = index.sparse(&terms.sparse, filter, limit).await?;
    Ok((terms, stats, hits))
}

async fn cosines(
    index: &dyn VectorIndex,
    vector: Option<&[f32]>,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, f32)>, EngineError> {
    match vector {
        Some(vector) if !chunks.is_empty() => index.cosines(vector, chunks).await,
        _ => Ok(Vec::new()),
    }
}

async fn overlaps(
    index: &dyn VectorIndex,
    terms: &QueryTerms,
    chunks: &[ChunkId],
) -> Result<Vec<(ChunkId, f32)>, EngineError> {
    if terms.sparse.terms.is_empty() || chunks.is_empty() {
        return Ok(Vec::new());
    }
    index.overlaps(&terms.sparse, chunks).await
}

/// Chunks of `these` that are not among `those`.
fn missing(these: &[Hit], those: &[Hit]) -> Vec<ChunkId> {
    let known: std::collections::HashSet<ChunkId> = those.iter().map(|hit| hit.chunk).collect();
    these.iter().map(|hit| hit.chunk).filter(|chunk| !known.contains(chunk)).collect()
}

fn fuse(dense: &Side, sparse: &Side, terms: &QueryTerms, weight: f32, limit: usize) -> Vec<Scored> {
    let scores = |side: &Side| -> HashMap<ChunkId, f32> {
        side.best.iter().map(|hit| (hit.chunk, hit.score)).chain(side.others.iter().copied()).collect()
    };
    let (cosines, overlaps) = (scores(dense), scores(sparse));
    let found: HashMap<ChunkId, DocumentId> =
        dense.best.iter().chain(&sparse.best).map(|hit| (hit.chunk, hit.document)).collect();
    let mut hits: Vec<Scored> = found
        .into_iter()
        .map(|(chunk, document)| {
            let lexical = terms.share(overlaps.get(&chunk).copied().unwrap_or(0.0));
            let dense = cosines.get(&chunk).copied();
            Scored { chunk, document, score: lexical + weight * dense.unwrap_or(0.0), lexical, dense }
        })
        .collect();
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    hits.truncate(limit);
    hits
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Scored, Side, fuse};
    use crate::domain::{
        id::{ChunkId, DocumentId},
        index::{Hit, QueryTerms, Sparse},
    };

    fn chunk(n: u128) -> ChunkId {
        ChunkId::from_uuid(Uuid::from_u128(n))
    }

    fn hit(n: u128, score: f32) -> Hit {
        Hit { chunk: chunk(n), document: DocumentId::from_uuid(Uuid::nil()), score }
    }

    #[test]
    fn coverage_is_the_share_plus_the_weighted_cosine() {
        let terms = QueryTerms { sparse: Sparse { terms: vec![1], weights: vec![2.0] }, mass: 4.0 };
        let dense = Side { best: vec![hit(1, 0.8), hit(2, 0.6)], others: vec![(chunk(3), 0.2)] };
        let sparse = Side { best: vec![hit(3, 3.0), hit(2, 1.0)], others: vec![(chunk(1), 0.0)] };
        let scored = |n, score, lexical, dense| Scored {
            chunk: chunk(n),
            document: DocumentId::from_uuid(Uuid::nil()),
            score,
            lexical,
            dense,
        };
        assert_eq!(
            fuse(&dense, &sparse, &terms, 0.5, 2),
            [scored(3, 0.75 + 0.5 * 0.2, 0.75, Some(0.2)), scored(2, 0.25 + 0.5 * 0.6, 0.25, Some(0.6))]
        );
        let alone = fuse(&Side::default(), &sparse, &terms, 0.5, 9);
        assert_eq!(alone, [scored(3, 0.75, 0.75, None), scored(2, 0.25, 0.25, None)]);
    }

    #[test]
    fn equal_scores_come_in_the_order_of_ids() {
        let dense = Side { best: vec![hit(9, 0.5), hit(4, 0.5), hit(7, 0.5)], others: vec![] };
        let order: Vec<ChunkId> =
            fuse(&dense, &Side::default(), &QueryTerms::default(), 0.5, 3).iter().map(|hit| hit.chunk).collect();
        assert_eq!(order, [chunk(4), chunk(7), chunk(9)]);
    }
}
