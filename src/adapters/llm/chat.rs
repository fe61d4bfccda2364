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
    client::{Body, Client, Limits, Refusal},
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
        begin(self.open(request), self.client.limits, total).await
    }
}

/// The first event of the answer that `open` gives, and what follows it.
async fn begin(
    open: impl Future<Output = Result<Body, ModelError>>,
    limits: Limits,
    total: Instant,
) -> Result<(ModelEvent, Answer), ModelError> {
    let first_by = total.min(Instant::now() + limits.first_token);
    let late = || ModelError::Timeout("no first token in time".into());
    let body = timeout_at(first_by, open).await;
    let mut answer = Answer::new(body.map_err(|_| late())??, total);
    let first = timeout_at(first_by, answer.next(limits.total)).await.map_err(|_| late())??;
    let first = first.ok_or_else(|| ModelError::BadResponse("an answer without anything in it".into()))?;
    Ok((first, answer))
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
    fn new(body: Body, total: Instant) -> Self {
        let mut decoder = Decoder::new();
        let bytes = match body {
            Body::Stream(bytes) => Some(bytes),
            Body::Whole(body) => {
                decoder.whole(&body);
                None
            }
        };
        Self { bytes, decoder, total }
    }

    /// The next event; none after the end. Between two events on the wire at most `pause` may pass.
    async fn next(&mut self, pause: Duration) -> Result<Option<ModelEvent>, ModelError> {
        let mut idle_by = Instant::now() + pause;
        loop {
            if let Some(event) = self.decoder.pop() {
                return event.map(Some);
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
                    if self.decoder.push(&piece) {
                        idle_by = Instant::now() + pause;
                    }
                }
                // Whatever happens to the connection after the model said why it ended, the answer is whole.
                Ok(None) | Ok(Some(Err(_))) | Err(_) if finished => self.decoder.finish(),
                Ok(None) => self.decoder.finish(),
                Ok(Some(Err(error))) => return Err(error),
                Err(_) if Instant::now() >= self.total => {
                    return Err(ModelError::Timeout("the answer took longer than it may in all".into()));
                }
                Err(_) => return Err(ModelError::Timeout("the model paused for too long".into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::ready, net::TcpListener};

    use super::*;
    use crate::domain::model::Prompt;

    /// What is configured unless somebody says otherwise.
    const LIMITS: Limits = Limits {
        connect: Duration::from_secs(5),
        first_token: Duration::from_secs(60),
        between_tokens: Duration::from_secs(30),
        total: Duration::from_secs(180),
        retries: 0,
    };
    const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    const LAST: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    const COMMENT: &str = ": still here\n\n";

    /// A server that sends each of these so many seconds after the one before, and then nothing more.
    fn sends(script: impl IntoIterator<Item = (u64, &'static str), IntoIter: Send> + Send + 'static) -> Body {
        let bytes = async_stream::stream! {
            for (seconds, piece) in script {
                sleep(Duration::from_secs(seconds)).await;
                yield Ok(Bytes::from_static(piece.as_bytes()));
            }
            std::future::pending::<()>().await;
        };
        Body::Stream(bytes.boxed())
    }

    fn often(seconds: u64, piece: &'static str) -> impl Iterator<Item = (u64, &'static str)> + Send {
        std::iter::repeat((seconds, piece))
    }

    /// Pieces of text that came, how it ended, and after how many seconds.
    async fn hear(open: impl Future<Output = Result<Body, ModelError>>) -> (usize, Result<(), ModelError>, u64) {
        let began = Instant::now();
        let mut texts = 0;
        let ended = async {
            let (first, mut answer) = begin(open, LIMITS, began + LIMITS.total).await?;
            let mut next = Some(first);
            while let Some(event) = next {
                texts += usize::from(matches!(event, ModelEvent::Text(_)));
                next = answer.next(LIMITS.between_tokens).await?;
            }
            Ok(())
        };
        let ended = ended.await;
        (texts, ended, began.elapsed().as_secs())
    }

    fn late(what: &str) -> Result<(), ModelError> {
        Err(ModelError::Timeout(what.into()))
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_ends_when_it_should() {
        let first = || late("no first token in time");
        let pause = || late("the model paused for too long");
        let total = || late("the answer took longer than it may in all");
        let cases = [
            ("says nothing", sends([]), (0, first(), 60)),
            ("only comments", sends(often(10, COMMENT)), (0, first(), 60)),
            ("an event that does not end", sends(often(10, "data: {}")), (0, first(), 60)),
            ("just in time, then nothing", sends([(59, TOKEN)]), (1, pause(), 89)),
            ("comments are no answer", sends([(0, TOKEN)].into_iter().chain(often(7, COMMENT))), (1, pause(), 30)),
            ("nor is half an event", sends([(0, TOKEN)].into_iter().chain(often(7, "data: "))), (1, pause(), 30)),
            ("always just in time", sends(often(29, TOKEN)), (6, total(), 180)),
            ("no end of it", sends(often(7, TOKEN)), (25, total(), 180)),
            ("an end without its count", sends([(3, TOKEN), (3, LAST)]), (1, Ok(()), 7)),
        ];
        for (case, body, heard) in cases {
            assert_eq!(hear(ready(Ok(body))).await, heard, "{case}");
        }
        let slow = async {
            sleep(Duration::from_secs(45)).await;
            Ok(sends([(20, TOKEN)]))
        };
        assert_eq!(hear(slow).await, (0, first(), 60), "the answer's head counts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_takes_connections_and_says_nothing() {
        // The kernel connects; nobody is there to answer, be it the handshake or the request.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        for (scheme, words, after) in [("https", "cannot connect", 5), ("http", "no first token in time", 60)] {
            let client = Client::new(&format!("{scheme}://{address}/v1"), None, LIMITS).unwrap();
            let question = Prompt::User { content: "Hello?".into() };
            let request = ModelRequest { messages: vec![question], ..ModelRequest::default() };
            let began = Instant::now();
            let error = OpenAiChat::new(client, "m".into()).stream(request).await.err().expect("it says nothing");
            assert!(error.to_string().contains(words), "{scheme}: {error}");
            assert_eq!(began.elapsed().as_secs(), after, "{scheme}: {error}");
        }
    }
}
