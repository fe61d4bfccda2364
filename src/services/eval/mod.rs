//! The eval service.
