//! The command line: one file per subcommand. Part of main's layer: it may see everything.

mod args;
mod config;
mod output;

use std::process::ExitCode;

use askback::config::{ConfigError, Layers, Loaded};

use self::args::{Command, Invocation};

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or the configuration is wrong: exit code 2.
    Usage(String),
    /// It was tried and failed: exit code 1. The text says what to do next.
    Failed(String),
    /// The text is out already, or nobody reads the output any more: exit code 1.
    Silent,
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(format!("{error}\nSee the settings that exist with: askback config example"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Silent,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Reads the command line and does what it says.
pub(crate) fn run() -> ExitCode {
    let invocation = match args::read(std::env::args_os()) {
        Ok(invocation) => invocation,
        // Clap's errors print themselves, with 0 for help and 2 for usage.
        Err(error) => error.exit(),
    };
    match dispatch(invocation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silent) => ExitCode::FAILURE,
        Err(Failure::Failed(text)) => {
            output::note(&format!("error: {text}"));
            ExitCode::FAILURE
        }
        Err(Failure::Usage(text)) => {
            output::note(&format!("error: {text}"));
            ExitCode::from(2)
        }
    }
}

fn dispatch(invocation: Invocation) -> Result<(), Failure> {
    let load = || -> Result<Loaded, Failure> {
        Ok(Layers::of_process(invocation.file.as_deref(), invocation.settings.clone())?.load()?)
    };
    match &invocation.command {
        Command::Config(command) => config::run(command, load),
    }
}
