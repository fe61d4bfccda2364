//! The ingest service.
