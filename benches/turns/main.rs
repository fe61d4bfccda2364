//! A whole process under load: turns, streams, writers, long sessions.
//!
//! `cargo bench --profile dev --bench turns` runs all of it, `… --bench turns -- streams` one part (turns, writers,
//! streams, memory, sessions). Model and clients live in this process, beside the server's; figures of one run are
//! compared with figures of the same run.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]
#![allow(clippy::panic, reason = "a bench fails loudly")]

mod model;
mod server;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all};
use serde_json::json;

use self::{
    model::{Manner, Model},
    server::{Server, client},
};

/// Rounds of each measurement.
const ROUNDS: usize = 3;
/// Tokens of an answer.
const TOKENS: usize = 64;
/// Pause before each token of a paced answer.
const PACE: Duration = Duration::from_millis(20);

fn main() {
    rlimit::increase_nofile_limit(65_536).unwrap();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|word| word == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if wants("turns") {
            turns().await;
        }
        if wants("writers") {
            writers().await;
        }
        if wants("streams") {
            streams().await;
        }
        if wants("memory") {
            memory().await;
        }
        if wants("sessions") {
            sessions().await;
        }
    });
}

/// What one client saw of a turn.
#[derive(Debug, Clone, Copy)]
struct Told {
    /// From the request to the first frame: the message is kept.
    first: Duration,
    /// From the request to `[DONE]`.
    whole: Duration,
}

/// One turn in `session`, to its end.
async fn turn(http: &reqwest::Client, server: &Server, session: &str) -> Told {
    let began = Instant::now();
    let mut first = None;
    let mut stream = open(http, server, session).await;
    let mut last = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.unwrap();
        first.get_or_insert_with(|| began.elapsed());
        last.extend_from_slice(&piece);
        if last.windows(12).any(|window| window == b"data: [DONE]") {
            let whole = began.elapsed();
            while stream.next().await.is_some() {}
            return Told { first: first.unwrap(), whole };
        }
        last.drain(..last.len().saturating_sub(12));
    }
    panic!("a turn of {session} ended without [DONE]");
}

/// Begins a turn and gives what comes.
async fn open(
    http: &reqwest::Client,
    server: &Server,
    session: &str,
) -> impl futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin + use<> {
    let body = json!({"message": "How long is the warranty of the machine?", "session_id": session});
    let request = http.post(format!("{}/chat/stream", server.url)).bearer_auth(&server.token).json(&body);
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    Box::pin(answer.bytes_stream())
}

/// `count` turns by so many clients, each in a session of its own, one after the other.
async fn closed_loop(server: &Server, clients: usize, count: usize, name: &str) -> Vec<Told> {
    let left = Arc::new(AtomicUsize::new(count));
    let one = |no: usize| {
        let (left, session) = (Arc::clone(&left), format!("{name}-{no}"));
        async move {
            let http = client();
            let mut told = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                told.push(turn(&http, server, &session).await);
            }
            told
        }
    };
    join_all((0..clients).map(one)).await.concat()
}

async fn turns() {
    println!("turns: {TOKENS} tokens after one call of the knowledge tool");
    let model = Model::start(Manner::Searches(TOKENS)).await;
    let server = Server::start(&model, false).await;
    closed_loop(&server, 8, 100, "warm").await;
    for round in 0..ROUNDS {
        for clients in [1, 8] {
            let (began, cpu) = (Instant::now(), server.cpu_ms());
            let told = closed_loop(&server, clients, 400, &format!("turns-{clients}-{round}")).await;
            let (spent, took) = (server.cpu_ms() - cpu, began.elapsed());
            println!(
                "  {clients} clients: {:.2} CPU-ms a turn, {:.0} turns/s, first frame {}, whole turn {}",
                spent / told.len() as f64,
                told.len() as f64 / took.as_secs_f64(),
                spread(told.iter().map(|told| told.first)),
                spread(told.iter().map(|told| told.whole)),
            );
        }
    }
}

async fn writers() {
    println!("writers: messages acknowledged with synchronous FULL, one token each");
    let model = Model::start(Manner::Says(1)).await;
    let server = Server::start(&model, false).await;
    closed_loop(&server, 16, 200, "warm").await;
    for round in 0..ROUNDS {
        for clients in [1, 16] {
            let began = Instant::now();
            let told =
                closed_loop(&server, clients, 100 * clients.min(10), &format!("writers-{clients}-{round}")).await;
            println!(
                "  {clients} writers: {:.0} messages/s, acknowledged after {}",
                told.len() as f64 / began.elapsed().as_secs_f64(),
                spread(told.iter().map(|told| told.first)),
            );
        }
    }
}

async fn streams() {
    println!("streams: {TOKENS} tokens at {} ms, server on one core", PACE.as_millis());
    let model = Model::start(Manner::Paced(TOKENS, PACE)).await;
    let server = Server::start(&model, true).await;
    let ideal = PACE * TOKENS as u32;
    let clients: Vec<_> = (0..8).map(|_| client()).collect();
    for count in [100, 200, 300, 400, 800] {
        let (began, cpu) = (Instant::now(), server.cpu_ms());
        let (server, clients) = (&server, &clients);
        // They begin within the length of an answer, as people do, and each is followed by another.
        let one = |no: usize| async move {
            tokio::time::sleep(ideal.mul_f64(no as f64 / count as f64)).await;
            let mut told = Vec::new();
            for _ in 0..3 {
                told.push(turn(&clients[no % clients.len()], server, &format!("streams-{count}-{no}")).await);
            }
            told
        };
        let told = join_all((0..count).map(one)).await.concat();
        let (spent, took) = (server.cpu_ms() - cpu, began.elapsed());
        println!(
            "  {count} streams: a turn takes {} (ideal {} ms), first frame {}; {:.0} % of the core, {:.2} CPU-ms a turn",
            spread(told.iter().map(|told| told.whole)),
            ideal.as_millis(),
            spread(told.iter().map(|told| told.first)),
            spent / took.as_secs_f64() / 10.0,
            spent / told.len() as f64,
        );
    }
}

async fn memory() {
    println!("memory: resident, for each stream that is open");
    for (name, manner) in [("idle", Manner::Silent), ("active", Manner::Paced(1_000, PACE))] {
        for count in [200, 1_000] {
            let model = Model::start(manner).await;
            let server = Server::start(&model, false).await;
            let clients: Vec<_> = (0..8).map(|_| client()).collect();
            let before = server.resident_kib();
            let mut open_ones = Vec::new();
            for no in 0..count {
                let mut stream = open(&clients[no % 8], &server, &format!("{name}-{count}-{no}")).await;
                stream.next().await.unwrap().unwrap();
                open_ones.push(stream);
            }
            // Two seconds of whatever they do.
            let reading = open_ones.iter_mut().map(|stream| async move { while stream.next().await.is_some() {} });
            let _ended = tokio::time::timeout(Duration::from_secs(2), join_all(reading)).await;
            println!(
                "  {count} {name} streams: {:.0} KiB each over {:.0} MiB",
                (server.resident_kib() - before) / count as f64,
                before / 1024.0
            );
            drop(open_ones);
        }
    }
}

async fn sessions() {
    println!("sessions: a turn in a long one against a turn in a short one");
    let model = Model::start(Manner::Says(1)).await;
    let server = Server::start(&model, false).await;
    let http = client();
    let began = Instant::now();
    // Two messages a turn.
    for _ in 0..4_950 {
        turn(&http, &server, "long").await;
    }
    println!("  9,900 messages made in {:.0} s", began.elapsed().as_secs_f64());
    for round in 0..ROUNDS {
        let mut cost = [(0.0, Vec::new()), (0.0, Vec::new())];
        for no in 0..10 {
            let short = format!("short-{round}-{no}");
            for _ in 0..3 {
                turn(&http, &server, &short).await;
            }
            for (session, (spent, told)) in [short.as_str(), "long"].into_iter().zip(&mut cost) {
                let cpu = server.cpu_ms();
                for _ in 0..5 {
                    told.push(turn(&http, &server, session).await.whole);
                }
                *spent += server.cpu_ms() - cpu;
            }
        }
        let [(short, short_took), (long, long_took)] = cost;
        println!(
            "  ten messages: {} and {:.2} CPU-ms a turn; ten thousand: {} and {:.2} CPU-ms; time × {:.2}",
            spread(short_took.iter().copied()),
            short / short_took.len() as f64,
            spread(long_took.iter().copied()),
            long / long_took.len() as f64,
            mean(&long_took) / mean(&short_took),
        );
    }
}

fn mean(times: &[Duration]) -> f64 {
    times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len() as f64
}

/// Half of them within, 99 % within.
fn spread(times: impl Iterator<Item = Duration>) -> String {
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64() * 1_000.0).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    format!("{:.1} / {:.1} ms", at(0.5), at(0.99))
}
