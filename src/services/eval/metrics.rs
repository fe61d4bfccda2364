//! Ranking metrics.

use std::collections::HashMap;

use serde::Serialize;

/// Means over questions, 0 … 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Figures {
    /// Normalised discounted cumulative gain of the first ten, gains linear in the judgement.
    pub ndcg_10: f64,
    /// Share of the relevant passages among the first ten.
    pub recall_10: f64,
}

/// How deep a ranking is looked at.
pub const DEPTH: usize = 10;

/// Of one question: `ranking` best first, `judged` the relevant passages with their grades (above 0).
#[must_use]
pub fn figures<K: Eq + std::hash::Hash>(ranking: &[K], judged: &HashMap<K, f64>) -> Figures {
    if judged.is_empty() {
        return Figures::default();
    }
    let gains: Vec<f64> = ranking.iter().take(DEPTH).map(|id| judged.get(id).copied().unwrap_or(0.0)).collect();
    let mut ideal: Vec<f64> = judged.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal.truncate(DEPTH);
    let found = gains.iter().filter(|gain| **gain > 0.0).count();
    Figures { ndcg_10: discounted(&gains) / discounted(&ideal), recall_10: ratio(found, judged.len()) }
}

/// The mean of many; all zero for none.
#[must_use]
pub fn mean(all: &[Figures]) -> Figures {
    let count = all.len().max(1);
    let sum = all.iter().fold(Figures::default(), |sum, one| Figures {
        ndcg_10: sum.ndcg_10 + one.ndcg_10,
        recall_10: sum.recall_10 + one.recall_10,
    });
    Figures { ndcg_10: sum.ndcg_10 * ratio(1, count), recall_10: sum.recall_10 * ratio(1, count) }
}

/// Fuses rankings by reciprocal rank with the usual constant of 60: what coverage is compared with.
#[must_use]
pub fn reciprocal_ranks<K: Copy + Ord + std::hash::Hash>(rankings: [&[K]; 2]) -> Vec<K> {
    const K: usize = 60;
    let mut scores: HashMap<K, f64> = HashMap::new();
    for ranking in rankings {
        for (rank, id) in (1..).zip(ranking) {
            *scores.entry(*id).or_default() += ratio(1, K + rank);
        }
    }
    let mut fused: Vec<(K, f64)> = scores.into_iter().collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused.into_iter().map(|(id, _)| id).collect()
}

fn discounted(gains: &[f64]) -> f64 {
    (2_u32..).zip(gains).map(|(place, gain)| gain / f64::from(place).log2()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "questions and passages are counted in thousands")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::{Figures, figures, mean, reciprocal_ranks};

    #[test]
    fn the_first_place_counts_most() {
        let judged = [("a", 1.0), ("b", 1.0)].into();
        assert_eq!(figures(&["a", "b", "c"], &judged), Figures { ndcg_10: 1.0, recall_10: 1.0 });
        let half = figures(&["c", "a"], &judged);
        assert_eq!(half.recall_10, 0.5);
        assert!((half.ndcg_10 - (1.0 / 3_f64.log2()) / (1.0 + 1.0 / 3_f64.log2())).abs() < 1e-12);
        assert_eq!(figures(&["c"], &judged), Figures::default());
    }

    #[test]
    fn what_comes_after_ten_does_not_count() {
        let ranking: Vec<u32> = (0..20).collect();
        assert_eq!(figures(&ranking, &[(10, 1.0)].into()), Figures::default());
    }

    #[test]
    fn the_mean_of_none_is_zero() {
        assert_eq!(mean(&[]), Figures::default());
        let two = [Figures { ndcg_10: 1.0, recall_10: 0.5 }, Figures::default()];
        assert_eq!(mean(&two), Figures { ndcg_10: 0.5, recall_10: 0.25 });
    }

    #[test]
    fn ranks_are_fused() {
        assert_eq!(reciprocal_ranks([&[1, 2, 3], &[3, 1]]), [1, 3, 2]);
    }
}
