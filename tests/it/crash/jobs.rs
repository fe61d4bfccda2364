//! `kill -9` in the life of a document: at random under many uploads, and at every named point of a job. Afterwards every
//! job ends, SQL, index and files hold the same, and no old version stands beside a new one.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::shelf::{Shelf, VARIABLES, assert_sound};
use crate::support::home::Home;

/// Files that are uploaded at once.
const UPLOADS: usize = 50;
/// Longest life of a process under uploads, in milliseconds: some die before the first job has ended, some idle.
const LONGEST: u64 = 1_500;

/// A text of several leaves, other in every round.
fn text(name: &str, round: usize) -> String {
    let part = |no: usize| format!("{name} glows in round {round}, part {no}. ").repeat(20);
    (0..6).map(part).map(|part| part.trim_end().to_owned()).collect::<Vec<_>>().join("\n\n")
}

async fn dies_under_uploads(home: Home, kills: usize, seed: u64) {
    let server = home.start(&VARIABLES).await;
    let mut shelf = Shelf::new(&server).await;
    server.kill().await;
    let mut random = StdRng::seed_from_u64(seed);
    for round in 0..kills {
        let server = home.start(&VARIABLES).await;
        let life = Duration::from_millis(random.random_range(0..LONGEST));
        let strike = async {
            tokio::time::sleep(life).await;
            server.strike().await;
        };
        let texts = (0..UPLOADS).map(|no| format!("file-{no}.txt")).map(|name| (name.clone(), text(&name, round)));
        tokio::join!(shelf.upload_all(&server, texts.collect()), strike);
        server.end().await;
    }
    let server = home.start(&VARIABLES).await;
    shelf.check(&server).await;
    shelf.tidied(&server, &home).await.expect("it answers");
    assert_eq!(server.terminate().await.0, Some(0));
    assert_sound(&home);
    home.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_under_uploads_lose_nothing() {
    dies_under_uploads(Home::sqlite(), 3, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_under_uploads_lose_nothing_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    dies_under_uploads(home, 3, 6).await;
}

/// 100 kills per engine, or as many as `ASKBACK_TEST_KILLS` says.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes many minutes; benches/README.md has its figures"]
async fn long_many_deaths_under_uploads() {
    let kills = std::env::var("ASKBACK_TEST_KILLS").map_or(100, |kills| kills.parse().expect("a number"));
    dies_under_uploads(Home::sqlite(), kills, 7).await;
    println!("sqlite: {kills} kills");
    if let Some(home) = Home::postgres().await {
        dies_under_uploads(home, kills, 8).await;
        println!("postgres: {kills} kills");
    }
}

#[cfg(feature = "failpoints")]
pub(super) mod points {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::{crash::talk::Gone, support::process::Server};

    /// What `abort` ends with.
    const SIGABRT: i32 = 6;

    /// Every point that the life of a document passes, in about its order.
    pub(crate) const JOB: [&str; 23] = [
        "submit:filed",
        "submit:queued",
        "job:claimed",
        "job:cleaned",
        "job:read",
        "job:cut",
        "job:described",
        "job:paged",
        "job:chunked",
        "job:embedded",
        "job:indexed",
        "job:staged",
        "publish:before-commit",
        "publish:after-commit",
        "job:published",
        "job:failing",
        "job:ended",
        "delete:begun",
        "delete:purged",
        "delete:withdrawn",
        "collect:marked",
        "collect:removed",
        "write:after-commit",
    ];

    /// A document is made, changed, deleted; another one stays, and is changed; one cannot be read.
    async fn lives(shelf: &mut Shelf, server: &Server, home: &Home, round: usize) -> Result<(), Gone> {
        shelf.upload(server, "stays.txt", &text("stays", round)).await?;
        shelf.upload(server, "goes.txt", &text("goes", round)).await?;
        shelf.upload_broken(server, "broken.pdf").await?;
        shelf.wait(server).await?;
        shelf.upload(server, "stays.txt", &text("stays again", round)).await?;
        shelf.wait(server).await?;
        shelf.delete(server, "goes.txt").await?;
        shelf.wait(server).await?;
        // The file of what was deleted goes in the background.
        shelf.tidied(server, home).await
    }

    /// The process dies at the (`passed` + 1)-th time that it comes to `point`. Gives whether it did.
    async fn dies_at(home: &Home, shelf: &mut Shelf, point: &str, passed: usize, round: usize) -> bool {
        let action = if passed == 0 { "panic(kill)".into() } else { format!("{passed}*off->panic(kill)") };
        let failpoints = format!("{point}={action}");
        let armed: Vec<(&str, &str)> = [&VARIABLES[..], &[("FAILPOINTS", failpoints.as_str())]].concat();
        let died = match home.try_start(&armed).await {
            Ok(mut server) => {
                let told = lives(shelf, &server, home, round).await;
                if told.is_ok() && server.ended().is_none() {
                    server.ask_to_end().await;
                }
                let ended = server.end().await;
                assert!(ended.success() || ended.signal() == Some(SIGABRT), "{failpoints}: {ended}");
                !ended.success()
            }
            Err(ended) => {
                assert_eq!(ended.signal(), Some(SIGABRT), "{failpoints}: {ended}");
                true
            }
        };
        let server = home.start(&VARIABLES).await;
        shelf.check(&server).await;
        shelf.tidied(&server, home).await.expect("it answers");
        server.kill().await;
        died
    }

    async fn dies_everywhere(home: Home, points: &[&str], seeds: std::ops::Range<usize>) -> usize {
        let server = home.start(&VARIABLES).await;
        let mut shelf = Shelf::new(&server).await;
        server.kill().await;
        let (mut deaths, mut rounds) = (0, 0..);
        for point in points {
            for seed in seeds.clone() {
                let died = dies_at(&home, &mut shelf, point, seed, rounds.next().expect("no end")).await;
                assert!(died || seed > 0, "{point} was not passed");
                deaths += usize::from(died);
            }
            assert_sound(&home);
        }
        home.remove().await;
        deaths
    }

    fn half(second: bool) -> &'static [&'static str] {
        let (first, rest) = JOB.split_at(JOB.len() / 2);
        if second { rest } else { first }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_death_in_the_first_half_of_a_job_loses_nothing() {
        dies_everywhere(Home::sqlite(), half(false), 0..1).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_death_in_the_second_half_of_a_job_loses_nothing() {
        dies_everywhere(Home::sqlite(), half(true), 0..1).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_death_in_the_first_half_of_a_job_loses_nothing_on_postgres() {
        let Some(home) = Home::postgres().await else { return };
        dies_everywhere(home, half(false), 0..1).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_death_in_the_second_half_of_a_job_loses_nothing_on_postgres() {
        let Some(home) = Home::postgres().await else { return };
        dies_everywhere(home, half(true), 0..1).await;
    }

    /// 20 deaths per point and engine, as far as a point is passed that often.
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes an hour; benches/README.md has its figures"]
    async fn long_many_deaths_at_every_point_of_a_job() {
        let mut homes = vec![Home::sqlite()];
        homes.extend(Home::postgres().await);
        let seeds = std::env::var("ASKBACK_TEST_SEEDS").map_or(20, |seeds| seeds.parse().expect("a number"));
        for home in homes {
            let deaths = dies_everywhere(home, &JOB, 0..seeds).await;
            println!("{deaths} deaths at {} points", JOB.len());
        }
    }
}
