//! The best few of many, in a bounded heap.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::domain::index::Hit;

/// Keeps the `limit` best hits: higher score first, then lower chunk id.
pub(super) struct Top {
    limit: usize,
    heap: BinaryHeap<Ranked>,
}

impl Top {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(1024)) }
    }

    /// Whether a score could still get in; a cheap check before a [`Hit`] is made.
    #[inline]
    pub(super) fn admits(&self, score: f32) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|worst| score >= worst.0.score)
    }

    pub(super) fn push(&mut self, hit: Hit) {
        self.heap.push(Ranked(hit));
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    /// Best first.
    pub(super) fn into_hits(self) -> Vec<Hit> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| ranked.0).collect()
    }
}

/// Ordered so that the worst hit is the greatest.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.score.total_cmp(&self.0.score).then(self.0.chunk.cmp(&other.0.chunk))
    }
}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::Top;
    use crate::domain::{
        id::{ChunkId, DocumentId},
        index::Hit,
    };

    #[test]
    fn best_first_and_ties_by_id() {
        let hit = |chunk: u128, score| Hit {
            chunk: ChunkId::from_uuid(Uuid::from_u128(chunk)),
            document: DocumentId::from_uuid(Uuid::nil()),
            score,
        };
        let mut top = Top::new(3);
        for given in [hit(4, 0.5), hit(2, 0.5), hit(9, 0.1), hit(3, 0.5), hit(1, 0.7)] {
            if top.admits(given.score) {
                top.push(given);
            }
        }
        assert_eq!(top.into_hits(), [hit(1, 0.7), hit(2, 0.5), hit(3, 0.5)]);
        assert!(!Top::new(0).admits(1.0));
    }
}
