//! Event streams: frames of a run as server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::{Stream, StreamExt as _};
use serde::Serialize;

use crate::services::chat::{Frame, Watch};

/// What keeps proxies and clients from taking silence for death.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// The end of an answer that was told whole.
pub(super) const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");
const NAMED_DONE: Bytes = Bytes::from_static(b"event: done\ndata: [DONE]\n\n");

/// How frames are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `data:` alone, for `/chat/stream`.
    Plain,
    /// With `id:` and `event:`, for `/runs/{id}/events`.
    Named,
}

impl Form {
    fn frame(self, frame: &Frame) -> Bytes {
        let mut block = BytesMut::with_capacity(frame.json.len() + 64);
        if self == Self::Named {
            block.put_slice(format!("id: {}\nevent: {}\n", frame.seq, frame.kind).as_bytes());
        }
        block.put_slice(b"data: ");
        block.put_slice(&frame.json);
        block.put_slice(b"\n\n");
        block.freeze()
    }

    /// Whether the end is told behind this frame. `/chat/stream` tells it only of a turn that was told whole; elsewhere
    /// who hears no end comes back for more.
    fn ends_with(self, frame: &Frame) -> bool {
        match self {
            Self::Plain => frame.kind == "message",
            Self::Named => frame.is_terminal(),
        }
    }

    const fn done(self) -> Bytes {
        match self {
            Self::Plain => DONE,
            Self::Named => NAMED_DONE,
        }
    }
}

/// The frames of `watch` as an answer, with the end as the form has it. A stream that was cut ends without it.
///
/// Nothing is read ahead: a frame leaves the run's log when the connection has room for it.
pub(super) fn answer(watch: Watch, form: Form, keep_alive: Duration) -> Response {
    written(blocks(watch, form), keep_alive)
}

/// States of one thing as an answer: each as JSON, the stream's end is the end.
pub(super) fn states<T: Serialize + Send>(
    states: impl Stream<Item = T> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let blocks = async_stream::stream! {
        for await state in states {
            // A state that cannot be written ends the stream: the client asks again.
            let Ok(json) = serde_json::to_vec(&state) else { return };
            yield block(&json);
        }
    };
    written(blocks, keep_alive)
}

/// Blocks as an answer.
pub(super) fn written(blocks: impl Stream<Item = Bytes> + Send + 'static, keep_alive: Duration) -> Response {
    respond(Body::from_stream(with_comments(blocks, keep_alive).map(Ok::<_, Infallible>)))
}

/// A block that is this line of JSON.
pub(super) fn block(json: &[u8]) -> Bytes {
    Bytes::from([b"data: ", json, b"\n\n"].concat())
}

/// The end alone, for who has seen everything before it.
pub(super) fn done(form: Form) -> Response {
    respond(Body::from(form.done()))
}

fn respond(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn blocks(mut frames: impl Stream<Item = Frame> + Unpin, form: Form) -> impl Stream<Item = Bytes> {
    async_stream::stream! {
        while let Some(frame) = frames.next().await {
            yield form.frame(&frame);
            if form.ends_with(&frame) {
                yield form.done();
            }
        }
    }
}

/// Puts a comment wherever nothing was said for `silence`.
fn with_comments(blocks: impl Stream<Item = Bytes>, silence: Duration) -> impl Stream<Item = Bytes> {
    async_stream::stream! {
        let mut blocks = std::pin::pin!(blocks);
        loop {
            match tokio::time::timeout(silence, blocks.next()).await {
                Ok(Some(block)) => yield block,
                Ok(None) => return,
                Err(_) => yield COMMENT,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;
    use crate::domain::{event::TurnEvent, id::RunId, problem::Problem, time::Millis};

    fn frame(seq: u64, event: &TurnEvent) -> Frame {
        Frame::new(RunId::at(Millis(1)), seq, event).unwrap()
    }

    async fn written(frames: Vec<Frame>, form: Form) -> String {
        let blocks: Vec<Bytes> = blocks(stream::iter(frames), form).collect().await;
        String::from_utf8(blocks.concat()).unwrap()
    }

    #[tokio::test]
    async fn one_line_a_frame() {
        let frame = frame(3, &TurnEvent::Content { content: "a\n\nb\r\u{2028}".into(), offset: 2 });
        let json = String::from_utf8(frame.json.to_vec()).unwrap();
        assert_eq!(written(vec![frame.clone()], Form::Plain).await, format!("data: {json}\n\n"));
        assert_eq!(written(vec![frame], Form::Named).await, format!("id: 3\nevent: content\ndata: {json}\n\n"));
        assert!(!json.contains(['\n', '\r']));
    }

    #[tokio::test]
    async fn the_end_of_a_failed_turn_is_told_by_name_alone() {
        let error =
            TurnEvent::Error { content: "no".into(), error: Box::new(Problem::new(502, "model_unavailable", "no")) };
        assert!(!written(vec![frame(1, &error)], Form::Plain).await.contains("DONE"));
        let named = written(vec![frame(1, &error)], Form::Named).await;
        assert!(named.starts_with("id: 1\nevent: error\n") && named.ends_with("\n\nevent: done\ndata: [DONE]\n\n"));
    }

    #[test]
    fn silence_is_short() {
        assert!(crate::http::Limits::default().keep_alive <= Duration::from_secs(15));
    }

    #[tokio::test]
    async fn silence_is_filled() {
        let silent = with_comments(stream::pending(), Duration::ZERO);
        assert_eq!(silent.take(2).collect::<Vec<Bytes>>().await, [COMMENT, COMMENT]);
        let spoken = with_comments(stream::iter([DONE]), Duration::ZERO);
        assert_eq!(spoken.collect::<Vec<Bytes>>().await, [DONE]);
    }
}
