//! API keys of the caller, for programs at the `/v1` doors.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        time::Rfc3339,
        user::{ApiKey, KeyId},
    },
    http::{
        error::Result,
        extract::{IdPath, Json, Page, PageQuery, Query, SignedIn},
        state::App,
    },
};

/// A wish for a key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct KeyBody {
    /// What it is for. 1 to 64 characters.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
}

/// A key, without the key itself.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct KeyView {
    id: KeyId,
    name: String,
    /// Its last characters.
    hint: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    /// When it was last used, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Rfc3339>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            hint: key.hint,
            created_at: key.created_at.into(),
            last_used_at: key.last_used_at.map(Into::into),
        }
    }
}

/// A key that was made.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct NewKeyView {
    #[serde(flatten)]
    made: KeyView,
    /// The key. It is shown here and never again.
    key: String,
}

/// A page of the caller's keys, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct KeyList {
    keys: Vec<KeyView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A key that was revoked.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct RevokedKey {
    id: KeyId,
    /// For people.
    message: String,
}

/// The caller's keys, newest first.
#[utoipa::path(
    get, path = "/auth/keys", tag = "Accounts", params(PageQuery),
    responses((status = 200, body = KeyList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<KeyList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut keys = app.accounts.keys(user.id, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut keys, |key| (key.created_at, key.id));
    Ok(axum::Json(KeyList { keys: keys.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Makes a key that speaks for the caller at the `/v1` doors, and nowhere else.
#[utoipa::path(
    post, path = "/auth/keys", tag = "Accounts",
    request_body(content = KeyBody, example = json!({"name": "notebook"})),
    responses((status = 201, body = NewKeyView), (status = 409, description = "`too_many_keys`"))
)]
pub(in crate::http) async fn add(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Json(body): Json<KeyBody>,
) -> Result<(StatusCode, axum::Json<NewKeyView>)> {
    let made = app.accounts.add_key(user.id, &body.name).await?;
    Ok((StatusCode::CREATED, axum::Json(NewKeyView { made: made.key.into(), key: made.text })))
}

/// Revokes a key: it is good for nothing any more.
#[utoipa::path(
    delete, path = "/auth/keys/{key_id}", tag = "Accounts", params(("key_id" = String, Path)),
    responses((status = 200, body = RevokedKey), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn revoke(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<ApiKey>,
) -> Result<axum::Json<RevokedKey>> {
    let ApiKey { id, name, .. } = app.accounts.revoke_key(user.id, id).await?;
    Ok(axum::Json(RevokedKey { id, message: format!("The key {name} was revoked.") }))
}
