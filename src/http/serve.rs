//! Listening: connections in, answers out, and an orderly end.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use super::{
    router::router,
    stall::Stall,
    state::{App, Limits},
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
    async fn run(self, stream: TcpStream) {
        let Self { router, peer, limits, keep_alive, shutdown, closed, permit } = self;
        // Frames are small and must not wait for each other.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no delay-free connection");
        }
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            router.clone().oneshot(request)
        });
        // More than the limit, so that the router can still explain it; past this the connection is answered 431 and
        // closed.
        let head_buffer = limits.header_bytes.saturating_mul(4).max(64 << 10);
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.read_timeout)
                .max_buf_size(head_buffer)
                .keep_alive(keep_alive)
                .serve_connection(TokioIo::new(Stall::new(stream, limits.write_timeout)), service)
        );
        let mut is_ending = false;
        let ended = loop {
            tokio::select! {
                ended = connection.as_mut() => break ended,
                () = shutdown.cancelled(), if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = closed.cancelled() => break Ok(()),
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, peer = %peer.0, "connection ended");
        }
        drop(permit);
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
