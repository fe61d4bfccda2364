//! Questions to the user: where the one of a branch is, and the moves between its states.
//!
//! Every move is a compare-and-set with a row of history. A question whose time has passed reads as expired at once;
//! the row follows when the next message comes to its branch.

use std::collections::HashMap;

use sqlx::FromRow;

use super::super::sql::{Sql, Texts, Tx, Word, texts, unsigned};
use crate::domain::{
    chat::HitlMove,
    error::StoreError,
    evidence::Route,
    hitl::{HitlStatus, NewPending, Pending, Record, Settlement},
    id::{HitlId, MessageId, RunId, SessionId, UserId},
    time::Millis,
};

/// A question as it is stored.
#[derive(Clone, FromRow)]
pub(super) struct PendingRow {
    pub(super) id: HitlId,
    pub(super) message_id: MessageId,
    root_id: HitlId,
    round: i64,
    kind: Word<Route>,
    status: Word<HitlStatus>,
    fingerprint: String,
    prompt: String,
    record: String,
    expires_at: Millis,
    taken_by: Option<RunId>,
    pub(super) answered_by: Option<MessageId>,
    created_at: Millis,
}

impl PendingRow {
    /// The question as it is at `now`.
    pub(super) fn at(self, now: Millis) -> Result<Pending, StoreError> {
        let status = match self.status.0 {
            HitlStatus::Open if self.expires_at <= now => HitlStatus::Expired,
            stored => stored,
        };
        let record = serde_json::from_str::<Record>(&self.record).ok().filter(|record| record.v == Record::VERSION);
        if record.is_none() {
            tracing::warn!(question = %self.id, "the record of a question cannot be read");
        }
        Ok(Pending {
            id: self.id,
            message: self.message_id,
            root: self.root_id,
            round: unsigned(self.round)?,
            status,
            fingerprint: self.fingerprint,
            record,
            prompt: self.prompt,
            route: self.kind.0,
            expires_at: self.expires_at,
            created_at: self.created_at,
            taken_by: self.taken_by,
            answered_by: self.answered_by,
        })
    }

    /// Whether it waits for a reply at `now`.
    pub(super) fn is_open(&self, now: Millis) -> bool {
        self.status.0 == HitlStatus::Open && self.expires_at > now
    }

    /// Whether a run is finding out what the reply to it means.
    pub(super) fn is_taken(&self) -> bool {
        self.status.0 == HitlStatus::Taken
    }

    /// Whether its time has passed and its row does not say so yet.
    pub(super) fn is_due(&self, now: Millis) -> bool {
        self.status.0 == HitlStatus::Open && self.expires_at <= now
    }
}

// The record is read as text, so that one that is no JSON any more is a question without record, not an error.
const BY_ID: &str = "
select id, message_id, root_id, round, kind, status, fingerprint, prompt, cast(record as text) as record, expires_at,
       taken_by, answered_by, created_at
from hitl where id = $1 and session_id = $2";

/// A question of this session.
pub(super) async fn by_id(tx: &mut Tx, session: SessionId, id: HitlId) -> Result<Option<PendingRow>, StoreError> {
    Sql::new(BY_ID).bind(id).bind(session).maybe(tx).await
}

#[derive(FromRow)]
struct NearestRow {
    leaf: MessageId,
    #[sqlx(flatten)]
    question: PendingRow,
}

// Stopped, failed and interrupted answers are passed over: the question before them is the branch's.
const NEAREST: Texts = texts!("
with recursive up (leaf, id, parent_id, kind, status, depth) as (
  select id, id, parent_id, kind, status, 0 from messages where id in (" [1] ")
  union all
  select up.leaf, m.id, m.parent_id, m.kind, m.status, up.depth + 1 from up join messages m on m.id = up.parent_id
  where (up.kind = 'human' or up.status not in ('completed', 'awaiting_input')) and up.depth < 1000)
select up.leaf, h.id, h.message_id, h.root_id, h.round, h.kind, h.status, h.fingerprint, h.prompt,
       cast(h.record as text) as record, h.expires_at, h.taken_by, h.answered_by, h.created_at
from up join hitl h on h.message_id = up.id
where up.kind = 'ai' and up.status in ('completed', 'awaiting_input')
order by h.created_at, h.id");

/// The question of each branch that ends with one of `leaves`, whatever its state: the one on its nearest assistant
/// message that is whole. Everything that asks which question a branch has asks here.
pub(super) async fn nearest(tx: &mut Tx, leaves: &[MessageId]) -> Result<HashMap<MessageId, PendingRow>, StoreError> {
    let rows = Sql::of(NEAREST).json(leaves).all::<NearestRow>(tx).await?;
    Ok(rows.into_iter().map(|row| (row.leaf, row.question)).collect())
}

const TAKE: &str = "
update hitl set status = 'taken', taken_by = $2, updated_at = $3
where id = $1 and status = 'open' and expires_at > $3";

/// open → taken. `Conflict` when it is not open.
pub(super) async fn take(
    tx: &mut Tx,
    id: HitlId,
    run: RunId,
    message: MessageId,
    now: Millis,
) -> Result<(), StoreError> {
    if Sql::new(TAKE).bind(id).bind(run).bind(now).run(tx).await? == 0 {
        return Err(StoreError::Conflict("the question is not open"));
    }
    let step = Step { from: HitlStatus::Open, to: HitlStatus::Taken, reason: "a message arrived", at: now };
    record(tx, id, &step, Some(run), Some(message)).await
}

const EXPIRE: &str = "
update hitl set status = 'expired', updated_at = $2 where id = $1 and status = 'open' and expires_at <= $2";

/// open → expired.
pub(super) async fn expire(tx: &mut Tx, id: HitlId, now: Millis) -> Result<(), StoreError> {
    if Sql::new(EXPIRE).bind(id).bind(now).run(tx).await? == 0 {
        return Err(StoreError::Conflict("the question is not due"));
    }
    let step = Step { from: HitlStatus::Open, to: HitlStatus::Expired, reason: "its time passed", at: now };
    record(tx, id, &step, None, None).await
}

// Open again, unless its time passed while the run had it.
const SETTLE: &str = "
update hitl
set status = case when $3 = 'open' and expires_at <= $5 then 'expired' else $3 end,
    answered_by = coalesce($4, answered_by), taken_by = null, updated_at = $5
where id = $1 and status = 'taken' and taken_by = $2
returning status";

const STATUS: &str = "select status from hitl where id = $1";

/// taken → what its run made of it. `Conflict` when this run does not have it. One that was settled before gets a line
/// in its history.
pub(super) async fn settle(
    tx: &mut Tx,
    id: HitlId,
    (settlement, reason): (Settlement, &str),
    run: RunId,
    message: MessageId,
    now: Millis,
) -> Result<(), StoreError> {
    let answered_by = match settlement {
        Settlement::Repeated => {
            let (Word(stands),) = Sql::new(STATUS).bind(id).one::<(Word<HitlStatus>,)>(tx).await?;
            let step = Step { from: stands, to: settlement.status(stands), reason, at: now };
            return record(tx, id, &step, Some(run), Some(message)).await;
        }
        Settlement::Answered => Some(message),
        Settlement::Dismissed | Settlement::Superseded | Settlement::Reopened => None,
    };
    let settled = Sql::new(SETTLE)
        .bind(id)
        .bind(run)
        .bind(Word(settlement.status(HitlStatus::Taken)))
        .bind(answered_by)
        .bind(now)
        .maybe::<(Word<HitlStatus>,)>(tx)
        .await?;
    let Some((Word(to),)) = settled else { return Err(StoreError::Conflict("the question is not this run's")) };
    record(tx, id, &Step { from: HitlStatus::Taken, to, reason, at: now }, Some(run), Some(message)).await
}

// The run that settled it, and those that resumed it again on other branches.
const SETTLED_BY: &str = "
select count(*) from hitl_moves m join hitl h on h.id = m.hitl_id
where m.hitl_id = $1 and m.message_id = $2 and m.to_status = h.status and m.from_status in ('taken', h.status)";

/// Whether `reply` settled the question: answered it, declined it or passed over it, first or in another wording.
pub(super) async fn is_settled_by(tx: &mut Tx, question: &PendingRow, reply: MessageId) -> Result<bool, StoreError> {
    match question.status.0 {
        HitlStatus::Answered | HitlStatus::Dismissed | HitlStatus::Superseded => {
            let (moves,) = Sql::new(SETTLED_BY).bind(question.id).bind(reply).one::<(i64,)>(tx).await?;
            Ok(moves > 0)
        }
        HitlStatus::Open | HitlStatus::Taken | HitlStatus::Expired => Ok(false),
    }
}

const STILL_TAKEN: &str = "select id from hitl where session_id = $1 and status = 'taken' and taken_by = $2";

/// Questions that a run still has.
pub(super) async fn still_taken(tx: &mut Tx, session: SessionId, run: RunId) -> Result<Vec<HitlId>, StoreError> {
    let rows = Sql::new(STILL_TAKEN).bind(session).bind(run).all::<(HitlId,)>(tx).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

const ASK: &str = "
insert into hitl (id, session_id, message_id, root_id, round, kind, status, fingerprint, prompt, record, expires_at,
                  created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9, $10, $11, $11) on conflict do nothing";

/// Leaves a question open on `message`. `Conflict` when the same one was asked under its root, or one is open there.
pub(super) async fn ask(
    tx: &mut Tx,
    session: SessionId,
    message: MessageId,
    ask: &NewPending,
    now: Millis,
) -> Result<(), StoreError> {
    let asked = Sql::new(ASK)
        .bind(ask.id)
        .bind(session)
        .bind(message)
        .bind(ask.root)
        .bind(ask.round)
        .bind(Word(ask.record.question.route))
        .bind(ask.fingerprint.as_str())
        .bind(ask.record.question.prompt.as_str())
        .json(&ask.record)
        .bind(ask.expires_at)
        .bind(now)
        .run(tx)
        .await?;
    if asked == 0 { Err(StoreError::Conflict("the question was asked before")) } else { Ok(()) }
}

struct Step<'a> {
    from: HitlStatus,
    to: HitlStatus,
    reason: &'a str,
    at: Millis,
}

const MOVE: &str = "
insert into hitl_moves (hitl_id, no, from_status, to_status, run_id, message_id, reason, at)
select $1, coalesce(max(no), 0) + 1, $2, $3, $4, $5, $6, $7 from hitl_moves where hitl_id = $1";

async fn record(
    tx: &mut Tx,
    id: HitlId,
    step: &Step<'_>,
    run: Option<RunId>,
    message: Option<MessageId>,
) -> Result<(), StoreError> {
    if !step.from.may_become(step.to) {
        return Err(StoreError::Conflict("a question makes no such move"));
    }
    Sql::new(MOVE)
        .bind(id)
        .bind(Word(step.from))
        .bind(Word(step.to))
        .bind(run)
        .bind(message)
        .bind(step.reason)
        .bind(step.at)
        .run(tx)
        .await
        .map(|_| ())
}

const OF_USER: &str = "
select h.id, h.message_id, h.root_id, h.round, h.kind, h.status, h.fingerprint, h.prompt,
       cast(h.record as text) as record, h.expires_at, h.taken_by, h.answered_by, h.created_at
from hitl h join sessions s on s.id = h.session_id where h.id = $1 and s.owner_id = $2";

/// A row of a question's history as it is stored.
#[derive(FromRow)]
pub(super) struct MoveRow {
    from_status: Word<HitlStatus>,
    to_status: Word<HitlStatus>,
    run_id: Option<RunId>,
    reason: String,
    at: Millis,
}

impl From<MoveRow> for HitlMove {
    fn from(row: MoveRow) -> Self {
        Self { from: row.from_status.0, to: row.to_status.0, run: row.run_id, reason: row.reason, at: row.at }
    }
}

const MOVES: &str = "
select from_status, to_status, run_id, reason, at from hitl_moves where hitl_id = $1 order by no";

pub(super) async fn pending(
    tx: &mut Tx,
    user: UserId,
    id: HitlId,
    now: Millis,
) -> Result<(Pending, Vec<HitlMove>), StoreError> {
    let row = Sql::new(OF_USER).bind(id).bind(user).one::<PendingRow>(tx).await?;
    let moves = Sql::new(MOVES).bind(id).all::<MoveRow>(tx).await?;
    Ok((row.at(now)?, moves.into_iter().map(HitlMove::from).collect()))
}
