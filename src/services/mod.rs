//! What askback does, in terms of the domain and its ports. Siblings are imported only in the order
//! eval -> chat -> {agent, memory, record, retrieval}; ingest and auth stand alone.

pub mod agent;
pub mod auth;
pub mod chat;
pub mod eval;
pub mod ingest;
pub mod memory;
pub mod record;
pub mod retrieval;
