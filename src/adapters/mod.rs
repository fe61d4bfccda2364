//! The ports' implementations, one folder per technology's kind.

pub mod amap;
pub mod blobs;
pub mod clock;
pub mod embed;
pub mod extract;
pub mod llm;
pub mod storage;
pub mod vector;
