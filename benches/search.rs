//! Text analysis, embedding, search and publishing. Figures are kept in README.md beside this file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    missing_docs
)]

use std::{hint::black_box, sync::Arc};

use askback::{
    adapters::{embed::builtin::Builtin, vector::embedded::EmbeddedIndex},
    domain::{
        id::Id,
        index::{Bm25, Embedder, Filter, Point, Quantized, Segment, Sparse, VectorIndex},
    },
    services::retrieval::search::Search,
    text::terms,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;
use uuid::Uuid;

const QUESTIONS: [&str; 4] = [
    "How long is the warranty of the X1-200, and who pays for shipping?",
    "手机的保修期是多久？",
    "Which rooms can be booked for a meeting of ten people on Fridays?",
    "出差住宿的报销标准是多少，需要哪些票据？",
];

/// Points per document, as of some pages of text.
const LEAVES: usize = 20;
/// Distinct terms of a leaf: between those of an English one (64) and a Chinese one with its pairs (350).
const TERMS: usize = 120;

fn id<T>(kind: u64, n: usize) -> Id<T> {
    Id::from_uuid(Uuid::from_u64_pair(kind, n as u64))
}

/// Terms by Zipf's law, the frequent ones few, among them those of the questions.
fn vocabulary() -> Vec<u32> {
    let asked = QUESTIONS.iter().flat_map(|question| terms::question(question)).map(|(term, _)| term);
    let mut terms: Vec<u32> = asked.collect();
    terms.extend((0..60_000_u32).map(|n| terms::term_id(&n.to_string())));
    terms
}

fn point(rng: &mut StdRng, vocabulary: &[u32], chunk: usize) -> Point {
    let vector: Vec<f32> = (0..256).map(|_| rng.random_range(-1.0..1.0)).collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let unit: Vec<f32> = vector.iter().map(|value| value / length).collect();
    let mut terms: Vec<u32> = (0..TERMS)
        .map(|_| vocabulary[((vocabulary.len() as f64).powf(rng.random_range(0.0..1.0)) - 1.0) as usize])
        .collect();
    terms.sort_unstable();
    terms.dedup();
    let weights = terms.iter().map(|_| rng.random_range(0.5..2.0)).collect();
    Point { chunk: id(4, chunk), dense: Some(Quantized::of(&unit)), sparse: Sparse { terms, weights } }
}

fn document(rng: &mut StdRng, vocabulary: &[u32], n: usize, version: usize) -> Segment {
    Segment {
        collection: id(1, n % 10),
        document: id(2, n),
        version: id(3, version),
        points: (0..LEAVES).map(|leaf| point(rng, vocabulary, version * LEAVES + leaf)).collect(),
    }
}

fn filled(runtime: &Runtime, leaves: usize) -> EmbeddedIndex {
    let index = EmbeddedIndex::new(256);
    let (mut rng, vocabulary) = (StdRng::seed_from_u64(1), vocabulary());
    let documents: Vec<usize> = (0..leaves / LEAVES).collect();
    for batch in documents.chunks(128) {
        let segments = batch.iter().map(|n| document(&mut rng, &vocabulary, *n, *n)).collect();
        runtime.block_on(index.upsert(segments)).unwrap();
    }
    index
}

/// Resident memory in MB; 0 where the system does not say.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages: Option<u64> = pages.and_then(|text| text.split(' ').nth(1)?.parse().ok());
    pages.unwrap_or(0) * 4096 / 1_000_000
}

fn analysis(c: &mut Criterion) {
    let before = resident();
    let started = std::time::Instant::now();
    black_box(terms::analyse("臺灣的保修期"));
    println!("dictionaries: {:?}, {} MB", started.elapsed(), resident() - before);
    let (before, started) = (resident(), std::time::Instant::now());
    let embedder = Builtin::load().unwrap();
    println!("embedder: {:?}, {} MB", started.elapsed(), resident() - before);

    let english =
        "The guarantee covers faults of material and workmanship for two years from the day of purchase. ".repeat(6);
    let chinese = "本产品自购买之日起提供两年的保修服务，人为损坏不在保修范围之内。".repeat(18);
    let mut group = c.benchmark_group("analysis");
    for (name, text) in [("english leaf", &english), ("chinese leaf", &chinese)] {
        group.bench_function(name, |b| b.iter(|| terms::count(black_box(text))));
    }
    group.finish();

    let mut group = c.benchmark_group("embedding");
    group.throughput(Throughput::Elements(1));
    for (name, text) in [
        ("english question", QUESTIONS[0]),
        ("chinese question", QUESTIONS[1]),
        ("english leaf", &english),
        ("chinese leaf", &chinese),
    ] {
        group.bench_function(name, |b| b.iter(|| embedder.embed_now(black_box(text))));
    }
    group.finish();
}

fn search(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let embedder = Arc::new(Builtin::load().unwrap());
    let everything = Filter::default();
    let one_collection = Filter { collections: Some(vec![id(1, 3)]), ..Filter::default() };
    for leaves in [20_000, 100_000] {
        let (before, started) = (resident(), std::time::Instant::now());
        let index = filled(&runtime, leaves);
        println!("{leaves} leaves: built in {:?}, {} MB", started.elapsed(), resident() - before);
        let search = Search::alone(Arc::new(index.clone()), Arc::clone(&embedder) as Arc<dyn Embedder>);
        let vector = embedder.embed_now(QUESTIONS[0]).unwrap();
        let stats = runtime.block_on(index.stats(None)).unwrap();
        let mut group = c.benchmark_group(format!("search {leaves}"));
        group.bench_function("dense", |b| {
            b.to_async(&runtime).iter(|| index.dense(&vector, &everything, 100));
        });
        let terms = Bm25::CURRENT.question(&terms::question(QUESTIONS[3]), &stats);
        group.bench_function("sparse", |b| {
            b.to_async(&runtime).iter(|| index.sparse(&terms.sparse, &everything, 100));
        });
        for (name, filter) in [("hybrid", &everything), ("hybrid in a tenth", &one_collection)] {
            let mut questions = QUESTIONS.iter().cycle();
            group.bench_function(name, |b| {
                b.to_async(&runtime).iter(|| search.candidates(questions.next().unwrap(), filter, 30));
            });
        }
        group.finish();
        percentiles(&runtime, &search, leaves);
    }
}

/// Criterion gives means; what a user feels is the slow end.
fn percentiles(runtime: &Runtime, search: &Search, leaves: usize) {
    let mut times: Vec<_> = (0..2000)
        .map(|n| {
            let started = std::time::Instant::now();
            runtime.block_on(search.candidates(QUESTIONS[n % 4], &Filter::default(), 30)).unwrap();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("hybrid over {leaves}: p50 {:?}, p99 {:?}, max {:?}", times[1000], times[1980], times[1999]);
}

fn publish(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let index = filled(&runtime, 100_000);
    let (mut rng, vocabulary) = (StdRng::seed_from_u64(2), vocabulary());
    let mut version = 1_000_000;
    c.bench_function("publish a document of 20 leaves among 100000", |b| {
        b.to_async(&runtime).iter_batched(
            || {
                version += 1;
                let n = version % 5000;
                (id(2, n), vec![document(&mut rng, &vocabulary, n, version)])
            },
            |(document, segments)| index.replace(document, segments),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, analysis, search, publish);
criterion_main!(benches);
