//! The configuration: read once at start, validated, secrets kept apart. A change needs a restart.
//!
//! Defaults < `askback.toml` < environment < flags. [`settings::SETTINGS`] is the reference of all keys; the structs
//! below are what the rest of the program sees, one per concern.

mod example;
mod kind;
mod layers;
mod sections;
mod settings;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

pub use self::{
    example::example,
    layers::{ConfigError, Layers, Source},
    sections::*,
    settings::{SETTINGS, Setting},
};

/// The name that is looked for in the working folder when no file is named.
pub const FILE_NAME: &str = "askback.toml";

/// Everything that can be set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The door.
    pub server: Server,
    /// Where things are kept.
    pub storage: Storage,
    /// A vector server.
    #[serde(default)]
    pub qdrant: Qdrant,
    /// Accounts.
    pub auth: Auth,
    /// Chat models.
    pub llm: Llm,
    /// What embeds texts.
    pub embedding: Embedding,
    /// What reranks passages.
    #[serde(default)]
    pub rerank: Rerank,
    /// The weather service.
    pub weather: Weather,
    /// How passages are found.
    pub retrieval: Retrieval,
    /// Limits of a turn.
    pub turn: Turn,
    /// Asking back.
    pub hitl: Hitl,
    /// Recordings of turns.
    pub record: Record,
    /// Reading documents.
    pub ingest: Ingest,
    /// The log.
    pub log: Log,
}

/// An effective value as `askback config show` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `section.name`.
    pub key: &'static str,
    /// For people; secrets are not shown; none: unset.
    pub value: Option<String>,
    /// Where it came from.
    pub source: Source,
}

/// A configuration and where its values came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// All settings, in the order of the reference.
    pub entries: Vec<Entry>,
}

impl Layers {
    /// The layers of this process: `file`, or `askback.toml` where the process was started if there is one; the
    /// environment; and these flags (key and text).
    ///
    /// # Errors
    /// When a file that was named cannot be read, or a variable of ours is not Unicode.
    pub fn of_process(file: Option<&Path>, flags: Vec<(String, String)>) -> Result<Self, ConfigError> {
        let path = file.map_or_else(|| PathBuf::from(FILE_NAME), Path::to_owned);
        let file = match std::fs::read_to_string(&path) {
            Ok(text) => Some((path, text)),
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(ConfigError(vec![format!("{} cannot be read: {error}", path.display())]));
            }
        };
        let mut environment = Vec::new();
        for (name, text) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match text.into_string() {
                Ok(text) => environment.push((name, text)),
                Err(_) if SETTINGS.iter().any(|setting| setting.env == name) => {
                    return Err(ConfigError(vec![format!("{name} in the environment is not Unicode")]));
                }
                Err(_) => {}
            }
        }
        environment.sort();
        Ok(Self { file, environment, flags })
    }

    /// Reads and validates.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let values = self.settle()?;
        let mut sections = Table::new();
        for (key, (value, _)) in &values {
            let (section, name) = key.split_once('.').unwrap_or(("", key));
            let section = sections.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = section {
                section.insert(name.to_owned(), value.clone());
            }
        }
        // Each value was validated alone before, so a failure here is a setting without a field or the reverse.
        let config: Config =
            sections.try_into().map_err(|error: toml::de::Error| ConfigError(vec![error.message().to_owned()]))?;
        config.check()?;
        let entries = SETTINGS
            .iter()
            .map(|setting| match values.get(setting.key) {
                Some((value, source)) => {
                    Entry { key: setting.key, value: Some(setting.kind.show(value)), source: source.clone() }
                }
                None => Entry { key: setting.key, value: None, source: Source::Default },
            })
            .collect();
        Ok(Loaded { config, entries })
    }
}

impl Config {
    /// What no single value can tell.
    fn check(&self) -> Result<(), ConfigError> {
        let mut wrong = Vec::new();
        if self.retrieval.candidate_k < self.retrieval.top_k {
            wrong.push("retrieval.candidate_k must be at least retrieval.top_k".to_owned());
        }
        if self.llm.base_url.is_some() != self.llm.model.is_some() {
            wrong
                .push("llm.base_url and llm.model go together: set both, or neither for the built-in model".to_owned());
        }
        for (name, model, url) in [
            ("fast", &self.llm.fast_model, &self.llm.fast_base_url),
            ("grade", &self.llm.grade_model, &self.llm.grade_base_url),
        ] {
            if model.is_some() && url.is_none() && self.llm.base_url.is_none() {
                wrong.push(format!("llm.{name}_model needs llm.{name}_base_url or llm.base_url"));
            }
            if model.is_none() && url.is_some() {
                wrong.push(format!("llm.{name}_base_url needs llm.{name}_model"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(ConfigError(wrong)) }
    }
}

#[cfg(test)]
mod tests;
