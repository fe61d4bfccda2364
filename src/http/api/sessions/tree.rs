//! All branches of a session.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::MessageView;
use crate::{
    domain::id::MessageId,
    http::{
        error::Result,
        extract::{NamePath, Page, PageQuery, Query, SignedIn},
        state::App,
    },
};

/// A page of a session's messages, those of all branches. Each names its parent, so the pages make the same tree in
/// whatever order they are read.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct TreeView {
    session_id: String,
    title: Option<String>,
    /// The message that the shown branch ends with.
    active_message_id: Option<MessageId>,
    messages: Vec<MessageView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// All messages of a session, in the order in which they were accepted, and where the shown branch ends.
#[utoipa::path(
    get, path = "/sessions/{session_id}/tree", tag = "Sessions", params(("session_id" = String, Path), PageQuery),
    responses(
        (status = 200, body = TreeView),
        (status = 400, description = "`invalid_cursor`"),
        (status = 404, description = "`not_found`"),
    )
)]
pub(in crate::http) async fn tree(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<TreeView>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let (session, mut messages) = app.chat.tree(user.id, &name, page.after.unwrap_or(0), page.fetch()).await?;
    let next_cursor = page.cut(&mut messages, |message| message.ord);
    Ok(axum::Json(TreeView {
        session_id: session.name,
        title: session.title,
        active_message_id: session.active_leaf,
        messages: messages.into_iter().map(|message| MessageView::new(message, &app.chat)).collect(),
        next_cursor,
    }))
}
