//! Messages as their owner reads them; rating and deleting one.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::busy;
use crate::{
    domain::{
        chat::{Citation, Feedback, Message, MessageKind, MessageStatus, Rating, Timings},
        error::StoreError,
        event::CallView,
        hitl::HitlView,
        id::MessageId,
        model::Usage,
        time::Rfc3339,
        trace::RagTrace,
    },
    http::{
        error::{ApiError, Result},
        extract::{Json, MessagePath, SignedIn},
        state::App,
    },
    services::chat::Chat,
};

/// Longest comment, in characters.
const MAX_COMMENT: usize = 2000;

/// A message.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct MessageView {
    id: MessageId,
    parent_id: Option<MessageId>,
    #[serde(rename = "type")]
    kind: MessageKind,
    content: String,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Rfc3339,
    status: MessageStatus,
    model: Option<String>,
    rag_trace: Option<RagTrace>,
    citations: Vec<Citation>,
    /// The question that it asked.
    hitl: Option<HitlView>,
    reasoning: Option<String>,
    tool_calls: Vec<CallView>,
    /// What the reader thinks of it.
    feedback: Option<Feedback>,
    /// Ids; none yet.
    attachments: Vec<String>,
    timings: Option<Timings>,
    usage: Option<Usage>,
    siblings: SiblingsView,
}

/// A message's place among those of the same parent and type.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SiblingsView {
    /// From 0.
    index: i64,
    count: i64,
}

impl MessageView {
    pub(super) fn new(message: Message, chat: &Chat) -> Self {
        Self {
            hitl: message.pending.as_ref().and_then(|pending| chat.hitl(pending)),
            id: message.id,
            parent_id: message.parent,
            kind: message.kind,
            content: message.content,
            timestamp: message.created_at.into(),
            status: message.status,
            model: message.model,
            rag_trace: message.trace,
            citations: message.citations,
            reasoning: message.reasoning,
            tool_calls: message.tool_calls,
            feedback: message.feedback,
            attachments: Vec::new(),
            timings: message.timings,
            usage: message.usage,
            siblings: SiblingsView { index: message.siblings.0, count: message.siblings.1 },
        }
    }
}

/// What the reader thinks of a message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FeedbackBody {
    rating: Rating,
    /// At most 2000 characters.
    #[schema(max_length = 2000)]
    comment: Option<String>,
}

/// A message that was rated.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct RatedView {
    message_id: MessageId,
    feedback: Feedback,
}

/// Says whether a message was of use, in place of what was said before.
#[utoipa::path(
    post, path = "/sessions/{session_id}/messages/{message_id}/feedback", tag = "Messages",
    params(("session_id" = String, Path), ("message_id" = String, Path)), request_body = FeedbackBody,
    responses((status = 200, body = RatedView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn rate(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    path: MessagePath,
    Json(body): Json<FeedbackBody>,
) -> Result<axum::Json<RatedView>> {
    let comment = body.comment.filter(|comment| !comment.trim().is_empty());
    if let Some(comment) = &comment {
        if comment.contains('\0') {
            return Err(ApiError::field("comment", "must not contain NUL"));
        }
        if comment.chars().count() > MAX_COMMENT {
            return Err(ApiError::field("comment", format!("must not be longer than {MAX_COMMENT} characters")));
        }
    }
    let feedback = Feedback { rating: body.rating, comment };
    app.chat.rate(user.id, &path.session, path.message, &feedback).await?;
    Ok(axum::Json(RatedView { message_id: path.message, feedback }))
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedMessageView {
    session_id: String,
    message_id: MessageId,
    /// The message that the shown branch ends with now.
    active_message_id: Option<MessageId>,
    /// For people.
    message: String,
}

/// Deletes a message and its branch: everything below it, and all that came of it.
#[utoipa::path(
    delete, path = "/sessions/{session_id}/messages/{message_id}", tag = "Messages",
    params(("session_id" = String, Path), ("message_id" = String, Path)),
    responses(
        (status = 200, body = DeletedMessageView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`turn_in_progress` with `run_id`"),
    )
)]
pub(in crate::http) async fn delete_message(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    path: MessagePath,
) -> Result<axum::Json<DeletedMessageView>> {
    match app.chat.delete_message(user.id, &path.session, path.message).await {
        Ok(()) => {}
        Err(StoreError::Conflict(_)) => return Err(busy(&app, &user, &path.session).await),
        Err(error) => return Err(error.into()),
    }
    let session = app.chat.session(user.id, &path.session, 1).await?.session;
    Ok(axum::Json(DeletedMessageView {
        session_id: session.name,
        message_id: path.message,
        active_message_id: session.active_leaf,
        message: "The message and what followed it were deleted.".into(),
    }))
}
