//! The `askback` command.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The child that reads hostile files must not have done anything else before.
    if std::env::args_os().nth(1).is_some_and(|word| word == "extract-worker") {
        return askback::adapters::extract::worker_main();
    }
    cli::run()
}
