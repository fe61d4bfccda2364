//! The process dies on the spot at every named point that a turn passes, and starts again over the same data.

use std::{collections::BTreeSet, os::unix::process::ExitStatusExt, path::Path};

use super::{
    jobs::points::JOB,
    talk::{MANUALS, Talk, slow_model},
};
use crate::support::{fake_openai::FakeOpenAi, home::Home, process::Server};

/// What `abort` ends with: nothing is unwound, flushed or told.
const SIGABRT: i32 = 6;

/// Every point that a turn passes, in about their order.
const TURN: [&str; 44] = [
    "turn:begun",
    "accept:claimed",
    "accept:taken",
    "accept:appended",
    "accept:before-commit",
    "accept:after-commit",
    "accept:told",
    "turn:first-frame",
    "turn:replied",
    "turn:accepted",
    "log:before",
    "log:rests",
    "log:before-commit",
    "log:after-commit",
    "log:after",
    "log:shown",
    "reply:decided",
    "turn:context",
    "turn:model",
    "model:opened",
    "model:heard",
    "model:ended",
    "tool:before",
    "retrieval:found",
    "retrieval:read",
    "retrieval:graded",
    "resume:retrieved",
    "tool:answered",
    "turn:ending",
    "turn:sealed",
    "turn:closed",
    "turn:before-finish",
    "finish:released",
    "finish:written",
    "finish:settled",
    "finish:logged",
    "finish:before-commit",
    "finish:after-commit",
    "turn:after-finish",
    "turn:shown",
    "note:before-write",
    "note:after-write",
    "turn:ended",
    "write:before-commit",
];

/// Points that a start passes when it ends what a dead process left.
const RECOVERY: [&str; 2] = ["recover:before", "recover:after"];

/// Points of a turn that waits in line, which this talk's turns never do (see `line`). Those of documents are in `jobs`.
const OTHER: [&str; 3] = ["queue:told", "queue:started", "queue:stopping"];

/// Who answers; `slow-7` is a model that takes seven milliseconds for each piece.
#[derive(Clone, PartialEq, Eq)]
enum Model {
    BuiltIn,
    Slow(String),
}

/// A ground for many crashes: documents, an account, a model.
struct Ground {
    home: Home,
    llm: FakeOpenAi,
    token: String,
    crashes: usize,
}

impl Ground {
    async fn new(home: Home) -> Self {
        home.ingest(&MANUALS);
        let server = home.start(&[]).await;
        let token = server.register("anna").await;
        server.kill().await;
        Self { home, llm: FakeOpenAi::answering(slow_model).await, token, crashes: 0 }
    }

    /// A start at which `point` acts as `action` says; none: it died at once.
    async fn start(&self, model: &Model, failpoints: &str) -> Option<Server> {
        let mut variables = vec![("FAILPOINTS", failpoints), ("ASKBACK_LOG", "off")];
        if let Model::Slow(name) = model {
            variables.extend([("ASKBACK_LLM_BASE_URL", self.llm.base_url.as_str()), ("ASKBACK_MODEL", name)]);
        }
        match self.home.try_start(&variables).await {
            Ok(server) => Some(server),
            Err(ended) => {
                assert_eq!(ended.signal(), Some(SIGABRT), "{failpoints}: {ended}");
                None
            }
        }
    }

    /// A conversation in which the process dies at the (`passed` + 1)-th time that it comes to `point`. Gives whether it did.
    async fn dies_at(&mut self, point: &str, passed: usize, model: &Model) -> bool {
        let action = if passed == 0 { "panic(kill)".into() } else { format!("{passed}*off->panic(kill)") };
        let failpoints = format!("{point}={action}");
        let mut talk = Talk::new(&self.token, &format!("{point}-{passed}-{}", self.crashes));
        self.crashes += 1;
        let mut server = self.start(model, &failpoints).await;
        if let Some(armed) = &mut server {
            let told = talk.go_on(armed).await;
            // Behind the last word there is more to pass: the end waits for it.
            if told.is_ok() && armed.ended().is_none() {
                armed.ask_to_end().await;
            }
        }
        let died = match server {
            Some(server) => {
                let ended = server.end().await;
                assert!(ended.success() || ended.signal() == Some(SIGABRT), "{failpoints}: {ended}");
                !ended.success()
            }
            None => true,
        };
        let server = self.start(model, "").await.expect("nothing is armed");
        talk.settle(&server).await.expect("it answers");
        talk.go_on(&server).await.expect("it answers");
        talk.check(&server).await.expect("it answers");
        server.kill().await;
        died
    }

    /// A turn is killed, and so is the start that ends it, at `point`; the next one does it.
    async fn dies_recovering_at(&mut self, point: &str, model: &Model) {
        let mut talk = Talk::new(&self.token, &format!("{point}-{}", self.crashes));
        self.crashes += 1;
        let server = self.start(model, "model:heard=3*off->panic(kill)").await.expect("it starts");
        talk.go_on(&server).await.expect_err("it dies in a turn");
        assert_eq!(server.end().await.signal(), Some(SIGABRT));
        let failpoints = format!("{point}=panic(kill)");
        assert!(self.start(model, &failpoints).await.is_none(), "{point} was not passed");
        let server = self.start(model, "").await.expect("nothing is armed");
        talk.settle(&server).await.expect("it answers");
        talk.go_on(&server).await.expect("it answers");
        talk.check(&server).await.expect("it answers");
        server.kill().await;
    }
}

/// Kills at every point: the first time that each is passed with one model, later times with either in turn, and then
/// from the first time on again, at another pace.
async fn dies_everywhere(home: Home, points: &[&str], seeds: std::ops::Range<usize>) {
    let mut ground = Ground::new(home).await;
    let mut deaths = 0;
    for (at, point) in points.iter().enumerate() {
        // How often a talk comes to the point, as far as it is known: with the built-in model, with the slow one.
        let mut passes = [usize::MAX; 2];
        for seed in seeds.clone() {
            let is_slow = !(at + seed).is_multiple_of(2);
            let model = if is_slow { Model::Slow(format!("slow-{}", seed % 9)) } else { Model::BuiltIn };
            let passes = &mut passes[usize::from(is_slow)];
            while *passes > 0 {
                let passed = seed % *passes;
                if ground.dies_at(point, passed, &model).await {
                    deaths += 1;
                    break;
                }
                *passes = passed;
            }
            assert!(*passes > 0 || seed > 0, "{point} was not passed");
        }
        println!("{deaths} deaths at {} of {} points", at + 1, points.len());
    }
    ground.home.remove().await;
}

async fn dies_while_recovering(home: Home) {
    let mut ground = Ground::new(home).await;
    for point in RECOVERY {
        ground.dies_recovering_at(point, &Model::BuiltIn).await;
    }
    ground.home.remove().await;
}

fn half(second: bool) -> &'static [&'static str] {
    let (first, rest) = TURN.split_at(TURN.len() / 2);
    if second { rest } else { first }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_the_first_half_loses_nothing() {
    dies_everywhere(Home::sqlite(), half(false), 0..1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_the_second_half_loses_nothing() {
    dies_everywhere(Home::sqlite(), half(true), 0..1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_the_first_half_loses_nothing_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    dies_everywhere(home, half(false), 0..1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_the_second_half_loses_nothing_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    dies_everywhere(home, half(true), 0..1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_while_recovering_loses_nothing() {
    dies_while_recovering(Home::sqlite()).await;
    if let Some(home) = Home::postgres().await {
        dies_while_recovering(home).await;
    }
}

/// So many deaths per point, as far as a point is passed that often.
fn seeds() -> std::ops::Range<usize> {
    0..std::env::var("ASKBACK_TEST_SEEDS").map_or(20, |seeds| seeds.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long; benches/README.md has its figures"]
async fn long_many_deaths_at_every_point() {
    dies_everywhere(Home::sqlite(), &TURN, seeds()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes long; benches/README.md has its figures"]
async fn long_many_deaths_at_every_point_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    dies_everywhere(home, &TURN, seeds()).await;
}

#[test]
fn every_point_is_known() {
    let mut named = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            for mark in ["fail_point!(\"", "before: \"", "after: \""] {
                let points = text.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
                named.extend(points.filter(|point| point.contains(':')).map(str::to_owned));
            }
        }
    }
    let reindexing = super::reindex::POINTS.iter().filter_map(|(point, _)| point.split('=').next());
    let known: BTreeSet<String> =
        [&TURN[..], &RECOVERY, &OTHER, &JOB].concat().into_iter().chain(reindexing).map(str::to_owned).collect();
    assert_eq!(named, known);
}
