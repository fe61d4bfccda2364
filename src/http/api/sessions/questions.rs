//! The questions of a session, with what became of them.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    domain::{
        chat::HitlMove,
        hitl::{HitlStatus, HitlView},
        id::{HitlId, MessageId, RunId},
        time::Rfc3339,
    },
    http::{
        error::Result,
        extract::{NamePath, Page, PageQuery, Query, SignedIn},
        state::App,
    },
};

/// A page of the questions that were asked in a session, oldest first.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct QuestionList {
    questions: Vec<QuestionView>,
    /// For the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A question to the user and its history.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct QuestionView {
    #[serde(flatten)]
    question: HitlView,
    /// The message that asked.
    message_id: MessageId,
    /// The question of the first round.
    root_id: HitlId,
    /// The message that answered.
    answered_by: Option<MessageId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Rfc3339,
    /// Oldest first.
    moves: Vec<MoveView>,
}

/// A step from one state to the next.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct MoveView {
    from: HitlStatus,
    to: HitlStatus,
    /// The run that made it.
    run_id: Option<RunId>,
    /// Why.
    reason: String,
    #[schema(value_type = String, format = DateTime)]
    at: Rfc3339,
}

impl From<HitlMove> for MoveView {
    fn from(step: HitlMove) -> Self {
        Self { from: step.from, to: step.to, run_id: step.run, reason: step.reason, at: step.at.into() }
    }
}

/// Every question of a session with its moves.
#[utoipa::path(
    get, path = "/sessions/{session_id}/hitl", tag = "Sessions", params(("session_id" = String, Path), PageQuery),
    responses(
        (status = 200, body = QuestionList),
        (status = 400, description = "`invalid_cursor`"),
        (status = 404, description = "`not_found`"),
    )
)]
pub(in crate::http) async fn questions(
    State(app): State<Arc<App>>,
    SignedIn(user): SignedIn,
    NamePath(name): NamePath,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<QuestionList>> {
    let page = Page::new(query.limit, query.cursor.as_deref())?;
    let mut questions = app.chat.questions(user.id, &name, page.after, page.fetch()).await?;
    let next_cursor = page.cut(&mut questions, |(question, _)| (question.created_at, question.id));
    let view = |(question, moves): (_, Vec<HitlMove>)| QuestionView {
        question: app.chat.hitl_or_bare(&question),
        message_id: question.message,
        root_id: question.root,
        answered_by: question.answered_by,
        created_at: question.created_at.into(),
        moves: moves.into_iter().map(MoveView::from).collect(),
    };
    Ok(axum::Json(QuestionList { questions: questions.into_iter().map(view).collect(), next_cursor }))
}
