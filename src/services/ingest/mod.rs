//! The ingest service.

pub mod chunk;
