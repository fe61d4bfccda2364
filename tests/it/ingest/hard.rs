//! Files as they are in the world: `ASKBACK_TEST_HARD_FILES` names a folder with a `manifest.json` that says of each what
//! is to become of it.

use std::path::Path;

use askback::domain::job::JobState;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use super::desk::Desk;

#[derive(Deserialize)]
struct Entry {
    file: String,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    status: String,
    must_contain: Vec<String>,
    must_not_contain: Vec<String>,
}

/// NFKC with white space folded: what the manifest's texts are compared in.
fn folded(text: &str) -> String {
    text.nfkc().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What of the expectation did not come true.
async fn judge(desk: &Desk, folder: &Path, entry: &Entry) -> Vec<String> {
    let bytes = std::fs::read(folder.join(&entry.file)).unwrap();
    let name = entry.file.rsplit('/').next().unwrap();
    let submitted = desk.submit(name, &bytes).await.unwrap();
    let job = desk.ended(&submitted).await;
    let code = job.error_code.as_deref().unwrap_or_default();
    let mut wrong = Vec::new();
    let fits = match entry.expect.status.as_str() {
        "ok" => job.state == JobState::Completed,
        "warn" => job.state == JobState::Completed && !desk.current(name).await.warnings.is_empty(),
        "empty" => matches!(code, "no_text" | "empty_file"),
        "reject" => matches!(code, "encrypted" | "malformed"),
        "ok-or-reject" => job.state == JobState::Completed || matches!(code, "encrypted" | "malformed"),
        other => panic!("unknown status {other}"),
    };
    if !fits {
        wrong.push(format!("{name}: expected {}, {:?} {code}", entry.expect.status, job.state));
    }
    if job.state == JobState::Completed {
        let text = folded(&desk.text(name).await);
        for expected in &entry.expect.must_contain {
            if !text.contains(&folded(expected)) {
                wrong.push(format!("{name}: lacks {expected:?}"));
            }
        }
        for forbidden in &entry.expect.must_not_contain {
            if text.contains(forbidden.as_str()) {
                wrong.push(format!("{name}: has {forbidden:?}"));
            }
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn hard_files_end_as_they_should() {
    let Some(folder) = std::env::var_os("ASKBACK_TEST_HARD_FILES") else {
        return println!("skipped: ASKBACK_TEST_HARD_FILES names no folder of hard files");
    };
    let folder = Path::new(&folder);
    let entries: Vec<Entry> = serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    assert!(!entries.is_empty());
    let desk = Desk::open().await;
    let mut wrong = Vec::new();
    for entry in &entries {
        wrong.extend(judge(&desk, folder, entry).await);
    }
    assert_eq!(wrong, Vec::<String>::new());
    desk.close().await;
}
