//! The error object of the wire: RFC 9457 with `code` and `request_id`.

use serde::{Deserialize, Serialize};

use super::error::{ModelError, TurnError};

/// `application/problem+json`. `detail` is one sentence for people and never an upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// `about:blank`: the code says it all.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// For people.
    pub detail: String,
    /// Stable word for programs.
    pub code: String,
    /// Names the request in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The run that failed, for turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// One entry per wrong field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FieldError {
    /// Path: `hitl.option_ids[0]`.
    pub field: String,
    /// For people.
    pub message: String,
    /// The values that would do, where they can be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub valid: Vec<String>,
}

impl Problem {
    /// A problem of this status, code and detail.
    #[must_use]
    pub fn new(status: u16, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank".into(),
            title: title(status).into(),
            status,
            detail: detail.into(),
            code: code.into(),
            request_id: None,
            run_id: None,
            session_id: None,
            errors: Vec::new(),
        }
    }

    /// 422 about one field of the request.
    #[must_use]
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut problem = Self::new(422, "invalid_field", format!("{field}: {message}"));
        problem.errors.push(FieldError { field: field.to_owned(), message, valid: Vec::new() });
        problem
    }
}

/// The reason phrase of a status that askback sends (RFC 9110).
const fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ if status < 500 => "Bad Request",
        _ => "Internal Server Error",
    }
}

impl TurnError {
    /// What a client is told of a turn that failed.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let (status, code, detail) = match self {
            Self::Model(ModelError::ContextTooLong(_)) => {
                (413, "context_too_long", "The question and its context do not fit the model.")
            }
            Self::Model(ModelError::RateLimited { .. }) => {
                (429, "rate_limited", "The model's server asks to slow down. Try again in a moment.")
            }
            Self::Model(ModelError::Timeout(_)) => (504, "model_timeout", "The model did not answer in time."),
            Self::Model(ModelError::Transient(_) | ModelError::Permanent(_)) => {
                (502, "model_unavailable", "The model cannot be reached or refused the request.")
            }
            Self::Model(ModelError::BadResponse(_)) => {
                (502, "model_bad_response", "The model answered with something that cannot be read.")
            }
            Self::Retrieval(_) => (503, "retrieval_unavailable", "The documents cannot be searched right now."),
            Self::Store(_) => (503, "store_unavailable", "The server cannot reach its storage right now."),
            Self::Deadline => (504, "turn_timeout", "The turn took longer than it may."),
            Self::Interrupted => (503, "interrupted", "The server stopped while it was answering."),
            Self::Internal(_) => (500, "internal", "Something went wrong inside the server."),
        };
        Problem::new(status, code, detail)
    }
}
