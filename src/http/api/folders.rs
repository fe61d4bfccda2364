//! Watched folders.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::documents::DEFAULT_COLLECTION;
use crate::{
    domain::{
        folder::{BadFile, ListedFolder},
        time::Rfc3339,
    },
    http::{
        error::Result,
        extract::{Json, Page, PageQuery, Query},
        state::App,
    },
};

/// A folder to watch.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FolderBody {
    /// On the server's machine; relative to where the server was started.
    #[schema(min_length = 1)]
    path: String,
    /// Where its files go; `default` when absent, made, readable by everyone, when unknown.
    collection: Option<String>,
}

/// Which folder.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct FolderQuery {
    /// Its path.
    path: String,
    /// Needed when it is watched for several collections.
    collection: Option<String>,
}

/// Who named a folder.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Source {
    /// An admin, by this route.
    Admin,
    /// The server's settings.
    Config,
}

/// How a folder stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FolderStatus {
    /// It was not looked at yet.
    Pending,
    /// It is followed.
    Watching,
    /// It cannot be followed just now; its documents stay as they are.
    Failed,
}

/// The files of a folder, counted.
#[derive(Serialize, ToSchema)]
struct FileCountsView {
    /// All that are followed.
    total: i64,
    /// They answer.
    ready: i64,
    /// They have just come or changed, or are being read.
    pending: i64,
    /// They could not be taken in.
    failed: i64,
    /// Of no type that askback reads.
    skipped: i64,
}

/// A file that could not be taken in; it is tried again when it has changed.
#[derive(Serialize, ToSchema)]
struct BadFileView {
    /// Its path from the folder.
    filename: String,
    /// The codes of uploads, and `name_taken`, `not_readable`, `invalid_name`.
    error_code: String,
    /// For people.
    error: String,
}

impl From<BadFile> for BadFileView {
    fn from(bad: BadFile) -> Self {
        Self { filename: bad.name, error_code: bad.error_code, error: bad.error }
    }
}

/// A watched folder.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct FolderView {
    path: String,
    collection: String,
    source: Source,
    status: FolderStatus,
    /// `not_found`, `not_a_folder`, `not_readable`, `folder_replaced`, `too_many_files`.
    error_code: Option<&'static str>,
    /// For people.
    error: Option<String>,
    /// When all of it was last seen.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_scan_at: Option<Rfc3339>,
    files: FileCountsView,
    /// The first 100 files that could not be taken in, by name.
    bad_files: Vec<BadFileView>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
}

impl From<ListedFolder> for FolderView {
    fn from(listed: ListedFolder) -> Self {
        let ListedFolder { folder, counts, bad_files } = listed;
        Self {
            path: folder.path,
            collection: folder.collection,
            source: if folder.node.is_some() { Source::Config } else { Source::Admin },
            status: match (folder.fault, folder.scanned_at) {
                (Some(_), _) => FolderStatus::Failed,
                (None, Some(_)) => FolderStatus::Watching,
                (None, None) => FolderStatus::Pending,
            },
            error_code: folder.fault.map(|fault| fault.code()),
            error: folder.fault.map(|fault| fault.to_string()),
            last_scan_at: folder.scanned_at.map(Into::into),
            files: FileCountsView {
                total: counts.files,
                ready: counts.ready,
                pending: counts.files - counts.ready - counts.failed,
                failed: counts.failed,
                skipped: folder.skipped,
            },
            bad_files: bad_files.into_iter().map(Into::into).collect(),
            created_at: folder.created_at.into(),
        }
    }
}

/// A page of watched folders, by path.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct FolderList {
    folders: Vec<FolderView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A folder that is not watched any more.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct LetGoFolder {
    path: String,
    collection: String,
    /// For people.
    message: String,
}

/// All watched folders, by path, with their files that could not be taken in.
#[utoipa::path(
    get, path = "/ingest/folders", tag = "Documents", params(PageQuery),
    responses((status = 200, body = FolderList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<FolderList>> {
    let page = Page::<(String, String)>::new(query.limit, query.cursor.as_deref())?;
    let after = page.after.as_ref().map(|(path, collection)| (path.as_str(), collection.as_str()));
    let mut folders = app.folders.list(after, page.fetch()).await?;
    let next_cursor = page.cut(&mut folders, |listed| (listed.folder.path.clone(), listed.folder.collection.clone()));
    Ok(axum::Json(FolderList { folders: folders.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Watches a folder: its files become documents, named by their path from there; they are read again when they change,
/// and deleted with their files. Hidden files and links that lead out of the folder are passed over.
#[utoipa::path(
    post, path = "/ingest/folders", tag = "Documents",
    request_body(content = FolderBody, example = json!({"path": "/srv/handbooks", "collection": "handbooks"})),
    responses(
        (status = 201, body = FolderView),
        (status = 409, description = "`already_watched`, `too_many_folders`"),
        (status = 422, description = "`not_found`, `not_a_folder`, `not_readable`, `invalid_field`, `unknown_field`"),
    )
)]
pub(in crate::http) async fn add(
    State(app): State<Arc<App>>,
    Json(body): Json<FolderBody>,
) -> Result<(StatusCode, axum::Json<FolderView>)> {
    let collection = body.collection.as_deref().unwrap_or(DEFAULT_COLLECTION);
    let added = app.folders.add(&body.path, collection).await?;
    Ok((StatusCode::CREATED, axum::Json(added.into())))
}

/// Stops watching a folder. Its documents stay.
#[utoipa::path(
    delete, path = "/ingest/folders", tag = "Documents", params(FolderQuery),
    responses(
        (status = 200, body = LetGoFolder),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`ambiguous_folder`, `set_by_config`"),
        (status = 422, description = "`invalid_field`, `unknown_field`"),
    )
)]
pub(in crate::http) async fn remove(
    State(app): State<Arc<App>>,
    Query(query): Query<FolderQuery>,
) -> Result<axum::Json<LetGoFolder>> {
    let folder = app.folders.remove(&query.path, query.collection.as_deref()).await?.folder;
    let message = format!("{} is not watched any more; its documents stay.", folder.path);
    Ok(axum::Json(LetGoFolder { path: folder.path, collection: folder.collection, message }))
}
