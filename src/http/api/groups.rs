//! Groups: users that collections can name together.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::users::user_ids;
use crate::{
    domain::user::{Group, GroupChange},
    http::{
        error::Result,
        extract::{Json, NamePath, Page, PageQuery, Query},
        state::App,
    },
};

/// A group.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct GroupView {
    name: String,
    /// User names.
    members: Vec<String>,
}

impl From<Group> for GroupView {
    fn from(group: Group) -> Self {
        Self { name: group.name, members: group.members }
    }
}

/// A page of groups, by name.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct GroupList {
    groups: Vec<GroupView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A new group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct GroupBody {
    /// 1 to 64 characters, unique.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// User names, at most 1000.
    #[serde(default)]
    members: Vec<String>,
}

/// What changes about a group; all of it or nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct GroupPatch {
    /// Its new name.
    name: Option<String>,
    /// Users who come in, at most 1000.
    #[serde(default)]
    add: Vec<String>,
    /// Users who leave, at most 1000.
    #[serde(default)]
    remove: Vec<String>,
}

/// A group that was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedGroup {
    name: String,
    /// For people.
    message: String,
}

/// All groups, by name.
#[utoipa::path(
    get, path = "/groups", tag = "Accounts", params(PageQuery),
    responses((status = 200, body = GroupList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<GroupList>> {
    let page = Page::<String>::new(query.limit, query.cursor.as_deref())?;
    let mut groups = app.accounts.groups(page.after.as_deref(), page.fetch()).await?;
    let next_cursor = page.cut(&mut groups, |group| group.name.clone());
    Ok(axum::Json(GroupList { groups: groups.into_iter().map(Into::into).collect(), next_cursor }))
}

/// A group.
#[utoipa::path(
    get, path = "/groups/{name}", tag = "Accounts", params(("name" = String, Path)),
    responses((status = 200, body = GroupView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
) -> Result<axum::Json<GroupView>> {
    Ok(axum::Json(app.accounts.group(&name).await?.into()))
}

/// Makes a group.
#[utoipa::path(
    post, path = "/groups", tag = "Accounts",
    request_body(content = GroupBody, example = json!({"name": "hr", "members": ["ada"]})),
    responses((status = 201, body = GroupView), (status = 409, description = "`name_taken`"))
)]
pub(in crate::http) async fn create(
    State(app): State<Arc<App>>,
    Json(body): Json<GroupBody>,
) -> Result<(StatusCode, axum::Json<GroupView>)> {
    let members = user_ids(&app, "members", &body.members).await?;
    let made = app.accounts.add_group(&body.name, &members).await?;
    Ok((StatusCode::CREATED, axum::Json(made.into())))
}

/// Renames a group, lets users in and out. What they may read changes with their next search.
#[utoipa::path(
    patch, path = "/groups/{name}", tag = "Accounts", params(("name" = String, Path)),
    request_body(content = GroupPatch, example = json!({"add": ["bea"], "remove": ["ada"]})),
    responses(
        (status = 200, body = GroupView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`name_taken`"),
    )
)]
pub(in crate::http) async fn change(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
    Json(body): Json<GroupPatch>,
) -> Result<axum::Json<GroupView>> {
    let change = GroupChange {
        name: body.name,
        add: user_ids(&app, "add", &body.add).await?,
        remove: user_ids(&app, "remove", &body.remove).await?,
    };
    Ok(axum::Json(app.accounts.change_group(&name, &change).await?.into()))
}

/// Deletes a group. Collections that named it are read by its members no more, unless they name them otherwise.
#[utoipa::path(
    delete, path = "/groups/{name}", tag = "Accounts", params(("name" = String, Path)),
    responses((status = 200, body = DeletedGroup), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn delete(
    State(app): State<Arc<App>>,
    NamePath(name): NamePath,
) -> Result<axum::Json<DeletedGroup>> {
    let name = app.accounts.delete_group(&name).await?.name;
    let message = format!("The group {name} was deleted; its members stay.");
    Ok(axum::Json(DeletedGroup { name, message }))
}
