//! The `askback` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: the process that reads untrusted files starts no thread and takes no memory of its own.
    if std::env::args_os().nth(1).is_some_and(|command| command == "extract-worker") {
        return askback::adapters::extract::worker_main();
    }
    ExitCode::SUCCESS
}
