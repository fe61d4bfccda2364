//! The durable queue: jobs are claimed by lease, and a claim's token fences whoever lost it.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};
use uuid::Uuid;

use super::{
    Storage,
    memory::add_event,
    sql::{Sql, Tx, Word},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::{DocumentId, JobId, UserId, VersionId},
    job::{Fence, Job, JobFailure, JobKind, JobQueue, JobReport, JobState, JobStep, Retried},
    time::Millis,
};

#[derive(FromRow)]
struct JobRow {
    id: JobId,
    kind: Word<JobKind>,
    document_id: Option<DocumentId>,
    version_id: Option<VersionId>,
    user_id: Option<UserId>,
    filename: String,
    blob: Option<String>,
    state: Word<JobState>,
    step: String,
    message: String,
    steps: Json<Vec<JobStep>>,
    total: i64,
    processed: i64,
    attempts: i64,
    error_code: Option<String>,
    error: Option<String>,
    created_at: Millis,
    updated_at: Millis,
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        Self {
            id: row.id,
            kind: row.kind.0,
            document: row.document_id,
            version: row.version_id,
            user: row.user_id,
            filename: row.filename,
            blob: row.blob,
            state: row.state.0,
            report: JobReport {
                current_step: row.step,
                message: row.message,
                steps: row.steps.0,
                total: row.total,
                processed: row.processed,
            },
            attempts: row.attempts,
            error_code: row.error_code,
            error: row.error,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[async_trait]
impl JobQueue for Storage {
    async fn claim(&self, owner: &str, now: Millis, lease: Duration) -> Result<Option<(Job, Fence)>, StoreError> {
        let owner = owner.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { claim(tx, owner, now, lease).await })).await
    }

    async fn beat(&self, fence: Fence, report: &JobReport, now: Millis, lease: Duration) -> Result<bool, StoreError> {
        let report = report.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { beat(tx, fence, report, now, lease).await })).await
    }

    async fn complete(&self, fence: Fence, report: &JobReport, now: Millis) -> Result<(), StoreError> {
        let report = report.clone();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { end(tx, fence, &End::Completed, report, now).await.map(|_| ()) })
        })
        .await
    }

    async fn fail(
        &self,
        fence: Fence,
        failure: &JobFailure,
        report: &JobReport,
        now: Millis,
    ) -> Result<(), StoreError> {
        let (failure, report) = (failure.clone(), report.clone());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { fail(tx, fence, failure, report, now).await })).await
    }

    async fn cancel(&self, id: JobId, now: Millis) -> Result<Job, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { cancel(tx, id, now).await })).await
    }

    async fn retry(&self, id: JobId, now: Millis) -> Result<Retried, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { retry(tx, id, now).await })).await
    }

    async fn enqueue_delete(
        &self,
        job: JobId,
        user: UserId,
        document: DocumentId,
        filename: &str,
        now: Millis,
    ) -> Result<(), StoreError> {
        let new = NewJob {
            id: job,
            kind: JobKind::Delete,
            document,
            version: None,
            user: Some(user),
            filename: filename.to_owned(),
            node: None,
            state: JobState::Pending,
            report: JobReport::default(),
            now,
        };
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                super::documents::bury(tx, document, now).await?;
                add(tx, new).await
            })
        })
        .await
    }

    async fn job(&self, id: JobId) -> Result<Job, StoreError> {
        job(&mut self.read().await?, id).await
    }

    async fn jobs(&self, kind: JobKind, after: Option<(Millis, JobId)>, limit: i64) -> Result<Vec<Job>, StoreError> {
        let (time, id) = after.unwrap_or((Millis(i64::MAX), JobId::from_uuid(Uuid::max())));
        let query = Sql::new(JOBS).bind(Word(kind)).bind(time).bind(id).bind(limit);
        let rows = query.all::<JobRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(Job::from).collect())
    }

    async fn release(&self, owner_prefix: &str, now: Millis) -> Result<u64, StoreError> {
        let release = Sql::new(RELEASE).bind(owner_prefix).bind(now);
        self.write(Kind::OTHER, move |tx| Box::pin(release.run(tx))).await
    }

    async fn busy(&self) -> Result<bool, StoreError> {
        let (busy,) = Sql::new(BUSY).one::<(bool,)>(&mut self.read().await?).await?;
        Ok(busy)
    }
}

const JOB: &str = "
select j.id, j.kind, j.document_id, j.version_id, j.user_id, j.filename, v.blob_sha256 as blob, j.state, j.step,
       j.message, j.steps, j.total, j.processed, j.attempts, j.error_code, j.error, j.created_at, j.updated_at
from jobs j left join versions v on v.id = j.version_id where j.id = $1";

async fn job(tx: &mut Tx, id: JobId) -> Result<Job, StoreError> {
    Sql::new(JOB).bind(id).one::<JobRow>(tx).await.map(Job::from)
}

const JOBS: &str = "
select j.id, j.kind, j.document_id, j.version_id, j.user_id, j.filename, v.blob_sha256 as blob, j.state, j.step,
       j.message, j.steps, j.total, j.processed, j.attempts, j.error_code, j.error, j.created_at, j.updated_at
from jobs j left join versions v on v.id = j.version_id
where j.kind = $1 and (j.created_at, j.id) < ($2, $3) order by j.created_at desc, j.id desc limit $4";

const RELEASE: &str = "
update jobs set lease_until = 0, updated_at = $2
where state = 'running' and substr(lease_owner, 1, length($1)) = $1";

const BUSY: &str = "select exists (select 1 from jobs where state in ('pending', 'running'))";

impl Sql {
    /// The next five `$n`: step, message, steps, total, processed.
    fn report(self, report: JobReport) -> Self {
        self.bind(report.current_step)
            .bind(report.message)
            .json(&report.steps)
            .bind(report.total)
            .bind(report.processed)
    }
}

/// A job to put into the queue, or one that was done at once.
pub(super) struct NewJob {
    pub(super) id: JobId,
    pub(super) kind: JobKind,
    pub(super) document: DocumentId,
    pub(super) version: Option<VersionId>,
    pub(super) user: Option<UserId>,
    pub(super) filename: String,
    /// Which node can do it, if not every one can.
    pub(super) node: Option<String>,
    pub(super) state: JobState,
    pub(super) report: JobReport,
    pub(super) now: Millis,
}

const ADD: &str = "
insert into jobs (id, kind, document_id, version_id, user_id, filename, state, step, message, steps, total, processed,
                  run_after, created_at, updated_at, node)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $13, $14)";

pub(super) async fn add(tx: &mut Tx, new: NewJob) -> Result<(), StoreError> {
    Sql::new(ADD)
        .bind(new.id)
        .bind(Word(new.kind))
        .bind(new.document)
        .bind(new.version)
        .bind(new.user)
        .bind(new.filename)
        .bind(Word(new.state))
        .report(new.report)
        .bind(new.now)
        .bind(new.node.as_deref())
        .run(tx)
        .await
        .map(|_| ())
}

/// A node that has been gone for so long does not come back to do what only it can. Whoever else takes its jobs does not
/// have their files, and says so.
const AWAY: Duration = Duration::from_secs(60 * 60);

// The condition on the states is that of the index: what has ended is never looked at.
const CLAIM: &str = "
update jobs
set state = 'running', lease_owner = $1, lease_token = lease_token + 1, lease_until = $3, attempts = attempts + 1,
    updated_at = $2
where id = (select id from jobs
            where state in ('pending', 'running')
              and (state = 'pending' and run_after <= $2 or state = 'running' and lease_until < $2)
              and (node is null or node = $4
                   or not exists (select 1 from processes p where p.id = jobs.node and p.lease_until > $5))
            order by run_after, created_at, id limit 1)
returning id, lease_token";

// Workers of several processes do not wait for each other: each takes the next row that is free.
const CLAIM_POSTGRES: &str = "
update jobs
set state = 'running', lease_owner = $1, lease_token = lease_token + 1, lease_until = $3, attempts = attempts + 1,
    updated_at = $2
where id = (select id from jobs
            where state in ('pending', 'running')
              and (state = 'pending' and run_after <= $2 or state = 'running' and lease_until < $2)
              and (node is null or node = $4
                   or not exists (select 1 from processes p where p.id = jobs.node and p.lease_until > $5))
            order by run_after, created_at, id limit 1 for update skip locked)
returning id, lease_token";

async fn claim(tx: &mut Tx, owner: String, now: Millis, lease: Duration) -> Result<Option<(Job, Fence)>, StoreError> {
    let away_since = Millis(now.0.saturating_sub(i64::try_from(AWAY.as_millis()).unwrap_or(i64::MAX)));
    let node = owner.split(':').next().unwrap_or_default().to_owned();
    let claim = Sql::each(CLAIM, CLAIM_POSTGRES).bind(owner).bind(now).bind(now + lease).bind(node).bind(away_since);
    let Some((id, token)) = claim.maybe::<(JobId, i64)>(tx).await? else { return Ok(None) };
    Ok(Some((job(tx, id).await?, Fence { job: id, token })))
}

const FENCED: StoreError = StoreError::Conflict("the job is not this worker's any more");

const BEAT: &str = "
update jobs set lease_until = $3, step = $4, message = $5, steps = $6, total = $7, processed = $8, updated_at = $9
where id = $1 and lease_token = $2 and state = 'running' and lease_until >= $9 returning cancel_requested";

async fn beat(tx: &mut Tx, fence: Fence, report: JobReport, now: Millis, lease: Duration) -> Result<bool, StoreError> {
    let beat = Sql::new(BEAT).bind(fence.job).bind(fence.token).bind(now + lease).report(report).bind(now);
    beat.maybe::<(bool,)>(tx).await?.map(|(cancel,)| cancel).ok_or(FENCED)
}

const HOLD: &str = "
update jobs set lease_token = lease_token where id = $1 and lease_token = $2 and state = 'running' and version_id = $3
returning cancel_requested";

/// Holds the job's row until the transaction ends, so that nobody else claims it meanwhile. Gives whether cancelling was
/// asked for.
pub(super) async fn hold(tx: &mut Tx, fence: Fence, version: VersionId) -> Result<bool, StoreError> {
    let hold = Sql::new(HOLD).bind(fence.job).bind(fence.token).bind(version);
    hold.maybe::<(bool,)>(tx).await?.map(|(cancel,)| cancel).ok_or(FENCED)
}

/// How a job ends.
pub(super) enum End {
    Completed,
    Failed { code: String, message: String },
}

impl End {
    pub(super) fn cancelled() -> Self {
        Self::Failed { code: "cancelled".into(), message: CANCELLED.into() }
    }
}

const CANCELLED: &str = "The job was cancelled.";

const END: &str = "
update jobs
set state = $3, error_code = $4, error = $5, step = $6, message = $7, steps = $8, total = $9, processed = $10,
    lease_owner = null, lease_until = null, updated_at = $11
where id = $1 and lease_token = $2 and state = 'running' and lease_until >= $11";

/// Ends a job and tells its user.
pub(super) async fn end(
    tx: &mut Tx,
    fence: Fence,
    how: &End,
    report: JobReport,
    now: Millis,
) -> Result<Job, StoreError> {
    let (state, code, message) = match how {
        End::Completed => (JobState::Completed, None, None),
        End::Failed { code, message } => (JobState::Failed, Some(code.as_str()), Some(message.as_str())),
    };
    let ended = Sql::new(END)
        .bind(fence.job)
        .bind(fence.token)
        .bind(Word(state))
        .bind(code)
        .bind(message)
        .report(report)
        .bind(now)
        .run(tx)
        .await?;
    if ended == 0 {
        return Err(FENCED);
    }
    tell(tx, fence.job).await
}

/// Tells the user of an ended job.
async fn tell(tx: &mut Tx, id: JobId) -> Result<Job, StoreError> {
    let job = job(tx, id).await?;
    if let Some(event) = job.event() {
        add_event(tx, &event).await?;
    }
    Ok(job)
}

const END_WAITING: &str = "
update jobs
set state = 'failed', error_code = 'cancelled', error = $3, message = $3, lease_owner = null, lease_until = null,
    updated_at = $2
where id = $1 and kind = 'ingest' and (state = 'pending' or (state = 'running' and lease_until < $2))";

const ASK_RUNNING: &str = "
update jobs set cancel_requested = $3, updated_at = $2 where id = $1 and kind = 'ingest' and state = 'running'";

async fn cancel(tx: &mut Tx, id: JobId, now: Millis) -> Result<Job, StoreError> {
    if Sql::new(END_WAITING).bind(id).bind(now).bind(CANCELLED).run(tx).await? == 1 {
        let job = tell(tx, id).await?;
        if let Some(version) = job.version {
            super::documents::purge_staged(tx, version).await?;
        }
        return Ok(job);
    }
    Sql::new(ASK_RUNNING).bind(id).bind(now).bind(true).run(tx).await?;
    upload_job(tx, id).await
}

async fn upload_job(tx: &mut Tx, id: JobId) -> Result<Job, StoreError> {
    let job = job(tx, id).await?;
    if job.kind == JobKind::Ingest { Ok(job) } else { Err(StoreError::NotFound) }
}

const QUEUE_AGAIN: &str = "
update jobs
set state = 'pending', attempts = 0, run_after = $2, cancel_requested = $3, error_code = null, error = null, step = $4,
    message = $5, steps = $6, total = $7, processed = $8, updated_at = $2
where id = $1 and state = 'failed'";

async fn retry(tx: &mut Tx, id: JobId, now: Millis) -> Result<Retried, StoreError> {
    let failed = upload_job(tx, id).await?;
    if failed.state != JobState::Failed {
        return Ok(Retried::NotFailed);
    }
    match failed.version {
        Some(version) if super::documents::stage_again(tx, version).await? => {}
        _ => return Ok(Retried::FileGone),
    }
    let queue = Sql::new(QUEUE_AGAIN).bind(id).bind(now).bind(false).report(JobReport::default());
    if queue.run(tx).await? == 0 {
        return Err(StoreError::Conflict("the job moved meanwhile"));
    }
    Ok(Retried::Queued(Box::new(job(tx, id).await?)))
}

const POSTPONE: &str = "
update jobs
set state = 'pending', run_after = $3, step = $4, message = $5, steps = $6, total = $7, processed = $8,
    lease_owner = null, lease_until = null, updated_at = $9
where id = $1 and lease_token = $2 and state = 'running' and lease_until >= $9";

async fn fail(
    tx: &mut Tx,
    fence: Fence,
    failure: JobFailure,
    report: JobReport,
    now: Millis,
) -> Result<(), StoreError> {
    let span = match failure {
        JobFailure::Retry(span) => span,
        JobFailure::Final { code, message } => {
            let job = end(tx, fence, &End::Failed { code, message }, report, now).await?;
            return match job.version {
                Some(version) => super::documents::purge_staged(tx, version).await,
                None => Ok(()),
            };
        }
    };
    let postponed =
        Sql::new(POSTPONE).bind(fence.job).bind(fence.token).bind(now + span).report(report).bind(now).run(tx).await?;
    if postponed == 0 { Err(FENCED) } else { Ok(()) }
}
