//! The memory service.
