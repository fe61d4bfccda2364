//! One suite per port, run on every implementation.
mod store;
mod vector;
