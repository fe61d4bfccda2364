//! `kill -9` at every named point of a reindexing. The old vectors answer until the new ones are there, and the second run
//! ends what the first began.

use std::os::unix::process::ExitStatusExt;

use serde_json::Value;

use super::shelf::assert_sound;
use crate::{
    reindex::{FILES, ask, outdate, reindex},
    support::{home::Home, store::rows},
};

/// What `abort` ends with.
const SIGABRT: i32 = 6;
/// Looks at the rows before an old segment counts as staying for ever.
const LOOKS: usize = 500;

/// Where it dies, and whether the new vectors are current by then.
pub(super) const POINTS: [(&str, bool); 6] = [
    ("job:embedded=1*off->panic(kill)", false),
    ("reindex:indexed=2*off->panic(kill)", false),
    ("reindex:built=panic(kill)", false),
    ("adopt:before-commit=panic(kill)", false),
    ("adopt:after-commit=panic(kill)", true),
    ("reindex:adopted=panic(kill)", true),
];

async fn dies_everywhere(home: Home) {
    home.ingest(&FILES);
    for (point, is_adopted) in POINTS {
        outdate(&home).await;
        let died = reindex(&home, point);
        assert_eq!(died.status.signal(), Some(SIGABRT), "{point}: {}", String::from_utf8_lossy(&died.stderr));
        let earlier = "profiles where state = 'current' and embedder like '%-earlier-%'";
        assert_eq!(rows(&home.engine(), earlier).await, i64::from(!is_adopted), "{point}");
        assert_eq!(ask(&home, "How long does the lantern burn?").0, "lantern.md", "{point}");

        let second = reindex(&home, "");
        let report: Value = serde_json::from_slice(&second.stdout).expect("JSON");
        assert_eq!((&report["status"], report["chunks"].as_i64()), (&"completed".into(), Some(3)), "{point}");
        assert_eq!(ask(&home, "灯笼可燃多久？"), ("灯笼.md".into(), false), "{point}");
    }
    let server = home.start(&[("ASKBACK_LOG", "off")]).await;
    for look in 1.. {
        if rows(&home.engine(), "segments").await == 3 {
            break;
        }
        assert!(look < LOOKS, "the old vectors are not collected");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(server.terminate().await.0, Some(0));
    assert_sound(&home);
    home.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_a_reindexing_loses_nothing() {
    dies_everywhere(Home::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_point_of_a_reindexing_loses_nothing_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    dies_everywhere(home).await;
}
