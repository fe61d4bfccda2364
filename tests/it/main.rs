//! The one integration binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub
)]

mod agent;
mod asking;
mod cli;
mod clocks;
mod contract;
mod crash;
mod crowd;
mod eval;
mod events;
mod http;
mod ingest;
mod llm;
mod logs;
mod memory;
mod postgres;
mod queue;
mod reindex;
mod repair;
mod replay;
mod retrieval;
mod stop;
mod support;
mod terminal;
mod titles;
mod trees;
mod turn;
mod weather;
