//! The retrieval service.
