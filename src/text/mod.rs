//! Pure functions on text in English and Chinese. A leaf: imports nothing of the crate, does no I/O.

pub mod quantities;
