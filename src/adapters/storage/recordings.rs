//! Recordings of runs.

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};

use super::{
    Storage,
    sql::{Sql, Tx},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::RunId,
    recording::{Head, Recording, RecordingStore, Reply},
    time::Millis,
};

// The session may have been deleted meanwhile, and the run with it.
const KEEP: &str = "
insert into recordings (run_id, head, frames, expires_at)
select r.id, $2, $3, $4 from runs r where r.id = $1
on conflict (run_id) do nothing";

const KEEP_REPLY: &str = "
insert into replies (run_id, path, attempt, port, request_sha256, body) values ($1, $2, $3, $4, $5, $6)";

const RUN: &str = "select count(*) from runs where id = $1";

const HEAD: &str = "select head, frames from recordings where run_id = $1";

const REPLIES: &str = "
select path, attempt, port, request_sha256, body from replies where run_id = $1 order by path, attempt";

const EXPIRED: &str = "
select run_id from recordings where expires_at <= $1 order by expires_at, run_id limit $2";

const FORGET_REPLIES: &str = "delete from replies where run_id = $1";

const FORGET: &str = "delete from recordings where run_id = $1";

#[derive(FromRow)]
struct ReplyRow {
    path: String,
    attempt: i64,
    port: String,
    request_sha256: String,
    body: Vec<u8>,
}

impl From<ReplyRow> for Reply {
    fn from(row: ReplyRow) -> Self {
        let ReplyRow { path, attempt, port, request_sha256, body } = row;
        Self { path, attempt, port, request_sha256, body }
    }
}

#[async_trait]
impl RecordingStore for Storage {
    async fn keep(&self, recording: &Recording, expires_at: Millis) -> Result<(), StoreError> {
        let recording = recording.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { keep(tx, recording, expires_at).await })).await
    }

    async fn recording(&self, run: RunId) -> Result<Option<Recording>, StoreError> {
        let mut tx = self.read().await?;
        let (runs,) = Sql::new(RUN).bind(run).one::<(i64,)>(&mut tx).await?;
        if runs == 0 {
            return Err(StoreError::NotFound);
        }
        let head = Sql::new(HEAD).bind(run).maybe::<(Json<Head>, Vec<u8>)>(&mut tx).await?;
        let Some((head, frames)) = head else { return Ok(None) };
        let replies = Sql::new(REPLIES).bind(run).all::<ReplyRow>(&mut tx).await?;
        let replies = replies.into_iter().map(Reply::from).collect();
        Ok(Some(Recording { run, head: head.0, frames, replies }))
    }

    async fn forget(&self, now: Millis, limit: i64) -> Result<u64, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { forget(tx, now, limit).await })).await
    }
}

async fn keep(tx: &mut Tx, recording: Recording, expires_at: Millis) -> Result<(), StoreError> {
    let run = recording.run;
    let kept = Sql::new(KEEP).bind(run).json(&recording.head).bind(recording.frames).bind(expires_at).run(tx).await?;
    if kept == 0 {
        return Ok(());
    }
    for reply in recording.replies {
        let insert = Sql::new(KEEP_REPLY).bind(run).bind(reply.path).bind(reply.attempt).bind(reply.port);
        insert.bind(reply.request_sha256).bind(reply.body).run(tx).await?;
    }
    Ok(())
}

async fn forget(tx: &mut Tx, now: Millis, limit: i64) -> Result<u64, StoreError> {
    let expired = Sql::new(EXPIRED).bind(now).bind(limit).all::<(RunId,)>(tx).await?;
    let mut forgotten = 0;
    for (run,) in expired {
        Sql::new(FORGET_REPLIES).bind(run).run(tx).await?;
        forgotten += Sql::new(FORGET).bind(run).run(tx).await?;
    }
    Ok(forgotten)
}
