//! Sessions of a user.

use sqlx::FromRow;

use super::{
    super::sql::{Sql, Tx},
    hitl::{self, PendingRow},
    search,
};
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
    created_at: Millis,
    updated_at: Millis,
}

impl SessionRow {
    fn with(self, question: Option<&PendingRow>, now: Millis) -> Session {
        Session {
            id: self.id,
            owner: self.owner_id,
            name: self.name,
            title: self.title,
            active_leaf: self.active_leaf,
            running_run: self.running_run,
            message_count: self.message_count,
            question: question.filter(|row| row.is_open(now) || row.is_taken()).map(|row| row.id),
            awaiting_input: question.is_some_and(|row| row.is_open(now)),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// The sessions of these rows, each with the question of its active branch.
async fn with_questions(tx: &mut Tx, rows: Vec<SessionRow>, now: Millis) -> Result<Vec<Session>, StoreError> {
    let leaves: Vec<MessageId> = rows.iter().filter_map(|row| row.active_leaf).collect();
    let questions = hitl::nearest(tx, &leaves).await?;
    let question = |leaf: Option<MessageId>| leaf.and_then(|leaf| questions.get(&leaf));
    Ok(rows.into_iter().map(|row| (question(row.active_leaf), row)).map(|(asked, row)| row.with(asked, now)).collect())
}

const SESSION: &str = "
select id, owner_id, name, title, active_leaf, running_run, message_count, created_at, updated_at
from sessions where owner_id = $1 and name = $2";

pub(super) async fn session(tx: &mut Tx, user: UserId, name: &str, now: Millis) -> Result<Session, StoreError> {
    let row = Sql::new(SESSION).bind(user).bind(name).one::<SessionRow>(tx).await?;
    with_questions(tx, vec![row], now).await?.pop().ok_or(StoreError::NotFound)
}

/// Before the first page stands a place that is newer than every session.
const BEFORE_ALL: (Millis, SessionId) = (Millis(i64::MAX), SessionId::from_uuid(uuid::Uuid::max()));

const SESSIONS: &str = "
select id, owner_id, name, title, active_leaf, running_run, message_count, created_at, updated_at
from sessions where owner_id = $1 and (updated_at, id) < ($2, $3)
order by updated_at desc, id desc limit $4";

pub(super) async fn sessions(
    tx: &mut Tx,
    user: UserId,
    after: Option<(Millis, SessionId)>,
    limit: i64,
    now: Millis,
) -> Result<Vec<Session>, StoreError> {
    let (time, id) = after.unwrap_or(BEFORE_ALL);
    let rows = Sql::new(SESSIONS).bind(user).bind(time).bind(id).bind(limit).all(tx).await?;
    with_questions(tx, rows, now).await
}

// The index gives the sessions; they are then read newest first.
const SEARCH: &str = "
select id, owner_id, name, title, active_leaf, running_run, message_count, created_at, updated_at
from sessions where owner_id = $1 and (updated_at, id) < ($2, $3)
  and id in (select t.session_id from search_index join search_terms t on t.no = search_index.rowid
             where search_index match $5)
order by updated_at desc, id desc limit $4";

const SEARCH_POSTGRES: &str = "
select id, owner_id, name, title, active_leaf, running_run, message_count, created_at, updated_at
from sessions where owner_id = $1 and (updated_at, id) < ($2, $3)
  and id in (select session_id from search_terms where terms @@ cast($5 as tsquery))
order by updated_at desc, id desc limit $4";

pub(super) async fn search(
    tx: &mut Tx,
    user: UserId,
    query: &str,
    after: Option<(Millis, SessionId)>,
    limit: i64,
    now: Millis,
) -> Result<Vec<Session>, StoreError> {
    let Some(wanted) = search::wanted(tx, user, query) else { return Ok(Vec::new()) };
    let (time, id) = after.unwrap_or(BEFORE_ALL);
    let search = Sql::each(SEARCH, SEARCH_POSTGRES).bind(user).bind(time).bind(id).bind(limit).bind(wanted);
    let rows = search.all(tx).await?;
    with_questions(tx, rows, now).await
}

// A turn in line holds the session as a running one does.
const DELETE: &str = "
delete from sessions where owner_id = $1 and name = $2 and running_run is null and queued = 0";

const EXISTS: &str = "select count(*) from sessions where owner_id = $1 and name = $2";

pub(super) async fn delete(tx: &mut Tx, user: UserId, name: String) -> Result<(), StoreError> {
    if Sql::new(DELETE).bind(user).bind(name.as_str()).run(tx).await? == 1 {
        return Ok(());
    }
    let (there,) = Sql::new(EXISTS).bind(user).bind(name).one::<(i64,)>(tx).await?;
    if there == 0 { Err(StoreError::NotFound) } else { Err(StoreError::Conflict("the session has a running turn")) }
}
