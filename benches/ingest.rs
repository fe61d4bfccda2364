//! How fast files become passages that are found.
//!
//! `cargo bench --profile dev --bench ingest` measures with the profile that a first run uses.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench fails loudly")]

use std::{path::PathBuf, sync::Arc, time::Duration};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{self, Isolated, Limits},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndex,
    },
    domain::{
        id::VersionId,
        index::{Embedder, Filter, VectorIndex},
        job::JobState,
        knowledge::{Level, Submitted},
    },
    services::ingest::{
        Ingest, Ports, WorkerConfig,
        chunk::{Shape, chunks},
    },
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

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
        bench.iter(|| chunks(VersionId::from_uuid(uuid::Uuid::nil()), &extracted, &Shape::default()));
    });
    group.finish();
}

/// From `submit` to the moment at which a search finds it: process, store with its syncs, embedder, index.
fn ingesting(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let worker = PathBuf::from(env!("CARGO_BIN_EXE_askback"));
    let (ingest, index) = runtime.block_on(async {
        let engine = Engine::Sqlite { folder: folder.path().join("data") };
        let storage = Storage::open(Options { engine, clock: Arc::new(SystemClock) }).await.unwrap();
        let embedder = Builtin::load().unwrap();
        let index = Arc::new(EmbeddedIndex::new(embedder.dims()));
        let ports = Ports {
            documents: Arc::new(storage.clone()),
            upkeep: Arc::new(storage.clone()),
            jobs: Arc::new(storage),
            blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
            index: Arc::<EmbeddedIndex>::clone(&index),
            embedder: Arc::new(embedder),
            extractor: Arc::new(Isolated { program: worker, limits: Limits::default() }),
            clock: Arc::new(SystemClock),
        };
        let ingest = Ingest::new(ports, WorkerConfig::new("bench:1"));
        ingest.start(&TaskTracker::new(), &CancellationToken::new()).await.unwrap();
        (ingest, index)
    });
    let source = manual(400);
    let extracted = extract::read(source.as_bytes(), "a.md", 1 << 30).unwrap();
    let all = chunks(VersionId::from_uuid(uuid::Uuid::nil()), &extracted, &Shape::default());
    let leaves = all.iter().filter(|chunk| chunk.level == Level::Leaf).count();
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(10).measurement_time(Duration::from_secs(20)).throughput(Throughput::Elements(leaves as u64));
    let mut round = 0;
    group.bench_function(format!("{leaves} leaves"), |bench| {
        bench.iter(|| {
            round += 1;
            let path = folder.path().join("upload");
            std::fs::write(&path, format!("{source}\nRound {round}.\n")).unwrap();
            runtime.block_on(async {
                let submitted = ingest.submit(None, "bench", "manual.md", &path).await.unwrap();
                let (Submitted::Queued { job, .. } | Submitted::Unchanged { job, .. }) = submitted;
                let job = ingest.wait(job, Duration::from_secs(60)).await.unwrap();
                assert_eq!(job.state, JobState::Completed);
            });
        });
    });
    group.finish();
    let found = runtime.block_on(index.count(&Filter::default())).unwrap();
    assert!(found as usize >= leaves);
}

criterion_group!(benches, reading, ingesting);
criterion_main!(benches);
