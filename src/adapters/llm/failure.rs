//! What a server's refusal means to the caller.
//!
//! Server messages may echo the request. Only where they speak of the key, the model or the address are they kept,
//! for the operator's log, and the key is cut out of them.

use std::time::Duration;

use serde_json::Value;

use crate::domain::error::ModelError;

/// Longest text that is kept of a server's words, in characters.
const WORDS: usize = 200;

/// Phrases by which servers say that a request does not fit, where they give no code for it.
const TOO_LONG: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "maximum context",
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "too many tokens",
    "reduce the length",
];

/// Words by which servers say that they do not take a wanted format, or not this schema.
const NO_FORMAT: &[&str] = &["response_format", "response format", "json_schema", "json schema", "structured output"];

/// Whether a refusal is about the wanted format of the answer.
pub(super) fn refuses_format(status: u16, error: &Value) -> bool {
    let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = format!("{} {} {}", error.as_str().unwrap_or_else(|| field("message")), field("param"), field("code"));
    let said = said.to_lowercase();
    matches!(status, 400 | 422) && NO_FORMAT.iter().any(|phrase| said.contains(phrase))
}

/// The class of an error object, with the HTTP status it came under if it came under one.
pub(super) fn upstream_error(status: Option<u16>, error: &Value, retry_after: Option<Duration>) -> ModelError {
    let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = error.as_str().unwrap_or_else(|| field("message"));
    let words = format!("{} {}", field("code"), field("type")).to_lowercase();
    let number = |name: &str| error.get(name).and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = status.or_else(|| number("code")).or_else(|| number("status"));
    let lower = message.to_lowercase();

    if status == Some(413) || TOO_LONG.iter().any(|phrase| words.contains(phrase) || lower.contains(phrase)) {
        return ModelError::ContextTooLong(label(status, &words));
    }
    if words.contains("insufficient_quota") || words.contains("billing") {
        return ModelError::Permanent(label(status, &words));
    }
    match status {
        Some(429) => ModelError::RateLimited { retry_after },
        Some(408 | 425 | 500..=599) => ModelError::Transient(label(status, &words)),
        Some(401 | 403 | 404) => {
            let said: String = message.chars().take(WORDS).collect();
            ModelError::Permanent(format!("{}: {said}", label(status, &words)))
        }
        Some(_) => ModelError::Permanent(label(status, &words)),
        None if words.contains("rate_limit") => ModelError::RateLimited { retry_after },
        None if words.contains("invalid_request") || words.contains("auth") || words.contains("permission") => {
            ModelError::Permanent(label(status, &words))
        }
        // An error in the midst of a stream without a class: servers send it when they break down.
        None => ModelError::Transient(label(status, &words)),
    }
}

fn label(status: Option<u16>, words: &str) -> String {
    let words: String = words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS).collect();
    match (status, words.is_empty()) {
        (Some(status), true) => format!("status {status}"),
        (Some(status), false) => format!("status {status}, {words}"),
        (None, true) => "an error without a code".into(),
        (None, false) => words,
    }
}

/// The same error with `key` cut out of its words.
pub(super) fn without_key(error: ModelError, key: Option<&str>) -> ModelError {
    let Some(key) = key.filter(|key| !key.is_empty()) else { return error };
    let clean = |text: String| if text.contains(key) { text.replace(key, "[key]") } else { text };
    match error {
        ModelError::ContextTooLong(text) => ModelError::ContextTooLong(clean(text)),
        ModelError::RateLimited { retry_after } => ModelError::RateLimited { retry_after },
        ModelError::Timeout(text) => ModelError::Timeout(clean(text)),
        ModelError::Transient(text) => ModelError::Transient(clean(text)),
        ModelError::BadResponse(text) => ModelError::BadResponse(clean(text)),
        ModelError::Permanent(text) => ModelError::Permanent(clean(text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_status_has_its_class() {
        let wait = Some(Duration::from_secs(3));
        let classes = [
            (
                400,
                json!({"message": "This model's maximum context length is 8192 tokens"}),
                "context too long: status 400",
            ),
            (
                400,
                json!({"message": "bad", "code": "context_length_exceeded"}),
                "context too long: status 400, context_length_exceeded",
            ),
            (400, json!({"message": "the request"}), "model refused: status 400"),
            (401, json!({"message": "Incorrect API key"}), "model refused: status 401: Incorrect API key"),
            (403, json!("no access"), "model refused: status 403: no access"),
            (404, json!({"message": "model not found"}), "model refused: status 404: model not found"),
            (413, json!(null), "context too long: status 413"),
            (422, json!({"message": "secret text of the request"}), "model refused: status 422"),
            (429, json!({"code": "insufficient_quota"}), "model refused: status 429, insufficient_quota"),
            (429, json!(null), "rate limited"),
            (500, json!({"message": "m"}), "model unavailable: status 500"),
            (503, json!(null), "model unavailable: status 503"),
            (529, json!({"type": "overloaded_error"}), "model unavailable: status 529, overloaded_error"),
        ];
        for (status, body, said) in classes {
            assert_eq!(upstream_error(Some(status), &body, wait).to_string(), said);
        }
        assert_eq!(upstream_error(Some(429), &json!(null), wait), ModelError::RateLimited { retry_after: wait });
    }

    #[test]
    fn a_refused_format_is_told_from_other_refusals() {
        assert!(refuses_format(400, &json!({"message": "This response_format type is unavailable now"})));
        assert!(refuses_format(400, &json!({"message": "Unsupported value", "param": "response_format"})));
        assert!(refuses_format(422, &json!("json_schema is not supported")));
        assert!(!refuses_format(400, &json!({"message": "max_tokens is too large"})));
        assert!(!refuses_format(500, &json!({"message": "response_format"})));
    }

    #[test]
    fn the_key_is_cut_out() {
        let error = upstream_error(Some(401), &json!({"message": "Incorrect API key provided: sk-canary"}), None);
        assert_eq!(
            without_key(error, Some("sk-canary")),
            ModelError::Permanent("status 401: Incorrect API key provided: [key]".into())
        );
    }
}
