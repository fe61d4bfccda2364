//! What the tests share.

pub mod fake_openai;
pub(crate) mod store;
