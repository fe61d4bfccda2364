//! Claims jobs and sees them through: lease, heartbeat, retries.

use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Ingest, Inner,
    chunk::Shape,
    progress::{Progress, Stopped},
    reindex,
    steps::{self, Failed},
};
use crate::domain::{
    error::StoreError,
    job::{Fence, Job, JobFailure, JobKind, Work},
};

/// How work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Jobs at a time.
    pub workers: usize,
    /// This process as the queue knows it: `node:boot`. Leases of `node:` are its own from before a restart.
    pub owner: String,
    /// A job whose worker is silent for this long is another's.
    pub lease: Duration,
    /// How often to look for work of other processes and for retries that are due.
    pub poll: Duration,
    /// How often to look for what other processes changed: what one has acknowledged, the others serve after this span.
    pub look: Duration,
    /// A job is claimed at most this often.
    pub attempts: i64,
    /// Wait before the second attempt; doubles with each further one.
    pub backoff: Duration,
    /// Longest wait between two attempts.
    pub backoff_most: Duration,
    /// For how long a failed job can be tried again: its file is kept.
    pub keep_failed: Duration,
    /// For how long a version stays after it was replaced, though no answer cites it.
    pub keep_replaced: Duration,
    /// How often to look for files that nothing needs, when nothing says that there are any.
    pub tidy: Duration,
    /// Leaves that are embedded at a time.
    pub batch: usize,
    /// Sizes of chunks.
    pub shape: Shape,
}

impl WorkerConfig {
    /// The defaults for a process of this `node:boot`.
    #[must_use]
    pub fn new(owner: impl Into<String>) -> Self {
        Self {
            workers: 2,
            owner: owner.into(),
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(2),
            look: Duration::from_secs(1),
            attempts: 5,
            backoff: Duration::from_secs(1),
            backoff_most: Duration::from_secs(60),
            keep_failed: Duration::from_secs(24 * 60 * 60),
            keep_replaced: Duration::from_secs(24 * 60 * 60),
            tidy: Duration::from_secs(60),
            batch: 64,
            shape: Shape::default(),
        }
    }

    /// The node of the owner.
    pub(super) fn node(&self) -> &str {
        self.owner.split_once(':').map_or(self.owner.as_str(), |(node, _)| node)
    }

    /// The wait before the next attempt: doubling, within bounds, and shortened by up to a half, so that jobs that
    /// failed together do not come back together.
    pub(super) fn wait(&self, attempts: i64) -> Duration {
        let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(16);
        let full = self.backoff.saturating_mul(1 << doublings).min(self.backoff_most);
        full.mul_f64(rand::random_range(0.5..=1.0))
    }
}

impl Ingest {
    /// Frees what this node held before it was restarted, and starts the workers. They end when `stop` is cancelled;
    /// what they were doing is then taken up after the lease, or at the next start.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(&self, tasks: &TaskTracker, stop: &CancellationToken) -> Result<(), StoreError> {
        let config = &self.inner.config;
        let freed = self.inner.ports.jobs.release(&format!("{}:", config.node()), self.inner.ports.clock.now()).await?;
        if freed > 0 {
            tracing::info!(jobs = freed, "jobs of the last run are taken up again");
        }
        tasks.spawn(self.clone().tidy(stop.clone()));
        // Reindexing may take hours, which no upload is to wait for: it has a worker of its own.
        for no in 0..=config.workers.max(1) {
            let (ingest, stop) = (self.clone(), stop.clone());
            tasks.spawn(async move {
                let owner = format!("{}:{no}", ingest.inner.config.owner);
                let (work, wake) = match no {
                    0 => (Work::Reindexing(ingest.inner.ports.vectors.wanted), &ingest.inner.wake_reindexer),
                    _ => (Work::Documents, &ingest.inner.wake),
                };
                // Dropping the work is safe at any point: SQL shows nothing that is not whole.
                stop.run_until_cancelled(ingest.inner.work(&owner, work, wake)).await;
            });
        }
        Ok(())
    }
}

impl Inner {
    /// Claims and does jobs of this work, for ever.
    async fn work(&self, owner: &str, work: Work, wake: &Notify) {
        let mut failures = 0;
        loop {
            let now = self.ports.clock.now();
            let idle = match self.ports.jobs.claim(owner, work, now, self.config.lease).await {
                Ok(Some((job, fence))) => {
                    // Another worker may find the next job at once.
                    wake.notify_one();
                    failures = 0;
                    fail::fail_point!("job:claimed");
                    self.see_through(&job, fence).await;
                    fail::fail_point!("job:ended");
                    self.ended.send_modify(|count| *count = count.wrapping_add(1));
                    continue;
                }
                Ok(None) => {
                    failures = 0;
                    self.config.poll
                }
                Err(error) => {
                    tracing::warn!(%error, "the job queue does not answer");
                    failures += 1;
                    self.config.wait(failures)
                }
            };
            tokio::select! {
                () = wake.notified() => {}
                () = tokio::time::sleep(idle) => {}
            }
        }
    }

    /// Does one job while its lease is kept, and records how it ended.
    #[tracing::instrument(name = "job", skip_all, fields(job = %job.id, kind = ?job.kind, attempt = job.attempts))]
    async fn see_through(&self, job: &Job, fence: Fence) {
        let progress =
            Progress::new(self.ports.jobs.clone(), self.ports.clock.clone(), fence, job.kind, self.config.lease);
        let outcome = if job.attempts > self.config.attempts {
            // Each attempt ended without a word: the file may be what kills the process.
            Err(Failed::exhausted(job.kind, "each ended without a word, as when a file brings the server down"))
        } else {
            self.attempt(job, fence, &progress).await
        };
        let failed = match outcome {
            Ok(()) => return metrics::counter!("askback_jobs_total", "outcome" => "completed").increment(1),
            Err(Failed::Passing { why, cause }) if job.attempts >= self.config.attempts => {
                tracing::error!(%cause, "the job failed for the last time");
                Failed::exhausted(job.kind, why)
            }
            Err(failed) => failed,
        };
        let failure = match failed {
            Failed::Fenced => return tracing::warn!("another worker has the job"),
            Failed::Final { code, message } => JobFailure::Final { code, message },
            Failed::Passing { cause, .. } => {
                let wait = self.config.wait(job.attempts);
                tracing::warn!(%cause, ?wait, "the job failed and is tried again");
                JobFailure::Retry(wait)
            }
        };
        let message = match &failure {
            JobFailure::Final { message, .. } => message.as_str(),
            JobFailure::Retry(_) => "Something did not answer; the job will be tried again.",
        };
        let outcome = if matches!(failure, JobFailure::Final { .. }) { "failed" } else { "retried" };
        metrics::counter!("askback_jobs_total", "outcome" => outcome).increment(1);
        let report = progress.failed(message);
        fail::fail_point!("job:failing");
        if let Err(error) = self.ports.jobs.fail(fence, &failure, &report, self.ports.clock.now()).await {
            // The lease runs out, and the job is claimed again.
            tracing::warn!(%error, "the end of the job could not be recorded");
        }
        self.untidy.notify_one();
    }

    /// The long part of a job ends when its lease is lost or someone cancels it; the short part, in which what answers
    /// changes, is never cut in two.
    async fn attempt(&self, job: &Job, fence: Fence, progress: &Progress) -> Result<(), Failed> {
        match job.kind {
            JobKind::Ingest => {
                let cancels = self.cancels.subscribe();
                let ready = tokio::select! {
                    biased;
                    ready = steps::ingest(self, job, fence, progress) => ready?,
                    stopped = self.keep(progress, cancels) => return Err(stopped.into()),
                };
                steps::publish(self, job, fence, ready, progress).await
            }
            JobKind::Delete => steps::delete(self, job, fence, progress).await,
            JobKind::Reindex => {
                for _ in 0..reindex::ROUNDS {
                    let cancels = self.cancels.subscribe();
                    let built = tokio::select! {
                        biased;
                        built = reindex::build(self, fence, progress) => built?,
                        stopped = self.keep(progress, cancels) => return Err(stopped.into()),
                    };
                    if reindex::adopt(self, job, fence, &built, progress).await? {
                        return Ok(());
                    }
                }
                Err(Failed::passing("documents kept coming in from a server with another embedder", "no end of rounds"))
            }
        }
    }

    /// Beats until the job has to stop: every now and then, and when someone cancelled a job. A store that does not
    /// answer for a while is no reason: the lease tells.
    async fn keep(&self, progress: &Progress, mut cancels: watch::Receiver<u64>) -> Stopped {
        loop {
            tokio::select! {
                // The sender lives in `self`; it cannot be gone.
                _ = cancels.changed() => {}
                () = tokio::time::sleep(self.config.lease / 4) => {}
            }
            match progress.beat().await {
                Ok(()) => {}
                Err(Stopped::Store(StoreError::Unavailable(reason))) => {
                    tracing::warn!(%reason, "a heartbeat was not stored");
                }
                Err(stopped) => return stopped,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_within_bounds() {
        let config = WorkerConfig::new("node:boot");
        for (attempts, least, most) in [(1, 500, 1_000), (3, 2_000, 4_000), (60, 30_000, 60_000)] {
            let wait = config.wait(attempts).as_millis();
            assert!((least..=most).contains(&wait), "{attempts}: {wait}");
        }
    }
}
