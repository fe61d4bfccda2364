//! The chat service.
