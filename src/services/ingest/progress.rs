//! What a job tells about itself while it runs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::domain::{
    error::StoreError,
    job::{Fence, Job, JobKind, JobQueue, JobReport, JobState, JobStep},
    time::Clock,
};

/// The steps of a kind of job: key and label.
const fn steps(kind: JobKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        JobKind::Ingest => &[
            ("upload", "Upload"),
            ("cleanup", "Clean up earlier attempts"),
            ("parse", "Read the file"),
            ("parent_store", "Store the text"),
            ("vector_store", "Index the text"),
        ],
        JobKind::Delete => &[
            ("prepare", "Prepare"),
            ("bm25", "Remove from the word index"),
            ("milvus", "Remove from the vector index"),
            ("parent_store", "Remove the text"),
        ],
        JobKind::Reindex => &[("vector_store", "Build the new vectors"), ("swap", "Search the new vectors")],
    }
}

/// The job as people see it: one that no worker has touched yet has its steps all the same.
pub(super) fn shown(mut job: Job) -> Job {
    if job.report.steps.is_empty() {
        job.report.steps = fresh(job.kind).steps;
        let upload = usize::from(job.kind == JobKind::Ingest);
        for (no, step) in job.report.steps.iter_mut().enumerate() {
            if no < upload || job.state == JobState::Completed {
                step.status = JobState::Completed;
                step.percent = 100;
            }
        }
    }
    job
}

/// A report in which every step still waits.
fn fresh(kind: JobKind) -> JobReport {
    let steps = steps(kind).iter().map(|(key, label)| JobStep {
        key: (*key).into(),
        label: (*label).into(),
        percent: 0,
        status: JobState::Pending,
        message: String::new(),
    });
    JobReport { steps: steps.collect(), ..JobReport::default() }
}

/// Keeps the report of a running job and stores it with each beat.
pub(super) struct Progress {
    jobs: Arc<dyn JobQueue>,
    clock: Arc<dyn Clock>,
    fence: Fence,
    lease: Duration,
    report: Mutex<JobReport>,
}

/// Why a running job has to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Someone asked for it.
    Cancelled,
    /// Another worker has the job, or the store does not answer.
    Store(StoreError),
}

impl Progress {
    pub(super) fn new(
        jobs: Arc<dyn JobQueue>,
        clock: Arc<dyn Clock>,
        fence: Fence,
        kind: JobKind,
        lease: Duration,
    ) -> Self {
        Self { jobs, clock, fence, lease, report: Mutex::new(fresh(kind)) }
    }

    /// The report as it stands.
    pub(super) fn report(&self) -> JobReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut JobReport)) {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Begins the step `key`: those before it are done.
    pub(super) async fn begin(&self, key: &str, message: impl Into<String>) -> Result<(), Stopped> {
        let message = message.into();
        self.change(|report| {
            let mut before = true;
            for step in &mut report.steps {
                if step.key == key {
                    before = false;
                    step.status = JobState::Running;
                    step.message.clone_from(&message);
                } else if before {
                    step.status = JobState::Completed;
                    step.percent = 100;
                }
            }
            key.clone_into(&mut report.current_step);
            report.message = message;
        });
        self.beat().await
    }

    /// Tells how far the current step is.
    pub(super) async fn advance(&self, done: usize, of: usize) -> Result<(), Stopped> {
        self.count(done, of);
        self.beat().await
    }

    /// As [`advance`](Self::advance), told with the next beat.
    pub(super) fn count(&self, done: usize, of: usize) {
        self.change(|report| {
            let percent = done.saturating_mul(100).checked_div(of).unwrap_or(100);
            let current = report.current_step.clone();
            if let Some(step) = report.steps.iter_mut().find(|step| step.key == current) {
                step.percent = u8::try_from(percent).unwrap_or(100).min(100);
            }
            if current == "vector_store" {
                report.processed = i64::try_from(done).unwrap_or(i64::MAX);
                report.total = i64::try_from(of).unwrap_or(i64::MAX);
            }
        });
    }

    /// The report of a job whose work is done.
    pub(super) fn done(&self, message: impl Into<String>) -> JobReport {
        self.change(|report| {
            for step in &mut report.steps {
                step.status = JobState::Completed;
                step.percent = 100;
            }
            report.processed = report.total;
            report.message = message.into();
        });
        self.report()
    }

    /// The report of a job that failed in its current step.
    pub(super) fn failed(&self, message: &str) -> JobReport {
        self.change(|report| {
            let current = report.current_step.clone();
            if let Some(step) = report.steps.iter_mut().find(|step| step.key == current) {
                step.status = JobState::Failed;
                message.clone_into(&mut step.message);
            }
            message.clone_into(&mut report.message);
        });
        self.report()
    }

    /// Extends the lease and stores the report.
    pub(super) async fn beat(&self) -> Result<(), Stopped> {
        let report = self.report();
        match self.jobs.beat(self.fence, &report, self.clock.now(), self.lease).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(Stopped::Cancelled),
            Err(error) => Err(Stopped::Store(error)),
        }
    }
}
