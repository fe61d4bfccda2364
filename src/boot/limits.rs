//! What the settings mean to the services: their numbers, and what this version refuses.

use std::path::PathBuf;

use super::BootError;
use crate::{
    adapters::extract::{Limits as ExtractLimits, Ocr},
    config::{Config, Recorded},
    http,
    services::{
        chat::ChatConfig,
        ingest::{WorkerConfig, folders::FoldersConfig},
        record::Keeping,
        retrieval::RetrievalConfig,
    },
};

pub(super) fn refuse_unsupported(config: &Config) -> Result<(), BootError> {
    let set = [
        ("qdrant.url", config.qdrant.url.is_some()),
        ("embedding.model other than builtin", config.embedding.model != "builtin"),
        ("rerank.url", config.rerank.url.is_some()),
        ("server.ui_dir", config.server.ui_dir.is_some()),
    ];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(BootError::Unsupported(name)),
        None => Ok(()),
    }
}

pub(super) fn origins(configured: &[String]) -> Result<Vec<axum::http::HeaderValue>, BootError> {
    let origin = |text: &String| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        host.filter(|host| !host.is_empty() && !host.contains('/'))
            .and_then(|_| text.parse().ok())
            .ok_or_else(|| BootError::Origin(text.clone()))
    };
    configured.iter().map(origin).collect()
}

pub(super) fn chat(config: &Config, node: &str, boot: &str) -> ChatConfig {
    ChatConfig {
        recursion_limit: config.turn.recursion_limit,
        knowledge_quota: config.turn.knowledge_quota,
        hitl_expiry: config.hitl.expiry,
        turn_deadline: config.turn.deadline,
        max_running: config.server.turn_limit,
        window_tokens: config.llm.window_tokens,
        max_message_chars: config.turn.message_limit,
        ..ChatConfig::new(node, boot)
    }
}

pub(super) fn retrieval(config: &Config) -> RetrievalConfig {
    RetrievalConfig {
        top_k: config.retrieval.top_k,
        candidate_k: config.retrieval.candidate_k,
        min_score: config.retrieval.min_score,
        max_rounds: config.hitl.max_rounds,
        cost_ratio: config.hitl.ask_cost,
        ..RetrievalConfig::default()
    }
}

pub(super) fn keeping(config: &Config) -> Keeping {
    Keeping {
        records: config.record.runs == Recorded::On,
        limit: usize::try_from(config.record.size_limit).unwrap_or(usize::MAX),
        retention: config.record.retention,
    }
}

pub(super) fn worker(config: &Config, node: &str, boot: &str) -> WorkerConfig {
    WorkerConfig { workers: config.ingest.workers, ..WorkerConfig::new(format!("{node}:{boot}")) }
}

pub(super) fn folders(config: &Config, node: &str, scratch: PathBuf) -> FoldersConfig {
    FoldersConfig {
        interval: config.ingest.scan,
        largest: config.ingest.upload_limit,
        ..FoldersConfig::new(node, scratch, config.storage.data_dir.clone())
    }
}

pub(super) fn extraction(config: &Config) -> ExtractLimits {
    ExtractLimits { time: config.ingest.extract, memory: config.ingest.extract_memory, ..ExtractLimits::default() }
}

pub(super) fn ocr(config: &Config) -> Option<Ocr> {
    let command: Vec<String> = config.ingest.ocr_command.as_deref()?.split_whitespace().map(str::to_owned).collect();
    Some(Ocr { command, time: config.ingest.ocr })
}

pub(super) fn http(config: &Config) -> http::Limits {
    http::Limits {
        json_bytes: config.server.body_limit,
        upload_bytes: config.ingest.upload_limit,
        header_bytes: config.server.header_limit,
        drain: config.server.shutdown,
        ..http::Limits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    /// Config imports no service and no service the config, so each number stands twice: here they are held together.
    #[test]
    fn the_defaults_of_the_settings_are_those_of_the_services() {
        let config = Layers::default().load().unwrap().config;
        assert_eq!(chat(&config, "node", "boot"), ChatConfig::new("node", "boot"));
        assert_eq!(retrieval(&config), RetrievalConfig::default());
        assert_eq!(keeping(&config), Keeping::default());
        assert_eq!(worker(&config, "node", "boot"), WorkerConfig::new("node:boot"));
        let own = config.storage.data_dir.clone();
        assert_eq!(folders(&config, "node", "scratch".into()), FoldersConfig::new("node", "scratch".into(), own));
        assert_eq!(extraction(&config), ExtractLimits::default());
        assert_eq!(http(&config), http::Limits::default());
    }

    /// Whether a start with this variable goes on.
    fn starts_with(name: &str, value: &str) -> bool {
        let environment = vec![(name.to_owned(), value.to_owned())];
        let loaded = Layers { file: None, environment, flags: Vec::new() }.load().unwrap();
        refuse_unsupported(&loaded.config).is_ok()
    }

    #[test]
    fn what_is_offered_is_taken_and_what_is_not_there_yet_is_refused() {
        for policy in ["reject", "enqueue", "interrupt"] {
            assert!(starts_with("ASKBACK_ON_BUSY", policy), "{policy}");
        }
        for (name, value) in
            [("ASKBACK_QDRANT_URL", "http://127.0.0.1:6334"), ("ASKBACK_RERANK_URL", "http://127.0.0.1:1")]
        {
            assert!(!starts_with(name, value), "{name}");
        }
    }
}
