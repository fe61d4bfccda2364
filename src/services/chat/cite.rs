//! Citations: which markers of an answer point somewhere, and at what they point.
//!
//! A marker is `[n]` with at most three digits, outside of code. Models also write `【n】`, `【n†source】`, `[1, 2]` and
//! `[1-3]`; [`MarkerFilter`] turns these into `[n]` and drops what points nowhere, while the answer streams.

mod filter;
mod quote;

pub use filter::{MarkerFilter, clean};
pub use quote::citations;
