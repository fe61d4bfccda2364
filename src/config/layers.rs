//! Defaults < file < environment < flags, with a note of where each value came from.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::settings::{SETTINGS, Setting, nearest};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// This file.
    File(PathBuf),
    /// This variable.
    Environment(&'static str),
    /// This flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// Everything that is wrong with the configuration, a line each. No line repeats a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// The values that won, by key.
pub(super) type Values = BTreeMap<&'static str, (Value, Source)>;

/// What the layers are made of. Holds secrets as text, so it cannot be printed.
#[derive(Clone, Default)]
pub struct Layers {
    /// The file's name and text.
    pub file: Option<(PathBuf, String)>,
    /// The whole environment; names that are none of askback's are passed over.
    pub environment: Vec<(String, String)>,
    /// Key and text of each flag that was given.
    pub flags: Vec<(String, String)>,
}

impl Layers {
    /// Lays them over each other.
    pub(super) fn settle(&self) -> Result<Values, ConfigError> {
        let mut wrong = Vec::new();
        let mut values = defaults(&mut wrong);
        if let Some((path, text)) = &self.file {
            lay_file(path, text, &mut values, &mut wrong);
        }
        self.lay_environment(&mut values, &mut wrong);
        for (key, text) in &self.flags {
            let Some(setting) = Setting::of(key) else {
                wrong.push(unknown(key, "on the command line", SETTINGS.iter().map(|setting| setting.key)));
                continue;
            };
            let flag = setting.flag().unwrap_or_default();
            lay(setting, setting.kind.parse(text), Source::Flag(flag), &mut values, &mut wrong);
        }
        if wrong.is_empty() { Ok(values) } else { Err(ConfigError(wrong)) }
    }

    fn lay_environment(&self, values: &mut Values, wrong: &mut Vec<String>) {
        for (name, text) in &self.environment {
            let setting = SETTINGS.iter().find(|setting| setting.env == name);
            match setting {
                // An empty variable is how shells and containers say "unset".
                Some(_) if text.trim().is_empty() => {}
                Some(setting) => {
                    lay(setting, setting.kind.parse(text), Source::Environment(setting.env), values, wrong);
                }
                None if name.starts_with("ASKBACK_") && !name.starts_with("ASKBACK_TEST_") => {
                    wrong.push(unknown(name, "in the environment", SETTINGS.iter().map(|setting| setting.env)));
                }
                None => {}
            }
        }
    }
}

fn defaults(wrong: &mut Vec<String>) -> Values {
    let mut values = Values::new();
    for setting in SETTINGS {
        if let Some(text) = setting.default {
            lay(setting, setting.kind.parse(text), Source::Default, &mut values, wrong);
        }
    }
    values
}

fn lay_file(path: &Path, text: &str, values: &mut Values, wrong: &mut Vec<String>) {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            // The parser's own rendering quotes the line, which may hold a secret.
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            wrong.push(format!("{}, line {line}: {}", path.display(), error.message()));
            return;
        }
    };
    for (key, value) in flat("", &table) {
        let Some(setting) = Setting::of(&key) else {
            let place = format!("in {}", path.display());
            wrong.push(unknown(&key, &place, SETTINGS.iter().map(|setting| setting.key)));
            continue;
        };
        lay(setting, setting.kind.accept(value), Source::File(path.to_owned()), values, wrong);
    }
}

fn lay(
    setting: &'static Setting,
    value: Result<Value, String>,
    source: Source,
    values: &mut Values,
    wrong: &mut Vec<String>,
) {
    match value {
        Ok(value) => {
            values.insert(setting.key, (value, source));
        }
        Err(expectation) => wrong.push(format!("{} ({source}) must be {expectation}", setting.key)),
    }
}

/// Every value of a table with its dotted key.
fn flat<'a>(prefix: &str, table: &'a Table) -> Vec<(String, &'a Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) if !inner.is_empty() => found.extend(flat(&key, inner)),
            Value::Table(_) if SETTINGS.iter().any(|setting| setting.key.starts_with(&format!("{key}."))) => {}
            _ => found.push((key, value)),
        }
    }
    found
}

fn unknown<'a>(name: &str, place: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown key {name} {place}; the nearest known one is {near}"),
        None => format!("unknown key {name} {place}"),
    }
}
