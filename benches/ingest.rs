//! How fast files become passages that are found.
//!
//! `cargo bench --profile dev --bench ingest` measures with the profile that a first run uses.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, reason = "a bench fails loudly")]

use std::{path::PathBuf, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{self, Isolated, Limits},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndexes,
    },
    domain::{
        error::EngineError,
        id::VersionId,
        index::{Embedder, Filter, VectorIndex},
        knowledge::Submitted,
        profile::Embedders,
        time::Clock,
    },
    services::ingest::{
        Ingest, Ports, Vectors, WorkerConfig,
        chunk::{Before, Shape, chunks},
    },
};
use async_trait::async_trait;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[path = "../tests/it/support/pdf.rs"]
mod pdf;
use pdf::pdf;

/// A manual in both languages: sections of prose, lists and tables, each sentence its own.
fn manual(sections: usize) -> String {
    let mut out = String::from("# Field manual\n\n");
    for no in 0..sections {
        out.push_str(&format!("## Unit {no}\n\n"));
        for line in 0..8 {
            out.push_str(&format!(
                "The **valve {line}** of unit {no} is opened after {} minutes and checked by the [shift lead](#lead). ",
                no * 7 + line
            ));
        }
        out.push_str(&format!(
            "\n\n- Filter {no} is replaced every {} days.\n- 第 {no} 号阀门每 {} 天检修一次。\n\n",
            no + 3,
            no + 5
        ));
        for line in 0..6 {
            out.push_str(&format!(
                "第 {no} 号机组的第 {line} 道检查由当班人员完成，结果记入第 {} 号表格，并由主管复核。",
                no + line
            ));
        }
        out.push_str("\n\n| Part | Months |\n|---|---|\n");
        for row in 0..5 {
            out.push_str(&format!("| Part {no}-{row} | {} |\n", row * 6 + 6));
        }
        out.push('\n');
    }
    out
}

fn reading(criterion: &mut Criterion) {
    let source = manual(400);
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Bytes(source.len() as u64));
    group.bench_function("markdown", |bench| {
        bench.iter(|| extract::read(source.as_bytes(), "a.md", 1 << 30).unwrap());
    });
    let extracted = extract::read(source.as_bytes(), "a.md", 1 << 30).unwrap();
    group.bench_function("chunks", |bench| {
        bench.iter(|| {
            chunks(VersionId::from_uuid(uuid::Uuid::nil()), &extracted, &Shape::default(), &Before::default())
        });
    });
    group.finish();
}

/// An embedder that costs nothing: what is left is ingestion itself.
struct Free;

#[async_trait]
impl Embedder for Free {
    fn name(&self) -> &str {
        "free"
    }
    fn dims(&self) -> usize {
        256
    }
    fn weight(&self) -> f32 {
        0.5
    }
    fn embeds_words(&self) -> bool {
        false
    }
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        Ok(vec![Some(vec![0.0625; 256]); texts.len()])
    }
    async fn query(&self, _: &str) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(Some(vec![0.0625; 256]))
    }
}

/// A service over a folder of its own.
struct Desk {
    ingest: Ingest,
    index: Arc<dyn VectorIndex>,
    folder: tempfile::TempDir,
    rounds: usize,
}

impl Desk {
    async fn open(embedder: Arc<dyn Embedder>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let worker = PathBuf::from(env!("CARGO_BIN_EXE_askback"));
        let engine = Engine::Sqlite { folder: folder.path().join("data") };
        let storage = Storage::open(Options { engine, clock: Arc::new(SystemClock) }).await.unwrap();
        let store = Arc::new(storage.clone());
        let indexes = EmbeddedIndexes::over(store.clone());
        let vectors = Vectors::open(store, indexes, Embedders::new(embedder), SystemClock.now()).await.unwrap();
        let index = vectors.serving.current().index;
        let ports = Ports {
            documents: Arc::new(storage.clone()),
            upkeep: Arc::new(storage.clone()),
            jobs: Arc::new(storage),
            blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
            vectors,
            extractor: Arc::new(Isolated { program: worker, limits: Limits::default(), ocr: None }),
            clock: Arc::new(SystemClock),
        };
        let ingest = Ingest::new(ports, WorkerConfig::new("bench:1"));
        ingest.start(&TaskTracker::new(), &CancellationToken::new()).await.unwrap();
        Self { ingest, index, folder, rounds: 0 }
    }

    /// From `submit` to the moment at which a search finds it: process, store with its syncs, embedder, index. The file
    /// differs in every round and replaces the one before.
    async fn ingest(&mut self, filename: &str, file: impl Fn(usize) -> Vec<u8>) {
        self.rounds += 1;
        let path = self.folder.path().join("upload");
        std::fs::write(&path, file(self.rounds)).unwrap();
        let submitted = self.ingest.submit(None, "bench", filename, &path).await.unwrap();
        let (Submitted::Queued { job, .. } | Submitted::Unchanged { job, .. }) = submitted;
        let job = self.ingest.wait(job, Duration::from_secs(600)).await.unwrap();
        assert_eq!(job.error, None);
        assert!(self.index.count(&Filter::default()).await.unwrap() > 0);
    }
}

fn ingesting(criterion: &mut Criterion) {
    const PAGES: usize = 200;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let source = manual(400);
    let built_in: Arc<dyn Embedder> = Arc::new(Builtin::load().unwrap());
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    for (embedder, name) in [(Arc::new(Free) as Arc<dyn Embedder>, "free embedder"), (built_in, "built-in embedder")] {
        let mut desk = runtime.block_on(Desk::open(embedder));
        group.throughput(Throughput::Bytes(source.len() as u64));
        group.bench_function(format!("markdown, {name}"), |bench| {
            let file = |round: usize| format!("{source}\nRound {round}.\n").into_bytes();
            bench.iter(|| runtime.block_on(desk.ingest("manual.md", file)));
        });
        group.throughput(Throughput::Elements(PAGES as u64));
        group.bench_function(format!("pages of PDF, {name}"), |bench| {
            bench.iter(|| runtime.block_on(desk.ingest("book.pdf", |round| book(PAGES, round))));
        });
    }
    group.finish();
}

/// A PDF of pages of forty lines.
fn book(pages: usize, round: usize) -> Vec<u8> {
    let line = |page: usize, no: usize| {
        format!(
            "Valve {no} of hall {page} is opened after {} minutes by the shift lead of round {round}.",
            page * 7 + no
        )
    };
    pdf(&(0..pages).map(|page| (0..40).map(|no| line(page, no)).collect()).collect::<Vec<_>>())
}

criterion_group!(benches, reading, ingesting);
criterion_main!(benches);
