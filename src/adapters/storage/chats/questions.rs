//! The questions of a session with their histories.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{
    super::sql::{Sql, Texts, Tx, texts},
    hitl::{MoveRow, PendingRow},
};
use crate::domain::{
    chat::HitlMove,
    error::StoreError,
    hitl::Pending,
    id::{HitlId, SessionId},
    time::Millis,
};

const QUESTIONS: &str = "
select id, message_id, root_id, round, kind, status, fingerprint, prompt, cast(record as text) as record, expires_at,
       taken_by, answered_by, created_at
from hitl where session_id = $1 and (created_at, id) > ($2, $3) order by created_at, id limit $4";

#[derive(FromRow)]
struct QuestionMoveRow {
    hitl_id: HitlId,
    #[sqlx(flatten)]
    step: MoveRow,
}

const MOVES: Texts = texts!("
select hitl_id, from_status, to_status, run_id, reason, at from hitl_moves
where hitl_id in (" [1] ") order by hitl_id, no");

pub(super) async fn questions(
    tx: &mut Tx,
    session: SessionId,
    after: Option<(Millis, HitlId)>,
    limit: i64,
    now: Millis,
) -> Result<Vec<(Pending, Vec<HitlMove>)>, StoreError> {
    let (time, id) = after.unwrap_or((Millis(i64::MIN), HitlId::from_uuid(uuid::Uuid::nil())));
    let query = Sql::new(QUESTIONS).bind(session).bind(time).bind(id).bind(limit);
    let rows = query.all::<PendingRow>(tx).await?;
    let ids: Vec<HitlId> = rows.iter().map(|row| row.id).collect();
    let mut moves: HashMap<HitlId, Vec<HitlMove>> = HashMap::new();
    for row in Sql::of(MOVES).json(&ids).all::<QuestionMoveRow>(tx).await? {
        moves.entry(row.hitl_id).or_default().push(row.step.into());
    }
    rows.into_iter()
        .map(|row| {
            let moves = moves.remove(&row.id).unwrap_or_default();
            row.at(now).map(|question| (question, moves))
        })
        .collect()
}
