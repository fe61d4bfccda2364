//! Bodies that nobody read. A request that is refused by its head alone still sends its body: were the answer sent before
//! it, the connection would have to be closed under a client that means to use it again.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream, HttpBody as _},
    extract::Request,
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};
use futures::{StreamExt as _, stream};

/// Most bytes that are read for nothing.
const MOST: u64 = 1 << 20;
/// Longest that they are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads what a refused request still sends; a connection on which that is too much is said to be closed.
pub(super) async fn unread(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(head, body)).await;
    }
    let kept = Arc::new(Mutex::new(body.into_data_stream()));
    let shown = Arc::clone(&kept);
    let pieces = stream::poll_fn(move |cx| shown.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(cx));
    let mut response = next.run(Request::from_parts(head, Body::from_stream(pieces))).await;
    // Whoever still holds it is reading it.
    let Some(rest) = Arc::into_inner(kept) else { return response };
    let rest = rest.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !drained(rest).await {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads a body to its end; gives whether it came to it.
async fn drained(mut pieces: BodyDataStream) -> bool {
    let read = async {
        let mut bytes = 0;
        while let Some(piece) = pieces.next().await {
            let Ok(piece) = piece else { return false };
            bytes += piece.len() as u64;
            if bytes > MOST {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or(false)
}
