//! Deleting documents by name.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::upload::AcceptedView;
use crate::http::{
    error::Result,
    extract::{NamePath, Query, SignedIn},
    state::App,
};

/// Which of several documents of one name.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct DeleteQuery {
    /// Needed when the name stands in several collections.
    collection: Option<String>,
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedDocument {
    filename: String,
    /// Leaf chunks that answered until now.
    chunks_deleted: i64,
    /// For people.
    message: String,
}

/// Deletes a document.
#[utoipa::path(
    delete, path = "/documents/{filename}", tag = "Documents", params(("filename" = String, Path), DeleteQuery),
    responses(
        (status = 200, body = DeletedDocument),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`ambiguous_name`: the name stands in several collections"),
    )
)]
pub(in crate::http) async fn delete(
    State(app): State<Arc<App>>,
    NamePath(filename): NamePath,
    Query(query): Query<DeleteQuery>,
) -> Result<axum::Json<DeletedDocument>> {
    let deleted = app.ingest.delete(&filename, query.collection.as_deref()).await?;
    Ok(axum::Json(DeletedDocument {
        message: format!("{} was deleted.", deleted.filename),
        filename: deleted.filename,
        chunks_deleted: deleted.chunks,
    }))
}

/// Deletes the document that is called `upload`: a path without parameters is matched before one with them.
#[utoipa::path(
    delete, path = "/documents/upload", tag = "Documents", params(DeleteQuery),
    responses(
        (status = 200, body = DeletedDocument),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`ambiguous_name`: the name stands in several collections"),
    )
)]
pub(in crate::http) async fn delete_upload(
    app: State<Arc<App>>,
    query: Query<DeleteQuery>,
) -> Result<axum::Json<DeletedDocument>> {
    delete(app, NamePath("upload".into()), query).await
}

/// Deletes a document; the job tells how it goes after that. It answers no more when this returns.
#[utoipa::path(
    delete, path = "/documents/delete/async/{filename}", tag = "Documents",
    params(("filename" = String, Path), DeleteQuery),
    responses(
        (status = 202, body = AcceptedView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`ambiguous_name`: the name stands in several collections"),
    )
)]
pub(in crate::http) async fn delete_async(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(filename): NamePath,
    Query(query): Query<DeleteQuery>,
) -> Result<(StatusCode, axum::Json<AcceptedView>)> {
    let deleting = app.ingest.submit_delete(user.id, &filename, query.collection.as_deref()).await?;
    let message = format!("{} is being deleted.", deleting.filename);
    let view = AcceptedView { job_id: deleting.job, filename: deleting.filename, message };
    Ok((StatusCode::ACCEPTED, axum::Json(view)))
}
