//! Asking: one turn, answered whole or as it happens.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use crate::{
    domain::{
        chat::{HitlAction, HitlReply, OnBusy, OnDisconnect, TurnRequest, TurnResult},
        event::TurnEvent,
        model::Sampling,
        run::RunKind,
        user::User,
    },
    http::{
        error::{ApiError, Result},
        extract::{IdempotencyKey, Json, SignedIn},
        sse::{self, Form},
        state::App,
        trace::RequestId,
    },
    services::chat::{Submission, Turn},
};

pub(super) const MAX_SESSION_CHARS: usize = 120;
const MAX_MODEL_CHARS: usize = 200;
const MAX_LISTED: usize = 100;

/// A turn. Only `message` is needed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ChatBody {
    /// What the user says; may be empty when `hitl` says it. At most 32,000 characters.
    #[serde(default)]
    pub(super) message: String,
    /// The client's name of the session: unknown ones are made, without one a new session is made.
    #[schema(min_length = 1, max_length = 120)]
    pub(super) session_id: Option<String>,
    /// About an open question.
    pub(super) hitl: Option<HitlBody>,
    /// The message to answer from; the end of the active branch when absent.
    pub(super) parent_id: Option<String>,
    /// Restricts the knowledge to these collections; an empty list restricts nothing.
    pub(super) collections: Option<Vec<String>>,
    /// Attachment ids; none are taken yet.
    #[serde(default)]
    pub(super) attachments: Vec<String>,
    /// Another model of the same server.
    pub(super) model: Option<String>,
    #[schema(minimum = 0, maximum = 2)]
    pub(super) temperature: Option<f32>,
    #[schema(minimum = 1)]
    pub(super) max_tokens: Option<u32>,
    #[schema(minimum = 0, maximum = 1)]
    pub(super) top_p: Option<f32>,
    /// What to do when the session has a running turn: refuse this one, wait in line, or stop the running one.
    pub(super) on_busy: Option<OnBusy>,
    /// What to do when the last watcher leaves.
    pub(super) on_disconnect: Option<OnDisconnect>,
}

/// A reply to a question.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct HitlBody {
    /// Which question; the one that is open on the branch when absent.
    id: Option<String>,
    action: Option<ActionBody>,
    /// Chosen options of the question.
    #[serde(default)]
    option_ids: Vec<String>,
    /// For questions that ask for arguments; none do yet.
    arguments: Option<Value>,
}

/// What is done about a question.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::http) enum ActionBody {
    Answer,
    Dismiss,
    Approve,
    Decline,
}

impl ChatBody {
    /// The turn that it asks for, and the session's name.
    pub(super) fn into_request(self, defaults: (OnBusy, OnDisconnect)) -> Result<(Option<String>, TurnRequest)> {
        if let Some(name) = &self.session_id {
            check_text("session_id", name, MAX_SESSION_CHARS)?;
        }
        if let Some(model) = &self.model {
            check_text("model", model, MAX_MODEL_CHARS)?;
        }
        let collections = self.collections.iter().flatten();
        check_list("collections", collections.map(String::as_str))?;
        if !self.attachments.is_empty() {
            return Err(ApiError::field("attachments", "attachments are not taken by this version"));
        }
        let on_busy = match (self.on_busy, &self.hitl) {
            // Which question is open then, nobody knows now.
            (Some(OnBusy::Enqueue), Some(_)) => {
                return Err(ApiError::field("on_busy", "a reply to a question cannot wait for another turn"));
            }
            (Some(on_busy), _) => on_busy,
            (None, Some(_)) if defaults.0 == OnBusy::Enqueue => OnBusy::Reject,
            (None, _) => defaults.0,
        };
        let request = TurnRequest {
            kind: RunKind::Turn,
            message: self.message,
            hitl: self.hitl.map(HitlBody::into_reply).transpose()?,
            parent: self.parent_id.as_deref().map(id_of).transpose()?,
            collections: self.collections,
            model: self.model,
            sampling: sampling(self.temperature, self.top_p, self.max_tokens)?,
            on_busy,
            on_disconnect: self.on_disconnect.unwrap_or(defaults.1),
        };
        Ok((self.session_id, request))
    }
}

impl HitlBody {
    fn into_reply(self) -> Result<HitlReply> {
        check_list("hitl.option_ids", self.option_ids.iter().map(String::as_str))?;
        if self.arguments.is_some() {
            return Err(ApiError::field("hitl.arguments", "no question of this version asks for arguments"));
        }
        let action = match self.action {
            None => None,
            Some(ActionBody::Answer) => Some(HitlAction::Answer),
            Some(ActionBody::Dismiss) => Some(HitlAction::Dismiss),
            Some(ActionBody::Approve | ActionBody::Decline) => {
                return Err(ApiError::field("hitl.action", "no question of this version asks for approval"));
            }
        };
        Ok(HitlReply { id: self.id.as_deref().map(id_of).transpose()?, action, option_ids: self.option_ids })
    }
}

/// What is no id names nothing.
fn id_of<T>(text: &str) -> Result<crate::domain::id::Id<T>> {
    text.parse().map_err(|_| ApiError::not_found())
}

/// Refuses a text that is empty, too long, or holds NUL.
pub(super) fn check_text(field: &str, text: &str, most: usize) -> Result<()> {
    if text.is_empty() || text.chars().nth(most).is_some() {
        return Err(ApiError::field(field, format!("must have 1 to {most} characters")));
    }
    if text.contains('\0') {
        return Err(ApiError::field(field, "must not contain NUL"));
    }
    Ok(())
}

/// Refuses a list that is too long or holds an unusable text.
pub(super) fn check_list<'a>(field: &str, texts: impl Iterator<Item = &'a str>) -> Result<()> {
    for (position, text) in texts.enumerate() {
        if position == MAX_LISTED {
            return Err(ApiError::field(field, format!("must have at most {MAX_LISTED} items")));
        }
        check_text(&format!("{field}[{position}]"), text, MAX_SESSION_CHARS)?;
    }
    Ok(())
}

fn sampling(temperature: Option<f32>, top_p: Option<f32>, max_tokens: Option<u32>) -> Result<Sampling> {
    if temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return Err(ApiError::field("temperature", "must be 0 to 2"));
    }
    if top_p.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return Err(ApiError::field("top_p", "must be 0 to 1"));
    }
    if max_tokens == Some(0) {
        return Err(ApiError::field("max_tokens", "must be at least 1"));
    }
    Ok(Sampling { temperature, top_p, max_tokens })
}

/// Asks, and waits for the turn's end.
#[utoipa::path(
    post, path = "/chat", tag = "Chat",
    params(("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn")),
    request_body(content = ChatBody, example = json!({"message": "How long is the warranty?", "session_id": "s1"})),
    responses(
        (status = 200, body = TurnResult),
        (status = 404, description = "`not_found`: the question or the parent"),
        (status = 409, description = "`turn_in_progress` with `run_id`, `hitl_not_open`"),
        (status = 429, description = "`queue_full`: as many turns wait in the session as may"),
        (status = 410, description = "`hitl_expired`"),
        (status = 413, description = "`payload_too_large`, `context_too_long`"),
        (status = 422, description = "`invalid_field`, `unknown_field`, `unknown_option`, `idempotency_mismatch`"),
        (status = 429, description = "`rate_limited`"),
        (status = 502, description = "`model_unavailable`, `model_bad_response`"),
        (status = 504, description = "`model_timeout`, `turn_timeout`"),
    )
)]
pub(in crate::http) async fn chat(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    Json(body): Json<ChatBody>,
) -> Result<axum::Json<TurnResult>> {
    let turn = start(&app, user, key, id, body).await?;
    Ok(axum::Json(turn.finish().await?))
}

/// Asks, and tells the turn as it happens: server-sent events, one `data:` line each, `data: [DONE]` at the end of a
/// turn that did not fail.
#[utoipa::path(
    post, path = "/chat/stream", tag = "Chat",
    params(("Idempotency-Key" = Option<String>, Header, description = "Equal keys with equal bodies give one turn")),
    request_body(content = ChatBody, example = json!({"message": "How long is the warranty?", "session_id": "s1"})),
    responses(
        (status = 200, description = "Frames", body = TurnEvent, content_type = "text/event-stream"),
        (status = 404, description = "`not_found`: the question or the parent"),
        (status = 409, description = "`turn_in_progress` with `run_id`, `hitl_not_open`"),
        (status = 429, description = "`queue_full`: as many turns wait in the session as may"),
        (status = 410, description = "`hitl_expired`"),
        (status = 422, description = "`invalid_field`, `unknown_field`, `unknown_option`, `idempotency_mismatch`"),
    )
)]
pub(in crate::http) async fn stream(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdempotencyKey(key): IdempotencyKey,
    id: RequestId,
    Json(body): Json<ChatBody>,
) -> Result<Response> {
    let turn = start(&app, user, key, id, body).await?;
    Ok(sse::answer(turn.watch, Form::Plain, app.limits.keep_alive))
}

async fn start(app: &App, user: User, key: Option<String>, id: RequestId, body: ChatBody) -> Result<Turn> {
    let (session_name, request) = body.into_request((app.on_busy, app.on_disconnect))?;
    submit(app, user, key, id, session_name, request).await
}

/// Starts a turn.
pub(super) async fn submit(
    app: &App,
    user: User,
    key: Option<String>,
    id: RequestId,
    session_name: Option<String>,
    request: TurnRequest,
) -> Result<Turn> {
    let idempotency = match key {
        Some(key) => Some((key, digest(&(&session_name, &request))?)),
        None => None,
    };
    let submission = Submission { user, session_name, request, idempotency, request_id: Some(id.into()) };
    Ok(app.chat.start(submission).await?)
}

/// Of what the body means, so that white space and the order of its fields do not matter.
pub(super) fn digest(meaning: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(meaning).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(hex::encode(Sha256::digest(json)))
}
