//! `kill -9` at a time that nobody chose, while several conversations go on.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::talk::{MANUALS, Talk, slow_model};
use crate::support::{fake_openai::FakeOpenAi, home::Home, process::Server};

/// Conversations at a time.
const CLIENTS: usize = 6;
/// Longest that a process lives once its clients have come back, in milliseconds: about a script and a half.
const LONGEST: u64 = 900;

/// What came of many deaths.
#[derive(Debug, Default)]
struct Toll {
    kills: usize,
    /// Conversations that came to the end of their script.
    finished: usize,
    /// Conversations whose client was in a turn when the process died.
    cut: usize,
    /// From each start of a process until it was ready: what the death before left was mended in it.
    until_ready: Vec<Duration>,
}

impl std::fmt::Display for Toll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut starts = self.until_ready.clone();
        starts.sort_unstable();
        let (half, longest) = (starts.get(starts.len() / 2), starts.last());
        let Self { kills, finished, cut, .. } = self;
        write!(
            f,
            "{kills} kills, {finished} conversations finished, {cut} cut in a turn; ready after {half:?}, at most {longest:?}"
        )
    }
}

/// Kills a process over `home` so many times.
async fn dies_under_load(home: Home, kills: usize, seed: u64) -> Toll {
    home.ingest(&MANUALS);
    let server = home.start(&[]).await;
    let token = server.register("anna").await;
    server.kill().await;
    let llm = FakeOpenAi::answering(slow_model).await;
    let slow = [("ASKBACK_LLM_BASE_URL", llm.base_url.as_str()), ("ASKBACK_MODEL", "slow"), ("ASKBACK_LOG", "off")];
    let built_in = [("ASKBACK_LOG", "off")];

    let mut random = StdRng::seed_from_u64(seed);
    let mut toll = Toll::default();
    let mut names = 0..;
    let mut fresh = || Talk::new(&token, &format!("load-{}", names.next().unwrap()));
    let mut talks: Vec<Talk> = (0..CLIENTS).map(|_| fresh()).collect();
    let mut finished: Vec<Talk> = Vec::new();
    while toll.kills < kills {
        let began = Instant::now();
        let server = home.start(if toll.kills.is_multiple_of(2) { &slow } else { &built_in }).await;
        toll.until_ready.push(began.elapsed());
        for talk in &mut talks {
            talk.settle(&server).await.expect("it answers");
        }
        for talk in finished.iter().rev().take(CLIENTS) {
            talk.check(&server).await.expect("it answers");
        }
        let life = Duration::from_millis(random.random_range(0..LONGEST));
        let strike = async {
            tokio::time::sleep(life).await;
            server.strike().await;
        };
        let going = futures::future::join_all(talks.iter_mut().map(|talk| talk.go_on(&server)));
        let (told, ()) = tokio::join!(going, strike);
        server.end().await;
        toll.kills += 1;
        let (done, cut): (Vec<_>, Vec<_>) = talks.into_iter().zip(told).partition(|(_, told)| told.is_ok());
        toll.cut += cut.len();
        talks = cut.into_iter().map(|(talk, _)| talk).collect();
        finished.extend(done.into_iter().map(|(talk, _)| talk));
        talks.extend((talks.len()..CLIENTS).map(|_| fresh()));
    }
    let server: Server = home.start(&[]).await;
    for talk in &mut talks {
        talk.settle(&server).await.expect("it answers");
        talk.go_on(&server).await.expect("it answers");
    }
    toll.finished = finished.len();
    for talk in talks.iter().chain(&finished) {
        talk.check(&server).await.expect("it answers");
    }
    assert_eq!(server.terminate().await.0, Some(0));
    home.remove().await;
    toll
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_under_load_lose_nothing() {
    assert_eq!(dies_under_load(Home::sqlite(), 4, 1).await.kills, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_under_load_lose_nothing_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    assert_eq!(dies_under_load(home, 4, 2).await.kills, 4);
}

/// 200 kills per engine, or as many as `ASKBACK_TEST_KILLS` says.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes many minutes; benches/README.md has its figures"]
async fn long_many_deaths_under_load() {
    let kills = std::env::var("ASKBACK_TEST_KILLS").map_or(200, |kills| kills.parse().expect("a number"));
    println!("sqlite: {}", dies_under_load(Home::sqlite(), kills, 3).await);
    if let Some(home) = Home::postgres().await {
        println!("postgres: {}", dies_under_load(home, kills, 4).await);
    }
}
