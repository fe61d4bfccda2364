//! Jobs: uploads and deletions at work.

use std::sync::Arc;

use axum::extract::State;
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
        state::App,
    },
};

/// A job as clients see it.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct JobView {
    job_id: crate::domain::id::JobId,
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

async fn job_of_kind(app: &App, id: crate::domain::id::JobId, kind: JobKind) -> Result<axum::Json<JobView>> {
    let job = app.ingest.job(id).await?;
    if job.kind != kind {
        return Err(ApiError::not_found());
    }
    Ok(axum::Json(job.into()))
}
