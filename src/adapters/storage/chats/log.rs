//! Run logs: what watchers have seen, and can see again.

use std::collections::HashSet;

use sqlx::FromRow;

use super::super::sql::{Sql, Texts, Tx, texts, unreadable, unsigned};
use crate::domain::{chat::Basis, error::StoreError, id::RunId, run::FrameBatch, time::Millis};

// However many runs speak at a time, their frames cost one statement: `$1` lists run, first, last, lines and owner.
const APPEND: &str = "
insert into run_events (run_id, first_seq, last_seq, frames)
select r.id, j.value ->> 1, j.value ->> 2, cast(j.value ->> 3 as blob)
from json_each($1) j join runs r on r.id = j.value ->> 0
where r.status in ('queued', 'running') and r.owner = j.value ->> 4
on conflict (run_id, first_seq) do update set last_seq = excluded.last_seq, frames = excluded.frames
returning run_id";

// The share lock makes a fenced owner wait for the `finish` that fences it, and then find the run ended.
const APPEND_POSTGRES: &str = "
insert into run_events (run_id, first_seq, last_seq, frames)
select r.id, cast(j.value ->> 1 as bigint), cast(j.value ->> 2 as bigint), convert_to(j.value ->> 3, 'UTF8')
from jsonb_array_elements($1) j (value) join runs r on r.id = j.value ->> 0
where r.status in ('queued', 'running') and r.owner = j.value ->> 4 for share of r
on conflict (run_id, first_seq) do update set last_seq = excluded.last_seq, frames = excluded.frames
returning run_id";

/// Appends frames; gives the runs that take none any more. A batch may be sent again after an unclear failure.
pub(super) async fn append(tx: &mut Tx, batches: Vec<FrameBatch>) -> Result<Vec<RunId>, StoreError> {
    let mut rows = Vec::with_capacity(batches.len());
    for FrameBatch { run, owner, first_seq, last_seq, lines } in batches {
        let lines = String::from_utf8(lines).map_err(|error| unreadable("frames", error))?;
        rows.push((run, first_seq, last_seq, lines, owner));
    }
    let taken = Sql::each(APPEND, APPEND_POSTGRES).json(&rows).all::<(RunId,)>(tx).await?;
    let taken: HashSet<RunId> = taken.into_iter().map(|(run,)| run).collect();
    Ok(rows.into_iter().map(|(run, ..)| run).filter(|run| !taken.contains(run)).collect())
}

const REST: &str = "
insert into traces (run_id, body)
select r.id, $2 from runs r where r.id = $1 and r.owner = $3 and r.status = 'running'
on conflict (run_id) do update set body = excluded.body";

/// Keeps what running runs rest on.
pub(super) async fn rest(tx: &mut Tx, bases: Vec<Basis>) -> Result<(), StoreError> {
    for Basis { run, owner, trace } in bases {
        let body = serde_json::to_vec(&*trace).map_err(|error| unreadable("trace", error))?;
        Sql::new(REST).bind(run).bind(body).bind(owner).run(tx).await?;
    }
    Ok(())
}

const APPEND_LAST: &str = "
insert into run_events (run_id, first_seq, last_seq, frames)
select r.id, $2, $3, $4 from runs r where r.id = $1 and r.owner = $5
on conflict (run_id, first_seq) do update set last_seq = excluded.last_seq, frames = excluded.frames";

/// The frames that a run ends with, within the transaction that ends it.
pub(super) async fn append_last(tx: &mut Tx, batch: FrameBatch) -> Result<(), StoreError> {
    let FrameBatch { run, owner, first_seq, last_seq, lines } = batch;
    let sql = Sql::new(APPEND_LAST).bind(run).bind(first_seq).bind(last_seq).bind(lines).bind(owner);
    sql.run(tx).await.map(|_| ())
}

const APPEND_FIRST: &str = "insert into run_events (run_id, first_seq, last_seq, frames) values ($1, $2, $3, $4)";

/// Frames of a run that no process owns yet.
pub(super) async fn append_first(tx: &mut Tx, batch: FrameBatch) -> Result<(), StoreError> {
    let sql = Sql::new(APPEND_FIRST).bind(batch.run).bind(batch.first_seq).bind(batch.last_seq).bind(batch.lines);
    sql.run(tx).await.map(|_| ())
}

const MARK_DROPPED: &str = "
update runs set log_from = last_seq + 1
where log_from <= last_seq and id in (
  select r.id from runs r where r.ended_at is not null and r.ended_at <= $1 and r.log_from <= r.last_seq
  order by r.ended_at limit $2)
returning id";

const DROP: Texts = texts!("delete from run_events where run_id in (" [1] ")");

/// Drops the logs of runs that ended long enough ago.
pub(super) async fn drop_ended(tx: &mut Tx, before: Millis, limit: i64) -> Result<u64, StoreError> {
    let marked = Sql::new(MARK_DROPPED).bind(before).bind(limit).all::<(RunId,)>(tx).await?;
    let marked: Vec<RunId> = marked.into_iter().map(|(run,)| run).collect();
    if !marked.is_empty() {
        Sql::of(DROP).json(&marked).run(tx).await?;
    }
    Ok(marked.len() as u64)
}

#[derive(FromRow)]
struct BatchRow {
    first_seq: i64,
    last_seq: i64,
    frames: Vec<u8>,
    owner: Option<String>,
}

const FRAMES: &str = "
select e.first_seq, e.last_seq, e.frames, r.owner from run_events e join runs r on r.id = e.run_id
where e.run_id = $1 and e.last_seq > $2 order by e.first_seq limit $3";

pub(super) async fn frames(tx: &mut Tx, run: RunId, after: u64, limit: i64) -> Result<Vec<FrameBatch>, StoreError> {
    let rows = Sql::new(FRAMES).bind(run).bind(after).bind(limit).all::<BatchRow>(tx).await?;
    rows.into_iter()
        .map(|row| {
            Ok(FrameBatch {
                run,
                owner: row.owner.unwrap_or_default(),
                first_seq: unsigned(row.first_seq)?,
                last_seq: unsigned(row.last_seq)?,
                lines: row.frames,
            })
        })
        .collect()
}
