//! What the commands print: results to stdout, everything else to stderr.

use std::io::{self, Write};

use serde::Serialize;

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
