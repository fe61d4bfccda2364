//! Handlers, one file per noun of the protocol.

pub(super) mod auth;
pub(super) mod health;
