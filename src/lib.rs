//! askback: answers questions from documents with citations that can be checked, and asks back when the evidence says
//! that the question is ambiguous.

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
