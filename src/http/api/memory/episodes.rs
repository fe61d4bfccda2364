//! What turns left for those after them.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    domain::{
        episode::{Episode, EpisodeId, Remembered},
        id::MessageId,
        time::Rfc3339,
    },
    http::{
        error::Result,
        extract::{Page, Query, SignedIn},
        state::App,
    },
};

/// The query of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct EpisodeQuery {
    /// Only those of this session.
    session_id: Option<String>,
    /// Most items, 1 to 1000.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Which to erase.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct EpisodeScope {
    /// Only those of this session.
    session_id: Option<String>,
}

/// Something that a turn left.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct EpisodeView {
    episode_id: EpisodeId,
    session_id: String,
    /// The answer that it came with; it goes with it.
    message_id: MessageId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    #[serde(flatten)]
    what: Remembered,
}

impl From<Episode> for EpisodeView {
    fn from(episode: Episode) -> Self {
        Self {
            episode_id: episode.id,
            session_id: episode.session_name,
            message_id: episode.message,
            created_at: episode.created_at.into(),
            what: episode.what,
        }
    }
}

/// A page of episodes, newest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct EpisodeList {
    episodes: Vec<EpisodeView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// What the caller's turns left for those after them, newest first: numbered results, as places without their text, and
/// what tools could not do. Of each session the last ones are kept.
#[utoipa::path(
    get, path = "/memory/episodes", tag = "Memory", params(EpisodeQuery),
    responses(
        (status = 200, body = EpisodeList),
        (status = 400, description = "`invalid_cursor`"),
        (status = 404, description = "`not_found`: no such session"),
    )
)]
pub(in crate::http) async fn episodes(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(query): Query<EpisodeQuery>,
) -> Result<axum::Json<EpisodeList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let session = query.session_id.as_deref();
    let mut episodes = app.notebook.episodes(user.id, session, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut episodes, |episode| (episode.created_at, episode.id));
    Ok(axum::Json(EpisodeList { episodes: episodes.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Erases them.
#[utoipa::path(
    delete, path = "/memory/episodes", tag = "Memory", params(EpisodeScope),
    responses((status = 204), (status = 404, description = "`not_found`: no such session"))
)]
pub(in crate::http) async fn forget_episodes(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    Query(scope): Query<EpisodeScope>,
) -> Result<StatusCode> {
    app.notebook.forget_episodes(user.id, scope.session_id.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
