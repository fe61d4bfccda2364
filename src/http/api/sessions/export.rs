//! A session as a file. It is written while it is read, a piece at a time, so its length costs no memory.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{MessageView, markdown};
use crate::{
    domain::{
        chat::{Extent, Message, Session},
        error::StoreError,
        id::MessageId,
        time::Rfc3339,
    },
    http::{
        attachment::{attachment, filename},
        error::{ApiError, Result},
        extract::{NamePath, Query, SignedIn},
        state::App,
    },
    services::chat::{Chat, Pieces},
};

/// How a session is written.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::http) enum Format {
    /// The session and the messages of all branches, each with its parent.
    #[default]
    Json,
    /// The shown branch, for people.
    Markdown,
}

/// The query of an export.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ExportQuery {
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// A whole session: what stands before its messages in the file.
#[derive(Serialize, ToSchema)]
struct SessionFile {
    session_id: String,
    title: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Rfc3339,
    message_count: i64,
    /// The message that the shown branch ends with.
    active_message_id: Option<MessageId>,
}

/// A session as a file: JSON with all branches, or Markdown with the shown one and the sources of its answers.
#[utoipa::path(
    get, path = "/sessions/{session_id}/export", tag = "Sessions",
    params(("session_id" = String, Path), ExportQuery),
    responses(
        (status = 200, description = "The file", content((String = "application/json"), (String = "text/markdown"))),
        (status = 404, description = "`not_found`"),
    )
)]
pub(in crate::http) async fn export(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Query(query): Query<ExportQuery>,
) -> Result<Response> {
    let chat = app.chat.clone();
    let (session, body, media_type, ending) = match query.format {
        Format::Json => {
            let (session, pieces) = chat.whole(user.id, &name, Extent::All).await?;
            let body = json(chat, &session, pieces)?;
            (session, body, "application/json", "json")
        }
        Format::Markdown => {
            let (session, pieces) = chat.whole(user.id, &name, Extent::Shown).await?;
            let body = written(markdown::heading(&session), pieces, |_, message| markdown::message(&message), "");
            (session, body, "text/markdown; charset=utf-8", "md")
        }
    };
    let title = session.title.unwrap_or(session.name);
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_DISPOSITION, attachment(&filename(&title, ending)));
    Ok(response)
}

fn json(chat: Chat, session: &Session, pieces: Pieces) -> Result<Body> {
    let file = SessionFile {
        session_id: session.name.clone(),
        title: session.title.clone(),
        created_at: session.created_at.into(),
        updated_at: session.updated_at.into(),
        message_count: session.message_count,
        active_message_id: session.active_leaf,
    };
    let unwritable = |error: serde_json::Error| ApiError::internal(format!("writing a session: {error}"));
    let mut head = serde_json::to_string(&file).map_err(unwritable)?;
    // The messages become its last field.
    head.pop();
    head.push_str(",\"messages\":[");
    let write = move |is_first: bool, message: Message| {
        let joint = if is_first { "\n" } else { ",\n" };
        format!("{joint}{}", serde_json::to_string(&MessageView::new(message, &chat)).unwrap_or_else(|_| "null".into()))
    };
    Ok(written(head, pieces, write, "\n]}\n"))
}

/// `head`, each message as `write` gives it (told whether it is the first), `tail`. When the store fails on the way the
/// connection is broken off: half a file must not look whole.
fn written(
    head: String,
    pieces: Pieces,
    write: impl Fn(bool, Message) -> String + Send + 'static,
    tail: &'static str,
) -> Body {
    let mut is_first = true;
    let middle = pieces.map(move |piece| {
        let messages = piece.inspect_err(|error| tracing::warn!(%error, "an export was broken off"))?;
        let texts = messages.into_iter().map(|message| write(std::mem::take(&mut is_first), message));
        Ok::<_, StoreError>(Bytes::from(texts.collect::<String>()))
    });
    let head = stream::once(std::future::ready(Ok(Bytes::from(head))));
    let tail = stream::once(std::future::ready(Ok(Bytes::from_static(tail.as_bytes()))));
    Body::from_stream(head.chain(middle).chain(tail))
}
