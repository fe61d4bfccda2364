//! The extract adapters.
