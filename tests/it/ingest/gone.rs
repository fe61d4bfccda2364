//! What is deleted or cancelled is gone: from answers, from SQL, from the index, from the disk.

use std::sync::Arc;

use askback::{
    adapters::embed::builtin::Builtin,
    domain::{
        error::EngineError,
        index::Embedder,
        job::JobState,
        knowledge::{DocumentStore, Submitted},
    },
    services::ingest::IngestError,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::store::Schema;

on_both_engines!(
    a_document_deleted_while_it_is_read_leaves_nothing,
    a_job_cancelled_at_work_leaves_the_old_version_answering,
    a_job_cancelled_while_it_waits_leaves_nothing,
    a_file_stays_while_anything_needs_it,
);

const OLD: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";
const NEW: &[u8] = b"# Lantern\n\nThe lantern burns for eleven hours.\n";

/// An embedder that says when it was reached and waits to be let through.
struct Gate {
    inner: Builtin,
    reached: Semaphore,
    open: Semaphore,
}

impl Gate {
    fn shut() -> Arc<Self> {
        Arc::new(Self { inner: Builtin::load().unwrap(), reached: Semaphore::new(0), open: Semaphore::new(0) })
    }

    async fn wait_until_reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }
}

#[async_trait]
impl Embedder for Gate {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn dims(&self) -> usize {
        self.inner.dims()
    }
    fn weight(&self) -> f32 {
        self.inner.weight()
    }
    fn embeds_words(&self) -> bool {
        self.inner.embeds_words()
    }
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
        self.inner.passages(texts).await
    }
    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        self.inner.query(text).await
    }
}

/// A desk at which jobs stop before their last step.
async fn gated(schema: Option<Schema>) -> (Desk, Arc<Gate>) {
    let gate = Gate::shut();
    let desk = Desk::closed(Setup { embedder: gate.clone(), schema, ..Setup::default() }).await;
    desk.start().await;
    (desk, gate)
}

async fn assert_nothing_is_left(desk: &Desk) {
    assert_eq!(desk.search("lantern burns hours").await, []);
    assert_eq!(desk.leaves().await, 0);
    assert_eq!(desk.files().await, 0, "files");
    assert_eq!(desk.rows().await, [("pages", 0), ("chunks", 0), ("segments", 0), ("blobs", 0)]);
}

async fn a_document_deleted_while_it_is_read_leaves_nothing(schema: Option<Schema>) {
    let (desk, gate) = gated(schema).await;
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    gate.wait_until_reached().await;
    desk.ingest.delete("lantern.md", None).await.unwrap();
    gate.open.add_permits(1);
    let job = desk.ended(&submitted).await;
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("cancelled")));
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}

async fn a_job_cancelled_at_work_leaves_the_old_version_answering(schema: Option<Schema>) {
    let (desk, gate) = gated(schema).await;
    gate.open.add_permits(1);
    assert_eq!(desk.upload("lantern.md", OLD).await, None);
    gate.wait_until_reached().await;

    let submitted = desk.submit("lantern.md", NEW).await.unwrap();
    gate.wait_until_reached().await;
    let Submitted::Queued { job, .. } = submitted else { panic!("{submitted:?}") };
    // The embedder never answers: the job ends because its worker is told.
    desk.ingest.cancel(job).await.unwrap();
    let job = desk.ended_job(job).await;
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("cancelled")));
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for nine hours.");
    assert_eq!((desk.leaves().await, desk.files().await), (1, 1));
    assert_eq!(desk.ingest.retry(job.id).await, Err(IngestError::FileGone));

    // The same bytes again are kept again.
    gate.open.add_permits(1);
    assert_eq!(desk.upload("lantern.md", NEW).await, None);
    assert_eq!(desk.best("lantern burns hours").await.unwrap().1, "Lantern\n\nThe lantern burns for eleven hours.");
    desk.ingest.delete("lantern.md", None).await.unwrap();
    assert_nothing_is_left(&desk).await;
    desk.close().await;
}

async fn a_job_cancelled_while_it_waits_leaves_nothing(schema: Option<Schema>) {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    let submitted = desk.submit("lantern.md", OLD).await.unwrap();
    let Submitted::Queued { job, .. } = submitted else { panic!("{submitted:?}") };
    assert_eq!(desk.ingest.cancel(job).await.unwrap().state, JobState::Failed);
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
