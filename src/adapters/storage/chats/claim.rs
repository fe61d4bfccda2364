//! What a run claims before anything is written for it: the client's key and the session.

use sqlx::FromRow;

use super::super::sql::{Sql, Tx};
use crate::domain::{
    chat::{Accept, Refused},
    error::StoreError,
    id::{MessageId, RunId, SessionId},
    run::RunKind,
    time::Millis,
};

const FORGET_KEYS: &str = "delete from idempotency where user_id = $1 and expires_at <= $2";

const CLAIM_KEY: &str = "
insert into idempotency (user_id, scope, key, body_sha256, run_id, expires_at) values ($1, $2, $3, $4, $5, $6)
on conflict (user_id, scope, key) do nothing";

const KEY: &str = "select body_sha256, run_id from idempotency where user_id = $1 and scope = $2 and key = $3";

/// Claims the client's key for this run, if it gave one.
pub(super) async fn claim_key(tx: &mut Tx, accept: &Accept) -> Result<(), Refused> {
    let Some(promise) = &accept.idempotency else { return Ok(()) };
    Sql::new(FORGET_KEYS).bind(accept.user).bind(accept.now).run(tx).await?;
    let claimed = Sql::new(CLAIM_KEY)
        .bind(accept.user)
        .bind(promise.scope.as_str())
        .bind(promise.key.as_str())
        .bind(promise.body_sha256.as_str())
        .bind(accept.run)
        .bind(promise.expires_at)
        .run(tx)
        .await?;
    if claimed == 1 {
        return Ok(());
    }
    let earlier = Sql::new(KEY).bind(accept.user).bind(promise.scope.as_str()).bind(promise.key.as_str());
    match earlier.maybe::<(String, RunId)>(tx).await? {
        Some((body, run)) if body == promise.body_sha256 => Err(Refused::Duplicate(run)),
        Some(_) => Err(Refused::IdempotencyMismatch),
        None => Err(StoreError::Conflict("the key was let go meanwhile").into()),
    }
}

/// The session, claimed for the run.
#[derive(FromRow)]
pub(super) struct Claim {
    pub(super) id: SessionId,
    pub(super) ord: i64,
    pub(super) active_leaf: Option<MessageId>,
    pub(super) title: Option<String>,
    pub(super) message_count: i64,
    pub(super) created_at: Millis,
}

const MAKE_SESSION: &str = "
insert into sessions (id, owner_id, name, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (owner_id, name) do nothing";

// The answer counts when it has ended with something said.
const CLAIM_SESSION: &str = "
update sessions
set running_run = $3, next_ord = next_ord + $6, message_count = message_count + $7, updated_at = $4,
    title = coalesce(title, $5), title_by = case when title is null then 'words' else title_by end
where owner_id = $1 and name = $2 and running_run is null and queued = 0
returning id, next_ord - $6 as ord, active_leaf, title, message_count, created_at";

// Between two runs of a line the one that comes next has the session.
pub(super) const HOLDER: &str = "
select coalesce(s.running_run, (
  select r.id from runs r where r.session_id = s.id and r.status = 'queued' order by r.interrupts desc, r.queue_no limit 1))
from sessions s where s.owner_id = $1 and s.name = $2";

/// Tries to claim a session that is let go, or deleted, between two statements.
const CLAIMS: usize = 8;

/// Claims the session for this run: one turn at a time.
pub(super) async fn claim_session(tx: &mut Tx, accept: &Accept) -> Result<Claim, Refused> {
    for _ in 0..CLAIMS {
        if let Some(claim) = try_claim(tx, accept).await? {
            return Ok(claim);
        }
    }
    Err(StoreError::Conflict("the session changed meanwhile").into())
}

/// `None`: what held the session has let it go meanwhile. Only Postgres lets that be seen.
async fn try_claim(tx: &mut Tx, accept: &Accept) -> Result<Option<Claim>, Refused> {
    let kind = accept.request.kind;
    if kind == RunKind::Turn {
        Sql::new(MAKE_SESSION)
            .bind(accept.new_session)
            .bind(accept.user)
            .bind(accept.session_name.as_str())
            .bind(accept.now)
            .run(tx)
            .await?;
    }
    let claim = Sql::new(CLAIM_SESSION)
        .bind(accept.user)
        .bind(accept.session_name.as_str())
        .bind(accept.run)
        .bind(accept.now)
        .bind(accept.title.as_str())
        .bind(kind.adds())
        .bind(i64::from(kind.speaks()))
        .maybe::<Claim>(tx)
        .await?;
    if claim.is_some() {
        return Ok(claim);
    }
    let holder = Sql::new(HOLDER).bind(accept.user).bind(accept.session_name.as_str());
    match holder.maybe::<(Option<RunId>,)>(tx).await? {
        Some((Some(run),)) => Err(Refused::Busy(run)),
        None if kind != RunKind::Turn => Err(Refused::NotFound),
        _ => Ok(None),
    }
}
