//! Runs in line: put there, started, and ended without having run.

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};

use super::{
    super::{
        Storage,
        sql::{Sql, Tx, Word},
        writer::Kind,
    },
    accept::{RunRow, begin, check_options},
    claim::{Claim, claim_key},
    hitl, log,
    place::place,
    search::Terms,
};
use crate::domain::{
    chat::{
        Accept, EndQueued, Enqueued, Head, OnBusy, QueueBounds, QueueStore, Refused, StartQueued, Started, TurnRequest,
    },
    error::StoreError,
    hitl::HitlStatus,
    id::{MessageId, RunId, SessionId, UserId},
    run::FrameBatch,
    time::Millis,
    user::Role,
};

#[async_trait]
impl QueueStore for Storage {
    async fn enqueue(&self, accept: &Accept, first: &FrameBatch, bounds: QueueBounds) -> Result<Enqueued, Refused> {
        let (accept, first) = (accept.clone(), first.clone());
        self.write(Kind::ACCEPT, move |tx| Box::pin(async move { enqueue(tx, &accept, first, bounds).await })).await
    }

    async fn heads(&self, owner: &str, session: Option<SessionId>, limit: i64) -> Result<Vec<Head>, StoreError> {
        let mut tx = self.read().await?;
        let now = tx.now(self.now()).await?;
        heads(&mut tx, owner, session, limit, now).await
    }

    async fn start(&self, start: &StartQueued) -> Result<Started, Refused> {
        let start = start.clone();
        self.write(Kind::ACCEPT, move |tx| Box::pin(async move { self::start(tx, &start).await })).await
    }

    async fn end_queued(&self, end: &EndQueued) -> Result<(), StoreError> {
        let end = end.clone();
        self.write(Kind::FINISH, move |tx| Box::pin(async move { end_queued(tx, end).await })).await
    }
}

// First of all, so that nobody starts, ends or adds a run of the session meanwhile.
const COUNT_IN: &str = "
update sessions set queued = queued + 1, updated_at = $3
where owner_id = $1 and name = $2 and (running_run is not null or queued > 0) and queued < $4
returning id, next_ord as ord, active_leaf, title, message_count, created_at";

const WAITING: &str = "select queued from sessions where owner_id = $1 and name = $2";

const WAITING_IN_ALL: &str = "select count(*) from runs where status = 'queued'";

const ENQUEUE: &str = "
insert into runs (id, session_id, user_id, kind, status, request, human_id, on_disconnect, created_at, interrupts, owner,
                  queue_no)
select $1, $2, $3, $4, 'queued', $5, $6, $7, $8, $9, $10, coalesce(max(r.queue_no), 0) + 1
from runs r where r.session_id = $2 and r.status = 'queued'";

async fn enqueue(tx: &mut Tx, accept: &Accept, first: FrameBatch, bounds: QueueBounds) -> Result<Enqueued, Refused> {
    claim_key(tx, accept).await?;
    let counted = Sql::new(COUNT_IN)
        .bind(accept.user)
        .bind(accept.session_name.as_str())
        .bind(accept.now)
        .bind(bounds.session)
        .maybe::<Claim>(tx)
        .await?;
    let Some(claim) = counted else {
        let waiting =
            Sql::new(WAITING).bind(accept.user).bind(accept.session_name.as_str()).maybe::<(i64,)>(tx).await?;
        return Err(if waiting.is_some_and(|(waiting,)| waiting > 0) { Refused::QueueFull } else { Refused::Idle });
    };
    let (waiting,) = Sql::new(WAITING_IN_ALL).one::<(i64,)>(tx).await?;
    if usize::try_from(waiting).unwrap_or(usize::MAX) >= bounds.total {
        return Err(Refused::Overloaded);
    }
    // Where it is written is settled when it starts; what can never be is told now.
    let reply = accept.request.hitl.as_ref();
    match place(tx, &claim, accept).await {
        Ok(place) => place.question.iter().try_for_each(|question| check_options(question, reply))?,
        // The run that is stopped for this one gives it back.
        Err(Refused::HitlNotOpen(HitlStatus::Taken)) => {
            if let Some(id) = reply.and_then(|reply| reply.id)
                && let Some(question) = hitl::by_id(tx, claim.id, id).await?
            {
                check_options(&question.at(accept.now)?, reply)?;
            }
        }
        Err(refused) => return Err(refused),
    }
    let interrupts = accept.request.on_busy == OnBusy::Interrupt;
    Sql::new(ENQUEUE)
        .bind(accept.run)
        .bind(claim.id)
        .bind(accept.user)
        .bind(accept.request.kind.as_str())
        .json(&accept.request)
        .bind(accept.human)
        .bind(Word(accept.request.on_disconnect))
        .bind(accept.now)
        .bind(interrupts)
        .bind(accept.owner.as_str())
        .run(tx)
        .await?;
    log::append_first(tx, first).await?;
    let interrupted = if interrupts { interrupt(tx, claim.id, accept.now).await? } else { None };
    Ok(Enqueued { session: claim.id, interrupted })
}

const INTERRUPT: &str = "
update runs set stop_requested_at = coalesce(stop_requested_at, $2)
where session_id = $1 and status = 'running'
returning id";

async fn interrupt(tx: &mut Tx, session: SessionId, now: Millis) -> Result<Option<RunId>, StoreError> {
    Ok(Sql::new(INTERRUPT).bind(session).bind(now).maybe::<(RunId,)>(tx).await?.map(|(run,)| run))
}

#[derive(FromRow)]
struct HeadRow {
    id: RunId,
    session_id: SessionId,
    user_id: UserId,
    is_to_stop: bool,
}

// While it waits, its owner is the process that put it in line, where whoever asked for it watches it.
const HEADS: &str = "
select r.id, r.session_id, r.user_id,
       r.stop_requested_at is not null or (r.on_disconnect = 'cancel' and coalesce(r.owner, '') <> $3 and not exists (
         select 1 from processes p where p.id || ':' || p.boot = r.owner and p.lease_until > $2)) as is_to_stop
from runs r join sessions s on s.id = r.session_id
where r.status = 'queued' and s.running_run is null and not exists (
  select 1 from runs b where b.session_id = r.session_id and b.status = 'queued'
     and (b.interrupts > r.interrupts or (b.interrupts = r.interrupts and b.queue_no < r.queue_no)))
order by r.created_at, r.id limit $1";

const HEAD: &str = "
select r.id, r.session_id, r.user_id,
       r.stop_requested_at is not null or (r.on_disconnect = 'cancel' and coalesce(r.owner, '') <> $3 and not exists (
         select 1 from processes p where p.id || ':' || p.boot = r.owner and p.lease_until > $2)) as is_to_stop
from runs r join sessions s on s.id = r.session_id
where r.session_id = $4 and r.status = 'queued' and s.running_run is null
order by r.interrupts desc, r.queue_no limit $1";

async fn heads(
    tx: &mut Tx,
    owner: &str,
    session: Option<SessionId>,
    limit: i64,
    now: Millis,
) -> Result<Vec<Head>, StoreError> {
    let rows = match session {
        Some(session) => {
            Sql::new(HEAD).bind(limit.min(1)).bind(now).bind(owner).bind(session).all::<HeadRow>(tx).await?
        }
        None => Sql::new(HEADS).bind(limit).bind(now).bind(owner).all::<HeadRow>(tx).await?,
    };
    let head =
        |row: HeadRow| Head { run: row.id, session: row.session_id, user: row.user_id, is_to_stop: row.is_to_stop };
    Ok(rows.into_iter().map(head).collect())
}

const COUNT_OUT: &str = "
update sessions set queued = queued - 1, updated_at = $2
where id = $1 and running_run is null and queued > 0
returning name";

#[derive(FromRow)]
struct QueuedRow {
    id: RunId,
    request: Json<TurnRequest>,
    human_id: MessageId,
    created_at: Millis,
    role: Word<Role>,
    disabled_at: Option<Millis>,
}

const NEXT: &str = "
select r.id, r.request, r.human_id, r.created_at, u.role, u.disabled_at from runs r join users u on u.id = r.user_id
where r.session_id = $1 and r.status = 'queued' order by r.interrupts desc, r.queue_no limit 1";

// The session has a title and messages: a run waits only behind another.
const CLAIM: &str = "
update sessions set running_run = $2, next_ord = next_ord + $3, message_count = message_count + $4
where id = $1
returning id, next_ord - $3 as ord, active_leaf, title, message_count, created_at";

// Those that interrupt stand in the order in which they came, so whichever still waits came later. One that is to be
// stopped itself interrupts nobody.
const GIVE_WAY: &str = "
update runs set stop_requested_at = coalesce(stop_requested_at, $3)
where id = $1 and exists (
  select 1 from runs b
  where b.session_id = $2 and b.status = 'queued' and b.interrupts = $4 and b.stop_requested_at is null)";

async fn start(tx: &mut Tx, start: &StartQueued) -> Result<Started, Refused> {
    let Head { run, session, user, .. } = start.head;
    let taken = || Refused::Store(StoreError::Conflict("another run of the session is next"));
    let counted = Sql::new(COUNT_OUT).bind(session).bind(start.now).maybe::<(String,)>(tx).await?;
    let (session_name,) = counted.ok_or_else(taken)?;
    let next = Sql::new(NEXT).bind(session).maybe::<QueuedRow>(tx).await?;
    let queued = next.filter(|next| next.id == run).ok_or_else(taken)?;
    if queued.disabled_at.is_some() {
        return Err(Refused::NotFound);
    }
    let Json(request) = queued.request;
    let kind = request.kind;
    let claim = Sql::new(CLAIM)
        .bind(session)
        .bind(run)
        .bind(kind.adds())
        .bind(i64::from(kind.speaks()))
        .one::<Claim>(tx)
        .await?;
    let accept = Accept {
        user,
        session_name,
        new_session: session,
        human: queued.human_id,
        message: start.message,
        run,
        owner: start.owner.clone(),
        title: String::new(),
        model: request.model.clone().unwrap_or_else(|| start.model.clone()),
        request,
        idempotency: None,
        now: start.now,
    };
    let terms = Terms::of(&accept.request.message);
    let accepted = begin(tx, &accept, claim, &terms, RunRow::Queued).await?;
    let interrupted = Sql::new(GIVE_WAY).bind(run).bind(session).bind(start.now).bind(true).run(tx).await?;
    let log = log::frames(tx, run, 0, LOGGED).await?;
    Ok(Started { accepted, role: queued.role.0, queued_at: queued.created_at, is_interrupted: interrupted > 0, log })
}

/// More batches than a run that waits has.
const LOGGED: i64 = 16;

const COUNT_OUT_OF: &str = "
update sessions set queued = queued - 1
where id = (select r.session_id from runs r where r.id = $1 and r.status = 'queued')";

const END: &str = "
update runs set status = $2, error = $3, last_seq = $4, ended_at = $5 where id = $1 and status = 'queued'";

async fn end_queued(tx: &mut Tx, end: EndQueued) -> Result<(), StoreError> {
    Sql::new(COUNT_OUT_OF).bind(end.run).run(tx).await?;
    let ended = Sql::new(END)
        .bind(end.run)
        .bind(Word(end.status))
        .json_opt(end.error.as_ref())
        .bind(end.frames.last_seq)
        .bind(end.now)
        .run(tx)
        .await?;
    if ended == 0 {
        return Err(StoreError::Conflict("the run does not wait any more"));
    }
    log::append_first(tx, end.frames).await
}

#[cfg(test)]
mod tests {
    use sqlx::SqlitePool;

    use super::{super::claim::HOLDER, HEAD, NEXT};
    use crate::adapters::storage::open::SQLITE;

    #[tokio::test]
    async fn who_is_next_costs_what_waits_not_what_ever_ran() {
        let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
        SQLITE.run(&pool).await.unwrap();
        for statement in [HEAD, NEXT, HOLDER] {
            let explain = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
            let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).fetch_all(&pool).await.unwrap();
            let runs: Vec<&str> =
                plan.iter().map(|(.., step)| step.as_str()).filter(|step| step.starts_with("SEARCH r ")).collect();
            assert_eq!(runs, ["SEARCH r USING INDEX runs_line (session_id=?)"], "{statement}");
            assert!(!plan.iter().any(|(.., step)| step.contains("ORDER BY")), "{statement}");
        }
    }
}
