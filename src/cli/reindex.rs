//! `askback reindex`: the vectors of all documents anew, with progress. Exit codes: 0 all are as configured, 1 failed.

use std::time::Duration;

use askback::{config::Config, domain::job::JobState};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::{
    Failure, args,
    link::{self, Link},
    output,
};

/// How often the job is asked how it stands.
const LOOK: Duration = Duration::from_millis(150);

#[derive(Deserialize)]
struct Started {
    job_id: String,
}

#[derive(Deserialize)]
struct Job {
    status: JobState,
    message: String,
    total_chunks: i64,
    processed_chunks: i64,
    error: Option<String>,
    error_code: Option<String>,
}

/// How it ended.
#[derive(Serialize)]
struct Report<'a> {
    /// `completed` or `failed`.
    status: JobState,
    /// Passages that have the configured vectors.
    chunks: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

pub(crate) async fn run(config: Config, wish: args::Reindex) -> Result<(), Failure> {
    let link = Link::open(&config).await?;
    let job = follow(&link).await;
    link.close().await?;
    report(&job?, wish.json)
}

/// Starts the job, or finds the one under way, and looks on to its end.
async fn follow(link: &Link) -> Result<Job, Failure> {
    let started: Started = link::read(link::send(link.post("/reindex")).await?).await?;
    let path = format!("/reindex/jobs/{}", started.job_id);
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} passages, {elapsed}: {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    loop {
        let job: Job = link::read(link::send(link.get(&path)).await?).await?;
        if matches!(job.status, JobState::Completed | JobState::Failed) {
            bar.finish_and_clear();
            return Ok(job);
        }
        bar.set_length(job.total_chunks.unsigned_abs());
        bar.set_position(job.processed_chunks.unsigned_abs());
        bar.set_message(job.message);
        tokio::time::sleep(LOOK).await;
    }
}

fn report(job: &Job, as_json: bool) -> Result<(), Failure> {
    if as_json {
        output::json(&Report {
            status: job.status,
            chunks: job.processed_chunks,
            message: &job.message,
            error_code: job.error_code.as_deref(),
            error: job.error.as_deref(),
        })?;
    }
    if job.status == JobState::Completed {
        return if as_json {
            Ok(())
        } else {
            Ok(output::line(&format!("{} passages: {}", job.processed_chunks, job.message))?)
        };
    }
    if as_json {
        return Err(Failure::Silent);
    }
    Err(Failure::Failed(job.error.clone().unwrap_or_else(|| "the job failed".into())))
}
