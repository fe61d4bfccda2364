//! Accounts and tokens.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::user::Role,
    http::{
        error::Result,
        extract::{Address, Json, SignedIn},
        state::App,
    },
    services::auth::{Grant, Registration},
};

/// A wish for an account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct RegisterBody {
    /// 1 to 64 characters; unique without regard to case and width.
    #[schema(min_length = 1, max_length = 64)]
    username: String,
    /// At least 8 characters, at most 1024 bytes.
    #[schema(format = Password, min_length = 8)]
    password: String,
    /// `user` when absent.
    role: Option<Role>,
    /// The invite code; needed for admins.
    admin_code: Option<String>,
}

/// A name and its password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct LoginBody {
    username: String,
    #[schema(format = Password)]
    password: String,
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct RefreshBody {
    refresh_token: String,
}

/// A pair of tokens.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct TokenView {
    /// For the `Authorization` header.
    access_token: String,
    /// Always `bearer`.
    #[schema(example = "bearer")]
    token_type: &'static str,
    /// Seconds that the access token lives.
    expires_in: u64,
    /// Good for one `POST /auth/refresh`.
    refresh_token: String,
    username: String,
    role: Role,
}

impl From<Grant> for TokenView {
    fn from(grant: Grant) -> Self {
        Self {
            access_token: grant.access_token,
            token_type: "bearer",
            expires_in: grant.expires_in.as_secs(),
            refresh_token: grant.refresh_token,
            username: grant.user.name,
            role: grant.user.role,
        }
    }
}

/// An account.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct AccountView {
    username: String,
    role: Role,
}

/// Makes an account and logs it in.
#[utoipa::path(
    post, path = "/auth/register", tag = "Accounts",
    request_body(content = RegisterBody, example = json!({"username": "ada", "password": "a long sentence"})),
    responses(
        (status = 201, body = TokenView),
        (status = 403, description = "`invalid_admin_code`"),
        (status = 409, description = "`username_taken`"),
        (status = 422, description = "`weak_password`, `invalid_field`, `unknown_field`"),
        (status = 429, description = "`rate_limited`"),
    )
)]
pub(in crate::http) async fn register(
    State(app): State<Arc<App>>,
    Address(address): Address,
    Json(body): Json<RegisterBody>,
) -> Result<(StatusCode, axum::Json<TokenView>)> {
    let wish = Registration {
        username: body.username,
        password: body.password.into(),
        role: body.role.unwrap_or_default(),
        admin_code: body.admin_code.map(Into::into),
    };
    let grant = app.accounts.register(wish, address).await?;
    Ok((StatusCode::CREATED, axum::Json(grant.into())))
}

/// Logs in.
#[utoipa::path(
    post, path = "/auth/login", tag = "Accounts",
    request_body(content = LoginBody, example = json!({"username": "ada", "password": "a long sentence"})),
    responses(
        (status = 200, body = TokenView),
        (status = 401, description = "`invalid_credentials`: the same for unknown names and wrong passwords"),
        (status = 429, description = "`rate_limited`"),
    )
)]
pub(in crate::http) async fn login(
    State(app): State<Arc<App>>,
    Address(address): Address,
    Json(body): Json<LoginBody>,
) -> Result<axum::Json<TokenView>> {
    let grant = app.accounts.login(&body.username, body.password.into(), address).await?;
    Ok(axum::Json(grant.into()))
}

/// Exchanges a refresh token for a new pair. A token that is used twice revokes all tokens of its login.
#[utoipa::path(
    post, path = "/auth/refresh", tag = "Accounts",
    request_body = RefreshBody,
    responses(
        (status = 200, body = TokenView),
        (status = 401, description = "`refresh_reused`, `invalid_token`"),
    )
)]
pub(in crate::http) async fn refresh(
    State(app): State<Arc<App>>,
    Json(body): Json<RefreshBody>,
) -> Result<axum::Json<TokenView>> {
    Ok(axum::Json(app.accounts.refresh(&body.refresh_token).await?.into()))
}

/// Ends the login that a refresh token came from.
#[utoipa::path(
    post, path = "/auth/logout", tag = "Accounts",
    request_body = RefreshBody,
    responses((status = 204, description = "Ended, or not alive before"))
)]
pub(in crate::http) async fn logout(State(app): State<Arc<App>>, Json(body): Json<RefreshBody>) -> Result<StatusCode> {
    app.accounts.logout(&body.refresh_token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Who the token speaks for.
#[utoipa::path(get, path = "/auth/me", tag = "Accounts", responses((status = 200, body = AccountView)))]
pub(in crate::http) async fn me(SignedIn(user): SignedIn) -> axum::Json<AccountView> {
    axum::Json(AccountView { username: user.name, role: user.role })
}
