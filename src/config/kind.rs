//! What values a setting takes, and how they are read and shown.

use toml::{Table, Value};

/// Where the files of a folder go that names no collection.
const DEFAULT_COLLECTION: &str = "default";

/// The kinds of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text but an empty one.
    Text,
    /// A text that is never shown.
    Secret,
    /// `postgres://…`; shown without user, password and options.
    DatabaseUrl,
    /// `http://…` or `https://…` without user or password.
    Url,
    /// A path, relative to the working folder.
    Path,
    /// `true` or `false`, also `1` or `0`.
    Flag,
    /// A whole number.
    Count {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number in 0 … 1.
    Share,
    /// Bytes: a number, or one with `KiB`, `MiB` or `GiB`.
    Bytes {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Texts, with commas between where they are written as one.
    List,
    /// `host:port`.
    Address,
    /// Folders with the collections that their files go to: `PATH=COLLECTION`, with commas between where they are
    /// written as one; a path alone goes to `default`. In a file also `{ path = "…", collection = "…" }`.
    Folders,
}

impl Kind {
    /// Reads a value as it is typed in the environment or on the command line.
    ///
    /// # Errors
    /// A phrase that completes "… must be"; it never repeats the value.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(self.expectation());
        }
        let value = match self {
            Self::Text | Self::Secret | Self::Path => Some(text.into()),
            Self::DatabaseUrl => {
                (text.starts_with("postgres://") || text.starts_with("postgresql://")).then(|| text.into())
            }
            Self::Url => http_url(text).map(Value::from),
            Self::Flag => match text {
                "true" | "1" => Some(true.into()),
                "false" | "0" => Some(false.into()),
                _ => None,
            },
            Self::Count { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Integer)
            }
            Self::Share => text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Value::Float),
            Self::Bytes { min, max } => bytes(text).filter(|number| (min..=max).contains(number)).map(Value::Integer),
            Self::Choice(words) => words.contains(&text).then(|| text.into()),
            Self::List => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(Value::Array(parts.map(Value::from).collect()))
            }
            Self::Address => address(text).then(|| text.into()),
            Self::Folders => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(folder).collect::<Option<Vec<Value>>>().map(Value::Array)
            }
        };
        value.ok_or_else(|| self.expectation())
    }

    /// Reads a value as it stands in the file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn accept(self, value: &Value) -> Result<Value, String> {
        match (self, value) {
            (Self::Flag, Value::Boolean(flag)) => Ok((*flag).into()),
            (Self::Flag, _) => Err(self.expectation()),
            (Self::Count { .. } | Self::Bytes { .. } | Self::Share, Value::Integer(number)) => {
                self.parse(&number.to_string())
            }
            (Self::Share, Value::Float(share)) => self.parse(&share.to_string()),
            (Self::Count { .. } | Self::Share, _) => Err(self.expectation()),
            (Self::List, Value::Array(items)) if items.iter().all(Value::is_str) => Ok(value.clone()),
            (Self::List, _) => Err(self.expectation()),
            (Self::Folders, Value::Array(items)) => items
                .iter()
                .map(folder_of)
                .collect::<Option<Vec<Value>>>()
                .map(Value::Array)
                .ok_or_else(|| self.expectation()),
            (_, Value::String(text)) => self.parse(text),
            _ => Err(self.expectation()),
        }
    }

    /// How a value is shown to people: secrets are not.
    #[must_use]
    pub fn show(self, value: &Value) -> String {
        match (self, value) {
            (Self::Secret, _) => "(secret)".into(),
            (Self::DatabaseUrl, Value::String(url)) => without_secrets(url),
            (_, Value::String(text)) => text.clone(),
            (Self::Folders, Value::Array(items)) => items.iter().map(shown_folder).collect::<Vec<_>>().join(", "),
            (_, Value::Array(items)) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            _ => value.to_string(),
        }
    }

    fn expectation(self) -> String {
        match self {
            Self::Text | Self::Secret => "a text that is not empty".into(),
            Self::DatabaseUrl => "postgres://user:password@host/database".into(),
            Self::Url => "an http:// or https:// address without user and password".into(),
            Self::Path => "a path".into(),
            Self::Flag => "true or false".into(),
            Self::Count { min, max } => format!("a whole number in {min} … {max}"),
            Self::Share => "a number in 0 … 1".into(),
            Self::Bytes { min, max } => format!("a size in {min} … {max} bytes, such as \"4 MiB\""),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::List => "a list of texts".into(),
            Self::Address => "host:port".into(),
            Self::Folders => "a list of folders: PATH or PATH=COLLECTION".into(),
        }
    }
}

/// `PATH=COLLECTION` or `PATH`. What stands behind the last sign is the collection, so that a path may hold others.
fn folder(text: &str) -> Option<Value> {
    let (path, collection) = text.rsplit_once('=').unwrap_or((text, DEFAULT_COLLECTION));
    folder_in(path.trim(), collection.trim())
}

fn folder_in(path: &str, collection: &str) -> Option<Value> {
    let mut table = Table::new();
    table.insert("path".into(), path.into());
    table.insert("collection".into(), collection.into());
    (!path.is_empty() && !collection.is_empty()).then_some(Value::Table(table))
}

/// A folder as it stands in the file.
fn folder_of(item: &Value) -> Option<Value> {
    match item {
        Value::String(text) => folder(text.trim()),
        Value::Table(table) => {
            let text = |name: &str, default| table.get(name).map_or(Some(default), Value::as_str);
            let is_known = table.keys().all(|key| key == "path" || key == "collection");
            if is_known { folder_in(text("path", "")?, text("collection", DEFAULT_COLLECTION)?) } else { None }
        }
        _ => None,
    }
}

fn shown_folder(folder: &Value) -> String {
    let text = |name: &str| folder.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}={}", text("path"), text("collection"))
}

fn address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// The address without a slash at its end.
fn http_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    (!host.is_empty() && !host.contains('@')).then(|| text.trim_end_matches('/').to_owned())
}

fn bytes(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = match text[digits.len()..].trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split('?').next().unwrap_or(rest);
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_typed() {
        let read = [
            (Kind::Bytes { min: 1, max: 1 << 30 }, "100 MiB", Ok(Value::Integer(104_857_600))),
            (Kind::Bytes { min: 1, max: 1 << 30 }, "4096", Ok(Value::Integer(4096))),
            (Kind::Bytes { min: 1, max: 10 }, "1 GB", Err(())),
            (Kind::Count { min: 1, max: 9 }, "10", Err(())),
            (Kind::Flag, "1", Ok(Value::Boolean(true))),
            (Kind::Flag, "yes", Err(())),
            (Kind::Share, "0.25", Ok(Value::Float(0.25))),
            (Kind::Url, "http://127.0.0.1:9/v1/", Ok("http://127.0.0.1:9/v1".into())),
            (Kind::Url, "http://user:pw@host", Err(())),
            (Kind::Address, "[::1]:0", Ok("[::1]:0".into())),
            (Kind::Address, "localhost", Err(())),
            (Kind::List, "a, b,", Ok(Value::Array(vec!["a".into(), "b".into()]))),
            (Kind::DatabaseUrl, "mysql://x", Err(())),
            (Kind::Folders, "/a, /b=c=d", Ok(Value::Array(vec![watched("/a", "default"), watched("/b=c", "d")]))),
            (Kind::Folders, "/a=", Err(())),
        ];
        for (kind, text, value) in read {
            assert_eq!(kind.parse(text).map_err(|_| ()), value, "{kind:?} {text}");
        }
    }

    fn watched(path: &str, collection: &str) -> Value {
        Value::Table(Table::from_iter([("path".into(), path.into()), ("collection".into(), collection.into())]))
    }

    #[test]
    fn folders_stand_in_the_file_as_texts_or_as_tables() {
        let file: Table = "folders = ['/a', { path = '/b, c', collection = 'd' }, { path = '/e' }]".parse().unwrap();
        let expected = vec![watched("/a", "default"), watched("/b, c", "d"), watched("/e", "default")];
        let read = Kind::Folders.accept(&file["folders"]).unwrap();
        assert_eq!(read, Value::Array(expected));
        assert_eq!(Kind::Folders.show(&read), "/a=default, /b, c=d, /e=default");
        for wrong in ["[{ collection = 'd' }]", "[{ path = '/a', collections = 'd' }]", "[5]", "[{ path = 5 }]"] {
            let file: Table = format!("folders = {wrong}").parse().unwrap();
            assert!(Kind::Folders.accept(&file["folders"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_file_is_typed() {
        assert_eq!(Kind::Count { min: 1, max: 9 }.accept(&"5".into()).ok(), None);
        assert_eq!(Kind::Count { min: 1, max: 9 }.accept(&5.into()), Ok(5.into()));
        assert_eq!(Kind::Text.accept(&5.into()).ok(), None);
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(Kind::Secret.show(&"canary".into()), "(secret)");
        assert_eq!(Kind::DatabaseUrl.show(&"postgres://u:can@ry@db:5432/x?password=p".into()), "postgres://db:5432/x");
    }
}
