//! Sessions: conversations as their owner reads them.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    domain::{
        chat::{Citation, Message, MessageKind, MessageStatus, Session, Timings},
        error::StoreError,
        event::CallView,
        hitl::HitlView,
        id::{MessageId, RunId},
        model::Usage,
        problem::Problem,
        time::Rfc3339,
        trace::RagTrace,
    },
    http::{
        error::Result,
        extract::{Cursor, NamePath, Page, PageQuery, Query, SignedIn},
        state::App,
    },
    services::chat::Chat,
};

/// Messages of a branch that are shown; longer branches show their end.
const MAX_MESSAGES: i64 = 1000;

/// A session in a list.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SessionView {
    session_id: String,
    title: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Rfc3339,
    /// Messages of all branches.
    message_count: i64,
    /// Whether the active branch ends with an open question.
    awaiting_input: bool,
    /// The turn that runs now.
    active_run_id: Option<RunId>,
}

impl From<Session> for SessionView {
    fn from(session: Session) -> Self {
        Self {
            session_id: session.name,
            title: session.title,
            updated_at: session.updated_at.into(),
            message_count: session.message_count,
            awaiting_input: session.awaiting_input,
            active_run_id: session.running_run,
        }
    }
}

/// A page of sessions, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct SessionList {
    sessions: Vec<SessionView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A session with the messages of its active branch, oldest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ConversationView {
    session_id: String,
    title: Option<String>,
    active_run_id: Option<RunId>,
    /// The question that waits for a reply.
    pending_hitl: Option<HitlView>,
    messages: Vec<MessageView>,
}

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
    fn new(message: Message, chat: &Chat) -> Self {
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
            attachments: Vec::new(),
            timings: message.timings,
            usage: message.usage,
            siblings: SiblingsView { index: message.siblings.0, count: message.siblings.1 },
        }
    }
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedView {
    session_id: String,
    /// For people.
    message: String,
}

/// The caller's sessions, newest first.
#[utoipa::path(
    get, path = "/sessions", tag = "Sessions", params(PageQuery),
    responses((status = 200, body = SessionList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<SessionList>> {
    let page = Page::<Session>::new(query.limit, query.cursor.as_deref())?;
    let mut sessions = app.chat.sessions(user.id, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut sessions, |session| Cursor(session.updated_at, session.id));
    Ok(axum::Json(SessionList { sessions: sessions.into_iter().map(Into::into).collect(), next_cursor }))
}

/// A session and the messages of its active branch. A running answer is left out until it has text.
#[utoipa::path(
    get, path = "/sessions/{session_id}", tag = "Sessions", params(("session_id" = String, Path)),
    responses((status = 200, body = ConversationView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
) -> Result<axum::Json<ConversationView>> {
    let conversation = app.chat.session(user.id, &name, MAX_MESSAGES).await?;
    let session = conversation.session;
    Ok(axum::Json(ConversationView {
        session_id: session.name,
        title: session.title,
        active_run_id: session.running_run,
        pending_hitl: conversation.pending,
        messages: conversation.messages.into_iter().map(|message| MessageView::new(message, &app.chat)).collect(),
    }))
}

/// Deletes a session with everything that hangs on it.
#[utoipa::path(
    delete, path = "/sessions/{session_id}", tag = "Sessions", params(("session_id" = String, Path)),
    responses(
        (status = 200, body = DeletedView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`turn_in_progress` with `run_id`"),
    )
)]
pub(in crate::http) async fn delete(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
) -> Result<axum::Json<DeletedView>> {
    match app.chat.delete_session(user.id, &name).await {
        Ok(()) => Ok(axum::Json(DeletedView { session_id: name, message: "The session was deleted.".into() })),
        Err(StoreError::Conflict(_)) => {
            let session = app.chat.session(user.id, &name, 1).await?.session;
            let mut problem =
                Problem::new(409, "turn_in_progress", "A turn is running in this session. Stop it first.");
            problem.run_id = session.running_run.map(|run| run.to_string());
            problem.session_id = Some(name);
            Err(problem.into())
        }
        Err(error) => Err(error.into()),
    }
}
