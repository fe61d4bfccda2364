//! Around every request: its id, its span, its problem in writing, and one line of log.

use std::{convert::Infallible, time::Instant};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::Instrument as _;

use super::{
    api::openai,
    error::{ApiError, Unwritten},
};
use crate::domain::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_ID: usize = 128;
const PROBLEM: &str = "application/problem+json";

/// The id of a request: the client's when it is sane, else a random one.
#[derive(Debug, Clone)]
pub(super) struct RequestId(String);

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // There is always one behind `requests`.
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

impl RequestId {
    fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|id| is_sane(id));
        Self(given.map_or_else(|| hex::encode(rand::random::<[u8; 16]>()), str::to_owned))
    }
}

fn is_sane(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte))
}

/// Middleware: see the module. The outermost one, so that every answer passes through it.
pub(super) async fn requests(mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let shape = Shape::at(request.uri().path());
    let span = tracing::info_span!("request", id = %id.0, method = %request.method(), path = request.uri().path());
    async move {
        let began = Instant::now();
        let mut response = next.run(request).await;
        match problem_of(&mut response) {
            Some(unwritten) => {
                log(&unwritten);
                shape.write(&mut response, &unwritten.problem, &id);
            }
            None => tracing::debug!(status = response.status().as_u16(), elapsed = ?began.elapsed(), "answered"),
        }
        if let Ok(value) = HeaderValue::from_str(&id.0) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        response
    }
    .instrument(span)
    .await
}

/// The problem that a handler left, or one for a bare status of the framework.
fn problem_of(response: &mut Response) -> Option<Unwritten> {
    if let Some(unwritten) = response.extensions_mut().remove() {
        return Some(unwritten);
    }
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let says_more = response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value == "application/json");
    if !is_error || says_more {
        return None;
    }
    let error = match response.status() {
        StatusCode::NOT_FOUND => ApiError::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => ApiError::method_not_allowed(),
        status => ApiError::new(status.as_u16(), "bad_request", "The request cannot be handled."),
    };
    error.into_response().extensions_mut().remove()
}

/// A whole answer, after which the connection ends, to a request that could not be read.
pub(super) fn unheard(error: ApiError) -> Vec<u8> {
    let id = RequestId::of(&HeaderMap::new());
    let mut response = error.into_response();
    let status = response.status();
    let Some(unwritten) = problem_of(&mut response) else { return Vec::new() };
    tracing::info_span!("request", id = %id.0).in_scope(|| log(&unwritten));
    let body = json(&unwritten.problem, &id);
    let mut text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {}\r\nconnection: close\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\n{REQUEST_ID}: {}\r\n\r\n",
        body.len(),
        id.0,
    )
    .into_bytes();
    text.extend_from_slice(&body);
    text
}

fn log(unwritten: &Unwritten) {
    let Problem { status, code, run_id, .. } = &*unwritten.problem;
    let cause = unwritten.cause.as_deref().unwrap_or_default();
    // A place that is taken for a while is no fault; and how a run failed is in the log already, with its cause.
    let is_full = *status == 503 && cause.is_empty();
    if *status >= 500 && run_id.is_none() && !is_full {
        tracing::error!(status, code, cause, "failed");
    } else {
        tracing::info!(status, code, cause, "refused");
    }
}

/// How a problem is written.
#[derive(Clone, Copy)]
enum Shape {
    /// RFC 9457.
    Problem,
    /// As OpenAI clients read it.
    OpenAi,
}

impl Shape {
    fn at(path: &str) -> Self {
        if openai::is_at(path) { Self::OpenAi } else { Self::Problem }
    }

    fn write(self, response: &mut Response, problem: &Problem, id: &RequestId) {
        let (content_type, body) = match self {
            Self::Problem => (PROBLEM, json(problem, id)),
            Self::OpenAi => {
                let status = StatusCode::from_u16(openai::status(problem.status));
                *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                // Texts alone: it always serializes.
                ("application/json", serde_json::to_vec(&openai::ErrorBody::from(problem)).unwrap_or_default())
            }
        };
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        *response.body_mut() = Body::from(body);
    }
}

fn json(problem: &Problem, id: &RequestId) -> Vec<u8> {
    let problem = Problem { request_id: Some(id.0.clone()), ..problem.clone() };
    // A problem is made of strings and numbers: it always serializes.
    serde_json::to_vec(&problem).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insane_ids_are_replaced() {
        for good in ["a", "8f3e-22", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &"x".repeat(128)] {
            assert!(is_sane(good), "{good}");
        }
        for bad in ["", "a b", "a\"b", "<script>", "é", &"x".repeat(129)] {
            assert!(!is_sane(bad), "{bad}");
        }
    }
}
