//! The log and the metrics. Neither ever carries a secret or the text of a message: spans and events name ids,
//! counts, durations and error classes.

use std::io;

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, layer::SubscriberExt, registry, util::SubscriberInitExt};

/// Seconds: from a cached answer to a slow model.
const SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0];

/// Why telemetry could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is no filter.
    #[error("log.filter cannot be read: {0}; write a level (info) or target=level pairs with commas")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Another log or recorder is at work in this process.
    #[error("telemetry was started twice")]
    Twice,
    /// The recorder refused its settings.
    #[error("metrics cannot be recorded: {0}")]
    Recorder(#[from] BuildError),
}

/// Sends the process's log to stderr, as JSON lines or for people, for those lines that pass `filter`.
///
/// # Errors
/// When the filter cannot be read, or a log is running already.
pub fn log(json: bool, filter: &str) -> Result<(), TelemetryError> {
    subscriber(json, filter, io::stderr)?.try_init().map_err(|_| TelemetryError::Twice)
}

fn subscriber<W>(json: bool, filter: &str, writer: W) -> Result<impl tracing::Subscriber + Send + Sync, TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Clone + Send + Sync + 'static,
{
    let filter = EnvFilter::builder().parse(filter)?;
    // An option of a layer is a layer, which keeps both shapes one type.
    let lines = json.then(|| tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(writer.clone()));
    let people = (!json).then(|| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer));
    Ok(registry().with(filter).with(lines).with(people))
}

/// What `/metrics` shows.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Records the process's metrics from now on. Histograms have fixed buckets, so that their memory is bounded.
    ///
    /// # Errors
    /// When a recorder is at work already.
    pub fn start() -> Result<Self, TelemetryError> {
        let recorder = PrometheusBuilder::new().set_buckets(SECONDS)?.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|_| TelemetryError::Twice)?;
        Ok(Self(handle))
    }

    /// Everything recorded so far, in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Moves samples that were just taken into their buckets. To be called every few seconds, whether or not anybody
    /// scrapes: samples wait in memory until then.
    pub fn settle(&self) {
        self.0.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn json_lines_are_objects_and_obey_the_filter() {
        let lines = Lines::default();
        let sink = lines.clone();
        let subscriber = subscriber(true, "warn", move || sink.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("too quiet");
            tracing::warn!(run = 7, "loud enough");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&line["message"], &line["run"], &line["level"]),
            (&"loud enough".into(), &7.into(), &"WARN".into())
        );
    }

    #[test]
    fn a_broken_filter_is_refused() {
        assert!(matches!(log(false, "askback=loud"), Err(TelemetryError::Filter(_))));
    }
}
