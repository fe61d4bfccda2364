//! The door of OpenAI clients: chat completions over the same turns. It knows no sessions; a conversation is the session
//! that its client names, else the one in which its messages were said.

mod error;
mod held;
mod reply;
mod request;
mod stream;

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};

pub(in crate::http) use self::error::{ErrorBody, is_at, status};
use self::{
    held::Holder,
    reply::{Completion, CompletionChunk, CompletionHead, ModelList, ModelView, content},
    request::{Asked, CompletionBody, MODEL},
    stream::{Telling, Told},
};
use super::chat::digest;
use crate::{
    domain::{
        chat::{OnDisconnect, TurnRequest},
        user::User,
    },
    http::{
        error::{ApiError, Result},
        extract::{IdempotencyKey, Json, NamePath, SignedIn},
        state::App,
        trace::RequestId,
    },
    services::chat::{Submission, Turn},
};

/// When askback came to be; clients want a time.
const CREATED: i64 = 1_764_547_200;

const fn askback() -> ModelView {
    ModelView { id: MODEL, object: "model", created: CREATED, owned_by: "askback" }
}

/// The models that have a name of their own here. Those of the model's server can be named too.
#[utoipa::path(get, path = "/v1/models", tag = "OpenAI", responses((status = 200, body = ModelList)))]
pub(in crate::http) async fn models() -> axum::Json<ModelList> {
    axum::Json(ModelList { object: "list", data: vec![askback()] })
}

/// One of them.
#[utoipa::path(
    get, path = "/v1/models/{model}", tag = "OpenAI", params(("model" = String, Path)),
    responses((status = 200, body = ModelView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn model(NamePath(name): NamePath) -> Result<axum::Json<ModelView>> {
    if name == MODEL { Ok(axum::Json(askback())) } else { Err(ApiError::not_found()) }
}

/// Goes on with a conversation: as `POST /chat`, in the shape of OpenAI's chat completions. A question that askback asks
/// back comes as text with numbered options; the next message answers it. Whoever leaves stops the turn.
#[utoipa::path(
    post, path = "/v1/chat/completions", tag = "OpenAI",
    params(("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn")),
    request_body(
        content = CompletionBody,
        example = json!({"model": "askback", "messages": [{"role": "user", "content": "How long is the warranty?"}]})
    ),
    responses(
        (status = 200, description = "The answer; with `stream`, its chunks and `[DONE]`", content(
            (Completion = "application/json"), (CompletionChunk = "text/event-stream"))),
        (status = 400, description = "`malformed_json`, `invalid_field`, `idempotency_mismatch`"),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`turn_in_progress`"),
        (status = 413, description = "`payload_too_large`, `context_too_long`"),
        (status = 429, description = "`rate_limited`, `queue_full`"),
        (status = 502, description = "`model_unavailable`, `model_bad_response`"),
        (status = 504, description = "`model_timeout`, `turn_timeout`"),
    )
)]
pub(in crate::http) async fn complete(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    Json(body): Json<CompletionBody>,
) -> Result<Response> {
    let (asked, manner) = body.apart()?;
    let user_id = user.id;
    let mut turn = start(&app, user, key, id, &asked).await?;
    let head = CompletionHead::new(turn.run, app.clock.now(), manner.model);
    let mut holder = Holder { conversations: app.conversations.clone(), user: user_id, lines: asked.lines() };
    if manner.stream {
        // The status is told with the first byte: as long as nothing is to be told, a failure can still be one.
        let begun = holder.begin(turn.answer);
        let (first, ()) = tokio::join!(tokio::time::timeout(app.limits.keep_alive, stream::next(&mut turn)), begun);
        if let Ok(Told::Failed(problem)) = first {
            return Err((*problem).into());
        }
        let telling = Telling { head, include_usage: manner.include_usage, holder, sent: String::new() };
        return Ok(telling.answer(turn, first.ok(), app.limits.keep_alive));
    }
    let result = turn.finish().await?;
    let content = content(&result);
    holder.end(&content, &result).await;
    Ok(axum::Json(Completion::new(head, result, content)).into_response())
}

async fn start(app: &App, user: User, key: Option<String>, id: RequestId, asked: &Asked) -> Result<Turn> {
    let place = app.conversations.place(user.id, asked.session.clone(), &asked.before, &asked.message).await?;
    // These clients have no other way to say stop.
    let defaults = (app.on_busy, OnDisconnect::Cancel);
    let (session_name, request) = asked.turn(place.session_name).into_request(defaults)?;
    let request = TurnRequest { kind: place.kind, parent: place.parent, ..request };
    // Where it belongs may be known otherwise when it is sent again: what it says counts.
    let idempotency = key.map(|key| Ok::<_, ApiError>((key, digest(asked)?))).transpose()?;
    let submission = Submission { user, session_name, request, idempotency, request_id: Some(id.into()) };
    Ok(app.chat.start(submission).await?)
}
