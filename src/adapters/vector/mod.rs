//! The vector adapters.
