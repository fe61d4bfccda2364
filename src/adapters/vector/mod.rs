//! Vector indexes.
//!
//! `embedded` is the adapter; beside it stand its parts, inside out: `scan` (one dense score), `top` (the best few),
//! `postings` (terms to rows), `part` (an immutable block of points), `snapshot` (all parts as one search sees them).

pub mod embedded;
mod part;
mod postings;
mod scan;
mod snapshot;
mod top;
