//! `askback config`: what is set, and what can be set.

use askback::config::{Entry, Loaded, example};
use serde::Serialize;

use super::{Failure, args::ConfigCommand, output};

pub(crate) fn run(command: &ConfigCommand, load: impl Fn() -> Result<Loaded, Failure>) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show { json } => show(&load()?.entries, *json),
        ConfigCommand::Example => Ok(output::line(example().trim_end())?),
    }
}

#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    value: Option<&'a str>,
    source: String,
}

fn show(entries: &[Entry], json: bool) -> Result<(), Failure> {
    let rows: Vec<Row> = entries
        .iter()
        .map(|entry| Row { key: entry.key, value: entry.value.as_deref(), source: entry.source.to_string() })
        .collect();
    if json {
        return Ok(output::json(&rows)?);
    }
    let key = rows.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let value = rows.iter().filter_map(|row| row.value).map(str::len).max().unwrap_or(0);
    for row in &rows {
        output::line(&format!("{:key$}  {:value$}  {}", row.key, row.value.unwrap_or("-"), row.source))?;
    }
    Ok(())
}
