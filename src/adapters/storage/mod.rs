//! The storage adapters.
