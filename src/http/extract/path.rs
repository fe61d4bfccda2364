//! Parts of a path.

use std::str::FromStr;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::{
    domain::id::{Id, MessageId},
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

/// The path's session, by name, and a message of it.
pub(in crate::http) struct MessagePath {
    pub(in crate::http) session: String,
    pub(in crate::http) message: MessageId,
}

impl<S: Send + Sync> FromRequestParts<S> for MessagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(Path((session, message))) if !session.contains('\0') => {
                let message = message.parse().map_err(|_| ApiError::not_found())?;
                Ok(Self { session, message })
            }
            _ => Err(ApiError::not_found()),
        }
    }
}
