//! What happens to a document over its life: replaced, failed, taken up again, deleted.

use std::time::Duration;

use askback::{
    domain::{
        error::{ExtractError, StoreError},
        id::JobId,
        job::{JobKind, JobQueue, JobState, Work},
        knowledge::{DocumentStore, NewVersion, Page, Submitted},
        time::Clock,
    },
    services::ingest::IngestError,
};

use super::desk::{Desk, Setup};
use crate::support::faults::Fault;

const OLD: &[u8] = "# Lantern\n\nThe lantern burns for nine hours.\n".as_bytes();
const NEW: &[u8] = "# Lantern\n\nThe lantern burns for eleven hours.\n".as_bytes();

#[tokio::test(flavor = "multi_thread")]
async fn a_new_upload_replaces_the_old_one_when_it_is_whole() {
    let desk = Desk::open().await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for nine hours.");
    assert_eq!(desk.upload("lantern.md", NEW).await, None);
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for eleven hours.");
    assert_eq!((desk.leaves().await, desk.current("lantern.md").await.no), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_fails_its_own_job_only() {
    let desk = Desk::open().await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    assert_eq!(
        desk.upload("lantern.md", &[0, 159, 146, 150, 1, 2, 3, 4, 5, 6, 7, 8]).await.as_deref(),
        Some("malformed")
    );
    assert_eq!(desk.upload("broken.pdf", b"%PDF-1.7\nnothing of the kind").await.as_deref(), Some("malformed"));
    assert_eq!(desk.upload("blank.txt", b" \n \n").await.as_deref(), Some("empty_file"));
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for nine hours.");
    assert_eq!(desk.current("lantern.md").await.no, 1);
    let jobs = desk.ingest.jobs(JobKind::Ingest, None, 10).await.unwrap();
    let failed = jobs.iter().find(|job| job.filename == "broken.pdf").unwrap();
    assert_eq!((failed.state, failed.attempts), (JobState::Failed, 1));
    let steps: Vec<(&str, JobState)> =
        failed.report.steps.iter().map(|step| (step.key.as_str(), step.status)).collect();
    assert_eq!(
        steps,
        [
            ("upload", JobState::Completed),
            ("cleanup", JobState::Completed),
            ("parse", JobState::Failed),
            ("parent_store", JobState::Pending),
            ("vector_store", JobState::Pending),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_become_a_job_is_refused_at_once() {
    let desk = Desk::open().await;
    let refused = |filename: String, bytes: Vec<u8>| {
        let desk = &desk;
        async move { desk.submit(&filename, &bytes).await.unwrap_err() }
    };
    assert_eq!(refused("a.txt".into(), Vec::new()).await, IngestError::File(ExtractError::EmptyFile));
    assert_eq!(refused("a.mp4".into(), b"x".to_vec()).await, IngestError::File(ExtractError::Unsupported));
    assert_eq!(refused(String::new(), b"x".to_vec()).await, IngestError::Filename);
    assert_eq!(refused("a\0.txt".into(), b"x".to_vec()).await, IngestError::Filename);
    assert_eq!(refused(format!("{}.txt", "长".repeat(252)), b"x".to_vec()).await, IngestError::Filename);
    assert_eq!(desk.submit_to("", "a.txt", b"x").await.unwrap_err(), IngestError::Collection);
    assert_eq!(desk.ingest.jobs(JobKind::Ingest, None, 10).await.unwrap(), []);
    assert_eq!(desk.ingest.job(JobId::from_uuid(uuid::Uuid::nil())).await, Err(StoreError::NotFound.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_other_name_is_data() {
    let desk = Desk::open().await;
    for name in ["../../etc/passwd", "C:\\报告 (最终) 🙂.txt", "a/b/c.md", "' or 1=1 --.txt"] {
        assert_eq!(desk.upload(name, format!("About {name}").as_bytes()).await, None, "{name}");
        assert_eq!(desk.current(name).await.no, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_change_nothing() {
    let desk = Desk::open().await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    let again = desk.submit("lantern.md", OLD).await.unwrap();
    let job = desk.ended(&again).await;
    let Submitted::Unchanged { version, .. } = again else { panic!("{again:?}") };
    assert_eq!((version.no, job.state), (1, JobState::Completed));
    assert!(job.report.steps.iter().all(|step| step.status == JobState::Completed));
    assert_eq!(desk.upload("copy.md", OLD).await, None, "another name is another document");
    assert_eq!(desk.leaves().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_takes_up_what_was_left_half_done() {
    let desk = Desk::closed(Setup::default()).await;
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    // A worker of this node's last life claimed the job, staged a part, and died with a long lease.
    let now = askback::adapters::clock::SystemClock.now();
    let claimed = desk.storage.claim("node:before:0", Work::Documents, now, Duration::from_secs(3_600)).await.unwrap();
    let (job, fence) = claimed.unwrap();
    let version = NewVersion {
        id: job.version.unwrap(),
        media_type: "text/markdown".into(),
        extractor: "half/0".into(),
        title: None,
        lang: None,
        facets: askback::domain::knowledge::Facets::default(),
        warnings: Vec::new(),
        chars: 3,
    };
    let page = Page { no: 0, label: None, start: 0, end: 3, body: "hal".into() };
    desk.storage.stage_version(fence, &version).await.unwrap();
    desk.storage.stage_pages(fence, version.id, std::slice::from_ref(&page)).await.unwrap();
    assert_eq!(desk.storage.claim("other:node:0", Work::Documents, now, Duration::from_secs(1)).await.unwrap(), None);

    desk.start().await;
    let job = desk.ended(&submitted).await;
    assert_eq!((job.state, job.attempts), (JobState::Completed, 2));
    assert_eq!(desk.text("lantern.md").await, "Lantern\n\nThe lantern burns for nine hours.");
    let late = desk.storage.stage_pages(fence, version.id, &[page]).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "the dead worker is fenced");
}

/// Offers of one batch before its job is put off.
const OFFERS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn a_passing_failure_is_tried_again() {
    let desk = Desk::open().await;
    for nth in 1..=2 * OFFERS {
        desk.faults.at("passages", nth, Fault::Fail);
    }
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    let job = desk.ended(&submitted).await;
    assert_eq!((job.state, job.attempts, job.error_code), (JobState::Completed, 3, None));
    assert_eq!(desk.leaves().await, 1, "what the failed attempts staged is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lasting_failure_is_given_up() {
    let desk = Desk::open().await;
    desk.faults.always("passages", Fault::Fail);
    assert_eq!(desk.upload("lantern.md", OLD).await.as_deref(), Some("attempts_exhausted"));
    assert_eq!((desk.leaves().await, desk.faults.count("passages")), (0, 3 * OFFERS));
    let documents = desk.ingest.documents(None, None, 10).await.unwrap();
    assert_eq!(documents.iter().map(|document| document.current_no).collect::<Vec<_>>(), [None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_start_is_tried_again_and_not_blamed_on_the_file() {
    let desk = Desk::closed(Setup { program: "/nowhere/askback".into(), ..Setup::default() }).await;
    desk.start().await;
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    let job = desk.ended(&submitted).await;
    assert_eq!((job.attempts, job.error_code.as_deref()), (3, Some("attempts_exhausted")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_after_a_deletion_is_another_document() {
    let desk = Desk::closed(Setup::default()).await;
    let before = desk.submit("lantern.md", OLD).await.unwrap();
    let deleting = desk.ingest.submit_delete(desk.user, "lantern.md", None).await.unwrap();
    let after = desk.submit("lantern.md", NEW).await.unwrap();
    desk.start().await;
    assert_eq!(desk.ended_job(deleting.job).await.state, JobState::Completed);
    assert_eq!(desk.ended(&after).await.state, JobState::Completed);
    desk.ended(&before).await;
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for eleven hours.");
    assert_eq!((desk.leaves().await, desk.current("lantern.md").await.no), (1, 1));
    // And an upload before a deletion goes with it.
    desk.ingest.submit_delete(desk.user, "lantern.md", None).await.unwrap();
    assert_eq!(desk.best("lantern burns hours").await, None, "from the moment that it was accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_documents_are_found_no_more() {
    let desk = Desk::open().await;
    for name in ["a.md", "b.md"] {
        assert_eq!(desk.upload(name, format!("# {name}\n\nThe lantern of {name} burns.").as_bytes()).await, None);
    }
    let deleted = desk.ingest.delete("a.md", None).await.unwrap();
    assert_eq!((deleted.filename.as_str(), deleted.chunks), ("a.md", 1));
    assert_eq!(desk.search("lantern").await.len(), 1);
    assert_eq!(desk.ingest.delete("a.md", None).await.unwrap_err(), StoreError::NotFound.into());

    let deleting = desk.ingest.submit_delete(desk.user, "b.md", Some("shelf")).await.unwrap();
    let job = desk.ended_job(deleting.job).await;
    assert_eq!((job.state, job.kind), (JobState::Completed, JobKind::Delete));
    let keys: Vec<&str> = job.report.steps.iter().map(|step| step.key.as_str()).collect();
    assert_eq!(keys, ["prepare", "bm25", "milvus", "parent_store"]);
    assert_eq!(desk.leaves().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_two_collections_asks_which() {
    let desk = Desk::open().await;
    for collection in ["north", "south"] {
        let submitted = desk.submit_to(collection, "a.md", b"# A\n\nText.").await.unwrap();
        desk.ended(&submitted).await;
    }
    let IngestError::Ambiguous(mut names) = desk.ingest.delete("a.md", None).await.unwrap_err() else { panic!() };
    names.sort();
    assert_eq!(names, ["north", "south"]);
    assert_eq!(desk.ingest.delete("a.md", Some("south")).await.unwrap().chunks, 1);
    assert_eq!(desk.ingest.delete("a.md", None).await.unwrap().chunks, 1, "now the name is clear");
}
