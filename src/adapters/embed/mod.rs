//! The embed adapters.
