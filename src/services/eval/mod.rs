//! Figures of quality, measured on sets of questions with known answers.

pub mod metrics;
mod retrieval;
mod set;

pub use retrieval::{Report, Row, Turns, retrieval};
pub use set::{Passage, Question, Set, Turn};
