//! Plain types of the field and the port traits beside them. No I/O; imports no other layer.

pub mod chat;
pub mod conversation;
pub mod episode;
pub mod error;
pub mod event;
pub mod evidence;
pub mod extract;
pub mod folder;
pub mod hitl;
pub mod id;
pub mod index;
pub mod job;
pub mod kin;
pub mod knowledge;
pub mod memory;
pub mod model;
pub mod problem;
pub mod profile;
pub mod recording;
pub mod run;
pub mod segment;
pub mod time;
pub mod tool;
pub mod trace;
pub mod upkeep;
pub mod user;
