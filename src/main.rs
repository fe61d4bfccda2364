//! The `askback` command.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A child that reads hostile files must not have done anything else before.
    match std::env::args_os().nth(1) {
        Some(role) if role == "extract-worker" => return askback::adapters::extract::worker_main(),
        Some(role) if role == "ocr-worker" => return askback::adapters::extract::ocr_main(),
        _ => {}
    }
    #[cfg(feature = "failpoints")]
    let _armed = armed();
    cli::run()
}

/// Points that `FAILPOINTS` names act from here on. `panic(kill)` ends the process on the spot, with nothing unwound,
/// flushed or told, as `kill -9` would.
#[cfg(feature = "failpoints")]
fn armed() -> fail::FailScenario<'static> {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() == Some("kill") {
            std::process::abort();
        }
        tell(panic);
    }));
    fail::FailScenario::setup()
}
