//! Scoring passages anew with a reranker, where one is configured. It can only improve: on any failure the order stays.

use std::time::Duration;

use crate::domain::{evidence::Passage, index::Reranker, trace::RagTrace};

/// Orders `passages` by the reranker's scores; those without one keep their order behind the others. What happened goes
/// to `trace`.
pub(crate) async fn rerank(
    reranker: Option<&dyn Reranker>,
    query: &str,
    mut passages: Vec<Passage>,
    timeout: Duration,
    trace: &mut RagTrace,
) -> Vec<Passage> {
    trace.rerank_enabled = Some(reranker.is_some());
    let Some(reranker) = reranker else {
        trace.rerank_applied = Some(false);
        return passages;
    };
    trace.rerank_model = Some(reranker.name().to_owned());
    trace.rerank_timeout_seconds = Some(timeout.as_secs_f32());
    let texts: Vec<String> = passages.iter().map(|passage| passage.text.clone()).collect();
    let scores = match tokio::time::timeout(timeout, reranker.rerank(query, &texts)).await {
        Ok(Ok(scores)) if scores.len() == passages.len() => scores,
        Ok(Ok(scores)) => {
            let problem = format!("{} scores for {} passages", scores.len(), passages.len());
            return unchanged(passages, &problem, trace);
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the reranker failed; the order stays");
            return unchanged(passages, "the reranker failed", trace);
        }
        Err(_) => return unchanged(passages, "the reranker took too long", trace),
    };
    for (passage, score) in passages.iter_mut().zip(scores) {
        passage.rerank_score = score.filter(|score| score.is_finite());
    }
    passages.sort_by(|a, b| {
        let of = |passage: &Passage| passage.rerank_score.unwrap_or(f32::NEG_INFINITY);
        of(b).total_cmp(&of(a))
    });
    trace.rerank_applied = Some(true);
    passages
}

fn unchanged(passages: Vec<Passage>, problem: &str, trace: &mut RagTrace) -> Vec<Passage> {
    trace.rerank_applied = Some(false);
    trace.rerank_error = Some(problem.to_owned());
    passages
}
