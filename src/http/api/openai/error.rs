//! Problems in the shape that OpenAI clients read.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::problem::Problem;

/// An error.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiError)]
pub(in crate::http) struct ErrorBody {
    error: ErrorView,
}

/// What went wrong.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiErrorDetail)]
struct ErrorView {
    /// For people.
    message: String,
    /// `invalid_request_error`, `authentication_error`, `permission_error`, `not_found_error`, `rate_limit_error`,
    /// `server_error`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The field that is wrong.
    param: Option<String>,
    /// Stable word for programs: as in problems.
    code: String,
}

impl From<&Problem> for ErrorBody {
    fn from(problem: &Problem) -> Self {
        let error = ErrorView {
            message: problem.detail.clone(),
            kind: kind(problem.status),
            param: problem.errors.first().map(|error| error.field.clone()),
            code: problem.code.clone(),
        };
        Self { error }
    }
}

const fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        ..500 => "invalid_request_error",
        _ => "server_error",
    }
}

/// The status that stands for `status` here: what is wrong with a body's fields is a bad request to OpenAI clients.
pub(in crate::http) const fn status(status: u16) -> u16 {
    match status {
        422 => 400,
        status => status,
    }
}

/// Whether errors at this address have this shape.
pub(in crate::http) fn is_at(path: &str) -> bool {
    path.strip_prefix("/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_in_this_shape() {
        let body = ErrorBody::from(&Problem::field("n", "must be 1"));
        let error =
            json!({"message": "n: must be 1", "type": "invalid_request_error", "param": "n", "code": "invalid_field"});
        assert_eq!(serde_json::to_value(body).unwrap(), json!({"error": error}));
        let body = ErrorBody::from(&Problem::new(503, "overloaded", "Busy."));
        let error = json!({"message": "Busy.", "type": "server_error", "param": null, "code": "overloaded"});
        assert_eq!(serde_json::to_value(body).unwrap(), json!({"error": error}));
    }

    #[test]
    fn only_below_its_own_address() {
        assert!(["/v1", "/v1/", "/v1/models", "/v1/nothing"].into_iter().all(is_at));
        assert!(!["/", "/v10", "/v1x/models", "/chat", "/x/v1/models"].into_iter().any(is_at));
    }
}
