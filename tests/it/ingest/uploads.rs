//! What an upload is: the same bytes, the same name, several at once, one that is bad.

use askback::domain::{
    job::{Job, JobState},
    knowledge::{DocumentStore, Submitted},
};

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::store::Schema;

on_both_engines!(
    the_same_bytes_are_no_work_and_another_name_is_another_document,
    uploads_of_one_name_at_once_leave_the_newest,
    one_bad_file_fails_alone,
);

const OLD: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";

async fn open(schema: Option<Schema>) -> Desk {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    desk.start().await;
    desk
}

async fn the_same_bytes_are_no_work_and_another_name_is_another_document(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    let (rows, read) = (desk.rows().await, desk.faults.count("extract"));
    let again = desk.submit("lantern.md", OLD).await.unwrap();
    let job = desk.ended(&again).await;
    let Submitted::Unchanged { version, .. } = again else { panic!("{again:?}") };
    assert_eq!((version.no, job.state, job.attempts), (1, JobState::Completed, 0));
    assert_eq!(job.report.message, "The file has not changed since its last upload.");
    assert_eq!((desk.rows().await, desk.faults.count("extract")), (rows, read), "no work");

    assert_eq!(desk.upload("copy.md", OLD).await, None);
    let (one, other) = (desk.current("lantern.md").await, desk.current("copy.md").await);
    assert_ne!(one.document, other.document);
    assert_eq!((one.blob == other.blob, other.no, desk.files().await), (true, 1, 1), "one file for both");
    desk.ingest.delete("lantern.md", None).await.unwrap();
    assert_eq!(desk.best("lantern burns").await.unwrap().0, "copy.md");
    desk.close().await;
}

async fn uploads_of_one_name_at_once_leave_the_newest(schema: Option<Schema>) {
    let desk = open(schema).await;
    for round in 0..4 {
        // One overtakes the other in every round that holds it.
        let held = (round % 2 == 1).then(|| desk.faults.hold("extract", 1));
        let texts = [0, 1].map(|no| format!("# Lantern\n\nRound {round}, upload {no}."));
        let [one, other] = &texts;
        let uploads = tokio::join!(
            desk.submit_from("one", "lantern.md", one.as_bytes()),
            desk.submit_from("other", "lantern.md", other.as_bytes())
        );
        let (one, other) = (uploads.0.unwrap(), uploads.1.unwrap());
        let number = |submitted: &Submitted| match submitted {
            Submitted::Queued { no, .. } => *no,
            Submitted::Unchanged { .. } => panic!("{submitted:?}"),
        };
        let newest = usize::from(number(&other) > number(&one));
        if let Some(held) = held {
            held.reached().await;
            tokio::select! {
                _ = desk.ended(&one) => {}
                _ = desk.ended(&other) => {}
            }
            held.let_go();
        }
        for submitted in [&one, &other] {
            assert_eq!(desk.ended(submitted).await.state, JobState::Completed);
        }
        assert_eq!(desk.text("lantern.md").await, texts[newest].replace("# ", ""));
        assert_eq!((desk.leaves().await, desk.current("lantern.md").await.no), (1, 2 * round + 2));
        let found = desk.search("lantern round upload").await;
        assert_eq!(found.len(), 1, "never two versions: {found:?}");
    }
    assert_eq!(desk.storage.documents_named("lantern.md", None).await.unwrap().len(), 1);
    desk.close().await;
}

async fn one_bad_file_fails_alone(schema: Option<Schema>) {
    let desk = open(schema).await;
    let mut batch = Vec::new();
    for no in 0..9 {
        let text = format!("# Lantern {no}\n\nIt burns.");
        let (name, bytes) = match no {
            4 => ("broken.pdf".to_owned(), b"%PDF-1.7\nnothing of the kind".to_vec()),
            _ => (format!("lantern {no}.md"), text.into_bytes()),
        };
        batch.push(desk.submit(&name, &bytes).await.unwrap());
    }
    let mut jobs: Vec<Job> = Vec::new();
    for submitted in &batch {
        jobs.push(desk.ended(submitted).await);
    }
    let failed: Vec<_> =
        jobs.iter().filter(|job| job.state == JobState::Failed).map(|job| job.filename.as_str()).collect();
    assert_eq!((failed, jobs[4].error_code.as_deref()), (vec!["broken.pdf"], Some("malformed")));
    assert_eq!(desk.leaves().await, 8);
    desk.close().await;
}
