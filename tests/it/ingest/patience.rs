//! An embedder that asks for patience.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    adapters::embed::builtin::Builtin,
    domain::{error::EngineError, index::Embedder, job::JobState},
};
use async_trait::async_trait;

use super::desk::{Desk, Setup, job_of, on_both_engines};
use crate::support::{
    faults::Fault,
    store::{Schema, TestClock},
};

on_both_engines!(every_third_batch_is_refused_and_none_is_embedded_twice, patience_has_an_end);

/// The built-in embedder, and what it was asked to embed.
struct Seen {
    inner: Builtin,
    batches: Mutex<Vec<Vec<String>>>,
}

#[async_trait]
impl Embedder for Seen {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn dims(&self) -> usize {
        self.inner.dims()
    }
    fn weight(&self) -> f32 {
        self.inner.weight()
    }
    fn embeds_words(&self) -> bool {
        self.inner.embeds_words()
    }
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        self.batches.lock().unwrap().push(texts.to_vec());
        self.inner.passages(texts).await
    }
    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        self.inner.query(text).await
    }
}

/// A desk whose worker embeds two leaves at a time.
async fn open(schema: Option<Schema>) -> (Desk, Arc<Seen>, Arc<TestClock>) {
    let seen = Arc::new(Seen { inner: Builtin::load().unwrap(), batches: Mutex::default() });
    let clock = TestClock::new();
    let setup = Setup {
        embedder: seen.clone(),
        clock: clock.clone(),
        config: |config| {
            config.batch = 2;
            config.backoff = Duration::from_secs(1);
            // The clock jumps where it would pass between two heartbeats.
            config.lease = Duration::from_secs(3_600);
        },
        schema,
        ..Setup::default()
    };
    let desk = Desk::closed(setup).await;
    desk.start().await;
    (desk, seen, clock)
}

/// A file of so many leaves.
fn leaves(count: usize) -> String {
    (0..count).map(|no| format!("# Part {no}\n\n{}\n\n", format!("Lantern {no} burns. ").repeat(30))).collect()
}

async fn every_third_batch_is_refused_and_none_is_embedded_twice(schema: Option<Schema>) {
    let (desk, seen, clock) = open(schema).await;
    // With a word about how long, and without.
    for nth in 1..=6 {
        let named = (nth % 2 == 1).then_some(Duration::from_secs(7));
        desk.faults.at("passages", nth * 3, Fault::SlowDown(named));
    }
    let submitted = desk.submit("lanterns.md", leaves(24).as_bytes()).await.unwrap();
    let job = desk.ended(&submitted).await;
    assert_eq!((job.state, job.attempts, job.error_code), (JobState::Completed, 1, None));
    assert_eq!((job.report.processed, desk.leaves().await), (24, 24));

    let batches = seen.batches.lock().unwrap().clone();
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2; 12], "each batch once");
    let mut texts: Vec<&String> = batches.iter().flatten().collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 24);

    let waits = clock.waits();
    let (named, own): (Vec<_>, Vec<_>) = waits.iter().partition(|wait| **wait == Duration::from_secs(7));
    assert_eq!((named.len(), own.len()), (3, 2), "17 calls, the 18th was not needed: {waits:?}");
    let own_bounds = Duration::from_millis(500)..=Duration::from_secs(1);
    assert!(own.iter().all(|wait| own_bounds.contains(*wait)), "{waits:?}");
    desk.close().await;
}

async fn patience_has_an_end(schema: Option<Schema>) {
    let (desk, seen, clock) = open(schema).await;
    desk.faults.always("passages", Fault::SlowDown(Some(Duration::from_secs(86_400))));
    let submitted = desk.submit("lantern.md", leaves(1).as_bytes()).await.unwrap();
    // Nobody waits between the attempts.
    let job = loop {
        let job = desk.ingest.wait(job_of(&submitted), Duration::from_millis(50)).await.unwrap();
        if job.state.is_ended() {
            break job;
        }
        desk.tamper("update jobs set run_after = 0 where state = 'pending'").await;
    };
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("attempts_exhausted")));
    assert!(job.error.unwrap().contains("asked to slow down"));
    assert_eq!(clock.waits(), vec![Duration::from_secs(120); 3 * 4], "bounded, and none after the last offer");
    assert_eq!(*seen.batches.lock().unwrap(), Vec::<Vec<String>>::new());
    desk.close().await;
}
