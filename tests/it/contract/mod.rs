//! One suite per port, run on every implementation.

mod embed;
pub(crate) mod store;
mod vector;
