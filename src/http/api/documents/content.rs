//! A document's file.

use std::{
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::Stream;
use serde::Deserialize;
use tokio::fs::File;
use tokio_util::io::ReaderStream;
use utoipa::IntoParams;

use super::readable;
use crate::{
    domain::knowledge::{BlobFile, Document},
    http::{
        attachment::attachment,
        error::{ApiError, Result},
        extract::{IdPath, Query, SignedIn},
        state::App,
    },
};

/// Which version.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ContentQuery {
    /// The version that answers when absent.
    version: Option<i64>,
}

/// A document's file as an attachment, for those who may read it.
#[utoipa::path(
    get, path = "/documents/{document_id}/content", tag = "Documents",
    params(("document_id" = String, Path), ContentQuery),
    responses((status = 200, body = String, content_type = "application/octet-stream"),
              (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn content(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<Document>,
    Query(query): Query<ContentQuery>,
) -> Result<Response> {
    let document = readable(&app, &user, id).await?;
    let no = query.version.or(document.current_no).ok_or_else(ApiError::not_found)?;
    let version = app.documents.version(id, no).await?;
    let blob = Removed(app.blobs.fetch(&version.blob).await?);
    let unreadable = |error: std::io::Error| ApiError::internal(format!("reading a blob: {error}"));
    let file = File::open(&blob.0.path).await.map_err(unreadable)?;
    let bytes = file.metadata().await.map_err(unreadable)?.len();

    let mut response = Body::from_stream(Pieces { file: ReaderStream::new(file), _blob: blob }).into_response();
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_str(&version.media_type);
    headers.insert(
        header::CONTENT_TYPE,
        media_type.unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream")),
    );
    headers.insert(header::CONTENT_LENGTH, bytes.into());
    headers.insert(header::CONTENT_DISPOSITION, attachment(&document.filename));
    Ok(response)
}

/// A fetched blob; a temporary copy goes with it.
struct Removed(BlobFile);

impl Drop for Removed {
    fn drop(&mut self) {
        if self.0.temporary {
            let path: PathBuf = std::mem::take(&mut self.0.path);
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, path = %path.display(), "a temporary copy stays");
            }
        }
    }
}

/// The bytes of a file, and the blob that must live as long.
struct Pieces {
    file: ReaderStream<File>,
    _blob: Removed,
}

impl Stream for Pieces {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.file).poll_next(cx)
    }
}
