//! The durable queue: jobs are claimed by lease, and a claim's token fences whoever lost it.

mod lease;
mod row;

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

pub(super) use self::lease::{hold, hold_any};
use self::{
    lease::FENCED,
    row::{JOBS, JobRow, job},
};
use super::{
    Storage,
    memory::add_event,
    sql::{Sql, Tx, Word},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::{DocumentId, JobId, ProfileId, UserId, VersionId},
    job::{Fence, Job, JobFailure, JobKind, JobQueue, JobReport, JobState, Retried, Work},
    time::Millis,
};

#[async_trait]
impl JobQueue for Storage {
    async fn claim(
        &self,
        owner: &str,
        work: Work,
        now: Millis,
        lease: Duration,
    ) -> Result<Option<(Job, Fence)>, StoreError> {
        let owner = owner.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { lease::claim(tx, owner, work, now, lease).await }))
            .await
    }

    async fn beat(&self, fence: Fence, report: &JobReport, now: Millis, lease: Duration) -> Result<bool, StoreError> {
        let report = report.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { lease::beat(tx, fence, report, now, lease).await }))
            .await
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

    async fn cancel(&self, id: JobId, kind: JobKind, now: Millis) -> Result<Job, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { cancel(tx, id, kind, now).await })).await
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
            document: Some(document),
            version: None,
            profile: None,
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

    async fn enqueue_reindex(
        &self,
        job: JobId,
        user: Option<UserId>,
        node: &str,
        profile: ProfileId,
        now: Millis,
    ) -> Result<JobId, StoreError> {
        let mut tries = 1;
        loop {
            let new = NewJob {
                id: job,
                kind: JobKind::Reindex,
                document: None,
                version: None,
                profile: Some(profile),
                user,
                filename: String::new(),
                node: Some(node.to_owned()),
                state: JobState::Pending,
                report: JobReport::default(),
                now,
            };
            match self.write(Kind::OTHER, move |tx| Box::pin(async move { add_only(tx, new).await })).await {
                // Another one was added between the two statements, which only Postgres lets happen.
                Err(StoreError::Conflict(_)) if tries < ADD_TRIES => tries += 1,
                added => return added,
            }
        }
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
        let release = lease::release(owner_prefix, now);
        self.write(Kind::OTHER, move |tx| Box::pin(release.run(tx))).await
    }

    async fn busy(&self) -> Result<bool, StoreError> {
        let (busy,) = Sql::new(BUSY).one::<(bool,)>(&mut self.read().await?).await?;
        Ok(busy)
    }
}

const BUSY: &str = "select exists (select 1 from jobs where state in ('pending', 'running'))";

/// A job to put into the queue, or one that was done at once.
pub(super) struct NewJob {
    pub(super) id: JobId,
    pub(super) kind: JobKind,
    pub(super) document: Option<DocumentId>,
    pub(super) version: Option<VersionId>,
    pub(super) profile: Option<ProfileId>,
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
                  run_after, created_at, updated_at, node, profile_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $15, $13, $13, $14, $16)";

pub(super) async fn add(tx: &mut Tx, new: NewJob) -> Result<(), StoreError> {
    let due = tx.now(new.now).await?;
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
        .bind(due)
        .bind(new.profile)
        .run(tx)
        .await
        .map(|_| ())
}

/// How often a job is added that there may be one of, before someone else's is given up waiting for.
const ADD_TRIES: usize = 3;

const OPEN: &str = "select id from jobs where kind = $1 and state in ('pending', 'running')";

// Nobody works at it, also where a worker died with it.
const HAND_OVER: &str = "
update jobs set node = $2, profile_id = $3, attempts = 0, run_after = $4, cancel_requested = $5
where kind = $1 and (state = 'pending' or state = 'running' and lease_until <= $4) returning id";

/// Adds a job of a kind of which one may be under way. Of one that waits the new one's node and profile are the ones from
/// now on; one at which somebody works stays as it is.
async fn add_only(tx: &mut Tx, new: NewJob) -> Result<JobId, StoreError> {
    let now = tx.now(new.now).await?;
    let hand_over = Sql::new(HAND_OVER).bind(Word(new.kind)).bind(new.node.as_deref()).bind(new.profile).bind(now);
    if let Some((waiting,)) = hand_over.bind(false).maybe::<(JobId,)>(tx).await? {
        return Ok(waiting);
    }
    if let Some((open,)) = Sql::new(OPEN).bind(Word(new.kind)).maybe::<(JobId,)>(tx).await? {
        return Ok(open);
    }
    let id = new.id;
    add(tx, new).await.map(|()| id)
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
where id = $1 and lease_token = $2 and state = 'running' and lease_until > $12";

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
    let leased = tx.now(now).await?;
    let ended = Sql::new(END)
        .bind(fence.job)
        .bind(fence.token)
        .bind(Word(state))
        .bind(code)
        .bind(message)
        .report(report)
        .bind(now)
        .bind(leased)
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
where id = $1 and kind = $4 and (state = 'pending' or (state = 'running' and lease_until <= $5))";

const ASK_RUNNING: &str = "
update jobs set cancel_requested = $3, updated_at = $2 where id = $1 and kind = $4 and state = 'running'";

async fn cancel(tx: &mut Tx, id: JobId, kind: JobKind, now: Millis) -> Result<Job, StoreError> {
    let leased = tx.now(now).await?;
    let end = Sql::new(END_WAITING).bind(id).bind(now).bind(CANCELLED).bind(Word(kind)).bind(leased);
    if end.run(tx).await? == 1 {
        let job = tell(tx, id).await?;
        if let Some(version) = job.version {
            super::documents::purge_staged(tx, version).await?;
        }
        return Ok(job);
    }
    Sql::new(ASK_RUNNING).bind(id).bind(now).bind(true).bind(Word(kind)).run(tx).await?;
    job_of_kind(tx, id, kind).await
}

async fn job_of_kind(tx: &mut Tx, id: JobId, kind: JobKind) -> Result<Job, StoreError> {
    let job = job(tx, id).await?;
    if job.kind == kind { Ok(job) } else { Err(StoreError::NotFound) }
}

const QUEUE_AGAIN: &str = "
update jobs
set state = 'pending', attempts = 0, run_after = $9, cancel_requested = $3, error_code = null, error = null, step = $4,
    message = $5, steps = $6, total = $7, processed = $8, updated_at = $2
where id = $1 and state = 'failed'";

async fn retry(tx: &mut Tx, id: JobId, now: Millis) -> Result<Retried, StoreError> {
    let failed = job_of_kind(tx, id, JobKind::Ingest).await?;
    if failed.state != JobState::Failed {
        return Ok(Retried::NotFailed);
    }
    match failed.version {
        Some(version) if super::documents::stage_again(tx, version).await? => {}
        _ => return Ok(Retried::FileGone),
    }
    let due = tx.now(now).await?;
    let queue = Sql::new(QUEUE_AGAIN).bind(id).bind(now).bind(false).report(JobReport::default()).bind(due);
    if queue.run(tx).await? == 0 {
        return Err(StoreError::Conflict("the job moved meanwhile"));
    }
    Ok(Retried::Queued(Box::new(job(tx, id).await?)))
}

const POSTPONE: &str = "
update jobs
set state = 'pending', run_after = $3, step = $4, message = $5, steps = $6, total = $7, processed = $8,
    lease_owner = null, lease_until = null, updated_at = $9
where id = $1 and lease_token = $2 and state = 'running' and lease_until > $10";

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
    let leased = tx.now(now).await?;
    let postpone = Sql::new(POSTPONE).bind(fence.job).bind(fence.token).bind(leased + span).report(report);
    if postpone.bind(now).bind(leased).run(tx).await? == 0 { Err(FENCED) } else { Ok(()) }
}
