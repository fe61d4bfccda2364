//! A part: an immutable block of points, laid out for scanning.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    postings::{GONE, Postings},
    scan::Wide,
    top::Top,
};
use crate::domain::{
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    index::{Hit, Point, Quantized, Sparse, TermId},
};

/// The points of one version, or some of them: what filters and deletions choose among.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) collection: CollectionId,
    pub(super) document: DocumentId,
    pub(super) version: VersionId,
    pub(super) rows: Range<u32>,
    /// In how many of its rows each term occurs, terms ascending: what it adds to the index's statistics.
    pub(super) df: Arc<[(TermId, u32)]>,
    /// Names its chunks: the XOR of one number per chunk, so that entries may be split and joined.
    pub(super) mark: u64,
}

/// Points of a version that are to become an [`Entry`].
pub(super) struct Draft {
    pub(super) collection: CollectionId,
    pub(super) document: DocumentId,
    pub(super) version: VersionId,
    pub(super) points: Vec<Point>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Part {
    dims: usize,
    pub(super) entries: Vec<Entry>,
    chunks: Vec<ChunkId>,
    documents: Vec<DocumentId>,
    /// 0 for a point without direction.
    scales: Vec<f32>,
    codes: Vec<i8>,
    postings: Postings,
    rows: HashMap<ChunkId, u32>,
}

impl Part {
    /// Packs drafts whose dense vectors all have `dims` values.
    pub(super) fn build(dims: usize, drafts: &[Draft]) -> Self {
        let mut part = Self::empty(dims, drafts.iter().map(|draft| draft.points.len()).sum());
        for draft in drafts {
            let start = part.len();
            for point in &draft.points {
                let undirected = Quantized { scale: 0.0, codes: vec![0; dims] };
                let dense = point.dense.as_ref().unwrap_or(&undirected);
                part.push(point.chunk, draft.document, dense.scale, &dense.codes);
            }
            part.entries.push(Entry {
                collection: draft.collection,
                document: draft.document,
                version: draft.version,
                rows: start..part.len(),
                df: frequencies(&draft.points),
                mark: draft.points.iter().fold(0, |mark, point| mark ^ mix(point.chunk)),
            });
        }
        part.postings = Postings::build(drafts.iter().flat_map(|draft| &draft.points).map(|point| &point.sparse));
        part
    }

    /// Joins parts, leaving out dead entries.
    pub(super) fn merge(dims: usize, sources: &[(&Self, &[bool])]) -> Self {
        let mut merged = Self::empty(dims, sources.iter().map(|(part, _)| part.chunks.len()).sum());
        let mut maps = Vec::with_capacity(sources.len());
        for (part, dead) in sources {
            let mut map = vec![GONE; part.chunks.len()];
            for (entry, _) in part.entries.iter().zip(*dead).filter(|(_, dead)| !**dead) {
                let start = merged.len();
                for row in entry.rows.clone() {
                    map[row as usize] = merged.len();
                    let codes = part.codes(row);
                    merged.push(part.chunks[row as usize], entry.document, part.scales[row as usize], codes);
                }
                merged.entries.push(Entry { rows: start..merged.len(), ..entry.clone() });
            }
            maps.push((&part.postings, map));
        }
        merged.postings = Postings::merge(&maps);
        merged
    }

    fn empty(dims: usize, points: usize) -> Self {
        Self {
            dims,
            entries: Vec::new(),
            chunks: Vec::with_capacity(points),
            documents: Vec::with_capacity(points),
            scales: Vec::with_capacity(points),
            codes: Vec::with_capacity(points * dims),
            postings: Postings::default(),
            rows: HashMap::with_capacity(points),
        }
    }

    fn push(&mut self, chunk: ChunkId, document: DocumentId, scale: f32, codes: &[i8]) {
        self.rows.insert(chunk, self.len());
        self.chunks.push(chunk);
        self.documents.push(document);
        self.scales.push(scale);
        self.codes.extend_from_slice(codes);
    }

    /// The chunks of an entry.
    pub(super) fn chunks(&self, entry: &Entry) -> &[ChunkId] {
        &self.chunks[entry.rows.start as usize..entry.rows.end as usize]
    }

    /// How many rows, dead ones included.
    #[expect(clippy::cast_possible_truncation, reason = "parts are merged up to some 100,000 rows")]
    pub(super) fn len(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// The row of a chunk.
    pub(super) fn row(&self, chunk: ChunkId) -> Option<u32> {
        self.rows.get(&chunk).copied()
    }

    fn codes(&self, row: u32) -> &[i8] {
        let start = row as usize * self.dims;
        &self.codes[start..start + self.dims]
    }

    /// The cosine at a row; `None` where the point has no direction.
    pub(super) fn cosine(&self, row: u32, query: &Wide) -> Option<f32> {
        let scale = self.scales[row as usize];
        (scale != 0.0).then(|| query.cosine(self.codes(row), scale))
    }

    /// The sparse score at a row.
    pub(super) fn overlap(&self, row: u32, query: &Sparse) -> f32 {
        let mut score = 0.0;
        for (term, weight) in query.terms.iter().zip(&query.weights) {
            if let Some(found) = self.postings.of(*term).and_then(|list| list.at(row)) {
                score += weight * found;
            }
        }
        score
    }

    /// Offers every row of `ranges` to `top` by its cosine.
    pub(super) fn dense(&self, query: &Wide, ranges: &[Range<u32>], top: &mut Top) {
        for range in ranges {
            let rows = range.start as usize..range.end as usize;
            let codes = self.codes[rows.start * self.dims..rows.end * self.dims].chunks_exact(self.dims);
            for (row, (codes, scale)) in rows.clone().zip(codes.zip(&self.scales[rows])) {
                if *scale != 0.0 {
                    self.offer(row, query.cosine(codes, *scale), top);
                }
            }
        }
    }

    /// Offers every row of `ranges` that shares a term with `query` to `top`.
    pub(super) fn sparse(&self, query: &Sparse, ranges: &[Range<u32>], top: &mut Top) {
        /// Up to so many ranges are looked up in each list; more are sorted out at the end.
        const FEW: usize = 8;
        let mut scores = vec![0.0_f32; self.chunks.len()];
        let whole = 0..self.len();
        let looked_up = if ranges.len() <= FEW { ranges } else { std::slice::from_ref(&whole) };
        for (term, weight) in query.terms.iter().zip(&query.weights) {
            let Some(list) = self.postings.of(*term) else { continue };
            for range in looked_up {
                let list = list.within(range);
                for (row, found) in list.rows.iter().zip(list.weights) {
                    scores[*row as usize] += weight * found;
                }
            }
        }
        for range in ranges {
            let rows = range.start as usize..range.end as usize;
            for (row, score) in rows.clone().zip(&scores[rows]) {
                if *score > 0.0 {
                    self.offer(row, *score, top);
                }
            }
        }
    }

    #[inline]
    fn offer(&self, row: usize, score: f32, top: &mut Top) {
        if top.admits(score) {
            top.push(Hit { chunk: self.chunks[row], document: self.documents[row], score });
        }
    }

    /// The points of an entry, as they were given.
    pub(super) fn points(&self, entry: &Entry) -> Vec<Point> {
        let mut points: Vec<Point> = entry
            .rows
            .clone()
            .map(|row| {
                let scale = self.scales[row as usize];
                let dense = (scale != 0.0).then(|| Quantized { scale, codes: self.codes(row).to_vec() });
                Point { chunk: self.chunks[row as usize], dense, sparse: Sparse::default() }
            })
            .collect();
        for (term, _) in &*entry.df {
            let Some(list) = self.postings.of(*term) else { continue };
            let list = list.within(&entry.rows);
            for (row, weight) in list.rows.iter().zip(list.weights) {
                let sparse = &mut points[(row - entry.rows.start) as usize].sparse;
                sparse.terms.push(*term);
                sparse.weights.push(*weight);
            }
        }
        points
    }
}

fn frequencies(points: &[Point]) -> Arc<[(TermId, u32)]> {
    let mut terms: Vec<TermId> = points.iter().flat_map(|point| point.sparse.terms.iter().copied()).collect();
    terms.sort_unstable();
    let count = |same: &[TermId]| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX));
    terms.chunk_by(|a, b| a == b).map(count).collect()
}

/// A chunk's id as a number whose bits are all in use (the finalizer of SplitMix64).
fn mix(chunk: ChunkId) -> u64 {
    let (high, low) = chunk.uuid().as_u64_pair();
    let mut mixed = high.rotate_left(32) ^ low;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
