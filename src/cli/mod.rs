//! The command line: one file per subcommand. Part of main's layer: it may see everything.

mod args;
mod ask;
mod config;
mod doctor;
mod eval;
mod group;
mod ingest;
mod job;
mod link;
mod output;
mod reindex;
mod replay;
mod runtime;
mod serve;
mod user;

use std::{fmt, process::ExitCode};

use askback::{
    boot::{self, BootError},
    config::{ConfigError, Layers, Loaded},
    services::ingest::folders::FolderError as WatchError,
};

use self::args::{Command, Invocation};

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or the configuration is wrong: exit code 2.
    Usage(String),
    /// It was tried and failed: exit code 1. The text says what to do next.
    Failed(String),
    /// The server refused, with a problem of this code: exit code 1.
    Refused {
        /// Stable word.
        code: String,
        /// For people.
        text: String,
    },
    /// The text is out already, or nobody reads the output any more: exit code 1.
    Silent,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) | Self::Refused { text, .. } => f.write_str(text),
            Self::Silent => f.write_str("failed"),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(format!("{error}\nSee the settings that exist with: askback config example"))
    }
}

impl From<BootError> for Failure {
    fn from(error: BootError) -> Self {
        match error {
            BootError::Watch(WatchError::Path | WatchError::Collection)
            | BootError::Unsupported(_)
            | BootError::Secret(_)
            | BootError::Model(_)
            | BootError::Origin(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
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
        Err(Failure::Failed(text) | Failure::Refused { text, .. }) => {
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
    let Invocation { command, file, settings } = invocation;
    let load = || -> Result<Loaded, Failure> { Ok(Layers::of_process(file.as_deref(), settings.clone())?.load()?) };
    match command {
        Command::Serve => runtime::run(load()?, false, serve::run),
        Command::Ask(ask) => runtime::run(load()?, true, |config| ask::run(config, ask)),
        Command::Ingest(wish) => runtime::run(load()?, true, |config| ingest::run(config, wish)),
        Command::Group(command) => runtime::run(load()?, true, |config| group::run(config, command)),
        Command::User(command) => runtime::run(load()?, true, |config| user::run(config, command)),
        Command::Migrate => runtime::run(load()?, true, async |config| {
            boot::migrate(&config).await?;
            Ok(output::line("the database has the layout of this version")?)
        }),
        Command::Doctor(wish) => runtime::run(load()?, true, |config| doctor::run(config, wish)),
        Command::Reindex(wish) => runtime::run(load()?, true, |config| reindex::run(config, wish)),
        Command::Replay(replay) => runtime::run(load()?, true, |config| replay::run(config, replay)),
        Command::Eval(command) => runtime::run(load()?, true, |config| eval::run(config, command)),
        Command::Config(command) => config::run(&command, load),
    }
}
