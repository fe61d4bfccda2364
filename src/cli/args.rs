//! The command line's shape. Every setting has a flag, made from the table of settings.

use std::{ffi::OsString, path::PathBuf};

use askback::{
    config::{SETTINGS, Setting},
    domain::id::RunId,
};
use clap::{Arg, ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Answers questions from your documents with citations, and asks back when a question is ambiguous.
#[derive(Debug, Parser)]
#[command(
    name = "askback",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong command line or configuration.\n\
                  Every setting of `askback config show` that is no secret has a flag; --help lists them."
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
    /// Run the server
    #[command(
        after_help = "Examples:\n  askback serve --sample\n  askback serve --listen 0.0.0.0:8080 --data-dir /var/lib/askback\n\n\
                            Prints `listening on http://HOST:PORT` when it is ready; ends with 0 on SIGTERM."
    )]
    Serve,
    /// Read files and folders into a collection
    #[command(
        after_help = "Examples:\n  askback ingest manual.pdf\n  askback ingest ./handbooks --collection handbooks\n\n\
                            Goes through the running server, if one runs over the data folder. Fails (1) if any file fails."
    )]
    Ingest(Ingest),
    /// Ask a question, or answer the one that was asked back
    #[command(
        after_help = "Examples:\n  askback ask \"How long is the warranty?\"\n  askback ask \"2\"\n  askback ask --new \"差旅住宿标准是多少？\" --json\n\n\
                            Continues the last conversation unless --new or --session is given. Asks as the admin `local`."
    )]
    Ask(Ask),
    /// Manage accounts
    #[command(subcommand)]
    User(UserCommand),
    /// Manage groups, which collections can name as readers
    #[command(subcommand)]
    Group(GroupCommand),
    /// Bring the database to the layout of this version (serve does so itself)
    Migrate,
    /// Make the vectors of all documents anew, after another embedder was configured
    #[command(after_help = "Examples:\n  askback reindex\n  askback reindex --json\n\n\
                            Goes through the running server, if one runs over the data folder. The old vectors answer until all new ones are\n\
                            there. What was made stays made: after an interruption, run it again.\n\n\
                            Exit codes: 0 all vectors are as configured, 1 it failed.")]
    Reindex(Reindex),
    /// Run a recorded turn again and show what differs
    #[command(
        after_help = "Examples:\n  askback replay 0198c5b2-0000-7000-8000-000000000000\n  askback replay 0198c5b2-0000-7000-8000-000000000000 --live\n\n\
                            Turns are recorded while record.runs is on. Exit codes: 0 the same, 1 different, 2 it cannot be replayed."
    )]
    Replay(Replay),
    /// Measure quality on evaluation sets
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Check settings, data folder, database, index and models, and say what to do
    #[command(after_help = "Examples:\n  askback doctor --json\n  askback doctor --repair\n\n\
                            Exit codes: 0 all is well, or was mended; 1 a check fails.")]
    Doctor(Doctor),
    /// Show the settings, or an example file that explains them
    #[command(subcommand, after_help = "Examples:\n  askback config show\n  askback config example > askback.toml")]
    Config(ConfigCommand),
}

/// What to read where.
#[derive(Debug, Args)]
pub(crate) struct Ingest {
    /// Files, and folders with all that they hold; a file in a folder is named by its path from there
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The collection to read them into; made, readable by everyone, when unknown
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) collection: String,
    /// As JSON: {collection, completed, failed, files: [{path, filename, status, chunks, error_code, error}], skipped}
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Mend what can be mended of documents, files and index; needs that no server runs
    #[arg(long)]
    pub(crate) repair: bool,
    /// As JSON: {ok, checks: [{name, ok, detail, action}]}
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to tell it.
#[derive(Debug, Args)]
pub(crate) struct Reindex {
    /// As JSON: {status, chunks, message, error_code, error}
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to ask where.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question, or the reply
    pub(crate) question: String,
    /// Print the turn's result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Begin a new conversation
    #[arg(long, conflicts_with = "session")]
    pub(crate) new: bool,
    /// Continue this conversation
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

/// What to run again.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The run: `run_id` of its result
    #[arg(value_name = "RUN")]
    pub(crate) run: RunId,
    /// Call the models again and search the documents again, and show how the answer differs
    #[arg(long)]
    pub(crate) live: bool,
    /// As JSON: {run_id, live, equal, status, route, answer, events: [{event, kind, at, recorded, now}], calls}
    #[arg(long)]
    pub(crate) json: bool,
}

/// About accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add an account
    #[command(after_help = "Example:\n  printf %s \"$PASSWORD\" | askback user add anna --role admin --password-stdin")]
    Add {
        /// Its name
        name: String,
        /// What it may do
        #[arg(long, value_enum, default_value = "user")]
        role: UserRole,
        /// Read the password from standard input; a line end behind it does not count
        #[arg(long, required = true)]
        password_stdin: bool,
    },
    /// List all accounts, newest first
    #[command(after_help = "Example:\n  askback user list --json")]
    List {
        /// As JSON: [{username, role, disabled, groups, created_at}]
        #[arg(long)]
        json: bool,
    },
    /// Change what an account may do; there is always an admin left
    #[command(after_help = "Example:\n  askback user role anna admin")]
    Role {
        /// Its name
        name: String,
        /// What it may do
        role: UserRole,
        /// Print the account as JSON
        #[arg(long)]
        json: bool,
    },
    /// Switch an account off: it is out at once, and what it has stays
    #[command(after_help = "Example:\n  askback user disable anna")]
    Disable {
        /// Its name
        name: String,
        /// Print the account as JSON
        #[arg(long)]
        json: bool,
    },
    /// Switch an account on again; it has to log in anew
    #[command(after_help = "Example:\n  askback user enable anna")]
    Enable {
        /// Its name
        name: String,
        /// Print the account as JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete an account with its conversations; documents that it uploaded stay
    #[command(after_help = "Example:\n  askback user delete anna")]
    Delete {
        /// Its name
        name: String,
        /// Print what was deleted as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the groups of an account, or put it into groups and take it out of them
    #[command(
        after_help = "Examples:\n  askback user groups anna\n  askback user groups anna --add hr --remove trainees"
    )]
    Groups {
        /// Its name
        name: String,
        /// Put it into this group; may be given several times
        #[arg(long, value_name = "GROUP")]
        add: Vec<String>,
        /// Take it out of this group; may be given several times
        #[arg(long, value_name = "GROUP")]
        remove: Vec<String>,
        /// Print the account as JSON
        #[arg(long)]
        json: bool,
    },
}

/// About groups.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Make a group
    #[command(after_help = "Example:\n  askback group add hr --member anna --member ben")]
    Add {
        /// Its name
        name: String,
        /// A user who is in it; may be given several times
        #[arg(long = "member", value_name = "USER")]
        members: Vec<String>,
        /// Print the group as JSON
        #[arg(long)]
        json: bool,
    },
    /// List all groups by name
    #[command(after_help = "Example:\n  askback group list --json")]
    List {
        /// As JSON: [{name, members}]
        #[arg(long)]
        json: bool,
    },
    /// Give a group another name
    #[command(after_help = "Example:\n  askback group rename hr people")]
    Rename {
        /// Its name
        name: String,
        /// Its new name
        new: String,
        /// Print the group as JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a group; its members stay
    #[command(after_help = "Example:\n  askback group delete hr")]
    Delete {
        /// Its name
        name: String,
        /// Print what was deleted as JSON
        #[arg(long)]
        json: bool,
    },
}

/// What an account may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum UserRole {
    /// Asks
    User,
    /// Also manages documents and accounts
    Admin,
}

impl UserRole {
    /// The word of the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

/// About quality.
#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Measure retrieval: BM25 alone, dense alone, fused by rank, fused by coverage (nDCG@10 / R@10)
    #[command(after_help = "Example:\n  askback eval retrieval sets/one sets/two --json\n\n\
                            A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. The data folder is not touched.")]
    Retrieval {
        /// Folders of sets
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
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
