//! JSON bodies.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody as _},
    extract::{FromRequest, OptionalFromRequest, Request},
    http::{HeaderMap, header},
};
use futures::StreamExt as _;
use serde::de::DeserializeOwned;

use super::{DISCARDED, wrong};
use crate::http::{
    error::{ApiError, Result},
    state::App,
};

/// A JSON body that fits `T` whole: other content types, too much, broken JSON and wrong fields are problems.
pub(in crate::http) struct Json<T>(pub(in crate::http) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        if !is_json(request.headers()) {
            return Err(ApiError::unsupported_media_type("application/json in UTF-8"));
        }
        // What says of itself that it is far too large is not waited for.
        let limit = app.limits.json_bytes;
        if request.body().size_hint().lower() > (limit + DISCARDED) as u64 {
            return Err(ApiError::too_large(limit as u64));
        }
        let read = read(request.into_body(), limit);
        let body = tokio::time::timeout(app.limits.read_timeout, read).await.map_err(|_| ApiError::too_slow())??;
        parse(&body).map(Self)
    }
}

/// The same where a body may be left out.
impl<T: DeserializeOwned> OptionalFromRequest<Arc<App>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Option<Self>> {
        if request.body().is_end_stream() {
            return Ok(None);
        }
        <Self as FromRequest<Arc<App>>>::from_request(request, app).await.map(Some)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else { return false };
    let value = value.to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_json = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    is_json && charset.is_none_or(|charset| matches!(charset.trim_matches('"'), "utf-8" | "utf8"))
}

async fn read(body: Body, limit: usize) -> Result<Vec<u8>> {
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    let mut bytes: usize = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| ApiError::malformed_json("The body broke off."))?;
        bytes += piece.len();
        if bytes <= limit {
            whole.extend_from_slice(&piece);
        } else if bytes > limit + DISCARDED {
            break;
        }
    }
    if bytes > limit { Err(ApiError::too_large(limit as u64)) } else { Ok(whole) }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let mut source = serde_json::Deserializer::from_slice(body);
    let value = match serde_path_to_error::deserialize(&mut source) {
        Ok(value) => value,
        Err(error) => {
            // A wrong field is told only of JSON that is whole, so what follows it must be sound too. The error's own
            // class does not tell: a number in the place of a word counts as bad syntax there.
            check_syntax(body)?;
            let inner = error.inner();
            let message = if inner.is_data() { inner.to_string() } else { "has the wrong type".into() };
            return Err(wrong::field(&error.path().to_string(), &message));
        }
    };
    source.end().map_err(|error| malformed(&error))?;
    Ok(value)
}

fn check_syntax(body: &[u8]) -> Result<()> {
    serde_json::from_slice::<serde_json::Value>(body).map(drop).map_err(|error| malformed(&error))
}

fn malformed(error: &serde_json::Error) -> ApiError {
    ApiError::malformed_json(format!("The body is not valid JSON: {error}."))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        ids: Option<Vec<String>>,
        colour: Option<Colour>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        text: String,
        inner: Option<Inner>,
    }

    fn code(body: &[u8]) -> (u16, String, Vec<(String, Vec<String>)>) {
        let error = parse::<Outer>(body).unwrap_err();
        let problem = error.problem();
        let errors = problem.errors.iter().map(|error| (error.field.clone(), error.valid.clone())).collect();
        (problem.status, problem.code.clone(), errors)
    }

    fn wrong(code: &str, field: &str, valid: &[&str]) -> (u16, String, Vec<(String, Vec<String>)>) {
        (422, code.into(), vec![(field.into(), valid.iter().map(|&value| value.into()).collect())])
    }

    #[test]
    fn whole_and_right() {
        let expected = Outer { text: "é😀".into(), inner: None };
        assert_eq!(parse::<Outer>(r#"{"text":"é\ud83d\ude00"}"#.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_eq!(code(br#"{"text":"a","b":1}"#), wrong("unknown_field", "b", &["text", "inner"]));
        assert_eq!(code(br#"{"text":"a","inner":{"x`y":1}}"#), wrong("unknown_field", "inner.x`y", &["ids", "colour"]));
        assert_eq!(code(b"{}"), wrong("invalid_field", "text", &[]));
        assert_eq!(code(br#"{"text":5}"#), wrong("invalid_field", "text", &[]));
        assert_eq!(code(br#"{"text":"a","inner":{"ids":["a",5]}}"#), wrong("invalid_field", "inner.ids[1]", &[]));
        assert_eq!(
            code(br#"{"text":"a","inner":{"colour":"green"}}"#),
            wrong("invalid_field", "inner.colour", &["red", "blue"])
        );
        assert_eq!(code(br#"{"text":"a","inner":{"colour":1}}"#), wrong("invalid_field", "inner.colour", &[]));
        assert_eq!(code(br#"{"text":"a","text":"b"}"#), wrong("invalid_field", "text", &[]));
        assert_eq!(code(b"[]"), wrong("invalid_field", "body", &[]));
    }

    #[test]
    fn broken_json_is_told_before_wrong_fields() {
        let malformed = (400, "malformed_json".to_owned(), Vec::new());
        for body in [
            b"".as_slice(),
            b"{",
            br#"{"text":"a"} x"#,
            br#"{"b":1,"text":"a"#,
            br#"{"text":"\ud800"}"#,
            br#"{"text":"\udc00 a"}"#,
            br#"{"b":"\ud800","text":"a"}"#,
            b"{\"text\":\"\xff\"}",
            b"{\"text\":\"a\nb\"}",
            b"\xef\xbb\xbf{\"text\":\"a\"}",
            "[".repeat(100_000).as_bytes(),
        ] {
            assert_eq!(code(body), malformed, "{}", String::from_utf8_lossy(&body[..body.len().min(40)]));
        }
    }

    #[test]
    fn content_types() {
        let check = |value: &'static str| {
            is_json(&HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static(value))]))
        };
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/merge-patch+json"] {
            assert!(check(good), "{good}");
        }
        for bad in ["text/plain", "application/json; charset=gbk", "application/jsonp", ""] {
            assert!(!check(bad), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
