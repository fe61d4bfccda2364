//! Retrieval without a model.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::chat::{check_list, check_text};
use crate::{
    domain::{evidence::Passage, id::DocumentId, trace::RagTrace},
    http::{
        error::{ApiError, Result},
        extract::{Json, SignedIn},
        state::App,
    },
};

const MAX_QUERY_CHARS: usize = 32_000;
const MAX_TOP_K: usize = 100;
const MAX_DOCUMENTS: usize = 64;

/// What to look for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SearchBody {
    /// 1 to 32,000 characters.
    #[schema(min_length = 1, max_length = 32_000)]
    query: String,
    /// Only in these collections.
    collections: Option<Vec<String>>,
    /// Most passages; the server's setting when absent.
    #[schema(minimum = 1, maximum = 100)]
    top_k: Option<usize>,
    filter: Option<FilterBody>,
}

/// Narrows a search.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FilterBody {
    /// Only in these documents, at most 64.
    document_ids: Vec<DocumentId>,
}

/// What was found, best first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SearchView {
    passages: Vec<Passage>,
    /// How it was found.
    trace: RagTrace,
}

/// Finds passages in what the caller may read.
#[utoipa::path(
    post, path = "/search", tag = "Search",
    request_body(content = SearchBody, example = json!({"query": "warranty of the Aurora X1", "top_k": 3})),
    responses((status = 200, body = SearchView), (status = 503, description = "`retrieval_unavailable`, `overloaded`"))
)]
pub(in crate::http) async fn search(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Json(body): Json<SearchBody>,
) -> Result<axum::Json<SearchView>> {
    check_text("query", &body.query, MAX_QUERY_CHARS)?;
    if body.query.trim().is_empty() {
        return Err(ApiError::field("query", "must not be empty"));
    }
    check_list("collections", body.collections.iter().flatten().map(String::as_str))?;
    let top_k = body.top_k.unwrap_or(app.retrieval.config.top_k);
    if !(1..=MAX_TOP_K).contains(&top_k) {
        return Err(ApiError::field("top_k", format!("must be 1 to {MAX_TOP_K}")));
    }
    let documents = body.filter.map(|filter| filter.document_ids);
    if documents.as_ref().is_some_and(|ids| ids.len() > MAX_DOCUMENTS) {
        return Err(ApiError::field("filter.document_ids", format!("must have at most {MAX_DOCUMENTS} items")));
    }
    let access = app.documents.readable(user.id, body.collections.as_deref()).await?;
    let (passages, trace) = app.retrieval.passages(&body.query, &access, documents.as_deref(), top_k).await?;
    Ok(axum::Json(SearchView { passages, trace }))
}
