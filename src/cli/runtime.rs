//! The runtime and the log of commands that need them.

use std::future::Future;

use askback::{
    config::{Config, Loaded, LogFormat, Source},
    telemetry,
};

use super::Failure;

/// Runs `work` to its end on a runtime of its own. `quiet` commands log warnings only, unless the configuration says
/// otherwise: their output is for people.
pub(crate) fn run<F>(loaded: Loaded, quiet: bool, work: impl FnOnce(Config) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let filter_is_default =
        loaded.entries.iter().any(|entry| entry.key == "log.filter" && entry.source == Source::Default);
    let config = loaded.config;
    let filter = if quiet && filter_is_default { "warn" } else { &config.log.filter };
    telemetry::log(config.log.format == LogFormat::Json, filter).map_err(|error| Failure::Usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(work(config))
}
