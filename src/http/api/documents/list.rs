//! The list of documents.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    domain::{
        extract::{Extractor, FileType},
        id::DocumentId,
        job::JobState,
        knowledge::{Document, Warning},
        time::Rfc3339,
    },
    http::{
        error::Result,
        extract::{Page, Query},
        state::App,
    },
};

/// The query of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct DocumentQuery {
    /// Only this collection's.
    collection: Option<String>,
    /// Most items, 1 to 1000.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A document.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DocumentView {
    document_id: DocumentId,
    filename: String,
    /// PDF, Word, Excel, PowerPoint, HTML, Markdown, Text, CSV, JSON, Email or Code.
    #[schema(example = "PDF")]
    file_type: &'static str,
    collection: String,
    /// The version that answers; null until the first is whole.
    version: Option<i64>,
    /// Its leaf chunks.
    chunk_count: i64,
    #[schema(value_type = String, format = DateTime)]
    uploaded_at: Rfc3339,
    status: DocumentStatus,
    /// How well it could be read.
    warnings: Vec<Warning>,
}

/// Where a document stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DocumentStatus {
    /// A job is at work on it. The version before it, if there is one, goes on answering.
    Processing,
    /// It answers.
    Ready,
    /// Its first upload could not be read.
    Failed,
}

impl DocumentView {
    fn new(document: Document, extractor: &dyn Extractor) -> Self {
        let status = match (&document.current, document.job_state) {
            (_, Some(JobState::Pending | JobState::Running)) => DocumentStatus::Processing,
            (Some(_), _) => DocumentStatus::Ready,
            (None, _) => DocumentStatus::Failed,
        };
        let uploaded_at = document.current.as_ref().map_or(document.created_at, |version| version.created_at);
        let (chunk_count, warnings) =
            document.current.map_or((0, Vec::new()), |version| (version.chunk_count, version.warnings));
        Self {
            document_id: document.id,
            file_type: extractor.file_type(&document.filename).unwrap_or(FileType::Text).as_str(),
            filename: document.filename,
            collection: document.collection_name,
            version: document.current_no,
            chunk_count,
            uploaded_at: uploaded_at.into(),
            status,
            warnings,
        }
    }
}

/// A page of documents, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DocumentList {
    documents: Vec<DocumentView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// All documents, newest first.
#[utoipa::path(
    get, path = "/documents", tag = "Documents", params(DocumentQuery),
    responses((status = 200, body = DocumentList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<DocumentQuery>,
) -> Result<axum::Json<DocumentList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut documents = app.ingest.documents(query.collection.as_deref(), page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut documents, |document| (document.created_at, document.id));
    let view = |document| DocumentView::new(document, app.extractor.as_ref());
    Ok(axum::Json(DocumentList { documents: documents.into_iter().map(view).collect(), next_cursor }))
}
