//! Handlers, one file per noun of the protocol.

pub(super) mod auth;
pub(super) mod chat;
pub(super) mod collections;
pub(super) mod documents;
pub(super) mod folders;
pub(super) mod groups;
pub(super) mod health;
pub(super) mod jobs;
pub(super) mod keys;
pub(super) mod memory;
pub(super) mod messages;
pub(super) mod openai;
pub(super) mod reindex;
pub(super) mod runs;
pub(super) mod search;
pub(super) mod sessions;
pub(super) mod tools;
pub(super) mod users;
