//! What many files, and one very large file, cost: 10,000 small files in one go, and the peak memory of a 200 MB text.
//!
//! `cargo bench --profile dev --bench load`; `ASKBACK_BENCH_FILES` and `ASKBACK_BENCH_MEGABYTES` make it shorter.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, is set by its environment, and prints"
)]

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use askback::{
    adapters::{
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{Isolated, Limits},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndexes,
    },
    domain::{index::Filter, knowledge::Submitted, profile::Embedders, time::Clock},
    services::ingest::{Ingest, Ports, Vectors, WorkerConfig},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The worker's program and the server.
const ASKBACK: &str = env!("CARGO_BIN_EXE_askback");
/// How long a file may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn main() {
    // Only `cargo bench` asks for a measurement; test runners that look at every target do not.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(many_files(setting("ASKBACK_BENCH_FILES", 10_000)));
    runtime.block_on(one_large_file(setting("ASKBACK_BENCH_MEGABYTES", 200)));
}

/// Submits so many files at once and tells how long each tenth of them took.
async fn many_files(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::Sqlite { folder: folder.path().join("data") };
    let storage = Storage::open(Options { engine, clock: Arc::new(SystemClock) }).await.unwrap();
    let store = Arc::new(storage.clone());
    let indexes = EmbeddedIndexes::over(store.clone());
    let embedders = Embedders::new(Arc::new(Builtin::load().unwrap()));
    let vectors = Vectors::open(store, indexes, embedders, SystemClock.now()).await.unwrap();
    let index = vectors.serving.current().index;
    let ports = Ports {
        documents: Arc::new(storage.clone()),
        upkeep: Arc::new(storage.clone()),
        jobs: Arc::new(storage),
        blobs: Arc::new(LocalBlobs::open(&folder.path().join("blobs")).unwrap()),
        vectors,
        extractor: Arc::new(Isolated { program: ASKBACK.into(), limits: Limits::default(), ocr: None }),
        clock: Arc::new(SystemClock),
    };
    let ingest = Ingest::new(ports, WorkerConfig::new("bench:1"));
    let path = folder.path().join("upload");
    let begun = Instant::now();
    let mut jobs = Vec::new();
    for no in 0..count {
        std::fs::write(&path, format!("# Note {no}\n\nValve {no} is opened after {} minutes.\n", no + 3)).unwrap();
        let submitted = ingest.submit(None, "bench", &format!("note-{no}.md"), &path).await.unwrap();
        let (Submitted::Queued { job, .. } | Submitted::Unchanged { job, .. }) = submitted;
        jobs.push(job);
    }
    println!("{count} small files: accepted in {:.1} s, nobody at work", begun.elapsed().as_secs_f64());
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let begun = Instant::now();
    ingest.start(&tasks, &stop).await.unwrap();
    let mut since = Instant::now();
    for tenth in jobs.chunks(count.div_ceil(10)) {
        ingest.wait(*tenth.last().unwrap(), PATIENCE).await.unwrap();
        println!("  the next {}: {:.0} files/s", tenth.len(), tenth.len() as f64 / since.elapsed().as_secs_f64());
        since = Instant::now();
    }
    for job in &jobs {
        let job = ingest.wait(*job, PATIENCE).await.unwrap();
        assert_eq!(job.error, None, "{}", job.filename);
    }
    println!("  all: {:.0} files/s", count as f64 / begun.elapsed().as_secs_f64());
    assert_eq!(index.count(&Filter::default()).await.unwrap(), count as u64);
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

/// A server that reads one text of so many megabytes: how long, and the most memory that it and its child ever had.
async fn one_large_file(megabytes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.txt");
    write_text(&path, megabytes << 20);
    let mut server = Command::new(ASKBACK)
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir", "var"])
        .env_clear()
        .envs([("ASKBACK_ADMIN_INVITE_CODE", "an invite code"), ("ASKBACK_UPLOAD_LIMIT", "1 GiB")])
        .envs([("ASKBACK_LOG", "off"), ("ASKBACK_EXTRACT_SECONDS", "3600"), ("ASKBACK_EXTRACT_MEMORY", "16 GiB")])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.strip_prefix("listening on ").unwrap().trim().to_owned();
    let idle = peak(server.id());

    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let account = serde_json::json!({
        "username": "root", "password": "correct horse 7", "role": "admin", "admin_code": "an invite code",
    });
    let answer = http.post(format!("{url}/auth/register")).json(&account).send().await.unwrap();
    let token = answer.json::<serde_json::Value>().await.unwrap()["access_token"].as_str().unwrap().to_owned();
    let part = reqwest::multipart::Part::file(&path).await.unwrap().file_name("large.txt");
    let form = reqwest::multipart::Form::new().part("file", part);
    let begun = Instant::now();
    let upload = http.post(format!("{url}/documents/upload/async")).bearer_auth(&token).multipart(form);
    let accepted: serde_json::Value = upload.send().await.unwrap().json().await.unwrap();
    let job = format!("{url}/documents/upload/jobs/{}", accepted["job_id"].as_str().unwrap());
    let mut child = 0;
    let ended = loop {
        child = child.max(children(server.id()).into_iter().map(peak).max().unwrap_or(0));
        let state: serde_json::Value = http.get(&job).bearer_auth(&token).send().await.unwrap().json().await.unwrap();
        if state["status"] == "completed" || state["status"] == "failed" {
            break state;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    println!(
        "one text of {megabytes} MB: {} ({}) after {:.0} s, {} leaves",
        ended["status"],
        ended["error_code"],
        begun.elapsed().as_secs_f64(),
        ended["total_chunks"]
    );
    println!("  peak memory: server {} MB (idle {idle} MB), reading child {child} MB", peak(server.id()));
    end(&mut server);
}

/// Paragraphs in both languages, each its own.
fn write_text(path: &Path, bytes: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (mut written, mut no) = (0, 0_usize);
    while written < bytes {
        no += 1;
        let paragraph = format!(
            "Valve {no} of the north hall is opened after {} minutes and checked by the shift lead of unit {}. \
             The reading is written into form {}.\n\n第 {no} 号阀门由当班人员检修，结果记入第 {} 号表格，并由主管复核。\n\n",
            no % 97,
            no % 1_013,
            no * 7,
            no % 89
        );
        file.write_all(paragraph.as_bytes()).unwrap();
        written += paragraph.len();
    }
    file.flush().unwrap();
}

/// The most resident memory that a process ever had, in MB; 0 once it is gone.
fn peak(process: u32) -> usize {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok()).unwrap_or(0) / 1_024
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let lists = threads
        .filter_map(Result::ok)
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn end(server: &mut Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}
