//! Jobs: uploads, deletions and reindexing at work.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use futures::StreamExt as _;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    domain::{
        job::{Job, JobKind, JobState, JobStep},
        time::Rfc3339,
    },
    http::{
        error::{ApiError, Result},
        extract::{IdPath, Page, PageQuery, Query},
        sse,
        state::App,
    },
};

/// A job as clients see it.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct JobView {
    job_id: crate::domain::id::JobId,
    /// The document's name; empty for a job about all documents.
    filename: String,
    status: JobState,
    /// Key of the step at work.
    current_step: String,
    message: String,
    /// Leaf chunks to come, once known.
    total_chunks: i64,
    processed_chunks: i64,
    /// For people.
    error: Option<String>,
    /// For programs; `cancelled` and `attempts_exhausted` among others.
    error_code: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Rfc3339,
    attempts: i64,
    steps: Vec<JobStep>,
}

impl From<Job> for JobView {
    fn from(job: Job) -> Self {
        Self {
            job_id: job.id,
            filename: job.filename,
            status: job.state,
            current_step: job.report.current_step,
            message: job.report.message,
            total_chunks: job.report.total,
            processed_chunks: job.report.processed,
            error: job.error,
            error_code: job.error_code,
            created_at: job.created_at.into(),
            updated_at: job.updated_at.into(),
            attempts: job.attempts,
            steps: job.report.steps,
        }
    }
}

/// A page of jobs, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct JobList {
    jobs: Vec<JobView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// The jobs of uploads, newest first.
#[utoipa::path(
    get, path = "/documents/upload/jobs", tag = "Documents", params(PageQuery),
    responses((status = 200, body = JobList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn uploads(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<JobList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut jobs = app.ingest.jobs(JobKind::Ingest, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut jobs, |job| (job.created_at, job.id));
    Ok(axum::Json(JobList { jobs: jobs.into_iter().map(Into::into).collect(), next_cursor }))
}

/// The job of an upload.
#[utoipa::path(
    get, path = "/documents/upload/jobs/{job_id}", tag = "Documents", params(("job_id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn upload(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Job>,
) -> Result<axum::Json<JobView>> {
    job_of_kind(&app, id, JobKind::Ingest).await
}

/// The job of an upload as it goes: each state as one event, the first at once; the stream ends with the job.
#[utoipa::path(
    get, path = "/documents/upload/jobs/{job_id}/events", tag = "Documents", params(("job_id" = String, Path)),
    responses(
        (status = 200, description = "States", body = JobView, content_type = "text/event-stream"),
        (status = 404, description = "`not_found`"),
    )
)]
pub(in crate::http) async fn events(State(app): State<Arc<App>>, IdPath(id): IdPath<Job>) -> Result<Response> {
    if app.ingest.job(id).await?.kind != JobKind::Ingest {
        return Err(ApiError::not_found());
    }
    let states = app.ingest.follow(id).await?.map(JobView::from);
    let states = states.take_until(app.shutdown.clone().cancelled_owned());
    Ok(sse::states(states, app.limits.keep_alive))
}

/// Cancels an upload, whatever its job is doing. The document stays as it was; the job ends as `failed` with `cancelled`,
/// one at work within moments. A job that has ended stays as it is.
#[utoipa::path(
    post, path = "/documents/upload/jobs/{job_id}/cancel", tag = "Documents", params(("job_id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn cancel(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Job>,
) -> Result<axum::Json<JobView>> {
    Ok(axum::Json(app.ingest.cancel(id).await?.into()))
}

/// Tries a failed upload again, from the file that was uploaded.
#[utoipa::path(
    post, path = "/documents/upload/jobs/{job_id}/retry", tag = "Documents", params(("job_id" = String, Path)),
    responses(
        (status = 202, body = JobView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`job_not_failed`, `file_gone`"),
    )
)]
pub(in crate::http) async fn retry(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Job>,
) -> Result<(StatusCode, axum::Json<JobView>)> {
    Ok((StatusCode::ACCEPTED, axum::Json(app.ingest.retry(id).await?.into())))
}

/// The job of a deletion.
#[utoipa::path(
    get, path = "/documents/delete/jobs/{job_id}", tag = "Documents", params(("job_id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn deletion(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Job>,
) -> Result<axum::Json<JobView>> {
    job_of_kind(&app, id, JobKind::Delete).await
}

pub(super) async fn job_of_kind(app: &App, id: crate::domain::id::JobId, kind: JobKind) -> Result<axum::Json<JobView>> {
    let job = app.ingest.job(id).await?;
    if job.kind != kind {
        return Err(ApiError::not_found());
    }
    Ok(axum::Json(job.into()))
}
