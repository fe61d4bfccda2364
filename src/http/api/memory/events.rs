//! Background events.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    domain::{
        memory::{EventId, ListedEvent},
        time::Rfc3339,
        user::Role,
    },
    http::{
        error::{ApiError, Result},
        extract::{Json, Page, Query, SignedIn},
        state::App,
    },
    services::memory::events::NewEvent,
};

/// The query of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct EventQuery {
    /// Only events that no turn has told yet: `unread`, or `unread=true`.
    #[serde(default, deserialize_with = "switch")]
    #[param(required = false)]
    unread: bool,
    /// Most items, 1 to 1000.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A name alone says yes.
fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<bool, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "" | "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(serde::de::Error::custom("must be true or false")),
    }
}

/// A background event.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct EventView {
    event_id: EventId,
    /// `job_completed`, `job_failed`, or as it was posted.
    kind: String,
    /// One sentence.
    title: String,
    detail: Option<String>,
    /// The session that it concerns; null: told in any.
    session_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    /// No turn has told it yet.
    unread: bool,
}

impl From<ListedEvent> for EventView {
    fn from(listed: ListedEvent) -> Self {
        let event = listed.event;
        Self {
            event_id: event.id,
            kind: event.kind,
            title: event.title,
            detail: event.detail,
            session_id: listed.session_name,
            created_at: event.created_at.into(),
            unread: listed.is_unread,
        }
    }
}

/// A page of background events, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct EventList {
    events: Vec<EventView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Something that happened.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct EventBody {
    /// A word for programs, 1 to 64 characters.
    #[schema(min_length = 1, max_length = 64)]
    kind: String,
    /// One sentence, 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    title: String,
    /// More, up to 2000 characters.
    #[schema(min_length = 1, max_length = 2000)]
    detail: Option<String>,
    /// The session that it concerns; told in no other one.
    session_id: Option<String>,
    /// Whom it concerns; another one than the caller: admins only.
    username: Option<String>,
}

/// The caller's background events, newest first. The next turn that asks the agent tells the unread ones, once.
#[utoipa::path(
    get, path = "/memory/events", tag = "Memory", params(EventQuery),
    responses((status = 200, body = EventList), (status = 400, description = "`invalid_cursor`"))
)]
pub(in crate::http) async fn events(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(query): Query<EventQuery>,
) -> Result<axum::Json<EventList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut events = app.events.list(user.id, query.unread, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut events, |listed| (listed.event.created_at, listed.event.id));
    Ok(axum::Json(EventList { events: events.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Adds a background event, for the caller or, as an admin, for another user.
#[utoipa::path(
    post, path = "/memory/events", tag = "Memory",
    request_body(content = EventBody, example = json!({"kind": "backup_done", "title": "The nightly backup is done."})),
    responses(
        (status = 201, body = EventView),
        (status = 404, description = "`not_found`: the user has no such session"),
    )
)]
pub(in crate::http) async fn add_event(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Json(body): Json<EventBody>,
) -> Result<(StatusCode, axum::Json<EventView>)> {
    let whom = match &body.username {
        None => user.id,
        Some(name) => match app.accounts.find(name).await? {
            Some(found) if found.id == user.id => user.id,
            // Whether there is such a user is none of the caller's business.
            _ if user.role != Role::Admin => return Err(ApiError::forbidden()),
            Some(found) => found.id,
            None => return Err(ApiError::field("username", "there is no such user")),
        },
    };
    let new = NewEvent { kind: body.kind, title: body.title, detail: body.detail, session_name: body.session_id };
    let added = app.events.add(whom, new).await?;
    Ok((StatusCode::CREATED, axum::Json(added.into())))
}
