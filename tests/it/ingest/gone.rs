//! What is deleted or cancelled is gone: from answers, from SQL, from the index, from the disk.

use std::time::Duration;

use askback::{
    domain::{
        job::{Job, JobState},
        knowledge::DocumentStore,
    },
    services::ingest::IngestError,
};

use super::desk::{Desk, Setup, job_of, on_both_engines};
use crate::support::store::{Schema, TestClock};

on_both_engines!(
    a_document_deleted_at_any_stage_of_its_job_leaves_nothing,
    a_document_deleted_with_a_job_while_another_reads_it_leaves_nothing,
    a_job_cancelled_at_any_stage_leaves_the_old_version_answering,
    a_job_cancelled_while_it_waits_leaves_nothing,
    a_replaced_version_that_no_answer_cites_goes_after_a_while,
    a_file_stays_while_anything_needs_it,
);

const OLD: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";
const NEW: &[u8] = b"# Lantern\n\nThe lantern burns for eleven hours.\n";
const NEWEST: &[u8] = b"# Lantern\n\nThe lantern burns for ever.\n";

/// Every call that a job of one leaf makes on its way, in order: a job can be held at each.
const STAGES: [&str; 8] =
    ["fetch", "extract", "stage_version", "stage_pages", "stage_chunks", "passages", "stage_segment", "publish"];

async fn open(schema: Option<Schema>) -> Desk {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    desk.start().await;
    desk
}

fn is_cancelled(job: &Job) -> bool {
    (job.state, job.error_code.as_deref()) == (JobState::Failed, Some("cancelled"))
}

async fn assert_nothing_is_left(desk: &Desk) {
    assert_eq!(desk.search("lantern burns hours").await, []);
    assert_eq!(desk.leaves().await, 0);
    assert_eq!(desk.files().await, 0, "files");
    assert_eq!(desk.rows().await, [("pages", 0), ("chunks", 0), ("segments", 0), ("blobs", 0)]);
}

async fn a_document_deleted_at_any_stage_of_its_job_leaves_nothing(schema: Option<Schema>) {
    let desk = open(schema).await;
    // A deletion waits for a version that is being published: that stage is never cut in two.
    for stage in STAGES.into_iter().filter(|stage| *stage != "publish") {
        let held = desk.faults.hold(stage, 1);
        let submitted = desk.submit("lantern.md", OLD).await.unwrap();
        held.reached().await;
        desk.ingest.delete("lantern.md", None).await.unwrap();
        assert_eq!(desk.search("lantern burns hours").await, [], "{stage}: gone when it is acknowledged");
        held.let_go();
        let job = desk.ended(&submitted).await;
        assert!(is_cancelled(&job), "{stage}: {job:?}");
        assert_nothing_is_left(&desk).await;
    }
    desk.close().await;
}

async fn a_document_deleted_with_a_job_while_another_reads_it_leaves_nothing(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    let held = desk.faults.hold("extract", 1);
    let submitted = desk.submit("lantern.md", NEW).await.unwrap();
    held.reached().await;
    let deleting = desk.ingest.submit_delete(desk.user, "lantern.md", None).await.unwrap();
    assert_eq!(desk.search("lantern burns hours").await, [], "gone when it is acknowledged");
    assert_eq!(desk.ended_job(deleting.job).await.state, JobState::Completed);
    held.let_go();
    assert!(is_cancelled(&desk.ended(&submitted).await));
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}

async fn a_job_cancelled_at_any_stage_leaves_the_old_version_answering(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    let before = desk.rows().await;
    for stage in STAGES {
        let held = desk.faults.hold(stage, 1);
        let job = job_of(&desk.submit("lantern.md", NEW).await.unwrap());
        held.reached().await;
        // But for the last stage, which is never cut in two, the call is never answered: the worker is told.
        desk.ingest.cancel(job).await.unwrap();
        if stage == "publish" {
            held.let_go();
        }
        let job = desk.ended_job(job).await;
        assert!(is_cancelled(&job), "{stage}: {job:?}");
        let answer = desk.best("lantern burns hours").await.unwrap().1;
        assert_eq!(answer, "Lantern\n\nThe lantern burns for nine hours.", "{stage}");
        assert_eq!((desk.leaves().await, desk.files().await, desk.rows().await), (1, 1, before), "{stage}");
        assert_eq!(desk.ingest.retry(job.id).await, Err(IngestError::FileGone), "{stage}");
    }

    // The same bytes again are kept again.
    assert_eq!(desk.upload("lantern.md", NEW).await, None);
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for eleven hours.");
    desk.ingest.delete("lantern.md", None).await.unwrap();
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}

async fn a_replaced_version_that_no_answer_cites_goes_after_a_while(schema: Option<Schema>) {
    let clock = TestClock::new();
    let desk = Desk::closed(Setup { schema, clock: clock.clone(), ..Setup::default() }).await;
    desk.start().await;
    for text in [OLD, NEW, NEWEST] {
        assert_eq!(desk.upload("lantern.md", text).await, None);
        clock.forward(Duration::from_secs(1));
    }
    assert_eq!(desk.files().await, 3, "turns may be at work that have read the old ones");
    assert_eq!(desk.rows().await, [("pages", 3), ("chunks", 3), ("segments", 1), ("blobs", 3)], "pages and files only");

    clock.forward(Duration::from_secs(25 * 60 * 60));
    assert_eq!((desk.files().await, desk.rows().await[0]), (1, ("pages", 1)));
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for ever.");
    desk.close().await;
}

async fn a_job_cancelled_while_it_waits_leaves_nothing(schema: Option<Schema>) {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    assert_eq!(desk.ingest.cancel(job_of(&submitted)).await.unwrap().state, JobState::Failed);
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}

async fn a_file_stays_while_anything_needs_it(schema: Option<Schema>) {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    desk.start().await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    assert_eq!(desk.upload("copy.md", OLD).await, None);
    desk.ingest.delete("copy.md", None).await.unwrap();
    assert_eq!(desk.files().await, 1, "the other document has the same bytes");
    assert_eq!(desk.upload("broken.pdf", b"no PDF").await.as_deref(), Some("malformed"));
    assert_eq!(desk.files().await, 2, "a failed upload can be tried again");
    let broken = desk.storage.documents_named("broken.pdf", None).await.unwrap();
    assert_eq!(broken.len(), 1);
    desk.ingest.delete("broken.pdf", None).await.unwrap();
    desk.ingest.delete("lantern.md", None).await.unwrap();
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}
