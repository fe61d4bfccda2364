//! `askback reindex`: the vectors of all documents anew, with progress. Exit codes: 0 all are as configured, 1 failed.

use askback::{config::Config, domain::job::JobState};
use indicatif::ProgressBar;
use serde::Serialize;

use super::{
    Failure, args,
    job::{self, Job, style},
    link::Link,
    output,
};

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
    let bar = ProgressBar::new(0);
    bar.set_style(style("{bar:30} {pos}/{len} passages, {elapsed}: {msg}"));
    let job = job::follow(link, link.post("/reindex"), "/reindex/jobs", |job| {
        bar.set_length(job.total_chunks.unsigned_abs());
        bar.set_position(job.processed_chunks.unsigned_abs());
        bar.set_message(job.message.clone());
    })
    .await?;
    bar.finish_and_clear();
    Ok(job)
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
