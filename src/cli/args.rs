//! The command line's shape. Every setting has a flag, made from the table of settings.

use std::{ffi::OsString, path::PathBuf};

use askback::config::{SETTINGS, Setting};
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Answers questions from your documents with citations, and asks back when a question is ambiguous.
#[derive(Debug, Parser)]
#[command(
    name = "askback",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong command line or configuration.\n\
                  Every setting of `askback config show` has a flag; --help lists them."
)]
struct Cli {
    /// Read the settings from this file instead of ./askback.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the settings, or an example file that explains them
    #[command(subcommand, after_help = "Examples:\n  askback config show\n  askback config example > askback.toml")]
    Config(ConfigCommand),
}

/// About the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting, its effective value and where it came from; secrets are not shown
    Show {
        /// As a JSON list of {key, value, source}
        #[arg(long)]
        json: bool,
    },
    /// Print a file in which every setting stands with its explanation
    Example,
}

/// A command with what was set on its command line.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// What to do.
    pub(crate) command: Command,
    /// `--config`.
    pub(crate) file: Option<PathBuf>,
    /// Key and text of every setting that was given as a flag.
    pub(crate) settings: Vec<(String, String)>,
}

/// Reads a command line.
pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    let settings = SETTINGS.iter().filter_map(|setting| given(&matches, setting)).collect();
    let cli = Cli::from_arg_matches(&matches)?;
    Ok(Invocation { command: cli.command, file: cli.config, settings })
}

fn command() -> clap::Command {
    SETTINGS.iter().filter_map(flag).fold(Cli::command(), clap::Command::arg)
}

fn flag(setting: &'static Setting) -> Option<Arg> {
    // The names live as long as the process, like the table that they are made from.
    let name: &'static str = setting.flag()?.leak();
    let arg = Arg::new(setting.key)
        .long(name)
        .help(setting.about)
        .help_heading("Settings")
        .value_name("VALUE")
        .global(true)
        .action(ArgAction::Set)
        .hide_short_help(true);
    Some(if setting.is_switch() {
        // `--sample` alone is true; a value needs the sign, so that it cannot eat the next word.
        arg.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        arg
    })
}

fn given(matches: &ArgMatches, setting: &Setting) -> Option<(String, String)> {
    setting.flag()?;
    let text = matches.get_one::<String>(setting.key)?;
    Some((setting.key.to_owned(), text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str) -> Vec<(String, String)> {
        read(line.split_whitespace().map(OsString::from)).expect("a right line").settings
    }

    fn set(key: &str, text: &str) -> (String, String) {
        (key.to_owned(), text.to_owned())
    }

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn settings_are_read_before_and_behind_the_subcommand() {
        assert_eq!(
            settings("askback --top-k 5 config show --sample --listen=[::1]:0"),
            [set("server.listen", "[::1]:0"), set("server.sample", "true"), set("retrieval.top_k", "5")]
        );
        assert_eq!(settings("askback config show"), []);
    }

    #[test]
    fn secrets_have_no_flag() {
        let line = ["askback", "config", "show", "--jwt-secret", "x"].map(OsString::from);
        assert!(read(line.into_iter()).is_err());
    }
}
