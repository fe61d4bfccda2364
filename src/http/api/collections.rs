//! Collections: who may read what.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        error::StoreError,
        id::CollectionId,
        knowledge::{Collection, Emptied, Readers, Visibility},
        time::Rfc3339,
    },
    http::{
        api::users::{group_ids, user_ids},
        error::{ApiError, Result},
        extract::{Json, NamePath, Page, PageQuery, Query},
        state::App,
    },
    services::ingest::LONGEST_NAME,
};

/// Who may read a collection: everyone, or these users and whoever is in one of these groups.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ReadersBody {
    /// Every account; `users` and `groups` must then be empty.
    #[serde(default)]
    everyone: bool,
    /// User names, at most 1000.
    #[serde(default)]
    users: Vec<String>,
    /// Group names, at most 1000.
    #[serde(default)]
    groups: Vec<String>,
}

/// A new collection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CollectionBody {
    /// 1 to 255 characters, unique.
    #[schema(min_length = 1, max_length = 255)]
    name: String,
    /// Everyone when absent.
    readers: Option<ReadersBody>,
}

/// What changes about a collection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CollectionPatch {
    readers: ReadersBody,
}

/// Who may read a collection: everyone, or those of a list.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ReadersView {
    /// Every account.
    everyone: bool,
    /// User names.
    users: Vec<String>,
    /// Group names.
    groups: Vec<String>,
}

/// A collection.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct CollectionView {
    name: String,
    readers: ReadersView,
    /// `everyone`, or `listed`: those of its list.
    visibility: Visibility,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
}

impl From<Collection> for CollectionView {
    fn from(collection: Collection) -> Self {
        Self {
            name: collection.name,
            readers: ReadersView {
                everyone: collection.visibility == Visibility::Everyone,
                users: collection.users,
                groups: collection.groups,
            },
            visibility: collection.visibility,
            created_at: collection.created_at.into(),
        }
    }
}

/// A page of collections, by name.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct CollectionList {
    collections: Vec<CollectionView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// All collections, by name.
#[utoipa::path(
    get, path = "/collections", tag = "Collections", params(PageQuery),
    responses((status = 200, body = CollectionList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<CollectionList>> {
    let page = Page::<String>::new(query.limit, query.cursor.as_deref())?;
    let mut collections = app.documents.collections(page.after.as_deref(), page.fetch()).await?;
    let next_cursor = page.cut(&mut collections, |collection| collection.name.clone());
    Ok(axum::Json(CollectionList { collections: collections.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Makes a collection.
#[utoipa::path(
    post, path = "/collections", tag = "Collections",
    request_body(content = CollectionBody, example = json!({"name": "hr", "readers": {"users": ["ada"], "groups": ["hr"]}})),
    responses((status = 201, body = CollectionView), (status = 409, description = "`name_taken`"))
)]
pub(in crate::http) async fn create(
    State(app): State<Arc<App>>,
    Json(body): Json<CollectionBody>,
) -> Result<(StatusCode, axum::Json<CollectionView>)> {
    check_name(&body.name)?;
    match app.documents.collection(&body.name).await {
        Err(StoreError::NotFound) => {}
        Err(error) => return Err(error.into()),
        Ok(_) => return Err(ApiError::new(409, "name_taken", "There is a collection of this name.")),
    }
    let readers = body.readers.unwrap_or(ReadersBody { everyone: true, ..ReadersBody::default() });
    let made = set_readers(&app, &body.name, readers).await?;
    Ok((StatusCode::CREATED, axum::Json(made.into())))
}

/// A collection.
#[utoipa::path(
    get, path = "/collections/{name}", tag = "Collections", params(("name" = String, Path)),
    responses((status = 200, body = CollectionView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
) -> Result<axum::Json<CollectionView>> {
    Ok(axum::Json(app.documents.collection(&name).await?.into()))
}

/// Changes who may read a collection. Takes effect with the next search.
#[utoipa::path(
    patch, path = "/collections/{name}", tag = "Collections", params(("name" = String, Path)),
    request_body(content = CollectionPatch, example = json!({"readers": {"everyone": true}})),
    responses((status = 200, body = CollectionView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn update(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
    Json(body): Json<CollectionPatch>,
) -> Result<axum::Json<CollectionView>> {
    app.documents.collection(&name).await?;
    Ok(axum::Json(set_readers(&app, &name, body.readers).await?.into()))
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedCollection {
    name: String,
    /// For people.
    message: String,
}

/// Deletes an empty collection with its list of readers. Answers that cite documents which were deleted from it say so as
/// before.
#[utoipa::path(
    delete, path = "/collections/{name}", tag = "Collections", params(("name" = String, Path)),
    responses(
        (status = 200, body = DeletedCollection),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`collection_not_empty`: it holds documents, or some are still being removed; \
                                      `collection_watched`: a watched folder puts its files there"),
    )
)]
pub(in crate::http) async fn delete(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
) -> Result<axum::Json<DeletedCollection>> {
    match app.documents.delete_collection(&name).await? {
        Emptied::Deleted => Ok(axum::Json(DeletedCollection { message: format!("{name} was deleted."), name })),
        Emptied::NotEmpty => Err(ApiError::new(
            409,
            "collection_not_empty",
            "The collection holds documents, or some of them are still being removed. Delete them first.",
        )),
        Emptied::Watched => Err(ApiError::new(
            409,
            "collection_watched",
            "A watched folder puts its files into the collection. Stop watching it first.",
        )),
    }
}

async fn set_readers(app: &App, name: &str, body: ReadersBody) -> Result<Collection> {
    let now = app.clock.now();
    let readers = if body.everyone {
        for (field, names) in [("readers.users", &body.users), ("readers.groups", &body.groups)] {
            if !names.is_empty() {
                return Err(ApiError::field(field, "must be empty when everyone may read"));
            }
        }
        Readers::Everyone
    } else {
        let users = user_ids(app, "readers.users", &body.users).await?;
        Readers::Listed { users, groups: group_ids(app, "readers.groups", &body.groups).await? }
    };
    Ok(app.documents.set_readers(name, CollectionId::at(now), &readers, now).await?)
}

/// Refuses names that an upload could not name, and those that cannot be shown.
fn check_name(name: &str) -> Result<()> {
    let is_good = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if is_good {
        return Ok(());
    }
    Err(ApiError::field("name", format!("must have 1 to {LONGEST_NAME} characters, none of them control characters")))
}
