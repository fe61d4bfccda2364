//! Leaves become points: embedded, and their words weighed.

use std::time::Duration;

use super::{
    Inner,
    passage::{passage_text, point},
    steps::Failed,
    vectors::Maker,
};
use crate::domain::{error::EngineError, index::Point, knowledge::Chunk};

/// A batch is offered to the embedder this often before the whole job is put off.
const BATCH_TRIES: i64 = 5;
/// A server may ask for more patience than this; it is asked again all the same.
const LONGEST_NAMED: Duration = Duration::from_secs(120);

/// The points of one batch of leaves, which stand under this title.
pub(super) async fn points(
    inner: &Inner,
    maker: &Maker,
    title: &str,
    leaves: Vec<Chunk>,
) -> Result<Vec<Point>, Failed> {
    let texts: Vec<String> = leaves.iter().map(|leaf| passage_text(Some(title), leaf)).collect();
    let vectors = embed(inner, maker, &texts).await?;
    fail::fail_point!("job:embedded");
    // Splitting words of a batch takes milliseconds: long enough to stall a runtime thread.
    let made = tokio::task::spawn_blocking(move || {
        let each = leaves.iter().zip(texts.iter()).zip(&vectors);
        each.map(|((leaf, text), vector)| point(leaf, text, vector.as_deref())).collect::<Vec<_>>()
    });
    made.await.map_err(|error| Failed::passing("reading was cut short", error.to_string()))
}

/// The vectors of one batch. While the embedder does not take it, this batch is offered again and no other: what was
/// embedded before stays so.
async fn embed(inner: &Inner, maker: &Maker, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, Failed> {
    let mut offered = 1;
    loop {
        let error = match maker.embedder.passages(texts).await {
            Ok(vectors) => return Ok(vectors),
            Err(error) => error,
        };
        let wait = match &error {
            EngineError::RateLimited { retry_after: Some(named) } => (*named).min(LONGEST_NAMED),
            EngineError::RateLimited { retry_after: None } | EngineError::Unavailable(_) => inner.config.wait(offered),
            EngineError::Rejected(_) => return Err(error.into()),
        };
        if offered == BATCH_TRIES {
            return Err(error.into());
        }
        tracing::warn!(%error, ?wait, "the embedder did not take a batch; it is offered again");
        inner.ports.clock.sleep(wait).await;
        offered += 1;
    }
}
