//! What every [`VectorIndex`] keeps to, checked against a scan that anyone can read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use askback::{
    adapters::vector::embedded::EmbeddedIndex,
    domain::{
        error::EngineError,
        id::{ChunkId, CollectionId, DocumentId},
        index::{Filter, Hit, Point, Quantized, Segment, Sparse, TermId, VectorIndex},
        knowledge::Level,
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use uuid::Uuid;

/// No multiple of any SIMD width.
const DIMS: usize = 21;

/// Runs everything on fresh indexes for vectors of the given length.
pub(crate) async fn suite(make: impl AsyncFn(usize) -> Arc<dyn VectorIndex>) {
    empty(&*make(DIMS).await).await;
    for seed in 0..4 {
        random_changes_and_searches(&*make(DIMS).await, seed).await;
    }
    ties_are_ordered_by_chunk(&*make(DIMS).await).await;
    other_dimensions_are_refused(&*make(DIMS).await).await;
    points_without_direction(&*make(DIMS).await).await;
    the_same_content_is_the_same_generation(&*make(DIMS).await, &*make(DIMS).await).await;
}

#[tokio::test]
async fn embedded() {
    suite(async |dims| Arc::new(EmbeddedIndex::new(dims)) as Arc<dyn VectorIndex>).await;
}

/// The points as a list, and scores by the definition.
#[derive(Default)]
struct Naive {
    segments: Vec<Segment>,
}

impl Naive {
    fn upsert(&mut self, segments: &[Segment]) {
        for segment in segments {
            for old in &mut self.segments {
                old.points.retain(|old| segment.points.iter().all(|new| new.chunk != old.chunk));
            }
            self.segments.push(segment.clone());
        }
    }

    fn delete(&mut self, filter: &Filter) {
        self.segments.retain(|segment| !matches(segment, filter));
    }

    fn points<'s>(&'s self, filter: &'s Filter) -> impl Iterator<Item = (DocumentId, &'s Point)> {
        let matching = self.segments.iter().filter(|segment| matches(segment, filter));
        matching.flat_map(|segment| segment.points.iter().map(|point| (segment.document, point)))
    }

    fn best(&self, filter: &Filter, limit: usize, score: impl Fn(&Point) -> Option<f32>) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .points(filter)
            .filter_map(|(document, point)| Some(Hit { chunk: point.chunk, document, score: score(point)? }))
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        hits.truncate(limit);
        hits
    }

    /// Leaves, and of each term how many hold it, 0 of those outside.
    fn stats(&self, filter: &Filter) -> (u64, BTreeMap<TermId, u32>) {
        let terms = self.segments.iter().flat_map(|segment| &segment.points).flat_map(|point| &point.sparse.terms);
        let mut counts = (0, terms.map(|term| (*term, 0)).collect::<BTreeMap<TermId, u32>>());
        for (_, point) in self.points(filter) {
            counts.0 += 1;
            for term in &point.sparse.terms {
                *counts.1.entry(*term).or_default() += 1;
            }
        }
        counts
    }
}

fn matches(segment: &Segment, filter: &Filter) -> bool {
    filter.collections.as_ref().is_none_or(|ids| ids.contains(&segment.collection))
        && filter.documents.as_ref().is_none_or(|ids| ids.contains(&segment.document))
        && !filter.except_documents.contains(&segment.document)
        && filter.versions.as_ref().is_none_or(|ids| ids.contains(&segment.version))
        && filter.level.is_none_or(|level| level == Level::Leaf)
}

fn cosine(query: &[f32], point: &Point) -> Option<f32> {
    let dense = point.dense.as_ref()?;
    Some(query.iter().zip(&dense.codes).map(|(q, c)| q * f32::from(*c) * dense.scale).sum())
}

fn overlap(query: &Sparse, point: &Point) -> f32 {
    let weight = |term: &u32| point.sparse.terms.binary_search(term).map_or(0.0, |at| point.sparse.weights[at]);
    query.terms.iter().zip(&query.weights).map(|(term, idf)| idf * weight(term)).sum()
}

/// The same scores place by place, each the right one of its chunk, ties in the order of chunks. Near-equal scores may
/// come in either order, since engines round differently.
fn assert_same(found: &[Hit], expected: &[Hit], score: impl Fn(ChunkId) -> Option<f32>) {
    let near = |a: f32, b: f32| (a - b).abs() <= 2e-3 * (1.0 + a.abs());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(near(found.score, expected.score), "{found:?} where {expected:?} was expected");
        assert!(score(found.chunk).is_some_and(|score| near(score, found.score)), "{found:?} has another score");
    }
    assert!(found.is_sorted_by(|a, b| a.score > b.score || a.score == b.score && a.chunk < b.chunk), "{found:?}");
    assert_eq!(found.iter().map(|hit| hit.chunk).collect::<BTreeSet<_>>().len(), found.len(), "a chunk came twice");
}

fn id<T>(kind: u64, n: usize) -> askback::domain::id::Id<T> {
    askback::domain::id::Id::from_uuid(Uuid::from_u64_pair(kind, n as u64))
}

/// Random points. Half of the vectors and terms are drawn from few, so that there are ties.
struct Corpus {
    rng: StdRng,
    chunks: usize,
    versions: usize,
}

impl Corpus {
    fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), chunks: 0, versions: 0 }
    }

    fn unit(&mut self) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..DIMS).map(|_| self.rng.random_range(-1.0..1.0)).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
        vector
    }

    fn sparse(&mut self, most: usize) -> Sparse {
        let count = self.rng.random_range(0..=most);
        let terms: BTreeSet<u32> = (0..count).map(|_| self.rng.random_range(0..40_u32).pow(2)).collect();
        let weights = terms.iter().map(|_| self.rng.random_range(0.1..2.0)).collect();
        Sparse { terms: terms.into_iter().collect(), weights }
    }

    fn point(&mut self) -> Point {
        self.chunks += 1;
        let dense = self.rng.random_bool(0.9).then(|| Quantized::of(&self.unit()));
        Point { chunk: id(4, self.chunks * 7919 % 100_003), dense, sparse: self.sparse(12) }
    }

    /// One version of `document`, in one or two segments.
    fn version(&mut self, document: usize) -> Vec<Segment> {
        self.versions += 1;
        let version = self.versions;
        (0..self.rng.random_range(1..=2))
            .map(|_| Segment {
                collection: id(1, document % 3),
                document: id(2, document),
                version: id(3, version),
                points: (0..self.rng.random_range(0..9)).map(|_| self.point()).collect(),
            })
            .collect()
    }

    fn filter(&mut self) -> Filter {
        let mut some = |most: usize, odds: f64| {
            let count = self.rng.random_range(0..4_usize);
            self.rng.random_bool(odds).then(|| (0..count).map(|_| self.rng.random_range(0..most)).collect::<Vec<_>>())
        };
        let (collections, documents, except, versions) = (some(4, 0.4), some(30, 0.3), some(30, 0.3), some(60, 0.1));
        Filter {
            collections: collections.map(|ns| ns.into_iter().map(|n| id(1, n)).collect()),
            documents: documents.map(|ns| ns.into_iter().map(|n| id(2, n)).collect()),
            except_documents: except.unwrap_or_default().into_iter().map(|n| id(2, n)).collect(),
            versions: versions.map(|ns| ns.into_iter().map(|n| id(3, n)).collect()),
            level: [None, None, None, Some(Level::Leaf), Some(Level::Block)][self.rng.random_range(0..5)],
        }
    }
}

async fn random_changes_and_searches(index: &dyn VectorIndex, seed: u64) {
    let mut corpus = Corpus::new(seed);
    let mut naive = Naive::default();
    let mut last: Vec<Segment> = Vec::new();
    for step in 0..120 {
        let document = corpus.rng.random_range(0..30);
        match corpus.rng.random_range(0..10) {
            0 => {
                let filter = corpus.filter();
                naive.delete(&filter);
                index.delete(&filter).await.unwrap();
            }
            1 => {
                // The same points once more, some of them with other content.
                let mut again = last.clone();
                for segment in &mut again {
                    for point in &mut segment.points {
                        if corpus.rng.random_bool(0.3) {
                            *point = Point { chunk: point.chunk, ..corpus.point() };
                        }
                    }
                    segment.points.truncate(5);
                }
                naive.upsert(&again);
                index.upsert(again).await.unwrap();
            }
            2..=4 => {
                let segments = corpus.version(document);
                naive.delete(&Filter { documents: Some(vec![id(2, document)]), ..Filter::default() });
                naive.upsert(&segments);
                index.replace(id(2, document), segments.clone()).await.unwrap();
                last = segments;
            }
            _ => {
                let segments = corpus.version(document);
                naive.upsert(&segments);
                index.upsert(segments.clone()).await.unwrap();
                last = segments;
            }
        }
        if step % 4 == 0 {
            compare(index, &naive, &mut corpus).await;
        }
    }
}

async fn compare(index: &dyn VectorIndex, naive: &Naive, corpus: &mut Corpus) {
    let everything = Filter::default();
    for filter in [everything.clone(), corpus.filter(), corpus.filter()] {
        let (vector, sparse) = (corpus.unit(), corpus.sparse(8));
        let limit = corpus.rng.random_range(0..20);
        let by_chunk = |chunk| naive.points(&everything).find(|(_, point)| point.chunk == chunk).unwrap().1;
        let found = index.dense(&vector, &filter, limit).await.unwrap();
        let expected = naive.best(&filter, limit, |point| cosine(&vector, point));
        assert_same(&found, &expected, |chunk| cosine(&vector, by_chunk(chunk)));
        let found = index.sparse(&sparse, &filter, limit).await.unwrap();
        let expected = naive.best(&filter, limit, |point| Some(overlap(&sparse, point)).filter(|score| *score > 0.0));
        assert_same(&found, &expected, |chunk| Some(overlap(&sparse, by_chunk(chunk))));
        assert_eq!(index.count(&filter).await.unwrap(), naive.points(&filter).count() as u64);

        let mut chunks: Vec<ChunkId> = naive.points(&filter).map(|(_, point)| point.chunk).take(9).collect();
        chunks.push(id(4, 999_999));
        let expected: Vec<ChunkId> = chunks
            .iter()
            .copied()
            .filter(|chunk| *chunk != id(4, 999_999) && by_chunk(*chunk).dense.is_some())
            .collect();
        let cosines = index.cosines(&vector, &chunks).await.unwrap();
        assert_eq!(cosines.iter().map(|(chunk, _)| *chunk).collect::<Vec<_>>(), expected);
        for (chunk, score) in cosines {
            assert!((score - cosine(&vector, by_chunk(chunk)).unwrap()).abs() < 2e-3);
        }
        let overlaps = index.overlaps(&sparse, &chunks).await.unwrap();
        assert_eq!(overlaps.len(), chunks.len() - 1);
        for (chunk, score) in overlaps {
            assert!((score - overlap(&sparse, by_chunk(chunk))).abs() < 2e-3);
        }
    }
    let all: BTreeSet<CollectionId> = naive.segments.iter().map(|segment| segment.collection).collect();
    let some = all.iter().take(2).copied().collect();
    for collections in [None, Some(vec![]), Some(some), Some(vec![id(1, 999_999)]), Some(all.into_iter().collect())] {
        let stats = index.stats(collections.as_deref()).await.unwrap();
        let (points, df) = naive.stats(&Filter { collections, ..Filter::default() });
        assert_eq!(stats.points, points);
        assert!(df.iter().all(|(term, count)| stats.df(*term) == *count));
    }
}

async fn empty(index: &dyn VectorIndex) {
    let mut corpus = Corpus::new(0);
    let (vector, sparse) = (corpus.unit(), corpus.sparse(8));
    assert_eq!(index.dense(&vector, &Filter::default(), 5).await, Ok(vec![]));
    assert_eq!(index.sparse(&sparse, &Filter::default(), 5).await, Ok(vec![]));
    assert_eq!(index.cosines(&vector, &[id(4, 1)]).await, Ok(vec![]));
    assert_eq!(index.count(&Filter::default()).await, Ok(0));
    assert_eq!(index.delete(&Filter::default()).await, Ok(()));
    assert_eq!(index.replace(id(2, 1), vec![]).await, Ok(()));
    assert_eq!(index.upsert(vec![]).await, Ok(()));
    assert_eq!(index.stats(None).await.unwrap().points, 0);
}

fn single(document: usize, version: usize, points: Vec<Point>) -> Segment {
    Segment { collection: id(1, 1), document: id(2, document), version: id(3, version), points }
}

async fn ties_are_ordered_by_chunk(index: &dyn VectorIndex) {
    let mut corpus = Corpus::new(7);
    let (vector, sparse) = (corpus.unit(), Sparse { terms: vec![1, 2], weights: vec![1.0, 0.5] });
    let twin = |chunk| Point { chunk: id(4, chunk), dense: Some(Quantized::of(&vector)), sparse: sparse.clone() };
    for (document, chunks) in [(1, [9, 4]), (2, [2, 7]), (3, [5, 1])] {
        index.upsert(vec![single(document, document, chunks.map(twin).to_vec())]).await.unwrap();
    }
    let expected: Vec<ChunkId> = [1, 2, 4, 5].map(|chunk| id(4, chunk)).to_vec();
    let chunks = |hits: Vec<Hit>| hits.into_iter().map(|hit| hit.chunk).collect::<Vec<_>>();
    assert_eq!(chunks(index.dense(&vector, &Filter::default(), 4).await.unwrap()), expected);
    assert_eq!(chunks(index.sparse(&sparse, &Filter::default(), 4).await.unwrap()), expected);
}

async fn other_dimensions_are_refused(index: &dyn VectorIndex) {
    let short = Point { chunk: id(4, 1), dense: Some(Quantized::of(&[1.0])), sparse: Sparse::default() };
    assert!(matches!(index.upsert(vec![single(1, 1, vec![short])]).await, Err(EngineError::Rejected(_))));
    assert!(matches!(index.dense(&[1.0], &Filter::default(), 5).await, Err(EngineError::Rejected(_))));
    assert!(matches!(index.cosines(&[1.0], &[]).await, Err(EngineError::Rejected(_))));
    assert_eq!(index.count(&Filter::default()).await, Ok(0));
}

async fn points_without_direction(index: &dyn VectorIndex) {
    let sparse = Sparse { terms: vec![3], weights: vec![1.0] };
    let point = Point { chunk: id(4, 1), dense: None, sparse: sparse.clone() };
    index.upsert(vec![single(1, 1, vec![point])]).await.unwrap();
    let vector = Corpus::new(1).unit();
    assert_eq!(index.dense(&vector, &Filter::default(), 5).await, Ok(vec![]));
    assert_eq!(index.cosines(&vector, &[id(4, 1)]).await, Ok(vec![]));
    assert_eq!(index.sparse(&sparse, &Filter::default(), 5).await.unwrap().len(), 1);
}

/// Whatever the order of the writes that led to it.
async fn the_same_content_is_the_same_generation(one: &dyn VectorIndex, other: &dyn VectorIndex) {
    let mut corpus = Corpus::new(3);
    let [first, second] = [1, 2].map(|n| single(n, n, (0..5).map(|_| corpus.point()).collect()));
    one.upsert(vec![first.clone(), second.clone()]).await.unwrap();
    other.upsert(vec![second]).await.unwrap();
    let generation = async |index: &dyn VectorIndex| index.stats(None).await.unwrap().generation;
    assert_ne!(generation(one).await, generation(other).await);
    let (head, tail) = first.points.split_at(2);
    other.upsert(vec![single(1, 1, tail.to_vec())]).await.unwrap();
    other.upsert(vec![single(1, 1, head.to_vec())]).await.unwrap();
    assert_eq!(generation(one).await, generation(other).await);
}

/// For engines that replace a document in one step: a search sees all of one version, never both and never neither.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn embedded_replaces_in_one_step() {
    let index = Arc::new(EmbeddedIndex::new(DIMS));
    let mut corpus = Corpus::new(11);
    let versions: Vec<Segment> =
        (0..2).map(|version| single(1, version, (0..6).map(|_| corpus.point()).collect())).collect();
    let other = single(2, 9, (0..6).map(|_| corpus.point()).collect());
    index.upsert(vec![versions[0].clone(), other]).await.unwrap();
    let whole: Vec<BTreeSet<ChunkId>> =
        versions.iter().map(|segment| segment.points.iter().map(|point| point.chunk).collect()).collect();
    let all = Sparse { terms: (0..40_u32).map(|n| n * n).collect(), weights: vec![1.0; 40] };
    let searchable: Vec<BTreeSet<ChunkId>> = versions
        .iter()
        .map(|segment| {
            segment.points.iter().filter(|point| overlap(&all, point) > 0.0).map(|point| point.chunk).collect()
        })
        .collect();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (index, done, whole, searchable, all) =
                (Arc::clone(&index), Arc::clone(&done), whole.clone(), searchable.clone(), all.clone());
            tokio::spawn(async move {
                let filter = Filter { documents: Some(vec![id(2, 1)]), ..Filter::default() };
                let mut seen = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(index.count(&filter).await.unwrap(), whole[0].len() as u64);
                    let found: BTreeSet<ChunkId> =
                        index.sparse(&all, &filter, 20).await.unwrap().into_iter().map(|hit| hit.chunk).collect();
                    assert!(searchable.contains(&found), "a search saw a mixture: {found:?}");
                    seen += 1;
                }
                seen
            })
        })
        .collect();
    for round in 1..400 {
        index.replace(id(2, 1), vec![versions[round % 2].clone()]).await.unwrap();
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
}
