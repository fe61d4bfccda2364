//! askback answers questions from documents with citations that can be checked, and asks back when the evidence says
//! that the question is ambiguous.
//!
//! # From above
//!
//! A question comes through a door ([`http`], or the command line), becomes a turn ([`services::chat`]), is worked on by
//! an agent ([`services::agent`]) whose first tool is retrieval ([`services::retrieval`]), and ends in one transaction.
//! Others open what was found, tell the weather, and remember what the user wants ([`services::memory`]).
//! What a turn's ports answered can be recorded, and the turn be run again on it ([`services::record`]).
//! A document comes through a door, or lies in a watched folder, becomes a job ([`services::ingest`]), and one swap makes
//! its new version answer.
//!
//! # Where things are
//!
//! | module | holds |
//! |---|---|
//! | [`domain`] | plain types, and the port traits beside them; no I/O |
//! | [`services`] | what askback does, in terms of the domain |
//! | [`adapters`] | the ports' implementations: SQL, index, models, embedder, files |
//! | [`http`] | the doors; they decide nothing |
//! | [`text`] | pure functions on English and Chinese text |
//! | [`config`], [`telemetry`] | read once at start |
//! | [`boot`] | wires everything, and shuts it down in order |
//!
//! # What always holds
//!
//! - SQL is the truth; the index is a copy that can be rebuilt. Saves are appends and compare-and-set.
//! - A frame is sent only after the batch that holds it was committed; the end of a turn only after its one transaction.
//! - No database connection is held while a model streams.
//! - What a user may not read does not exist for them: access is part of every search and of every statement.
//! - Every `[n]` of an answer points at a quote that stands verbatim in the stored text.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::disallowed_methods,
        missing_docs
    )
)]

pub mod adapters;
pub mod boot;
pub mod config;
pub mod domain;
pub mod http;
pub mod services;
pub mod telemetry;
pub mod text;
