//! The retrieval service.

pub mod merge;
pub mod search;
