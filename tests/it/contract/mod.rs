//! One suite per port, run on every implementation.
pub(crate) mod store;
mod vector;
