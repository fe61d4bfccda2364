//! Requests that no router sees: those that hyper cannot read, and those that do not come to an end. hyper answers the
//! first with a bare status; here they get the problem that every other refusal has.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    time::{Sleep, sleep},
};

use super::{error::ApiError, trace};

/// Most bytes of such a request that are read for nothing, so that its sender gets to read the answer.
const MOST: usize = 1 << 20;
/// Longest that they are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many requests of a connection the router is at work on, to the last byte of their answers.
#[derive(Debug, Clone, Default)]
pub(super) struct AtWork(Arc<AtomicUsize>);

/// Ends with the answer.
#[derive(Debug)]
pub(super) struct Busy(Arc<AtomicUsize>);

impl AtWork {
    pub(super) fn begin(&self) -> Busy {
        self.0.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.0))
    }

    fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Busy {
    /// The same body; the router is at work until it is sent or given up.
    pub(super) fn until_sent(self, body: Body) -> Body {
        Body::new(Sending { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Sending {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection on which hyper's own answers become problems.
pub(super) struct Explained<S> {
    stream: S,
    at_work: AtWork,
    /// The limit that a refusal names, in bytes.
    header_bytes: usize,
    told: Option<Told>,
}

/// An answer in place of hyper's.
struct Told {
    text: Vec<u8>,
    sent: usize,
    is_shut: bool,
    drained: usize,
    patience: Pin<Box<Sleep>>,
}

impl<S> Explained<S> {
    pub(super) const fn new(stream: S, at_work: AtWork, header_bytes: usize) -> Self {
        Self { stream, at_work, header_bytes, told: None }
    }

    /// What to say where hyper would send `bytes`.
    fn explain(&mut self, bytes: &[u8]) -> bool {
        if self.told.is_none()
            && self.at_work.is_idle()
            && let Some(error) = refusal(bytes, self.header_bytes)
        {
            let patience = Box::pin(sleep(PATIENCE));
            self.told = Some(Told { text: trace::unheard(error), sent: 0, is_shut: false, drained: 0, patience });
        }
        self.told.is_some()
    }
}

/// Tells the sender of a request whose head did not come to its end in time.
pub(super) async fn too_slow<S: AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
    let error = ApiError::new(408, "request_timeout", "The request's head did not arrive in time.");
    stream.write_all(&trace::unheard(error)).await?;
    stream.shutdown().await
}

/// The problem behind a bare answer of hyper's: a head without a name that any answer of the router has.
fn refusal(bytes: &[u8], header_bytes: usize) -> Option<ApiError> {
    let head = std::str::from_utf8(bytes).ok()?.strip_prefix("HTTP/1.")?.strip_suffix("\r\n\r\n")?;
    let (status, rest) = head.split_once(' ')?.1.split_once("\r\n")?;
    let names = rest.split("\r\n").map(|line| line.split_once(':').map_or("", |(name, _)| name));
    let is_bare = names
        .into_iter()
        .all(|name| ["connection", "content-length", "date"].iter().any(|known| name.eq_ignore_ascii_case(known)));
    if !is_bare {
        return None;
    }
    match status.get(..3)? {
        "400" => Some(ApiError::new(400, "malformed_request", "The request is not valid HTTP/1.1.")),
        "414" => Some(ApiError::new(414, "uri_too_long", "The address of the request is too long.")),
        "431" => Some(ApiError::headers_too_large(header_bytes)),
        _ => None,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Explained<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Explained<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.explain(bytes) {
            return Pin::new(&mut this.stream).poll_write(cx, bytes);
        }
        if let Some(told) = &mut this.told {
            while let Some(rest) = told.text.get(told.sent..).filter(|rest| !rest.is_empty()) {
                match ready!(Pin::new(&mut this.stream).poll_write(cx, rest))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => told.sent += count,
                }
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut filled = slices.iter().filter(|slice| !slice.is_empty());
        match (filled.next(), filled.next()) {
            (Some(only), None) => Pin::new(this).poll_write(cx, only),
            _ => Pin::new(&mut this.stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    /// A connection that is closed with unread bytes is reset, and its other end may lose the answer.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, told, .. } = self.get_mut();
        let Some(told) = told else { return Pin::new(stream).poll_shutdown(cx) };
        if !told.is_shut {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            told.is_shut = true;
        }
        let mut unread = [0; 8 << 10];
        while told.drained < MOST && told.patience.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut unread);
            match ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => told.drained += buffer.filled().len(),
                // It is over, one way or the other.
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(head: &str) -> Option<String> {
        refusal(head.as_bytes(), 1).map(|error| error.problem().code.clone())
    }

    #[test]
    fn only_bare_refusals_are_explained() {
        let bare = "connection: close\r\ncontent-length: 0\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";
        for (status, expected) in [
            ("400 Bad Request", Some("malformed_request")),
            ("414 URI Too Long", Some("uri_too_long")),
            ("431 Request Header Fields Too Large", Some("headers_too_large")),
            ("200 OK", None),
            ("404 Not Found", None),
        ] {
            assert_eq!(code(&format!("HTTP/1.1 {status}\r\n{bare}")).as_deref(), expected, "{status}");
        }
        assert_eq!(code(&format!("HTTP/1.1 400 Bad Request\r\nx-request-id: 7\r\n{bare}")), None);
        assert_eq!(code(&format!("HTTP/1.1 400 Bad Request\r\n{bare}HTTP/1.1 200 OK")), None);
        assert_eq!(code("HTTP/1.1 400 Bad"), None);
        assert_eq!(code(""), None);
    }
}
