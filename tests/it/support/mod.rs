//! What the tests share.

pub mod app;
pub mod fake_openai;
pub mod faults;
pub mod harness;
pub mod knowledge;
pub mod model;
pub(crate) mod store;
