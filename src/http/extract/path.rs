//! Parts of a path.

use std::str::FromStr;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::{
    domain::id::Id,
    http::error::{ApiError, Result},
};

/// The path's one id. What is no id names nothing: 404.
pub(in crate::http) struct IdPath<T>(pub(in crate::http) Id<T>);

impl<T: Send, S: Send + Sync> FromRequestParts<S> for IdPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let NamePath(text) = NamePath::from_request_parts(parts, state).await?;
        Id::from_str(&text).map(Self).map_err(|_| ApiError::not_found())
    }
}

/// The path's one name, decoded: a session's, a file's, a collection's.
pub(in crate::http) struct NamePath(pub(in crate::http) String);

impl<S: Send + Sync> FromRequestParts<S> for NamePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) if !text.contains('\0') => Ok(Self(text)),
            // Not UTF-8, or NUL: nothing is called that.
            _ => Err(ApiError::not_found()),
        }
    }
}
