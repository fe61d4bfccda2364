//! Looking on while a job is done.

use std::time::Duration;

use futures::Stream;

use super::{Ingest, IngestError};
use crate::domain::{id::JobId, job::Job};

/// How often the progress of a job that is followed is looked at. Its end in this process is told at once.
const LOOK: Duration = Duration::from_millis(250);

impl Ingest {
    /// The job once it has ended, or as it stands when `limit` has passed. Ends in this process are told at once; those
    /// of another process are seen by looking every now and then.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn wait(&self, id: JobId, limit: Duration) -> Result<Job, IngestError> {
        let mut ended = self.inner.ended.subscribe();
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            ended.mark_unchanged();
            let job = self.job(id).await?;
            if job.state.is_ended() {
                return Ok(job);
            }
            let look_again = tokio::time::Instant::now() + self.inner.config.poll;
            tokio::select! {
                changed = ended.changed() => {
                    // The sender lives in `self`; it cannot be gone.
                    let _ = changed;
                }
                () = tokio::time::sleep_until(look_again.min(deadline)) => {
                    if tokio::time::Instant::now() >= deadline {
                        return self.job(id).await;
                    }
                }
            }
        }
    }

    /// The job as it stands, then as often as it has changed, until it has ended or the store fails.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub async fn follow(&self, id: JobId) -> Result<impl Stream<Item = Job> + use<>, IngestError> {
        let (ingest, mut ended) = (self.clone(), self.inner.ended.subscribe());
        let mut shown = self.job(id).await?;
        Ok(async_stream::stream! {
            yield shown.clone();
            while !shown.state.is_ended() {
                tokio::select! {
                    // The sender lives in `ingest`; it cannot be gone.
                    _ = ended.changed() => {}
                    () = tokio::time::sleep(LOOK) => {}
                }
                let job = match ingest.job(id).await {
                    Ok(job) => job,
                    Err(error) => {
                        tracing::warn!(%error, job = %id, "a followed job could not be looked at");
                        return;
                    }
                };
                // A heartbeat alone is no change.
                if (Job { updated_at: shown.updated_at, ..job.clone() }) != shown {
                    shown = job;
                    yield shown.clone();
                }
            }
        })
    }
}
