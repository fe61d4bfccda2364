//! Runs, the processes that own them, and the runs whose process is dead.

use sqlx::{FromRow, types::Json};

use super::{
    super::sql::{Sql, Tx, Word, unsigned},
    messages,
};
use crate::domain::{
    error::StoreError,
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    problem::Problem,
    run::{Orphan, Run, RunStatus},
    time::Millis,
};

#[derive(FromRow)]
struct RunRow {
    id: RunId,
    session_id: SessionId,
    session_name: String,
    user_id: UserId,
    status: Word<RunStatus>,
    extends: bool,
    human_id: MessageId,
    message_id: Option<MessageId>,
    log_from: i64,
    last_seq: i64,
    error: Option<Json<Problem>>,
    created_at: Millis,
    ended_at: Option<Millis>,
}

// While it runs the log tells how far it is; the row learns it at the end and keeps it when the log goes.
const RUN: &str = "
select r.id, r.session_id, s.name as session_name, r.user_id, r.status, r.kind = 'continue' as extends, r.human_id, r.message_id,
       case when r.ended_at is null
            then coalesce((select max(e.last_seq) from run_events e where e.run_id = r.id), 0)
            else r.last_seq end as last_seq, r.log_from,
       r.error, r.created_at, r.ended_at
from runs r join sessions s on s.id = r.session_id where r.id = $1 and r.user_id = $2";

pub(super) async fn run(tx: &mut Tx, user: UserId, id: RunId) -> Result<Run, StoreError> {
    let row = Sql::new(RUN).bind(id).bind(user).one::<RunRow>(tx).await?;
    Ok(Run {
        id: row.id,
        session: row.session_id,
        session_name: row.session_name,
        user: row.user_id,
        status: row.status.0,
        extends: row.extends,
        human: row.human_id,
        message: row.message_id,
        log_from: unsigned(row.log_from)?,
        last_seq: unsigned(row.last_seq)?,
        error: row.error.map(|Json(problem)| problem),
        created_at: row.created_at,
        ended_at: row.ended_at,
    })
}

const REQUEST_STOP: &str = "
update runs set stop_requested_at = $3
where id = $1 and user_id = $2 and status in ('queued', 'running') and stop_requested_at is null";

/// Asking again, or asking a run that has ended, changes nothing.
pub(super) async fn request_stop(tx: &mut Tx, user: UserId, id: RunId, now: Millis) -> Result<Run, StoreError> {
    Sql::new(REQUEST_STOP).bind(id).bind(user).bind(now).run(tx).await?;
    run(tx, user, id).await
}

const STOPS: &str = "
select id from runs where owner = $1 and status = 'running' and stop_requested_at is not null order by id";

pub(super) async fn stops(tx: &mut Tx, owner: &str) -> Result<Vec<RunId>, StoreError> {
    let rows = Sql::new(STOPS).bind(owner).all::<(RunId,)>(tx).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

const BEAT: &str = "
insert into processes (id, boot, lease_until) values ($1, $2, $3)
on conflict (id) do update set boot = excluded.boot, lease_until = excluded.lease_until";

/// A restarted process takes its row over, which makes the runs of its earlier life orphans at once.
pub(super) async fn beat_process(tx: &mut Tx, id: String, boot: String, until: Millis) -> Result<(), StoreError> {
    Sql::new(BEAT).bind(id).bind(boot).bind(until).run(tx).await.map(|_| ())
}

#[derive(FromRow)]
struct OrphanRow {
    id: RunId,
    session_id: SessionId,
    session_name: String,
    owner: String,
    human_id: MessageId,
    message_id: MessageId,
    earlier: Option<String>,
    taken: Option<HitlId>,
    trace: Option<Vec<u8>>,
}

const ORPHANS: &str = "
select r.id, r.session_id, s.name as session_name, r.owner, r.human_id, r.message_id,
       case when r.kind = 'continue' then m.content end as earlier,
       (select h.id from hitl h where h.session_id = r.session_id and h.status = 'taken' and h.taken_by = r.id limit 1)
         as taken,
       t.body as trace
from runs r join sessions s on s.id = r.session_id join messages m on m.id = r.message_id
     left join traces t on t.run_id = m.run_id
where r.status = 'running'
  and not exists (select 1 from processes p where p.id || ':' || p.boot = r.owner and p.lease_until > $1)
order by r.created_at, r.id";

pub(super) async fn orphans(tx: &mut Tx, now: Millis) -> Result<Vec<Orphan>, StoreError> {
    let rows = Sql::new(ORPHANS).bind(now).all::<OrphanRow>(tx).await?;
    Ok(rows
        .into_iter()
        .map(|row| Orphan {
            run: row.id,
            session: row.session_id,
            session_name: row.session_name,
            owner: row.owner,
            human: row.human_id,
            message: row.message_id,
            earlier: row.earlier,
            taken: row.taken,
            trace: row.trace.and_then(|body| messages::trace(&body, row.message_id)),
        })
        .collect())
}
