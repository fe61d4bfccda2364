//! Turns that start from a message that is there: another answer, more of one, another wording of a question.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::chat::{ChatBody, HitlBody, submit};
use crate::{
    domain::{
        chat::{OnBusy, OnDisconnect, TurnRequest, TurnResult},
        event::TurnEvent,
        run::RunKind,
        user::User,
    },
    http::{
        error::Result,
        extract::{IdempotencyKey, Json, MessagePath, SignedIn},
        sse::{self, Form},
        state::App,
        trace::RequestId,
    },
};

/// How an answer is to be made anew or written on. What is not said is as it was for the first one.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AgainBody {
    /// Another model of the same server.
    model: Option<String>,
    #[schema(minimum = 0, maximum = 2)]
    temperature: Option<f32>,
    #[schema(minimum = 1)]
    max_tokens: Option<u32>,
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f32>,
    /// What to do when the session has a running turn.
    on_busy: Option<OnBusy>,
    /// What to do when the last watcher leaves.
    on_disconnect: Option<OnDisconnect>,
    /// Whether the answer is to come as `POST /chat/stream` gives it.
    #[serde(default)]
    stream: bool,
}

/// Another wording of a message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct EditBody {
    /// What the user says instead; may be empty when `hitl` says it.
    #[serde(default)]
    message: String,
    /// About the question that the message replied to.
    hitl: Option<HitlBody>,
    /// Restricts the knowledge to these collections; an empty list restricts nothing.
    collections: Option<Vec<String>>,
    /// Attachment ids; none are taken yet.
    #[serde(default)]
    attachments: Vec<String>,
    /// Another model of the same server.
    model: Option<String>,
    #[schema(minimum = 0, maximum = 2)]
    temperature: Option<f32>,
    #[schema(minimum = 1)]
    max_tokens: Option<u32>,
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f32>,
    /// What to do when the session has a running turn.
    on_busy: Option<OnBusy>,
    /// What to do when the last watcher leaves.
    on_disconnect: Option<OnDisconnect>,
    /// Whether the answer is to come as `POST /chat/stream` gives it.
    #[serde(default)]
    stream: bool,
}

/// Answers a message of the user once more: a sibling of the answer. Names an answer, or a message that has none.
#[utoipa::path(
    post, path = "/sessions/{session_id}/messages/{message_id}/regenerate", tag = "Messages",
    params(
        ("session_id" = String, Path), ("message_id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn"),
    ),
    request_body = Option<AgainBody>,
    responses(
        (status = 200, description = "The turn; with `stream`, its frames", content(
            (TurnResult = "application/json"), (TurnEvent = "text/event-stream"))),
        (status = 404, description = "`not_found`: the session or the message"),
        (status = 409, description = "`turn_in_progress` with `run_id`"),
        (status = 429, description = "`queue_full`: as many turns wait in the session as may"),
        (status = 422, description = "`invalid_field`, `unknown_field`, `idempotency_mismatch`"),
    )
)]
pub(in crate::http) async fn regenerate(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    path: MessagePath,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    body: Option<Json<AgainBody>>,
) -> Result<Response> {
    let body = body.map_or_else(AgainBody::default, |Json(body)| body);
    let (kind, stream) = (RunKind::Regenerate(path.message), body.stream);
    turn(&app, user, key, id, path.session, kind, body.into(), stream).await
}

/// Writes on at an answer that was cut off: more text on the same message. An answer that was replied to stays as it is.
#[utoipa::path(
    post, path = "/sessions/{session_id}/messages/{message_id}/continue", tag = "Messages",
    params(
        ("session_id" = String, Path), ("message_id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn"),
    ),
    request_body = Option<AgainBody>,
    responses(
        (status = 200, description = "The turn, with the whole answer; with `stream`, its frames", content(
            (TurnResult = "application/json"), (TurnEvent = "text/event-stream"))),
        (status = 404, description = "`not_found`: the session or the message"),
        (status = 409, description = "`turn_in_progress` with `run_id`"),
        (status = 429, description = "`queue_full`: as many turns wait in the session as may"),
        (status = 422, description = "`invalid_field`, `unknown_field`, `idempotency_mismatch`; \
            `not_continuable`: a question, a dismissal, or an answer that was replied to"),
    )
)]
pub(in crate::http) async fn go_on(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    path: MessagePath,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    body: Option<Json<AgainBody>>,
) -> Result<Response> {
    let body = body.map_or_else(AgainBody::default, |Json(body)| body);
    let (kind, stream) = (RunKind::Continue(path.message), body.stream);
    turn(&app, user, key, id, path.session, kind, body.into(), stream).await
}

/// Asks a question in other words: a sibling of the user's message, with its answer. The first one stays.
#[utoipa::path(
    post, path = "/sessions/{session_id}/messages/{message_id}/edit", tag = "Messages",
    params(
        ("session_id" = String, Path), ("message_id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn"),
    ),
    request_body = EditBody,
    responses(
        (status = 200, description = "The turn; with `stream`, its frames", content(
            (TurnResult = "application/json"), (TurnEvent = "text/event-stream"))),
        (status = 404, description = "`not_found`: the session, the message or the question"),
        (status = 409, description = "`turn_in_progress` with `run_id`, `hitl_not_open`"),
        (status = 429, description = "`queue_full`: as many turns wait in the session as may"),
        (status = 410, description = "`hitl_expired`"),
        (status = 422, description = "`invalid_field`, `unknown_field`, `unknown_option`, `idempotency_mismatch`"),
    )
)]
pub(in crate::http) async fn edit(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    path: MessagePath,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    Json(body): Json<EditBody>,
) -> Result<Response> {
    let (kind, stream) = (RunKind::Edit(path.message), body.stream);
    turn(&app, user, key, id, path.session, kind, body.into(), stream).await
}

impl From<AgainBody> for ChatBody {
    fn from(body: AgainBody) -> Self {
        Self {
            model: body.model,
            temperature: body.temperature,
            max_tokens: body.max_tokens,
            top_p: body.top_p,
            on_busy: body.on_busy,
            on_disconnect: body.on_disconnect,
            ..Self::default()
        }
    }
}

impl From<EditBody> for ChatBody {
    fn from(body: EditBody) -> Self {
        Self {
            message: body.message,
            session_id: None,
            hitl: body.hitl,
            parent_id: None,
            collections: body.collections,
            attachments: body.attachments,
            model: body.model,
            temperature: body.temperature,
            max_tokens: body.max_tokens,
            top_p: body.top_p,
            on_busy: body.on_busy,
            on_disconnect: body.on_disconnect,
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "what a door takes apart stays apart until here")]
async fn turn(
    app: &App,
    user: User,
    key: Option<String>,
    id: RequestId,
    session: String,
    kind: RunKind,
    body: ChatBody,
    stream: bool,
) -> Result<Response> {
    let (_, request) = body.into_request((app.on_busy, app.on_disconnect))?;
    let turn = submit(app, user, key, id, Some(session), TurnRequest { kind, ..request }).await?;
    if stream {
        return Ok(sse::answer(turn.watch, Form::Plain, app.limits.keep_alive));
    }
    Ok(axum::Json(turn.finish().await?).into_response())
}
