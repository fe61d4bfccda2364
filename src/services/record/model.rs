//! A chat model whose replies are recorded, event by event.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use futures::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    Unrecorded, tape as current,
    tape::{Note, Turned},
};
use crate::domain::{
    error::ModelError,
    model::{ChatModel, ModelEvent, ModelRequest, ModelStream},
};

/// What an event takes beside its text, in bytes.
const EVENT: usize = 24;

/// See the module.
pub struct TapedModel {
    inner: Arc<dyn ChatModel>,
    port: &'static str,
    name: String,
}

/// What a model said, as far as it was listened to.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Spoken {
    events: Vec<Result<ModelEvent, ModelError>>,
    /// The listener left before the end.
    is_cut: bool,
}

type Heard = Result<Spoken, ModelError>;

impl TapedModel {
    /// The model that answers.
    #[must_use]
    pub fn chat(inner: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        Self::wrap(inner, "chat_model")
    }

    /// The fast model.
    #[must_use]
    pub fn fast(inner: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        Self::wrap(inner, "fast_model")
    }

    /// The model that judges evidence.
    #[must_use]
    pub fn grade(inner: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        Self::wrap(inner, "grade_model")
    }

    /// The chat model under the name that it had when it was recorded.
    #[must_use]
    pub fn named(inner: Arc<dyn ChatModel>, name: &str) -> Arc<dyn ChatModel> {
        Arc::new(Named { inner, name: name.to_owned() })
    }

    fn wrap(inner: Arc<dyn ChatModel>, port: &'static str) -> Arc<dyn ChatModel> {
        let name = inner.name().to_owned();
        Arc::new(Self { inner, port, name })
    }
}

#[async_trait]
impl ChatModel for TapedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn offers(&self, model: &str) -> bool {
        self.inner.offers(model)
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Some(tape) = current() else { return self.inner.stream(request).await };
        match tape.turn::<Heard>(self.port, &request) {
            Turned::Through => self.inner.stream(request).await,
            Turned::Note(note) => match self.inner.stream(request).await {
                Ok(inner) => Ok(Listening { inner, note: Some(note), spoken: Spoken::default(), bytes: 0 }.boxed()),
                Err(error) => {
                    note.answered(&Heard::Err(error.clone()));
                    Err(error)
                }
            },
            Turned::Played(spoken) => spoken.map(play),
            Turned::Cut => std::future::pending().await,
            Turned::Missing => Err(ModelError::unrecorded()),
        }
    }
}

fn play(spoken: Spoken) -> ModelStream {
    let events = stream::iter(spoken.events);
    // Whoever left the first time leaves again.
    if spoken.is_cut { events.chain(stream::pending()).boxed() } else { events.boxed() }
}

/// A model's stream that is noted while it passes.
struct Listening {
    inner: ModelStream,
    note: Option<Note>,
    spoken: Spoken,
    bytes: usize,
}

impl Listening {
    fn hear(&mut self, event: &Result<ModelEvent, ModelError>) {
        let Some(note) = &self.note else { return };
        let text = match event {
            Ok(ModelEvent::Text(text) | ModelEvent::Reasoning(text)) => text.len(),
            Ok(ModelEvent::Call(call)) => call.arguments.len(),
            Ok(ModelEvent::End { .. }) | Err(_) => 0,
        };
        self.bytes += EVENT + text;
        // Beyond the cap the tape is incomplete anyway; what was heard is kept until then, not longer.
        if note.has_room(self.bytes) {
            self.spoken.events.push(event.clone());
        }
        if matches!(event, Ok(ModelEvent::End { .. }) | Err(_)) {
            self.end(false);
        }
    }

    fn end(&mut self, is_cut: bool) {
        let Some(note) = self.note.take() else { return };
        let spoken = std::mem::take(&mut self.spoken);
        if note.has_room(self.bytes) {
            note.answered(&Heard::Ok(Spoken { is_cut, ..spoken }));
        } else {
            note.overflow();
        }
    }
}

impl Stream for Listening {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(cx);
        match &next {
            Poll::Ready(Some(event)) => self.hear(event),
            Poll::Ready(None) => self.end(false),
            Poll::Pending => {}
        }
        next
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// A model under another name.
struct Named {
    inner: Arc<dyn ChatModel>,
    name: String,
}

#[async_trait]
impl ChatModel for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn offers(&self, model: &str) -> bool {
        self.inner.offers(model)
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.inner.stream(request).await
    }
}
