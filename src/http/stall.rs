//! Connections whose other end does not read, or reads a byte now and then. What is to be sent waits in the connection,
//! and nothing is read ahead for it, so such a client costs little; after a while it costs nothing.

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

/// Bytes that count as progress: slower than this in each `patience` is no reading.
const LEAST: usize = 1 << 10;

/// A stream that fails when something waits to be written and the other end takes less than [`LEAST`] bytes of it in
/// `patience`.
pub(super) struct Stall<S> {
    stream: S,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
    /// Bytes that were taken since it waits.
    taken: usize,
}

impl<S> Stall<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, deadline: Box::pin(sleep(patience)), is_waiting: false, taken: 0 }
    }

    /// What becomes of a write of `offered` bytes.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        offered: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.taken = self.taken.saturating_add(*written.as_ref().unwrap_or(&0));
            // Nothing of this write waits any more, or the other end reads.
            if self.taken >= LEAST || written.as_ref().is_ok_and(|count| *count >= offered) {
                self.is_waiting = false;
            }
            return Poll::Ready(written);
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.taken = 0;
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
        this.judge(cx, bytes.len(), written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let offered = slices.iter().map(|slice| slice.len()).sum();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.judge(cx, offered, written)
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
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
        time::sleep,
    };

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Takes a piece of `bytes` every `pause` until the other end is gone; gives how many bytes that came to.
    async fn trickle(mut far: DuplexStream, bytes: usize, pause: Duration) -> usize {
        let (mut piece, mut taken) = (vec![0; bytes], 0);
        loop {
            sleep(pause).await;
            match far.read(&mut piece).await.unwrap() {
                0 => return taken,
                count => taken += count,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_given_up() {
        let (near, far) = duplex(64);
        let (mut near, began) = (Stall::new(near, MINUTE), Instant::now());
        let error = near.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (io::ErrorKind::TimedOut, MINUTE));
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_a_byte_a_second_is_given_up_as_well() {
        let (near, far) = duplex(64);
        let (mut near, began) = (Stall::new(near, MINUTE), Instant::now());
        let writing = async {
            let error = near.write_all(&[0; 10_000]).await.unwrap_err();
            drop(near);
            (error.kind(), began.elapsed())
        };
        let (given_up, taken) = tokio::join!(writing, trickle(far, 1, Duration::from_secs(1)));
        assert_eq!(given_up, (io::ErrorKind::TimedOut, MINUTE));
        assert!(taken <= 64 + 60, "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_gets_everything() {
        let (near, far) = duplex(64);
        let mut near = Stall::new(near, MINUTE);
        let writing = async {
            near.write_all(&[7; 20_000]).await.unwrap();
            drop(near);
        };
        // Eighteen bytes a second: a thousand in each minute, and a few more.
        let (_, taken) = tokio::join!(writing, trickle(far, 18, Duration::from_secs(1)));
        assert_eq!(taken, 20_000);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_said_in_between_and_read_whole_is_no_stall() {
        let (near, far) = duplex(8);
        let mut near = Stall::new(near, MINUTE);
        let writing = async {
            // Each word waits for the reader for a while, and is short.
            for _ in 0..20 {
                near.write_all(b"sixteen bytes of").await.unwrap();
                sleep(10 * MINUTE).await;
            }
            drop(near);
        };
        let (_, taken) = tokio::join!(writing, trickle(far, 1, Duration::from_secs(1)));
        assert_eq!(taken, 20 * 16);
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
