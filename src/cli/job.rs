//! Jobs of the server that commands start and look on at.

use std::time::Duration;

use askback::domain::job::JobState;
use indicatif::ProgressStyle;
use reqwest::RequestBuilder;
use serde::Deserialize;

use super::{
    Failure,
    link::{self, Link},
};

/// How often a job is asked how it stands.
const LOOK: Duration = Duration::from_millis(150);

#[derive(Deserialize)]
struct Queued {
    job_id: String,
}

/// How a job stands.
#[derive(Deserialize)]
pub(crate) struct Job {
    pub(crate) status: JobState,
    pub(crate) message: String,
    pub(crate) total_chunks: i64,
    pub(crate) processed_chunks: i64,
    pub(crate) error: Option<String>,
    pub(crate) error_code: Option<String>,
}

/// Sends what starts a job, looks on under `jobs` until it ends, and tells `told` of each look before that.
pub(crate) async fn follow(
    link: &Link,
    start: RequestBuilder,
    jobs: &str,
    told: impl Fn(&Job),
) -> Result<Job, Failure> {
    let queued: Queued = link::read(link::send(start).await?).await?;
    let path = format!("{jobs}/{}", queued.job_id);
    loop {
        let job: Job = link::read(link::send(link.get(&path)).await?).await?;
        if matches!(job.status, JobState::Completed | JobState::Failed) {
            return Ok(job);
        }
        told(&job);
        tokio::time::sleep(LOOK).await;
    }
}

/// How a bar of a job is drawn.
pub(crate) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
