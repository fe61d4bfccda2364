//! Terms to rows: for each term the rows that hold it, with their weights, side by side in four flat arrays
//! (eight bytes per posting).

use std::ops::Range;

use crate::domain::index::{Sparse, TermId};

/// Immutable. Rows ascend within a term.
#[derive(Debug, Default)]
pub(super) struct Postings {
    terms: Vec<TermId>,
    /// Where each term's rows begin, and one more at the end.
    starts: Vec<usize>,
    rows: Vec<u32>,
    weights: Vec<f32>,
}

/// The rows of one term.
#[derive(Clone, Copy)]
pub(super) struct List<'p> {
    /// Ascending.
    pub(super) rows: &'p [u32],
    /// As long as `rows`.
    pub(super) weights: &'p [f32],
}

impl<'p> List<'p> {
    /// The part that lies in `range`.
    pub(super) fn within(self, range: &Range<u32>) -> List<'p> {
        let from = self.rows.partition_point(|row| *row < range.start);
        let to = from + self.rows[from..].partition_point(|row| *row < range.end);
        Self { rows: &self.rows[from..to], weights: &self.weights[from..to] }
    }

    /// The weight at `row`, if the term occurs there.
    pub(super) fn at(self, row: u32) -> Option<f32> {
        self.rows.binary_search(&row).ok().map(|at| self.weights[at])
    }
}

impl Postings {
    /// Of the points of rows 0, 1, 2 …
    pub(super) fn build<'s>(points: impl Iterator<Item = &'s Sparse>) -> Self {
        let mut all: Vec<(u64, f32)> = Vec::new();
        for (row, sparse) in (0_u64..).zip(points) {
            all.extend(
                sparse.terms.iter().zip(&sparse.weights).map(|(term, weight)| (u64::from(*term) << 32 | row, *weight)),
            );
        }
        all.sort_unstable_by_key(|(key, _)| *key);
        let mut postings = Self::with_capacity(all.len());
        for (key, weight) in all {
            let [a, b, c, d, e, f, g, h] = key.to_be_bytes();
            postings.add(u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]), weight);
        }
        postings.finish()
    }

    /// Joins several, each with a map from its rows to rows of the result; [`GONE`] rows are left out. The maps ascend,
    /// within one source and from each source to the next.
    pub(super) fn merge(sources: &[(&Self, Vec<u32>)]) -> Self {
        let mut order: Vec<(TermId, usize, usize)> = Vec::new();
        for (source, (postings, _)) in sources.iter().enumerate() {
            order.extend(postings.terms.iter().enumerate().map(|(at, term)| (*term, source, at)));
        }
        order.sort_unstable();
        let mut merged = Self::with_capacity(sources.iter().map(|(postings, _)| postings.rows.len()).sum());
        for (term, source, at) in order {
            let (postings, map) = &sources[source];
            let list = postings.list(at);
            for (row, weight) in list.rows.iter().zip(list.weights) {
                let row = map[*row as usize];
                if row != GONE {
                    merged.add(term, row, *weight);
                }
            }
        }
        merged.finish()
    }

    /// The rows of `term`.
    pub(super) fn of(&self, term: TermId) -> Option<List<'_>> {
        self.terms.binary_search(&term).ok().map(|at| self.list(at))
    }

    fn list(&self, at: usize) -> List<'_> {
        let range = self.starts[at]..self.starts[at + 1];
        List { rows: &self.rows[range.clone()], weights: &self.weights[range] }
    }

    fn with_capacity(postings: usize) -> Self {
        Self { rows: Vec::with_capacity(postings), weights: Vec::with_capacity(postings), ..Self::default() }
    }

    /// Terms must come in ascending order, and rows within a term.
    fn add(&mut self, term: TermId, row: u32, weight: f32) {
        if self.terms.last() != Some(&term) {
            self.terms.push(term);
            self.starts.push(self.rows.len());
        }
        self.rows.push(row);
        self.weights.push(weight);
    }

    fn finish(mut self) -> Self {
        self.starts.push(self.rows.len());
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.rows.shrink_to_fit();
        self.weights.shrink_to_fit();
        self
    }
}

/// In a map of rows: this row is left out.
pub(super) const GONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::{GONE, Postings};
    use crate::domain::index::Sparse;

    fn list(postings: &Postings, term: u32) -> Vec<(u32, f32)> {
        postings
            .of(term)
            .map_or_else(Vec::new, |list| list.rows.iter().copied().zip(list.weights.iter().copied()).collect())
    }

    #[test]
    fn built_and_merged() {
        let points = [
            Sparse { terms: vec![2, 7], weights: vec![1.0, 2.0] },
            Sparse::default(),
            Sparse { terms: vec![7], weights: vec![3.0] },
        ];
        let first = Postings::build(points.iter());
        assert_eq!(list(&first, 7), [(0, 2.0), (2, 3.0)]);
        assert_eq!(list(&first, 3), []);
        let merged = Postings::merge(&[(&first, vec![GONE, 0, 1]), (&first, vec![2, 3, GONE])]);
        assert_eq!(list(&merged, 2), [(2, 1.0)]);
        assert_eq!(list(&merged, 7), [(1, 3.0), (2, 2.0)]);
        let seven = merged.of(7).unwrap();
        assert_eq!((seven.within(&(2..9)).rows, seven.at(1), seven.at(0)), (&[2_u32][..], Some(3.0), None));
    }
}
