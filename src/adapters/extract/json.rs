//! JSON and JSON Lines, fields in the order in which they were written.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use super::{
    build::Builder,
    grid::{Cell, Grid},
};
use crate::domain::{error::ExtractError, extract::BlockKind};

/// A value as it is shown. serde_json bounds the depth.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Json {
    Scalar(String),
    List(Vec<Json>),
    Fields(Vec<(String, Json)>),
}

/// A list of like objects is a table; anything else is one paragraph per entry, a line per value with its path.
pub(super) fn read(source: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let value: Json = match serde_json::from_str(source) {
        Ok(value) => value,
        Err(_) => {
            let lines: Result<Vec<Json>, _> =
                source.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
            Json::List(lines.map_err(|_| ExtractError::Malformed)?)
        }
    };
    match &value {
        Json::List(rows) if table(rows, builder) => {}
        Json::List(entries) => {
            for (no, entry) in entries.iter().enumerate() {
                let name = if matches!(entry, Json::Fields(_)) { String::new() } else { format!("[{no}]") };
                builder.push(BlockKind::Paragraph, &lines(&name, entry));
            }
        }
        Json::Fields(fields) => read_object(fields, builder),
        Json::Scalar(text) => builder.push(BlockKind::Paragraph, text),
    }
    Ok(())
}

/// Its scalars first, in one paragraph; then a section per object or list.
fn read_object(fields: &[(String, Json)], builder: &mut Builder) {
    let mut scalars = String::new();
    for (key, field) in fields {
        if let Json::Scalar(text) = field {
            if key == "title" || key == "name" {
                builder.title(text);
            }
            scalars.push_str(&lines(key, field));
        }
    }
    builder.push(BlockKind::Paragraph, &scalars);
    for (key, field) in fields {
        match field {
            Json::List(rows) => {
                builder.part(key);
                if !table(rows, builder) {
                    builder.push(BlockKind::Paragraph, &lines(key, field));
                }
            }
            Json::Fields(_) => {
                builder.part(key);
                builder.push(BlockKind::Paragraph, &lines("", field));
            }
            Json::Scalar(_) => {}
        }
    }
}

/// Writes `rows` as a table if they are objects of scalars with the keys of the first.
fn table(rows: &[Json], builder: &mut Builder) -> bool {
    let Some(Json::Fields(first)) = rows.first() else { return false };
    let alike = |row: &Json| match row {
        Json::Fields(fields) => fields
            .iter()
            .all(|(key, field)| matches!(field, Json::Scalar(_)) && first.iter().any(|(known, _)| known == key)),
        Json::Scalar(_) | Json::List(_) => false,
    };
    if rows.len() < 2 || first.len() < 2 || !rows.iter().all(alike) {
        return false;
    }
    let mut grid = Grid::default();
    grid.row(first.iter().map(|(key, _)| Cell::plain(key)).collect(), true);
    for row in rows {
        let Json::Fields(fields) = row else { continue };
        let value = |key: &String| match fields.iter().find(|(known, _)| known == key) {
            Some((_, Json::Scalar(text))) => Cell::plain(text),
            _ => Cell::plain(""),
        };
        grid.row(first.iter().map(|(key, _)| value(key)).collect(), false);
    }
    grid.emit(builder);
    true
}

/// `value` as lines of "path: value".
fn lines(path: &str, value: &Json) -> String {
    let mut out = String::new();
    write_lines(path, value, &mut out);
    out
}

fn write_lines(path: &str, value: &Json, out: &mut String) {
    match value {
        Json::Fields(fields) => {
            for (key, field) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                write_lines(&path, field, out);
            }
        }
        Json::List(entries) => {
            for (no, entry) in entries.iter().enumerate() {
                write_lines(&format!("{path}[{no}]"), entry, out);
            }
        }
        Json::Scalar(text) => {
            if !path.is_empty() {
                out.push_str(path);
                out.push_str(": ");
            }
            out.push_str(text);
            out.push('\n');
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Scalar(String::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry()? {
            map.push(field);
        }
        Ok(Json::Fields(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::extract::BlockKind::{Heading, Paragraph, TableHeader, TableRow};

    fn blocks(source: &str) -> Vec<(BlockKind, String)> {
        let mut builder = Builder::default();
        read(source, &mut builder).unwrap();
        let out = builder.finish();
        let text: Vec<char> = out.text.chars().collect();
        out.blocks.iter().map(|b| (b.kind, text[b.start..b.end].iter().collect())).collect()
    }

    #[test]
    fn like_objects_are_a_table() {
        let expected =
            [(TableHeader, "型号 | 价格".into()), (TableRow, "X1 | 199".into()), (TableRow, "Z9 | 299".into())];
        assert_eq!(blocks(r#"[{"型号":"X1","价格":199},{"价格":299,"型号":"Z9"}]"#), expected);
        assert_eq!(blocks("{\"型号\":\"X1\",\"价格\":199}\n{\"型号\":\"Z9\",\"价格\":299}\n"), expected);
    }

    #[test]
    fn other_values_keep_their_paths() {
        assert_eq!(
            blocks(r#"{"name":"X1","warranty":{"years":2,"parts":["case","lid"]}}"#),
            [
                (Paragraph, "name: X1".into()),
                (Heading(1), "warranty".into()),
                (Paragraph, "years: 2\nparts[0]: case\nparts[1]: lid".into()),
            ]
        );
    }

    #[test]
    fn broken_json_is_malformed() {
        let deep = "[".repeat(100_000);
        for source in ["{", deep.as_str()] {
            assert_eq!(read(source, &mut Builder::default()), Err(ExtractError::Malformed));
        }
    }
}
