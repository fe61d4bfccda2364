//! A document's text, as it was read and as citations point into it.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::readable;
use crate::{
    domain::knowledge::Document,
    http::{
        error::{ApiError, Result},
        extract::{IdPath, Query, SignedIn},
        state::App,
    },
};

/// Most characters of one answer.
const MAX_CHARS: i64 = 100_000;

/// Which part of the text.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct TextQuery {
    /// The version that answers when absent.
    version: Option<i64>,
    /// First character (Unicode scalar values); 0 when absent.
    start: Option<i64>,
    /// One past the last; as much as one answer holds (100,000 characters) when absent.
    end: Option<i64>,
}

/// A part of a text.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct TextView {
    text: String,
    /// First character.
    start: i64,
    /// One past the last: less than was asked for where the text ends before.
    end: i64,
}

/// A part of a document's text, for those who may read it.
#[utoipa::path(
    get, path = "/documents/{document_id}/text", tag = "Documents",
    params(("document_id" = String, Path), TextQuery),
    responses((status = 200, body = TextView), (status = 404, description = "`not_found`"),
              (status = 422, description = "`invalid_field`"))
)]
pub(in crate::http) async fn text(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<Document>,
    Query(query): Query<TextQuery>,
) -> Result<axum::Json<TextView>> {
    let document = readable(&app, &user, id).await?;
    let version = query.version.or(document.current_no).ok_or_else(ApiError::not_found)?;
    let start = query.start.unwrap_or(0);
    if start < 0 {
        return Err(ApiError::field("start", "must not be negative"));
    }
    let end = query.end.unwrap_or_else(|| start.saturating_add(MAX_CHARS));
    if !(0..=MAX_CHARS).contains(&end.saturating_sub(start)) {
        return Err(ApiError::field("end", format!("must be start to start + {MAX_CHARS}")));
    }
    let access = app.documents.readable(user.id, None).await?;
    let text = app.documents.text(&access, id, version, start, end).await?;
    let end = start.saturating_add(i64::try_from(text.chars().count()).unwrap_or(i64::MAX));
    Ok(axum::Json(TextView { text, start, end }))
}
