//! Where a real process keeps its data: a folder of its own, and on Postgres a schema too. It outlives the process.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use askback::adapters::storage::Engine;
use tempfile::TempDir;

use super::{process::Server, store::Schema};

/// See the module.
pub struct Home {
    folder: TempDir,
    schema: Option<Schema>,
}

impl Home {
    /// SQLite in a new folder.
    pub fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), schema: None }
    }

    /// Postgres in a new schema; `None`, and a line that says so, where no server answers.
    pub async fn postgres() -> Option<Self> {
        Some(Self { schema: Some(Schema::make().await?), ..Self::sqlite() })
    }

    /// Another node over the same database; none without one.
    pub fn neighbour(&self) -> Option<Self> {
        Some(Self { schema: Some(self.schema.as_ref()?.clone()), ..Self::sqlite() })
    }

    /// The working folder of the processes.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where its SQL is.
    pub fn engine(&self) -> Engine {
        match &self.schema {
            None => Engine::Sqlite { folder: self.path().join("var") },
            Some(schema) => Engine::Postgres { url: schema.url().into(), connections: 2 },
        }
    }

    /// The files of its blob store, half-written ones too.
    pub fn blobs(&self) -> Vec<PathBuf> {
        let entries =
            |folder: &Path| std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it").path());
        entries(&self.path().join("var/blobs")).flat_map(|group| entries(&group).collect::<Vec<_>>()).collect()
    }

    /// The environment that leads to the data.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        self.schema.iter().map(|schema| ("DATABASE_URL", schema.url())).collect()
    }

    /// `askback serve` over it, with these variables too.
    pub async fn start(&self, more: &[(&str, &str)]) -> Server {
        self.try_start(more).await.unwrap_or_else(|ended| panic!("it does not listen: {ended}"))
    }

    /// The same where it may end before it listens; then how it ended.
    pub async fn try_start(&self, more: &[(&str, &str)]) -> Result<Server, ExitStatus> {
        let own = self.variables();
        let mut variables: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        variables.extend(more);
        Server::try_start(self.folder.path(), &variables).await
    }

    /// Another subcommand over it.
    pub fn askback(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
        command.env_clear().env("ASKBACK_DATA_DIR", "var").envs(self.variables()).args(words).current_dir(self.path());
        command
    }

    /// Ingests these files, without a server.
    pub fn ingest(&self, files: &[(&str, &str)]) {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        for (name, text) in files {
            std::fs::write(self.path().join(name), text).expect("it can be written");
        }
        let ingested = self.askback(&[&["ingest"], &names[..]].concat()).output().expect("it starts");
        assert!(ingested.status.success(), "{}", String::from_utf8_lossy(&ingested.stderr));
    }

    /// Removes what is kept outside the folder.
    pub async fn remove(self) {
        if let Some(schema) = &self.schema {
            schema.remove().await;
        }
    }
}
