//! Embedders: text to vectors.

pub mod builtin;
mod unigram;
