//! Deserializers say what is wrong in one sentence; this reads it back into field, message and valid values.

use crate::{domain::problem::Problem, http::error::ApiError};

/// The error for `message` of a deserializer that stood at `path` (`.` or empty: the whole).
pub(super) fn field(path: &str, message: &str) -> ApiError {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let path = if path == "." { "" } else { path };
    if let Some((name, rest)) = named(message, "unknown field `") {
        return ApiError::unknown_field(join(path, name), quoted(rest));
    }
    if let Some((name, _)) = named(message, "missing field `") {
        return ApiError::field(&join(path, name), "is required");
    }
    if let Some((name, _)) = named(message, "duplicate field `") {
        return ApiError::field(&join(path, name), "is given twice");
    }
    let path = if path.is_empty() { "body" } else { path };
    let mut problem = Problem::field(path, message);
    if let Some((_, rest)) = named(message, "unknown variant `")
        && let Some(error) = problem.errors.first_mut()
    {
        error.valid = quoted(rest);
    }
    problem.into()
}

fn named<'a>(message: &'a str, intro: &str) -> Option<(&'a str, &'a str)> {
    // Names that a client made up may hold back-quotes; the sentence goes on with ", " or ends.
    let rest = message.strip_prefix(intro)?;
    let end = rest.find("`, ").or_else(|| rest.strip_suffix('`').map(str::len))?;
    Some((&rest[..end], &rest[end + 1..]))
}

fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn join(path: &str, name: &str) -> String {
    // The path may already end with the name: some deserializers count the key as entered.
    if path.is_empty() || path == name || path.ends_with(&format!(".{name}")) {
        return if path.is_empty() { name.to_owned() } else { path.to_owned() };
    }
    format!("{path}.{name}")
}
