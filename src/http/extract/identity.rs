//! Who sends a request, and from where.

use std::{convert::Infallible, net::IpAddr};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    domain::user::User,
    http::{
        error::{ApiError, Result},
        serve::Peer,
    },
};

/// The caller, as [`crate::http::guard::signed_in`] found out. A route without that guard refuses everyone.
pub(in crate::http) struct SignedIn(pub(in crate::http) User);

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<User>().cloned().map(Self).ok_or_else(ApiError::missing_token)
    }
}

/// The address of the other end. Behind a proxy it is the proxy's: headers that claim another one are not believed.
pub(in crate::http) struct Address(pub(in crate::http) IpAddr);

impl<S: Sync> FromRequestParts<S> for Address {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<Peer>();
        Ok(Self(peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip())))
    }
}

/// The `Idempotency-Key` header, if there is one: 1 to 255 visible ASCII characters.
pub(in crate::http) struct IdempotencyKey(pub(in crate::http) Option<String>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        const NAME: &str = "Idempotency-Key";
        let Some(value) = parts.headers.get(NAME) else { return Ok(Self(None)) };
        let is_good = (1..=255).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic);
        match value.to_str() {
            Ok(key) if is_good => Ok(Self(Some(key.to_owned()))),
            _ => Err(ApiError::field(NAME, "must be 1 to 255 visible ASCII characters")),
        }
    }
}
