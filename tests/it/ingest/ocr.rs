//! Scanned pages: told as such, or read by the operator's command.

use std::{path::PathBuf, time::Duration};

use askback::{
    adapters::extract::Ocr,
    domain::{job::JobState, knowledge::DocumentStore},
};

use super::desk::{Desk, Setup};
use crate::support::pdf::pdf;

/// Two pages that hold no letter.
fn scan() -> Vec<u8> {
    pdf(&[vec![], vec![]])
}

/// A desk whose scanned pages are read by this shell script.
async fn reading_by(script: &str, time: Duration) -> (Desk, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("recognise.sh");
    std::fs::write(&path, script).unwrap();
    let ocr = Ocr { command: vec!["sh".into(), path.to_str().unwrap().into(), "--fast".into()], time };
    let desk = Desk::closed(Setup { ocr: Some(ocr), ..Setup::default() }).await;
    desk.start().await;
    (desk, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_without_a_reader_says_what_it_needs() {
    let desk = Desk::open().await;
    let submitted = desk.submit("scan.pdf", &scan()).await.unwrap();
    let job = desk.ended(&submitted).await;
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("no_text")));
    assert!(job.error.unwrap().contains("OCR"));
    assert_eq!(desk.leaves().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_is_read_by_the_command() {
    // It is told the file after its own words, and gets nothing of the server's environment.
    let script = "test \"$1\" = --fast && head -c 4 \"$2\" | grep -q %PDF || exit 1\n\
                  test -z \"$ASKBACK_JWT_SECRET\" && test -z \"$HOME\" || exit 1\n\
                  printf 'The lantern burns for nine hours.\\n\\fOn the second page 灯笼 stands.\\n\\f'\n";
    let (desk, _folder) = reading_by(script, Duration::from_secs(60)).await;
    assert_eq!(desk.upload("scan.pdf", &scan()).await, None);
    let warnings: Vec<String> = desk.current("scan.pdf").await.warnings.into_iter().map(|each| each.code).collect();
    assert_eq!(warnings, ["ocr"]);
    let found = desk.search("second page 灯笼").await;
    let pages = desk.storage.pages_inside(&[found[0].chunk.id]).await.unwrap();
    let labels: Vec<&str> = pages.iter().map(|(_, page)| page.label.as_str()).collect();
    assert_eq!((found[0].chunk.page.as_deref(), labels), (Some("1"), vec!["2"]));
    assert_eq!(desk.upload("text.pdf", &pdf(&[vec!["It has text.".into()]])).await, None);
    assert_eq!(desk.text("text.pdf").await, "It has text.", "a file with text is read as ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_leaves_the_scan_without_text() {
    for (script, time, code) in [
        ("exit 3", 60, "no_text"),
        ("printf ' \\f \\n'", 60, "no_text"),
        ("exec sleep 600", 0, "extract_timeout"),
        ("exec nowhere-to-be-found", 60, "attempts_exhausted"),
    ] {
        let (desk, _folder) = reading_by(script, Duration::from_secs(time)).await;
        assert_eq!(desk.upload("scan.pdf", &scan()).await.as_deref(), Some(code), "{script}");
        assert_eq!(desk.rows().await[..3], [("pages", 0), ("chunks", 0), ("segments", 0)], "{script}");
        desk.close().await;
    }
}
