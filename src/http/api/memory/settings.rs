//! What the caller wants remembered.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        setting::{Setting, SettingValue},
        time::Rfc3339,
    },
    http::{
        error::Result,
        extract::{Json, NamePath, SignedIn},
        state::App,
    },
};

/// Something remembered.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SettingView {
    /// `language`, `default_collections`, `tone`, or any other.
    key: String,
    /// A text; of `default_collections` a list of names.
    value: SettingValue,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Rfc3339,
}

impl From<Setting> for SettingView {
    fn from(setting: Setting) -> Self {
        Self { key: setting.key, value: setting.value, updated_at: setting.updated_at.into() }
    }
}

/// All of it, by key.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SettingList {
    settings: Vec<SettingView>,
}

impl From<Vec<Setting>> for SettingList {
    fn from(settings: Vec<Setting>) -> Self {
        Self { settings: settings.into_iter().map(Into::into).collect() }
    }
}

/// What to remember, and nothing else.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SettingsBody {
    /// By key, at most 32.
    settings: BTreeMap<String, SettingValue>,
}

/// What to remember.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SettingBody {
    /// A text of 1 to 500 characters; of `default_collections` 1 to 16 names, in a list or with commas between.
    value: SettingValue,
}

/// What is remembered of the caller. Every turn is told of it; `language` is that of its answers, and questions that
/// name no collections go to `default_collections`.
#[utoipa::path(get, path = "/memory/settings", tag = "Memory", responses((status = 200, body = SettingList)))]
pub(in crate::http) async fn settings(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
) -> Result<axum::Json<SettingList>> {
    Ok(axum::Json(app.settings.list(user.id).await?.into()))
}

/// Remembers these in place of all.
#[utoipa::path(
    put, path = "/memory/settings", tag = "Memory",
    request_body(content = SettingsBody, example = json!({"settings": {"language": "en", "tone": "brief"}})),
    responses((status = 200, body = SettingList), (status = 409, description = "`too_many_settings`"))
)]
pub(in crate::http) async fn replace_settings(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Json(body): Json<SettingsBody>,
) -> Result<axum::Json<SettingList>> {
    Ok(axum::Json(app.settings.replace(user.id, body.settings).await?.into()))
}

/// Forgets all of them.
#[utoipa::path(delete, path = "/memory/settings", tag = "Memory", responses((status = 204)))]
pub(in crate::http) async fn forget_settings(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
) -> Result<StatusCode> {
    app.settings.replace(user.id, []).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What is remembered under a key.
#[utoipa::path(
    get, path = "/memory/settings/{key}", tag = "Memory", params(("key" = String, Path)),
    responses((status = 200, body = SettingView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn setting(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(key): NamePath,
) -> Result<axum::Json<SettingView>> {
    Ok(axum::Json(app.settings.read(user.id, &key).await?.into()))
}

/// Remembers a value under a key of 1 to 64 letters, digits, `_`, `-` and `.`.
#[utoipa::path(
    put, path = "/memory/settings/{key}", tag = "Memory", params(("key" = String, Path)),
    request_body(content = SettingBody, example = json!({"value": "brief and friendly"})),
    responses((status = 200, body = SettingView), (status = 409, description = "`too_many_settings`"))
)]
pub(in crate::http) async fn put_setting(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(key): NamePath,
    Json(body): Json<SettingBody>,
) -> Result<axum::Json<SettingView>> {
    Ok(axum::Json(app.settings.put(user.id, &key, body.value).await?.into()))
}

/// Forgets what is remembered under a key.
#[utoipa::path(
    delete, path = "/memory/settings/{key}", tag = "Memory", params(("key" = String, Path)),
    responses((status = 204), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn forget_setting(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(key): NamePath,
) -> Result<StatusCode> {
    app.settings.forget(user.id, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}
