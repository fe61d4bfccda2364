//! A session's note.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::memory::Note,
    http::{
        error::Result,
        extract::{Json, NamePath, SignedIn},
        state::App,
    },
};

/// The note of a session.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct NoteView {
    session_id: String,
    /// Empty: there is none.
    note: String,
    /// To be sent with the next one. 0: there never was one.
    version: i64,
}

impl NoteView {
    fn new(session_id: String, note: Note) -> Self {
        Self { session_id, note: note.body, version: note.version }
    }
}

/// A note in place of another.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NoteBody {
    /// At most 500 characters.
    #[schema(max_length = 500)]
    note: String,
    /// The version that it takes the place of.
    version: i64,
}

/// What a session's turns are told of its conversation beyond the last messages. askback brings it up to date by itself
/// once the messages are too many.
#[utoipa::path(
    get, path = "/sessions/{session_id}/note", tag = "Memory", params(("session_id" = String, Path)),
    responses((status = 200, body = NoteView), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn note(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
) -> Result<axum::Json<NoteView>> {
    let note = app.notebook.note(user.id, &name).await?;
    Ok(axum::Json(NoteView::new(name, note)))
}

/// Writes it in place of the version that was read.
#[utoipa::path(
    put, path = "/sessions/{session_id}/note", tag = "Memory", params(("session_id" = String, Path)),
    request_body(content = NoteBody, example = json!({"note": "Asks about the Aurora X1.", "version": 0})),
    responses(
        (status = 200, body = NoteView),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`note_changed`: it has another version by now"),
    )
)]
pub(in crate::http) async fn put_note(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Json(body): Json<NoteBody>,
) -> Result<axum::Json<NoteView>> {
    let note = app.notebook.write_note(user.id, &name, &body.note, body.version).await?;
    Ok(axum::Json(NoteView::new(name, note)))
}

/// Erases it. Of what it covered no note is made again.
#[utoipa::path(
    delete, path = "/sessions/{session_id}/note", tag = "Memory", params(("session_id" = String, Path)),
    responses((status = 204), (status = 404, description = "`not_found`"))
)]
pub(in crate::http) async fn erase_note(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
) -> Result<StatusCode> {
    app.notebook.erase_note(user.id, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
