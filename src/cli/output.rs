//! What the commands print: results to stdout, everything else to stderr.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::Failure;

/// A line of the result.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A piece of the result, shown at once.
pub(crate) fn piece(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The result as JSON, indented.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// A line for the person at the terminal. That it cannot be printed is no reason to fail.
pub(crate) fn note(text: &str) {
    let mut out = io::stderr().lock();
    drop(writeln!(out, "{text}"));
}

/// What an answer says: the answer itself as JSON, or a line.
pub(crate) fn told(answer: &Value, as_json: bool, shown: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
    if as_json {
        json(answer)?
    } else {
        line(&shown(answer))?
    }
    Ok(())
}

/// A text of an answer, or a list of texts with commas between.
pub(crate) fn words(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
