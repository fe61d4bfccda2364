//! Uploads: a file and the collection that it goes to, as a form.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    extract::{
        FromRequest, Multipart, Request, State,
        multipart::{Field, MultipartError},
    },
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tokio::{
    fs::File,
    io::{AsyncWriteExt as _, BufWriter},
};
use utoipa::ToSchema;

use crate::{
    domain::{
        id::{DocumentId, JobId},
        job::{Job, JobState},
        knowledge::Submitted,
    },
    http::{
        error::{ApiError, Result},
        extract::SignedIn,
        state::App,
    },
    services::ingest::kept_name,
};

/// Where files go that name no collection.
pub(in crate::http) const DEFAULT_COLLECTION: &str = "default";
/// Bytes of a form field that is no file.
const MAX_FIELD: usize = 1024;
/// Longest that `POST /documents/upload` waits for the job; the job goes on after that.
const PATIENCE: Duration = Duration::from_secs(600);

/// The form of an upload.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form for the document; the form is read piece by piece")]
pub(in crate::http) struct UploadForm {
    /// The file, with its name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// `default` when absent; made, readable by everyone, when unknown.
    collection: Option<String>,
}

/// A file that was taken in.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct UploadedView {
    filename: String,
    /// Leaf chunks that answer now.
    chunks_processed: i64,
    /// For people.
    message: String,
    document_id: DocumentId,
    version: i64,
}

/// Work that was accepted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct AcceptedView {
    pub(super) job_id: JobId,
    pub(super) filename: String,
    /// For people.
    pub(super) message: String,
}

/// Takes a file in and waits until it answers.
#[utoipa::path(
    post, path = "/documents/upload", tag = "Documents",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, body = UploadedView),
        (status = 202, description = "Still at work after ten minutes: watch the job", body = AcceptedView),
        (status = 413, description = "`payload_too_large`"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`empty_file`, `no_text`, `encrypted`, `malformed`, `archive_limit`, \
                                      `extract_timeout`, `extract_memory`, `invalid_field`, `unknown_field`"),
    )
)]
pub(in crate::http) async fn upload(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    form: Form,
) -> Result<Response> {
    let submitted = app.ingest.submit(Some(user.id), &form.collection, &form.filename, &form.file.0).await?;
    let (job, document_id, version) = match submitted {
        Submitted::Queued { job, document, no } => (job, document, no),
        Submitted::Unchanged { document, version, .. } => {
            let view = UploadedView {
                message: format!("{} is here already, with the same content.", form.filename),
                filename: form.filename,
                chunks_processed: version.chunk_count,
                document_id: document,
                version: version.no,
            };
            return Ok(axum::Json(view).into_response());
        }
    };
    let job = app.ingest.wait(job, PATIENCE).await?;
    match job.state {
        JobState::Completed => {
            let view = UploadedView {
                message: format!("{} was taken in.", form.filename),
                filename: form.filename,
                chunks_processed: job.report.processed,
                document_id,
                version,
            };
            Ok(axum::Json(view).into_response())
        }
        JobState::Failed => Err(failed(job)),
        JobState::Pending | JobState::Running => Ok(accepted(job.id, form.filename)),
    }
}

/// Takes a file in; the job tells how it goes.
#[utoipa::path(
    post, path = "/documents/upload/async", tag = "Documents",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (status = 202, body = AcceptedView),
        (status = 413, description = "`payload_too_large`"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`empty_file`, `invalid_field`, `unknown_field`"),
    )
)]
pub(in crate::http) async fn upload_async(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    form: Form,
) -> Result<Response> {
    let submitted = app.ingest.submit(Some(user.id), &form.collection, &form.filename, &form.file.0).await?;
    let (Submitted::Queued { job, .. } | Submitted::Unchanged { job, .. }) = submitted;
    Ok(accepted(job, form.filename))
}

fn accepted(job_id: JobId, filename: String) -> Response {
    let message = format!("{filename} is being read.");
    (StatusCode::ACCEPTED, axum::Json(AcceptedView { job_id, filename, message })).into_response()
}

/// The error of a job as the answer of the request that waited for it.
fn failed(job: Job) -> ApiError {
    let code = job.error_code.unwrap_or_else(|| "internal".into());
    let status = match code.as_str() {
        "unsupported_media_type" => 415,
        "empty_file" | "no_text" | "encrypted" | "malformed" | "archive_limit" | "extract_timeout"
        | "extract_memory" => 422,
        "cancelled" => 409,
        // The document was deleted while its file was read.
        "not_found" => {
            let detail = "The document was deleted before its file was taken in.";
            return ApiError::new(409, "cancelled", detail);
        }
        _ => 503,
    };
    ApiError::new(status, &code, job.error.unwrap_or_else(|| "The file could not be taken in.".into()))
}

/// A form that was read whole; its file lies on disk until the form goes.
pub(in crate::http) struct Form {
    collection: String,
    filename: String,
    file: Temporary,
}

impl FromRequest<Arc<App>> for Form {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        let mut form = Multipart::from_request(request, app)
            .await
            .map_err(|_| ApiError::unsupported_media_type("multipart/form-data with a `file`"))?;
        let (mut file, mut collection) = (None, None);
        while let Some(field) = in_time(app, form.next_field()).await? {
            match field.name().unwrap_or_default() {
                "file" if file.is_none() => file = Some(receive(app, field).await?),
                "collection" if collection.is_none() => collection = Some(text(app, field).await?),
                name @ ("file" | "collection") => return Err(ApiError::field(name, "is given twice")),
                name => {
                    return Err(ApiError::unknown_field(name.to_owned(), vec!["file".into(), "collection".into()]));
                }
            }
        }
        let (filename, file) = file.ok_or_else(|| ApiError::field("file", "is required"))?;
        let collection = collection.filter(|name| !name.is_empty()).unwrap_or_else(|| DEFAULT_COLLECTION.into());
        Ok(Self { collection, filename, file })
    }
}

/// Writes a file to disk, piece by piece.
async fn receive(app: &App, mut field: Field<'_>) -> Result<(String, Temporary)> {
    let filename = kept_name(field.file_name().unwrap_or_default());
    if filename.is_empty() {
        return Err(ApiError::field("file", "must be a file with a name"));
    }
    let unwritable = |error: std::io::Error| ApiError::internal(format!("writing an upload: {error}"));
    let file = Temporary(app.uploads.join(hex::encode(rand::random::<[u8; 16]>())));
    let mut to = BufWriter::with_capacity(256 << 10, File::create_new(&file.0).await.map_err(unwritable)?);
    let mut bytes = 0;
    while let Some(piece) = in_time(app, field.chunk()).await? {
        bytes += piece.len() as u64;
        // What is too much is read on for a while, up to the form's own limit: see `DISCARDED`.
        if bytes <= app.limits.upload_bytes {
            to.write_all(&piece).await.map_err(unwritable)?;
        }
    }
    if bytes > app.limits.upload_bytes {
        return Err(ApiError::too_large(app.limits.upload_bytes));
    }
    to.flush().await.map_err(unwritable)?;
    Ok((filename, file))
}

async fn text(app: &App, mut field: Field<'_>) -> Result<String> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut bytes = Vec::new();
    while let Some(piece) = in_time(app, field.chunk()).await? {
        if bytes.len() + piece.len() > MAX_FIELD {
            return Err(ApiError::field(&name, format!("must have at most {MAX_FIELD} bytes")));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| ApiError::field(&name, "must be UTF-8"))
}

/// The next piece of a form, unless it takes too long to come.
async fn in_time<T>(app: &App, next: impl Future<Output = std::result::Result<T, MultipartError>>) -> Result<T> {
    tokio::time::timeout(app.limits.read_timeout, next).await.map_err(|_| ApiError::too_slow())?.map_err(|error| {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_large(app.limits.upload_bytes),
            _ => ApiError::new(400, "malformed_form", "The form is broken, or broke off."),
        }
    })
}

/// A file that is removed when nobody needs it any more.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.0.display(), "an upload's temporary file stays");
            }
            // Not there: the blob store took it, or it was never made.
            _ => {}
        }
    }
}
