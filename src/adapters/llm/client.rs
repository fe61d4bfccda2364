//! The connection to an OpenAI-compatible server: one pooled client, every wait bounded.

use std::{net::IpAddr, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use reqwest::{
    Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{
    failure::{refuses_format, upstream_error},
    wire::Request,
};
use crate::domain::error::ModelError;

/// Most bytes of an error's body that are read.
const ERROR_LIMIT: usize = 64 << 10;
/// Most bytes of a whole (not streamed) answer.
const WHOLE_LIMIT: usize = 8 << 20;

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until connected.
    pub connect: Duration,
    /// From the request to the first event.
    pub first_token: Duration,
    /// From one event to the next.
    pub between_tokens: Duration,
    /// In all, further tries included.
    pub total: Duration,
    /// Further tries when a call fails before its first event.
    pub retries: u32,
}

/// Why a client cannot be made of its settings.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("the model's base URL cannot be read")]
    BaseUrl,
    /// The key cannot be sent.
    #[error("the model's key has characters that a header cannot carry")]
    Key,
    /// TLS or the pool could not be set up.
    #[error("the HTTP client cannot start: {0}")]
    Http(String),
}

/// A server and the right to use it. Clones share the pool.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    chat: Url,
    models: Url,
    authorization: Option<HeaderValue>,
    key: Option<SecretString>,
    pub(super) limits: Limits,
}

impl Client {
    /// A client of the server at `base_url` (`…/v1`).
    ///
    /// # Errors
    /// When address or key cannot be used.
    pub fn new(base_url: &str, key: Option<SecretString>, limits: Limits) -> Result<Self, ClientError> {
        let url = |path: &str| Url::parse(&format!("{}/{path}", base_url.trim_end_matches('/')));
        let chat = url("chat/completions").map_err(|_| ClientError::BaseUrl)?;
        let models = url("models").map_err(|_| ClientError::BaseUrl)?;
        let authorization = key.as_ref().map(bearer).transpose()?;
        // A redirect would send questions, and perhaps the key, to a place that nobody configured.
        let mut builder = reqwest::Client::builder()
            .connect_timeout(limits.connect)
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(32)
            .tcp_nodelay(true)
            .redirect(Policy::none());
        if is_loopback(&chat) {
            // The system's proxy has no business with a server on this machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| ClientError::Http(error.to_string()))?;
        Ok(Self { http, chat, models, authorization, key, limits })
    }

    /// The key, for cutting it out of errors.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.expose_secret())
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn open(&self, request: &Request<'_>) -> Result<Body, Refusal> {
        let mut call = self.http.post(self.chat.clone()).json(request);
        if let Some(authorization) = &self.authorization {
            call = call.header(AUTHORIZATION, authorization.clone());
        }
        let response = call.send().await.map_err(|error| Refusal::Call(transport(&error)))?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        if is_json(&response) {
            return Ok(Body::Whole(read(response, WHOLE_LIMIT).await.map_err(Refusal::Call)?));
        }
        let bytes = response.bytes_stream().map(|piece| piece.map_err(|error| transport(&error)));
        Ok(Body::Stream(bytes.boxed()))
    }

    /// Asks the server for its list of models: whether it is there and takes the key.
    ///
    /// # Errors
    /// As a call would fail; servers without such a list give `Permanent`.
    pub async fn ping(&self) -> Result<(), ModelError> {
        let mut call = self.http.get(self.models.clone());
        if let Some(authorization) = &self.authorization {
            call = call.header(AUTHORIZATION, authorization.clone());
        }
        let wait = tokio::time::timeout(self.limits.first_token, call.send());
        let response = wait
            .await
            .map_err(|_| ModelError::Timeout("no answer to a request for its models".into()))?
            .map_err(|error| transport(&error))?;
        if response.status().is_success() { Ok(()) } else { Err(refusal(response).await.error()) }
    }
}

/// Why a call came to nothing.
pub(super) enum Refusal {
    /// The server does not take the wanted format of the answer.
    Format(ModelError),
    /// Anything else.
    Call(ModelError),
}

impl Refusal {
    pub(super) fn error(self) -> ModelError {
        match self {
            Self::Format(error) | Self::Call(error) => error,
        }
    }
}

/// The answer's bytes.
pub(super) enum Body {
    /// An event stream.
    Stream(BoxStream<'static, Result<Bytes, ModelError>>),
    /// One JSON object.
    Whole(Vec<u8>),
}

fn bearer(key: &SecretString) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| ClientError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

fn is_json(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.to_ascii_lowercase().starts_with("application/json")
}

/// A failure below HTTP: refused, reset, cut, unknown host.
fn transport(error: &reqwest::Error) -> ModelError {
    // The innermost cause says what happened; the outer ones repeat the address.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let step = if error.is_connect() { "cannot connect" } else { "the connection broke" };
    ModelError::Transient(format!("{step}: {cause}"))
}

/// A refusal by HTTP status. Its body only helps to class it.
async fn refusal(response: Response) -> Refusal {
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.trim().parse().ok())
        .map(Duration::from_secs);
    let body = tokio::time::timeout(Duration::from_secs(2), read(response, ERROR_LIMIT)).await;
    let text = body.ok().and_then(Result::ok).unwrap_or_default();
    let object: Value = serde_json::from_slice(&text)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&text).trim().to_owned()));
    let error = object.get("error").cloned().unwrap_or(object);
    let class = if refuses_format(status, &error) { Refusal::Format } else { Refusal::Call };
    class(upstream_error(Some(status), &error, retry_after))
}

async fn read(response: Response, limit: usize) -> Result<Vec<u8>, ModelError> {
    let mut whole = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| transport(&error))?;
        if whole.len() + piece.len() > limit {
            return Err(ModelError::BadResponse(format!("an answer of more than {limit} bytes")));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}
