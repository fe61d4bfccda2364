//! A turn as the chunks of a streamed answer.

use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use serde::Serialize;

use super::{
    error::ErrorBody,
    held::Holder,
    reply::{CompletionChunk, CompletionHead, content},
};
use crate::{
    domain::{chat::TurnResult, event::TurnEvent, problem::Problem},
    http::sse,
    services::chat::{Frame, Turn},
};

/// What a client of this door hears of a turn.
pub(super) enum Told {
    /// More text.
    Text(String),
    /// The text so far was not the answer.
    Reset,
    /// In place of the text so far.
    Instead(String),
    /// The end.
    End(Box<TurnResult>),
    /// It failed.
    Failed(Box<Problem>),
}

/// The next thing that is told of `turn`; after [`Told::End`] and [`Told::Failed`] nothing is.
pub(super) async fn next(turn: &mut Turn) -> Told {
    while let Some(frame) = turn.watch.next().await {
        if let Some(told) = told(&frame) {
            return told;
        }
    }
    Told::Failed(Box::new(turn.lost()))
}

fn told(frame: &Frame) -> Option<Told> {
    // As large as all the others together.
    if frame.kind == "trace" {
        return None;
    }
    let event = match frame.event() {
        Ok(event) => event,
        Err(error) => {
            tracing::error!(seq = frame.seq, %error, "a frame cannot be read");
            return None;
        }
    };
    match event {
        TurnEvent::Content { content, .. } => Some(Told::Text(content)),
        TurnEvent::ContentReset => Some(Told::Reset),
        TurnEvent::Snapshot { content } => Some(Told::Instead(content)),
        TurnEvent::Message { message } => Some(Told::End(message)),
        TurnEvent::Error { error, .. } => Some(Told::Failed(error)),
        TurnEvent::RagStep { .. }
        | TurnEvent::SessionTitle { .. }
        | TurnEvent::Reasoning { .. }
        | TurnEvent::ToolCall { .. }
        | TurnEvent::ToolResult { .. }
        | TurnEvent::Trace { .. }
        | TurnEvent::HitlRequest { .. } => None,
    }
}

/// An answer that is being told.
pub(super) struct Telling {
    pub(super) head: CompletionHead,
    pub(super) include_usage: bool,
    pub(super) holder: Holder,
    /// All text that was sent.
    pub(super) sent: String,
}

impl Telling {
    /// The rest of `turn`, of which `first` has been heard, as an answer.
    pub(super) fn answer(self, turn: Turn, first: Option<Told>, keep_alive: std::time::Duration) -> Response {
        sse::written(self.blocks(turn, first), keep_alive)
    }

    fn blocks(mut self, mut turn: Turn, mut first: Option<Told>) -> impl Stream<Item = Bytes> + Send {
        async_stream::stream! {
            yield block(&CompletionChunk::first(&self.head));
            loop {
                let told = match first.take() {
                    Some(first) => first,
                    None => next(&mut turn).await,
                };
                match told {
                    Told::Text(piece) => yield self.say(piece),
                    // It cannot be taken back: it stays, as a paragraph of its own.
                    Told::Reset => yield self.say("\n\n".into()),
                    Told::Instead(text) if self.sent.is_empty() => yield self.say(text),
                    Told::Instead(text) => yield self.say(format!("\n\n{text}")),
                    Told::End(result) => {
                        if result.hitl.is_some() {
                            yield self.say(content(&result));
                        }
                        // Before the end is sent: the next message may come right behind it.
                        self.holder.end(&self.sent, &result).await;
                        let usage = self.include_usage.then_some(result.usage);
                        yield block(&CompletionChunk::last(&self.head, *result));
                        if let Some(usage) = usage {
                            yield block(&CompletionChunk::usage(&self.head, usage));
                        }
                        yield sse::DONE;
                        return;
                    }
                    Told::Failed(problem) => {
                        yield block(&ErrorBody::from(&*problem));
                        return;
                    }
                }
            }
        }
    }

    fn say(&mut self, piece: String) -> Bytes {
        self.sent.push_str(&piece);
        block(&CompletionChunk::text(&self.head, piece))
    }
}

fn block(value: &impl Serialize) -> Bytes {
    // Texts, numbers and lists of them: they always serialize.
    sse::block(&serde_json::to_vec(value).unwrap_or_default())
}
