//! Accounts as admins manage them.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        error::StoreError,
        id::UserId,
        time::Rfc3339,
        user::{Account, AccountChange, GroupId, Role},
    },
    http::{
        error::{ApiError, Result},
        extract::{Json, NamePath, Page, PageQuery, Query},
        state::App,
    },
    services::auth::AuthError,
};

/// Most names in one list of a request.
const MAX_NAMES: usize = 1000;

/// An account.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct UserView {
    username: String,
    role: Role,
    /// Switched off: it cannot log in, and none of its tokens is good.
    disabled: bool,
    /// Names of its groups.
    groups: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
}

impl From<Account> for UserView {
    fn from(account: Account) -> Self {
        Self {
            username: account.user.name,
            role: account.user.role,
            disabled: account.user.disabled_at.is_some(),
            groups: account.groups,
            created_at: account.user.created_at.into(),
        }
    }
}

/// A page of accounts, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct UserList {
    users: Vec<UserView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// What changes about an account; what is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct UserPatch {
    role: Option<Role>,
    /// Switches the account off, or on again. Its tokens do not come back with it.
    disabled: Option<bool>,
}

/// An account that was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedUser {
    username: String,
    /// For people.
    message: String,
}

/// All accounts, newest first.
#[utoipa::path(
    get, path = "/users", tag = "Accounts", params(PageQuery),
    responses((status = 200, body = UserList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<UserList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut accounts = app.accounts.accounts(page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut accounts, |account| (account.user.created_at, account.user.id));
    Ok(axum::Json(UserList { users: accounts.into_iter().map(Into::into).collect(), next_cursor }))
}

/// An account.
#[utoipa::path(
    get, path = "/users/{username}", tag = "Accounts", params(("username" = String, Path)),
    responses((status = 200, body = UserView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    NamePath(username): NamePath,
) -> Result<axum::Json<UserView>> {
    Ok(axum::Json(app.accounts.account(&username).await?.into()))
}

/// Changes an account's role, switches it off or on. One that is switched off is out at once.
#[utoipa::path(
    patch, path = "/users/{username}", tag = "Accounts", params(("username" = String, Path)),
    request_body(content = UserPatch, example = json!({"role": "admin"})),
    responses(
        (status = 200, body = UserView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`last_admin`, `local_account`"),
    )
)]
pub(in crate::http) async fn change(
    State(app): State<Arc<App>>,
    NamePath(username): NamePath,
    Json(body): Json<UserPatch>,
) -> Result<axum::Json<UserView>> {
    let change = AccountChange { role: body.role, disabled: body.disabled };
    Ok(axum::Json(app.accounts.change(&username, change).await?.into()))
}

/// Deletes an account with its tokens, conversations and memory. Documents that it uploaded stay.
#[utoipa::path(
    delete, path = "/users/{username}", tag = "Accounts", params(("username" = String, Path)),
    responses(
        (status = 200, body = DeletedUser),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`last_admin`, `local_account`"),
    )
)]
pub(in crate::http) async fn delete(
    State(app): State<Arc<App>>,
    NamePath(username): NamePath,
) -> Result<axum::Json<DeletedUser>> {
    let username = app.accounts.delete(&username).await?.user.name;
    let message = format!("{username} was deleted with everything of their own.");
    Ok(axum::Json(DeletedUser { username, message }))
}

/// The ids of the users in a list of the request.
pub(super) async fn user_ids(app: &App, field: &str, names: &[String]) -> Result<Vec<UserId>> {
    check_count(field, names)?;
    let mut ids = Vec::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        let Some(user) = app.accounts.find(name).await? else {
            return Err(ApiError::field(&format!("{field}[{position}]"), "there is no such user"));
        };
        ids.push(user.id);
    }
    Ok(ids)
}

/// The ids of the groups in a list of the request.
pub(super) async fn group_ids(app: &App, field: &str, names: &[String]) -> Result<Vec<GroupId>> {
    check_count(field, names)?;
    let mut ids = Vec::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        match app.accounts.group(name).await {
            Ok(group) => ids.push(group.id),
            Err(AuthError::Store(StoreError::NotFound)) => {
                return Err(ApiError::field(&format!("{field}[{position}]"), "there is no such group"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ids)
}

fn check_count(field: &str, names: &[String]) -> Result<()> {
    if names.len() > MAX_NAMES {
        return Err(ApiError::field(field, format!("must have at most {MAX_NAMES} names")));
    }
    Ok(())
}
