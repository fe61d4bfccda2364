//! Listening: connections in, answers out, and an orderly end.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use super::{
    router::router,
    stall::Stall,
    state::{App, Limits},
    unheard::{self, AtWork, Explained},
};

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Serves until `App::shutdown` is cancelled. From then on new requests are refused (503), `/readyz` says so, and those
/// that run have [`Limits::drain`] to end; then their connections are closed.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(listener: TcpListener, app: Arc<App>) -> io::Result<()> {
    let limits = app.limits.clone();
    let shutdown = app.shutdown.clone();
    let router = router(app);
    let room = Arc::new(Semaphore::new(limits.connections));
    let (connections, late) = (TaskTracker::new(), TaskTracker::new());
    let closed = CancellationToken::new();

    let accept = async {
        loop {
            let permit = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
            match listener.accept().await {
                Ok((stream, peer)) => {
                    // Frames are small and must not wait for each other.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "no delay-free connection");
                    }
                    let is_late = shutdown.is_cancelled();
                    let connection = Connection {
                        router: router.clone(),
                        peer: Peer(peer),
                        limits: limits.clone(),
                        // One that comes late is not asked to end: it has one answer to come, and that says why.
                        shutdown: if is_late { CancellationToken::new() } else { shutdown.clone() },
                        keep_alive: !is_late,
                        closed: closed.clone(),
                        permit,
                    };
                    if is_late { &late } else { &connections }.spawn(connection.run(stream));
                }
                Err(error) if is_about_one_connection(&error) => {}
                // Out of files: waiting lets connections end. The listener itself stays good.
                Err(error) => {
                    tracing::error!(%error, "accept failed");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    };
    let mut accept = pin!(accept);
    tokio::select! {
        failed = &mut accept => return failed,
        () = shutdown.cancelled() => {}
    }
    // Still accepting: whoever comes during the drain is told why, instead of being refused by the kernel.
    connections.close();
    late.close();
    tokio::select! {
        failed = &mut accept => return failed,
        () = connections.wait() => {}
        () = tokio::time::sleep(limits.drain) => {
            tracing::warn!(open = connections.len(), "closing connections that did not end in time");
        }
    }
    closed.cancel();
    connections.wait().await;
    late.wait().await;
    Ok(())
}

struct Connection {
    router: Router,
    peer: Peer,
    limits: Limits,
    keep_alive: bool,
    /// From here on it ends after the request at hand.
    shutdown: CancellationToken,
    /// From here on it is closed, whatever is at hand.
    closed: CancellationToken,
    permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Self { router, peer, limits, keep_alive, shutdown, closed, permit } = self;
        let at_work = AtWork::default();
        let called = at_work.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let (answer, busy) = (router.clone().oneshot(request), called.begin());
            async move { answer.await.map(|response| response.map(|body| busy.until_sent(body))) }
        });
        // More than the limit, so that the router can still explain it; past this hyper refuses and the connection is
        // closed.
        let head_buffer = limits.header_bytes.saturating_mul(4).max(64 << 10);
        let stream = Explained::new(Stall::new(stream, limits.write_timeout), at_work, limits.header_bytes);
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.read_timeout)
            .max_buf_size(head_buffer)
            .keep_alive(keep_alive)
            .serve_connection(TokioIo::new(stream), service);
        let mut is_ending = false;
        let ended = loop {
            tokio::select! {
                ended = &mut connection => break ended,
                () = shutdown.cancelled(), if !is_ending => {
                    is_ending = true;
                    std::pin::Pin::new(&mut connection).graceful_shutdown();
                }
                () = closed.cancelled() => break Ok(()),
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, peer = %peer.0, "connection ended");
            let parts = connection.into_parts();
            // Without a byte of a request nobody waits for an answer.
            if error.is_timeout()
                && !parts.read_buf.is_empty()
                && let Err(error) = unheard::too_slow(parts.io.into_inner()).await
            {
                tracing::debug!(%error, peer = %peer.0, "it left before it was told");
            }
        }
        drop(permit);
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::{response::Response, routing::get};
    use bytes::Bytes;
    use futures::{StreamExt as _, stream};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    const FRAME: usize = 4 << 10;

    /// A stream without end; counts the frames that were taken out of it.
    fn endless(taken: &Arc<AtomicUsize>) -> Router {
        let taken = Arc::clone(taken);
        let answer = async move || {
            let frames = stream::repeat(Bytes::from_static(&[b'x'; FRAME])).inspect(move |_| {
                taken.fetch_add(1, Ordering::Relaxed);
            });
            Response::new(Body::from_stream(frames.map(Ok::<_, io::Error>)))
        };
        Router::new().route("/", get(answer))
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_a_byte_a_second_costs_one_buffer_for_a_minute() {
        let (taken, limits) = (Arc::default(), Limits::default());
        let places = Arc::new(Semaphore::new(1));
        let connection = Connection {
            router: endless(&taken),
            peer: Peer(([127, 0, 0, 1], 1).into()),
            limits: limits.clone(),
            keep_alive: true,
            shutdown: CancellationToken::new(),
            closed: CancellationToken::new(),
            permit: Arc::clone(&places).try_acquire_owned().unwrap(),
        };
        let (near, mut far) = duplex(1 << 10);
        let began = Instant::now();
        let serving = async {
            connection.run(near).await;
            began.elapsed()
        };
        let reading = async {
            far.write_all(b"GET / HTTP/1.1\r\nhost: askback\r\n\r\n").await.unwrap();
            let mut read = 0;
            while let Ok(count) = far.read(&mut [0]).await
                && count > 0
            {
                read += count;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            read
        };
        let (lived, read) = tokio::join!(serving, reading);
        assert!(lived <= limits.write_timeout + Duration::from_secs(1), "{lived:?}");
        assert!(read <= (1 << 10) + 61, "{read}");
        let most = limits.header_bytes * 4 + FRAME;
        assert!(taken.load(Ordering::Relaxed) * FRAME <= most + FRAME, "{taken:?} frames");
        assert_eq!(places.available_permits(), 1, "its place is free");
    }
}
