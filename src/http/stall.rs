//! Connections whose other end does not read. What is to be sent waits in the connection, and nothing is read ahead for
//! it, so such a client costs little; after a while it costs nothing.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// A stream that fails when a write has made no progress for `patience`.
pub(super) struct Stall<S> {
    stream: S,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S> Stall<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, deadline: Box::pin(sleep(patience)), is_waiting: false }
    }

    fn judge<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        self.deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.judge(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_is_given_up() {
        let (near, far) = duplex(64);
        let mut near = Stall::new(near, Duration::from_millis(1));
        let error = near.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test]
    async fn who_reads_gets_everything() {
        let (near, mut far) = duplex(64);
        let mut near = Stall::new(near, Duration::from_secs(3600));
        let mut read = Vec::new();
        let writing = async {
            near.write_all(&[7; 10_000]).await.unwrap();
            near.shutdown().await.unwrap();
        };
        let (_, got) = tokio::join!(writing, far.read_to_end(&mut read));
        assert_eq!((got.unwrap(), read), (10_000, vec![7; 10_000]));
    }
}
