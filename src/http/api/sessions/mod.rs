//! Sessions: conversations as their owner finds, reads and changes them.

mod export;
mod markdown;
mod message;
mod questions;
mod tree;

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

pub(in crate::http) use self::{export::*, message::*, questions::*, tree::*};
use crate::{
    domain::{
        chat::{Session, SessionChange},
        error::StoreError,
        hitl::HitlView,
        id::RunId,
        problem::Problem,
        time::Rfc3339,
        user::User,
    },
    http::{
        error::{ApiError, Result},
        extract::{Json, NamePath, Page, PageQuery, Query, SignedIn, cursor, invalid_cursor},
        state::App,
    },
};

/// Longest query, and longest title, in characters.
const MAX_WORDS: usize = 200;

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
    /// For the messages before these; null when there are none.
    previous_cursor: Option<String>,
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct DeletedView {
    session_id: String,
    /// For people.
    message: String,
}

/// The query of the list of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct SessionQuery {
    /// Words of a title, or of a message; three letters or more find the words that begin so too. Marks and emoji are
    /// passed over. 1 to 200 characters.
    q: Option<String>,
    /// Most items, 1 to 1000.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The caller's sessions, newest first; with `q` those in which its words stand.
#[utoipa::path(
    get, path = "/sessions", tag = "Sessions", params(SessionQuery),
    responses((status = 200, body = SessionList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(query): Query<SessionQuery>,
) -> Result<axum::Json<SessionList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut sessions = match query.q {
        Some(q) => app.chat.search_sessions(user.id, &words("q", q)?, page.after, page.fetch()).await?,
        None => app.chat.sessions(user.id, page.after, page.fetch()).await?,
    };
    let next_cursor = page.cut(&mut sessions, |session| (session.updated_at, session.id));
    Ok(axum::Json(SessionList { sessions: sessions.into_iter().map(Into::into).collect(), next_cursor }))
}

/// A line of 1 to 200 characters.
fn words(field: &str, text: String) -> Result<String> {
    let length = text.chars().count();
    if text.trim().is_empty() || length > MAX_WORDS {
        return Err(ApiError::field(field, format!("must have 1 to {MAX_WORDS} characters")));
    }
    if text.contains('\0') {
        return Err(ApiError::field(field, "must not contain NUL"));
    }
    Ok(text.trim().to_owned())
}

/// A session and the last messages of its active branch. A running answer is left out until it has text.
#[utoipa::path(
    get, path = "/sessions/{session_id}", tag = "Sessions", params(("session_id" = String, Path), PageQuery),
    responses(
        (status = 200, body = ConversationView),
        (status = 400, description = "`invalid_cursor`"),
        (status = 404, description = "`not_found`"),
    )
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<ConversationView>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let conversation = match page.after {
        None => app.chat.session(user.id, &name, page.limit()).await?,
        Some(end) => match app.chat.earlier(user.id, &name, end, page.limit()).await {
            Err(StoreError::NotFound) => {
                // Where the session is there, it is the cursor that is wrong.
                app.chat.session(user.id, &name, 1).await?;
                return Err(invalid_cursor());
            }
            read => read?,
        },
    };
    let session = conversation.session;
    Ok(axum::Json(ConversationView {
        session_id: session.name,
        title: session.title,
        active_run_id: session.running_run,
        pending_hitl: conversation.pending,
        messages: conversation.messages.into_iter().map(|message| MessageView::new(message, &app.chat)).collect(),
        previous_cursor: conversation.earlier.as_ref().map(cursor),
    }))
}

/// What is to change. What is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SessionPatch {
    /// 1 to 200 characters. No other title replaces it later.
    #[schema(min_length = 1, max_length = 200)]
    title: Option<String>,
    /// Shows the branch through this message that was written on last.
    active_message_id: Option<String>,
}

/// Renames a session, or shows another of its branches, also while a turn runs.
#[utoipa::path(
    patch, path = "/sessions/{session_id}", tag = "Sessions", params(("session_id" = String, Path)),
    request_body = SessionPatch,
    responses(
        (status = 200, body = SessionView),
        (status = 404, description = "`not_found`: the session or the message"),
    )
)]
pub(in crate::http) async fn change(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Json(patch): Json<SessionPatch>,
) -> Result<axum::Json<SessionView>> {
    let title = patch.title.map(|title| words("title", title)).transpose()?;
    let shown = patch.active_message_id.map(|id| id.parse().map_err(|_| ApiError::not_found())).transpose()?;
    let session = app.chat.change_session(user.id, &name, &SessionChange { title, shown }).await?;
    Ok(axum::Json(session.into()))
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
        Err(StoreError::Conflict(_)) => Err(busy(&app, &user, &name).await),
        Err(error) => Err(error.into()),
    }
}

/// The problem of a session that a run has.
async fn busy(app: &App, user: &User, name: &str) -> ApiError {
    let session = match app.chat.session(user.id, name, 1).await {
        Ok(conversation) => conversation.session,
        Err(error) => return error.into(),
    };
    let mut problem = Problem::new(409, "turn_in_progress", "A turn is running in this session. Stop it first.");
    problem.run_id = session.running_run.map(|run| run.to_string());
    problem.session_id = Some(session.name);
    problem.into()
}
