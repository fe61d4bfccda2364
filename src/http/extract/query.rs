//! Query strings.

use std::error::Error as _;

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::de::DeserializeOwned;

use super::wrong;
use crate::http::error::{ApiError, Result};

/// A query string that fits `T`.
pub(in crate::http) struct Query<T>(pub(in crate::http) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => {
                // "field: what is wrong", or only the latter.
                let message = rejection.source().map(ToString::to_string).unwrap_or_default();
                let (path, message) = message.split_once(": ").unwrap_or(("query", &message));
                let names_it = message.starts_with("unknown field") || message.starts_with("missing field");
                Err(wrong::field(if names_it { "" } else { path }, message))
            }
        }
    }
}
