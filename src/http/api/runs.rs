//! Runs: turns as durable things that can be looked at, followed and stopped.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    domain::{
        chat::TurnResult,
        event::TurnEvent,
        id::RunId,
        problem::Problem,
        recording::Replay,
        run::{Run, RunStatus},
        time::Rfc3339,
    },
    http::{
        error::{ApiError, Result},
        extract::{IdPath, Query, SignedIn},
        sse::{self, Form},
        state::App,
    },
    services::chat::{Events, EventsError, RunState},
};

/// A run.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct RunView {
    run_id: RunId,
    session_id: String,
    status: RunStatus,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Rfc3339>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<TurnResult>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

impl From<RunState> for RunView {
    fn from(state: RunState) -> Self {
        let run = state.run;
        Self {
            run_id: run.id,
            session_id: run.session_name,
            status: run.status,
            created_at: run.created_at.into(),
            ended_at: run.ended_at.map(Into::into),
            result: state.result,
            error: run.error,
        }
    }
}

/// Where to go on.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct EventsQuery {
    /// `seq` of the last event that was seen; the `Last-Event-ID` header counts before it.
    after: Option<String>,
}

/// A run, with its result when it has ended.
#[utoipa::path(
    get, path = "/runs/{run_id}", tag = "Runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn read(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<Run>,
) -> Result<axum::Json<RunView>> {
    Ok(axum::Json(app.chat.run(user.id, id).await?.into()))
}

/// The events of a run: replayed, then followed. With `id:` and `event:`; the end is `event: done`, also of a
/// run that failed.
#[utoipa::path(
    get, path = "/runs/{run_id}/events", tag = "Runs",
    params(("run_id" = String, Path), EventsQuery, ("Last-Event-ID" = Option<String>, Header)),
    responses(
        (status = 200, description = "Events", body = TurnEvent, content_type = "text/event-stream"),
        (status = 400, description = "`invalid_event_id`: no event of this run"),
        (status = 404, description = "`not_found`"),
        (status = 410, description = "`events_expired`: kept for 24 hours after the end"),
    )
)]
pub(in crate::http) async fn events(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<Run>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let after = after(&headers, query.after.as_deref())?;
    Ok(match app.chat.events(user.id, id, after).await? {
        Events::Follow(watch) => sse::answer(watch, Form::Named, app.limits.keep_alive),
        Events::AllSeen => sse::done(Form::Named),
    })
}

/// Stops a run; what was said is kept. One that has ended stays as it is.
#[utoipa::path(
    post, path = "/runs/{run_id}/stop", tag = "Runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn stop(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    IdPath(id): IdPath<Run>,
) -> Result<axum::Json<RunView>> {
    Ok(axum::Json(app.chat.stop(user.id, id).await?.into()))
}

/// How a run is to be played.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ReplayQuery {
    /// Whether models are called again and documents searched again.
    #[serde(default)]
    live: bool,
}

/// Runs a recorded turn again, on what its models, tools and documents answered then, and tells what differs. Any user's:
/// recording is the operator's decision. Nothing of it reaches the conversation.
#[utoipa::path(
    post, path = "/runs/{run_id}/replay", tag = "Runs", params(("run_id" = String, Path), ReplayQuery),
    responses(
        (status = 200, body = Replay),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`not_recorded`, `recording_incomplete`, `not_replayable`"),
        (status = 503, description = "`overloaded`"),
    )
)]
pub(in crate::http) async fn replay(
    State(app): State<Arc<App>>,
    IdPath(id): IdPath<Run>,
    Query(query): Query<ReplayQuery>,
) -> Result<axum::Json<Replay>> {
    Ok(axum::Json(app.chat.replay(id, query.live).await?))
}

fn after(headers: &HeaderMap, query: Option<&str>) -> Result<u64> {
    let invalid = || ApiError::from(EventsError::Unknown);
    let text = match headers.get("last-event-id") {
        Some(value) => Some(value.to_str().map_err(|_| invalid())?),
        None => query,
    };
    // Clients that have seen nothing send an empty id.
    match text.map(str::trim) {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| invalid()),
    }
}
