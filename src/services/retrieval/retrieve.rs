//! One retrieval: search, the wide pool that the grader judges, and the few passages that an answer is written from.

use std::{collections::HashMap, sync::Arc};

use crate::domain::{
    error::TurnError,
    evidence::Passage,
    id::ChunkId,
    index::{Filter, TermStats},
    knowledge::{Access, Level, Placed},
    trace::RagTrace,
};

use super::{
    Retrieval,
    merge::{Candidate, THRESHOLD, merge},
    rerank::rerank,
    search::Scored,
};

/// Hits that the pool is chosen from.
const WIDE: usize = 200;
/// Most documents in the pool.
const DOCUMENTS: usize = 12;
/// Leaves of one document in the pool; more where few documents were found.
const LEAVES: usize = 3;
/// Most leaves of one document in the pool.
const MOST_LEAVES: usize = 12;
/// What a leaf beyond [`LEAVES`] has to score beside the best one of its document: only what is about as near to the
/// question can be one more thing that is meant.
const AS_NEAR: f32 = 0.5;
/// Candidates per passage of the answer, at least.
const MULTIPLIER: usize = 3;

/// What a retrieval found.
#[derive(Debug, Clone)]
pub(crate) struct Retrieved {
    /// Best first, merged, reranked, cut: what an answer is written from.
    pub passages: Vec<Passage>,
    /// Leaves: the best few of each of the best documents.
    pub pool: Arc<[Passage]>,
    /// The statistics that the search weighed words by.
    pub stats: Arc<TermStats>,
    /// One side of the search failed or is missing.
    pub degraded: bool,
}

impl Retrieval {
    /// Says which pages begin inside the passages: only one that begins on a page can hold the beginning of another.
    pub(super) async fn tell_pages(&self, passages: &mut [Passage]) -> Result<(), TurnError> {
        let paged: Vec<ChunkId> =
            passages.iter().filter(|passage| passage.page_number.is_some()).map(|passage| passage.chunk_id).collect();
        if paged.is_empty() {
            return Ok(());
        }
        for (chunk, page) in self.documents.pages_inside(&paged).await? {
            for passage in passages.iter_mut().filter(|passage| passage.chunk_id == chunk) {
                passage.pages.push(page.clone());
            }
        }
        Ok(())
    }

    /// Searches for `text` among what `access` and `filter` allow.
    pub(crate) async fn retrieve(
        &self,
        text: &str,
        access: &Access,
        filter: &Filter,
        top_k: usize,
        trace: &mut RagTrace,
    ) -> Result<Retrieved, TurnError> {
        let filter = Filter { collections: Some(access.collections.clone()), ..filter.clone() };
        let found = self
            .search
            .candidates(text, &filter, WIDE)
            .await
            .map_err(|error| TurnError::Retrieval(error.to_string()))?;
        fail::fail_point!("retrieval:found", |_| Err(TurnError::Retrieval("failpoint".into())));
        let candidate_k = self.config.candidate_k.max(MULTIPLIER * top_k);
        trace.search_query = Some(text.to_owned());
        trace.retrieval_mode = Some(if found.degraded { "one_sided" } else { "hybrid" }.to_owned());
        trace.retrieval_pipeline = Some("dense+sparse, fused by coverage, auto-merge, rerank, top_k, min_score".into());
        trace.degraded |= found.degraded;
        trace.recall_count = Some(found.hits.len());
        trace.candidate_k = Some(candidate_k);
        let source = if candidate_k == self.config.candidate_k { "config" } else { "multiplier" };
        trace.candidate_k_source = Some(source.into());
        trace.retrieval_candidate_multiplier = Some(MULTIPLIER);
        trace.retrieval_top_k = Some(top_k);
        trace.leaf_retrieve_level = Some(Level::Leaf.into());

        let pooled = pool(&found.hits);
        let mut wanted: Vec<ChunkId> = found.hits.iter().take(candidate_k).map(|hit| hit.chunk).collect();
        wanted.extend(pooled.iter().filter(|chunk| !wanted.contains(chunk)).copied().collect::<Vec<_>>());
        let placed = self.documents.hydrate(access, &wanted).await?;
        fail::fail_point!("retrieval:read", |_| Err(TurnError::Retrieval("failpoint".into())));
        let by_chunk: HashMap<ChunkId, (usize, Scored)> =
            found.hits.iter().enumerate().map(|(rank, hit)| (hit.chunk, (rank, *hit))).collect();
        let mut candidates = Vec::new();
        let mut pool = Vec::new();
        for placed in placed {
            let Some((rank, scored)) = by_chunk.get(&placed.chunk.id).copied() else { continue };
            if pooled.contains(&placed.chunk.id) {
                pool.push(passage(placed.clone(), rank, &scored));
            }
            if rank < candidate_k {
                candidates.push(Candidate { placed, scored });
            }
        }
        trace.candidate_count = Some(candidates.len());
        let merged = merge(self.documents.as_ref(), access, candidates).await?;
        trace.auto_merge_enabled = Some(true);
        trace.auto_merge_applied = Some(merged.replaced > 0);
        trace.auto_merge_threshold = Some(THRESHOLD);
        trace.auto_merge_replaced_chunks = Some(merged.replaced);
        trace.auto_merge_steps = Some(merged.steps);
        trace.post_merge_candidate_count = Some(merged.candidates.len());
        let merged: Vec<Passage> = merged
            .candidates
            .into_iter()
            .enumerate()
            .map(|(rank, candidate)| passage(candidate.placed, rank, &candidate.scored))
            .collect();
        let mut passages = rerank(self.reranker.as_deref(), text, merged, self.config.rerank_timeout, trace).await;
        passages.truncate(top_k);
        trace.post_rerank_count = Some(passages.len());
        trace.rerank_min_score = Some(self.config.min_score);
        passages.retain(|passage| passage.rerank_score.unwrap_or(passage.score) >= self.config.min_score);
        trace.post_threshold_count = Some(passages.len());
        trace.retrieval_empty = Some(passages.is_empty());
        self.tell_pages(&mut passages).await?;
        Ok(Retrieved { passages, pool: pool.into(), stats: found.stats, degraded: found.degraded })
    }
}

/// The best leaves of each of the best documents, so that one long manual does not hide the other; the fewer documents,
/// the more of each.
fn pool(hits: &[Scored]) -> Vec<ChunkId> {
    let mut taken: Vec<(&Scored, usize)> = Vec::new();
    for hit in hits {
        if taken.len() < DOCUMENTS && !taken.iter().any(|(best, _)| best.document == hit.document) {
            taken.push((hit, 0));
        }
    }
    let most = (DOCUMENTS * LEAVES / taken.len().max(1)).clamp(LEAVES, MOST_LEAVES);
    let mut chunks = Vec::new();
    for hit in hits {
        let Some((best, count)) = taken.iter_mut().find(|(best, _)| best.document == hit.document) else { continue };
        if *count < LEAVES || *count < most && hit.score >= AS_NEAR * best.score {
            *count += 1;
            chunks.push(hit.chunk);
        }
    }
    chunks
}

pub(super) fn passage(placed: Placed, rank: usize, hit: &Scored) -> Passage {
    let chunk = placed.chunk;
    Passage {
        filename: placed.filename,
        page_number: chunk.page,
        pages: Vec::new(),
        text: chunk.body,
        score: hit.score,
        rrf_rank: u32::try_from(rank + 1).unwrap_or(u32::MAX),
        rerank_score: None,
        chunk_id: chunk.id,
        document_id: placed.document,
        version: placed.version_no,
        start: chunk.start,
        end: chunk.end,
        dense_score: hit.dense,
        lexical_score: Some(hit.lexical),
        section: chunk.section,
        header: chunk.header,
        level: chunk.level.into(),
        title: placed.title,
        removed: false,
        facets: placed.facets,
    }
}
