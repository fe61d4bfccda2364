//! The port [`ChatModel`] over an OpenAI-compatible server.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    client::{Body, Client, Refusal},
    decode::Decoder,
    failure::without_key,
    wire::Request,
};
use crate::domain::{
    error::ModelError,
    model::{ChatModel, ModelEvent, ModelRequest, ModelStream},
};

/// First wait before a further try; it doubles.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest wait that a server may ask for and get.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer that said why it ended may keep its token count to itself.
const GRACE: Duration = Duration::from_secs(1);

/// Models of one server that are remembered to take no wanted format.
const MAX_FORMLESS: usize = 64;

/// A chat model at an OpenAI-compatible server.
pub struct OpenAiChat {
    client: Client,
    model: String,
    /// Models whose server has refused a wanted format.
    formless: Mutex<BTreeSet<String>>,
}

impl OpenAiChat {
    /// The model that `client`'s server calls `model`.
    #[must_use]
    pub const fn new(client: Client, model: String) -> Self {
        Self { client, model, formless: Mutex::new(BTreeSet::new()) }
    }

    /// Sends a request; once more without the wanted format where the server does not take it, and from then on never
    /// with. Whoever wants a format checks the answer anyway.
    async fn open(&self, request: &ModelRequest) -> Result<Body, ModelError> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let wire = || Request::new(&self.model, request);
        let is_formless = self.formless.lock().unwrap_or_else(PoisonError::into_inner).contains(model);
        if request.schema.is_some() && !is_formless {
            match self.client.open(&wire()).await {
                Ok(body) => return Ok(body),
                Err(Refusal::Call(error)) => return Err(error),
                Err(Refusal::Format(error)) => {
                    tracing::warn!(model, %error, "the server takes no wanted format; asking without");
                }
            }
            let mut formless = self.formless.lock().unwrap_or_else(PoisonError::into_inner);
            if formless.len() < MAX_FORMLESS {
                formless.insert(model.to_owned());
            }
        }
        self.client.open(&wire().without_format()).await.map_err(Refusal::error)
    }

    async fn attempt(&self, request: &ModelRequest, total: Instant) -> Result<(ModelEvent, Answer), ModelError> {
        let limits = self.client.limits;
        let first_by = total.min(Instant::now() + limits.first_token);
        let late = || ModelError::Timeout("no first token in time".into());
        let body = timeout_at(first_by, self.open(request)).await;
        let mut answer = Answer::new(body.map_err(|_| late())??, total)?;
        let first = timeout_at(first_by, answer.next(limits.total)).await.map_err(|_| late())??;
        let first = first.ok_or_else(|| ModelError::BadResponse("an answer without anything in it".into()))?;
        Ok((first, answer))
    }
}

#[async_trait]
impl ChatModel for OpenAiChat {
    fn name(&self) -> &str {
        &self.model
    }

    fn offers(&self, _: &str) -> bool {
        true
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let limits = self.client.limits;
        let total = Instant::now() + limits.total;
        let mut tries = 0;
        let (first, mut answer) = loop {
            let error = match self.attempt(&request, total).await {
                Ok(begun) => break begun,
                Err(error) => without_key(error, self.client.key()),
            };
            metrics::counter!("askback_model_failures_total", "class" => class(&error)).increment(1);
            let Some(wait) = wait_before_retry(&error, tries).filter(|_| tries < limits.retries) else {
                return Err(error);
            };
            if Instant::now() + wait >= total {
                return Err(error);
            }
            tracing::warn!(model = self.model, %error, tries, ?wait, "the model failed before it answered; trying again");
            tries += 1;
            sleep(wait).await;
        };
        let key = self.client.clone();
        Ok(Box::pin(async_stream::stream! {
            yield Ok(first);
            loop {
                match answer.next(limits.between_tokens).await {
                    Ok(Some(event)) => yield Ok(event),
                    Ok(None) => return,
                    Err(error) => {
                        metrics::counter!("askback_model_failures_total", "class" => class(&error)).increment(1);
                        yield Err(without_key(error, key.key()));
                        return;
                    }
                }
            }
        }))
    }
}

/// How long to wait before another try; none when another try would not help.
fn wait_before_retry(error: &ModelError, tries: u32) -> Option<Duration> {
    let jitter = 0.5 + rand::random::<f64>();
    let backoff = (BACKOFF * 2_u32.saturating_pow(tries)).mul_f64(jitter);
    match error {
        ModelError::RateLimited { retry_after: Some(wait) } => (*wait <= PATIENCE).then_some(*wait),
        ModelError::RateLimited { retry_after: None } | ModelError::Transient(_) => Some(backoff.min(PATIENCE)),
        ModelError::ContextTooLong(_)
        | ModelError::Timeout(_)
        | ModelError::BadResponse(_)
        | ModelError::Permanent(_) => None,
    }
}

const fn class(error: &ModelError) -> &'static str {
    match error {
        ModelError::ContextTooLong(_) => "context_too_long",
        ModelError::RateLimited { .. } => "rate_limited",
        ModelError::Timeout(_) => "timeout",
        ModelError::Transient(_) => "transient",
        ModelError::BadResponse(_) => "bad_response",
        ModelError::Permanent(_) => "permanent",
    }
}

/// An answer that is being read.
struct Answer {
    /// None once the bytes are over. Dropping it closes the connection.
    bytes: Option<BoxStream<'static, Result<Bytes, ModelError>>>,
    decoder: Decoder,
    total: Instant,
}

impl Answer {
    fn new(body: Body, total: Instant) -> Result<Self, ModelError> {
        let mut decoder = Decoder::new();
        let bytes = match body {
            Body::Stream(bytes) => Some(bytes),
            Body::Whole(body) => {
                decoder.whole(&body)?;
                None
            }
        };
        Ok(Self { bytes, decoder, total })
    }

    /// The next event; none after the end. Between two events on the wire at most `pause` may pass.
    async fn next(&mut self, pause: Duration) -> Result<Option<ModelEvent>, ModelError> {
        let mut idle_by = Instant::now() + pause;
        loop {
            if let Some(event) = self.decoder.pop() {
                return Ok(Some(event));
            }
            if self.decoder.has_ended() {
                self.bytes = None;
                return Ok(None);
            }
            let Some(bytes) = &mut self.bytes else { return Ok(None) };
            if self.decoder.is_finished() {
                idle_by = idle_by.min(Instant::now() + GRACE);
            }
            let finished = self.decoder.is_finished();
            match timeout_at(idle_by.min(self.total), bytes.next()).await {
                Ok(Some(Ok(piece))) => {
                    if self.decoder.push(&piece)? {
                        idle_by = Instant::now() + pause;
                    }
                }
                // Whatever happens to the connection after the model said why it ended, the answer is whole.
                Ok(None) | Ok(Some(Err(_))) | Err(_) if finished => self.decoder.finish()?,
                Ok(None) => self.decoder.finish()?,
                Ok(Some(Err(error))) => return Err(error),
                Err(_) if Instant::now() >= self.total => {
                    return Err(ModelError::Timeout("the answer took longer than it may in all".into()));
                }
                Err(_) => return Err(ModelError::Timeout("the model paused for too long".into())),
            }
        }
    }
}
