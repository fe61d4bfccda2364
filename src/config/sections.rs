//! The typed configuration, one small struct per concern. What each field means stands in the reference.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

/// `[server]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Server {
    pub listen: String,
    #[serde(default)]
    pub cors_origins: Vec<String>,
    /// Bytes.
    pub body_limit: usize,
    /// Bytes.
    pub header_limit: usize,
    pub turn_limit: usize,
    #[serde(rename = "shutdown_seconds", deserialize_with = "seconds")]
    pub shutdown: Duration,
    pub ui_dir: Option<PathBuf>,
    pub sample: bool,
}

/// `[storage]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Storage {
    pub data_dir: PathBuf,
    #[serde(default, deserialize_with = "secret")]
    pub database_url: Option<SecretString>,
    pub connections: u32,
}

/// `[qdrant]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Qdrant {
    pub url: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<SecretString>,
}

/// `[auth]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Auth {
    #[serde(default, deserialize_with = "secret")]
    pub jwt_secret: Option<SecretString>,
    #[serde(default, deserialize_with = "secret")]
    pub admin_invite_code: Option<SecretString>,
    #[serde(rename = "access_token_minutes", deserialize_with = "minutes")]
    pub access_token: Duration,
    #[serde(rename = "refresh_token_days", deserialize_with = "days")]
    pub refresh_token: Duration,
    pub argon2_memory_kib: u32,
    pub argon2_passes: u32,
    pub argon2_concurrency: usize,
}

/// `[llm]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Llm {
    pub base_url: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<SecretString>,
    pub model: Option<String>,
    pub fast_model: Option<String>,
    pub fast_base_url: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub fast_api_key: Option<SecretString>,
    pub grade_model: Option<String>,
    pub grade_base_url: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub grade_api_key: Option<SecretString>,
    #[serde(rename = "connect_seconds", deserialize_with = "seconds")]
    pub connect: Duration,
    #[serde(rename = "first_token_seconds", deserialize_with = "seconds")]
    pub first_token: Duration,
    #[serde(rename = "between_tokens_seconds", deserialize_with = "seconds")]
    pub between_tokens: Duration,
    #[serde(rename = "total_seconds", deserialize_with = "seconds")]
    pub total: Duration,
    pub retries: u32,
    pub window_tokens: usize,
}

/// One configured model: where it is, what it is called there, and the key.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Without a slash at its end.
    pub base_url: String,
    /// Name at that server.
    pub model: String,
    /// If the server wants one.
    pub api_key: Option<SecretString>,
}

impl Llm {
    /// The model that answers; none: the built-in one.
    #[must_use]
    pub fn chat(&self) -> Option<Endpoint> {
        self.endpoint(self.model.as_ref(), None, None)
    }

    /// The model for small decisions; none: built-in rules.
    #[must_use]
    pub fn fast(&self) -> Option<Endpoint> {
        self.endpoint(self.fast_model.as_ref(), self.fast_base_url.as_ref(), self.fast_api_key.as_ref())
    }

    /// The model that judges evidence; none: the built-in grader.
    #[must_use]
    pub fn grade(&self) -> Option<Endpoint> {
        self.endpoint(self.grade_model.as_ref(), self.grade_base_url.as_ref(), self.grade_api_key.as_ref())
    }

    /// The common server's key is never sent to another server.
    fn endpoint(
        &self,
        model: Option<&String>,
        base_url: Option<&String>,
        api_key: Option<&SecretString>,
    ) -> Option<Endpoint> {
        let same_server = base_url.is_none_or(|url| Some(url) == self.base_url.as_ref());
        let api_key = api_key.or(self.api_key.as_ref().filter(|_| same_server));
        Some(Endpoint {
            base_url: base_url.or(self.base_url.as_ref())?.clone(),
            model: model?.clone(),
            api_key: api_key.cloned(),
        })
    }
}

/// `[embedding]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Embedding {
    pub model: String,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<SecretString>,
    pub ort_dylib_path: Option<PathBuf>,
}

/// `[rerank]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Rerank {
    pub url: Option<String>,
    pub model: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<SecretString>,
}

/// `[weather]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Weather {
    pub url: String,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<SecretString>,
}

/// `[retrieval]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Retrieval {
    pub top_k: usize,
    pub candidate_k: usize,
    pub min_score: f32,
}

/// `[turn]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Turn {
    pub message_limit: usize,
    #[serde(rename = "deadline_seconds", deserialize_with = "seconds")]
    pub deadline: Duration,
    pub recursion_limit: u32,
    pub knowledge_quota: u32,
    pub on_busy: OnBusy,
    pub on_disconnect: OnDisconnect,
}

/// What a turn does when its session is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnBusy {
    /// 409.
    Reject,
    /// Waits in line.
    Enqueue,
    /// Stops the running one.
    Interrupt,
}

/// What becomes of a turn that nobody watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDisconnect {
    /// It goes on.
    Continue,
    /// It is stopped.
    Cancel,
}

/// `[hitl]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Hitl {
    #[serde(rename = "expiry_hours", deserialize_with = "hours")]
    pub expiry: Duration,
    pub max_rounds: u32,
    pub ask_cost: f32,
}

/// `[record]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Record {
    pub runs: Recorded,
    #[serde(rename = "retention_days", deserialize_with = "days")]
    pub retention: Duration,
    /// Bytes.
    pub size_limit: u64,
}

/// `record.runs`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub enum Recorded {
    Off,
    On,
}

/// `[ingest]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Ingest {
    /// Bytes.
    pub upload_limit: u64,
    pub workers: usize,
    #[serde(rename = "extract_seconds", deserialize_with = "seconds")]
    pub extract: Duration,
    /// Bytes.
    pub extract_memory: u64,
    pub ocr_command: Option<String>,
    #[serde(rename = "ocr_seconds", deserialize_with = "seconds")]
    pub ocr: Duration,
    #[serde(default)]
    pub folders: Vec<Folder>,
    #[serde(rename = "scan_seconds", deserialize_with = "seconds")]
    pub scan: Duration,
}

/// A folder to watch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// Relative to the working folder.
    pub path: PathBuf,
    /// Where its files go.
    pub collection: String,
}

/// `[log]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "config::settings explains every key")]
pub struct Log {
    pub format: LogFormat,
    pub filter: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(Duration::from_secs(u64::deserialize(deserializer)?))
}

fn minutes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(seconds(deserializer)? * 60)
}

fn hours<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(seconds(deserializer)? * 3_600)
}

fn days<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(seconds(deserializer)? * 86_400)
}
