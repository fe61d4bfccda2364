//! The chat service.

pub mod cite;
pub mod reply;
