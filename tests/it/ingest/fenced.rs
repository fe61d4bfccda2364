//! A worker that was stopped past its lease: another has done its job, and what it still tries changes nothing.

use askback::domain::{job::JobState, knowledge::DocumentStore};

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::store::Schema;

on_both_engines!(a_worker_stalled_at_any_stage_is_fenced, a_worker_stalled_before_a_newer_upload_changes_nothing);

const TEXT: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";
const NEWER: &[u8] = b"# Lantern\n\nThe lantern burns for eleven hours.\n";

async fn open(schema: Option<Schema>) -> Desk {
    // One worker: the stalled one does not take up its own job again.
    let desk = Desk::closed(Setup { schema, config: |config| config.workers = 1, ..Setup::default() }).await;
    desk.start().await;
    desk
}

async fn a_worker_stalled_at_any_stage_is_fenced(schema: Option<Schema>) {
    for stage in ["unstage", "extract", "stage_pages", "passages", "stage_segment", "publish"] {
        let desk = open(schema.clone()).await;
        let name = format!("lantern-{stage}.md");
        let held = desk.faults.hold(stage, 1);
        let submitted =
            desk.submit(&name, format!("# Lantern\n\nThe {stage} lantern burns.").as_bytes()).await.unwrap();
        held.reached().await;
        desk.lose_lease().await;
        let colleague = desk.colleague().await;
        let job = colleague.ended(&submitted).await;
        assert_eq!((job.state, job.attempts), (JobState::Completed, 2), "{stage}: the colleague has done it");
        colleague.leave().await;
        let seen = async || (desk.rows().await, desk.leaves().await, desk.text(&name).await, desk.current(&name).await);
        let before = seen().await;

        held.let_go();
        // What is next for the worker is done once the late attempt is over.
        assert_eq!(desk.upload("next.md", TEXT).await, None);
        desk.ingest.delete("next.md", None).await.unwrap();
        desk.files().await;
        assert_eq!(seen().await, before, "{stage}");
        assert_eq!(desk.ended(&submitted).await, job, "{stage}");
        desk.close().await;
    }
}

async fn a_worker_stalled_before_a_newer_upload_changes_nothing(schema: Option<Schema>) {
    let desk = open(schema).await;
    let held = desk.faults.hold("publish", 1);
    let stalled = desk.submit("lantern.md", TEXT).await.unwrap();
    held.reached().await;
    desk.lose_lease().await;
    let colleague = desk.colleague().await;
    assert_eq!(colleague.ended(&stalled).await.state, JobState::Completed);
    let newer = desk.submit("lantern.md", NEWER).await.unwrap();
    assert_eq!(colleague.ended(&newer).await.state, JobState::Completed);
    colleague.leave().await;
    held.let_go();
    assert_eq!(desk.upload("other.md", b"Other words.").await, None);
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for eleven hours.");
    let document = desk.storage.documents_named("lantern.md", None).await.unwrap().remove(0);
    assert_eq!((document.current_no, desk.leaves().await), (Some(2), 2));
    desk.close().await;
}
