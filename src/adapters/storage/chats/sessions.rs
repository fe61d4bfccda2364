//! Sessions of a user.

use sqlx::FromRow;

use super::super::sql::{Sql, Tx};
use crate::domain::{
    chat::Session,
    error::StoreError,
    id::{MessageId, RunId, SessionId, UserId},
    time::Millis,
};

#[derive(FromRow)]
struct SessionRow {
    id: SessionId,
    owner_id: UserId,
    name: String,
    title: Option<String>,
    active_leaf: Option<MessageId>,
    running_run: Option<RunId>,
    message_count: i64,
    awaiting_input: bool,
    created_at: Millis,
    updated_at: Millis,
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: row.id,
            owner: row.owner_id,
            name: row.name,
            title: row.title,
            active_leaf: row.active_leaf,
            running_run: row.running_run,
            message_count: row.message_count,
            awaiting_input: row.awaiting_input,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

const SESSION: &str = "
select s.id, s.owner_id, s.name, s.title, s.active_leaf, s.running_run, s.message_count, s.created_at, s.updated_at,
       exists (select 1 from messages m join hitl h on h.message_id = m.id
               where m.id = s.active_leaf and m.status = 'awaiting_input' and h.status = 'open' and h.expires_at > $3)
         as awaiting_input
from sessions s where s.owner_id = $1 and s.name = $2";

pub(super) async fn session(tx: &mut Tx, user: UserId, name: &str, now: Millis) -> Result<Session, StoreError> {
    Sql::new(SESSION).bind(user).bind(name).bind(now).one::<SessionRow>(tx).await.map(Session::from)
}

const SESSIONS: &str = "
select s.id, s.owner_id, s.name, s.title, s.active_leaf, s.running_run, s.message_count, s.created_at, s.updated_at,
       exists (select 1 from messages m join hitl h on h.message_id = m.id
               where m.id = s.active_leaf and m.status = 'awaiting_input' and h.status = 'open' and h.expires_at > $5)
         as awaiting_input
from sessions s where s.owner_id = $1 and (s.updated_at, s.id) < ($2, $3)
order by s.updated_at desc, s.id desc limit $4";

pub(super) async fn sessions(
    tx: &mut Tx,
    user: UserId,
    after: Option<(Millis, SessionId)>,
    limit: i64,
    now: Millis,
) -> Result<Vec<Session>, StoreError> {
    // Before the first page stands a place that is newer than every session.
    let (time, id) = after.unwrap_or((Millis(i64::MAX), SessionId::from_uuid(uuid::Uuid::max())));
    let query = Sql::new(SESSIONS).bind(user).bind(time).bind(id).bind(limit).bind(now);
    Ok(query.all::<SessionRow>(tx).await?.into_iter().map(Session::from).collect())
}

const DELETE: &str = "delete from sessions where owner_id = $1 and name = $2 and running_run is null";

const EXISTS: &str = "select count(*) from sessions where owner_id = $1 and name = $2";

pub(super) async fn delete(tx: &mut Tx, user: UserId, name: String) -> Result<(), StoreError> {
    if Sql::new(DELETE).bind(user).bind(name.as_str()).run(tx).await? == 1 {
        return Ok(());
    }
    let (there,) = Sql::new(EXISTS).bind(user).bind(name).one::<(i64,)>(tx).await?;
    if there == 0 { Err(StoreError::NotFound) } else { Err(StoreError::Conflict("the session has a running turn")) }
}
