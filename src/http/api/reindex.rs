//! Making the vectors of all documents anew.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::jobs::{JobView, job_of_kind};
use crate::{
    domain::{
        id::JobId,
        job::{Job, JobKind},
    },
    http::{
        error::Result,
        extract::{IdPath, SignedIn},
        state::App,
    },
};

/// Reindexing that was accepted, or was under way.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ReindexView {
    job_id: JobId,
    /// For people.
    message: String,
}

/// Makes the vectors of all documents anew that the configured embedder has not made; the job tells how it goes. The old
/// ones answer until all new ones are there. While it is under way already, its job is given; one that only waits becomes
/// this server's.
#[utoipa::path(
    post, path = "/reindex", tag = "Documents",
    responses(
        (status = 202, body = ReindexView),
        (status = 409, description = "`other_reindex`: another server does so for another embedder")
    )
)]
pub(in crate::http) async fn start(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
) -> Result<(StatusCode, axum::Json<ReindexView>)> {
    let job = app.ingest.submit_reindex(Some(user.id)).await?;
    let message = "The documents are being indexed anew.".into();
    Ok((StatusCode::ACCEPTED, axum::Json(ReindexView { job_id: job.id, message })))
}

/// The job of a reindexing: `total_chunks` are the passages of all documents, `processed_chunks` those that are done.
#[utoipa::path(
    get, path = "/reindex/jobs/{job_id}", tag = "Documents", params(("job_id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn job(State(app): State<Arc<App>>, IdPath(id): IdPath<Job>) -> Result<axum::Json<JobView>> {
    job_of_kind(&app, id, JobKind::Reindex).await
}

/// Cancels a reindexing; the old vectors go on answering. What was made stays made: the next one goes on with it.
#[utoipa::path(
    post, path = "/reindex/jobs/{job_id}/cancel", tag = "Documents", params(("job_id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn cancel(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Job>,
) -> Result<axum::Json<JobView>> {
    Ok(axum::Json(app.ingest.cancel_reindex(id).await?.into()))
}
