//! What a request must pass before a handler sees it: size, room, a caller, their role.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

use super::{
    error::{ApiError, Result},
    state::App,
};
use crate::domain::user::{Role, User};

/// Refuses headers that are too large, requests beyond the admission limit, and everything during shutdown.
///
/// Probes always get through: they are how others learn of the state. The admission's place is given back when the
/// answer begins: event streams that merely wait are counted by the chat service.
pub(super) async fn admission(State(app): State<Arc<App>>, request: Request, next: Next) -> Result<Response> {
    if size(request.headers()) > app.limits.header_bytes {
        return Err(ApiError::headers_too_large(app.limits.header_bytes));
    }
    if matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics") {
        return Ok(next.run(request).await);
    }
    if app.shutdown.is_cancelled() {
        return Err(ApiError::shutting_down());
    }
    let Ok(_place) = app.places.try_acquire() else { return Err(ApiError::overloaded()) };
    Ok(next.run(request).await)
}

fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// Finds out who calls; without a valid token the request ends here.
pub(super) async fn signed_in(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Result<Response> {
    let token = bearer(request.headers())?;
    let user = app.accounts.authenticate(token).await?;
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

/// Finds out for whom a program calls, by an API key or an access token; the doors of other APIs alone take keys.
pub(super) async fn program(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Result<Response> {
    let token = bearer(request.headers())?;
    let user = app.accounts.authenticate_program(token).await?;
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

/// Lets admins through. Runs inside [`signed_in`].
pub(super) async fn admin(request: Request, next: Next) -> Result<Response> {
    match request.extensions().get::<User>() {
        Some(user) if user.role == Role::Admin => Ok(next.run(request).await),
        Some(_) => Err(ApiError::forbidden()),
        None => Err(ApiError::missing_token()),
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str> {
    let value = headers.get(header::AUTHORIZATION).ok_or_else(ApiError::missing_token)?;
    let invalid = || ApiError::new(401, "invalid_token", "The token is not valid.");
    let (scheme, token) = value.to_str().map_err(|_| invalid())?.split_once(' ').ok_or_else(invalid)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(ApiError::missing_token());
    }
    Ok(token.trim())
}

/// Headers that keep browsers from guessing, framing, storing and leaking.
pub(super) async fn security_headers(request: Request, next: Next) -> Response {
    /// Nothing that the API answers is a page.
    const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";
    /// The document's viewer brings its own script and style and talks to this server alone.
    const VIEWER: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                          img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";
    let is_viewer = request.uri().path().starts_with("/docs");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, if is_viewer { VIEWER } else { NOTHING }),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
