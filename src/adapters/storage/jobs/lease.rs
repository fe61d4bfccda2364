//! Claims and leases. They go by the store's time (`Tx::now`): workers of several processes see them alike, however their
//! clocks differ. A lease holds as long as its end is still to come.

use std::time::Duration;

use super::{
    super::sql::{Sql, Texts, Tx, texts},
    row::job,
};
use crate::domain::{
    error::StoreError,
    id::{JobId, VersionId},
    job::{Fence, Job, JobKind, JobReport, Work},
    time::Millis,
};

pub(super) const FENCED: StoreError = StoreError::Conflict("the job is not this worker's any more");

/// A node that has been gone for so long does not come back to do what only it can. Whoever else takes its jobs does not
/// have their files, and says so.
const AWAY: Duration = Duration::from_secs(60 * 60);

// The condition on the states is that of the index: what has ended is never looked at.
// Workers of several processes do not wait for each other: each takes the next row that is free.
const CLAIM: Texts = texts!("
update jobs
set state = 'running', lease_owner = $1, lease_token = lease_token + 1, lease_until = $3, attempts = attempts + 1,
    updated_at = $6
where id = (select id from jobs
            where state in ('pending', 'running')
              and (state = 'pending' and run_after <= $2 or state = 'running' and lease_until <= $2)
              and kind in (" [7] ") and (profile_id is null or profile_id = $8)
              and (node is null or node = $4
                   or not exists (select 1 from processes p where p.id = jobs.node and p.lease_until > $5))
            order by run_after, created_at, id limit 1" {" for update skip locked"} ")
returning id, lease_token");

pub(super) async fn claim(
    tx: &mut Tx,
    owner: String,
    work: Work,
    clock: Millis,
    lease: Duration,
) -> Result<Option<(Job, Fence)>, StoreError> {
    let now = tx.now(clock).await?;
    let node = owner.split(':').next().unwrap_or_default().to_owned();
    let (kinds, profile) = match work {
        Work::Documents => (&[JobKind::Ingest, JobKind::Delete][..], None),
        Work::Reindexing(profile) => (&[JobKind::Reindex][..], Some(profile)),
    };
    let claim = Sql::of(CLAIM).bind(owner).bind(now).bind(now + lease).bind(node).bind(now - AWAY).bind(clock);
    let claim = claim.json(kinds).bind(profile);
    let Some((id, token)) = claim.maybe::<(JobId, i64)>(tx).await? else { return Ok(None) };
    Ok(Some((job(tx, id).await?, Fence { job: id, token })))
}

const BEAT: &str = "
update jobs set lease_until = $3, step = $4, message = $5, steps = $6, total = $7, processed = $8, updated_at = $10
where id = $1 and lease_token = $2 and state = 'running' and lease_until > $9 returning cancel_requested";

pub(super) async fn beat(
    tx: &mut Tx,
    fence: Fence,
    report: JobReport,
    clock: Millis,
    lease: Duration,
) -> Result<bool, StoreError> {
    let now = tx.now(clock).await?;
    let beat = Sql::new(BEAT).bind(fence.job).bind(fence.token).bind(now + lease).report(report).bind(now).bind(clock);
    beat.maybe::<(bool,)>(tx).await?.map(|(cancel,)| cancel).ok_or(FENCED)
}

// Who lost the lease may write as long as nobody else has the job: what it staged is thrown away by the next one.
const HOLD: &str = "
update jobs set lease_token = lease_token
where id = $1 and lease_token = $2 and state = 'running' and ($3 is null or version_id = $3)
returning cancel_requested";

/// Holds the row of a job about this version until the transaction ends, so that nobody else claims it meanwhile. Gives
/// whether cancelling was asked for.
pub(in super::super) async fn hold(tx: &mut Tx, fence: Fence, version: VersionId) -> Result<bool, StoreError> {
    held(tx, fence, Some(version)).await
}

/// The same for a job about no version.
pub(in super::super) async fn hold_any(tx: &mut Tx, fence: Fence) -> Result<bool, StoreError> {
    held(tx, fence, None).await
}

async fn held(tx: &mut Tx, fence: Fence, version: Option<VersionId>) -> Result<bool, StoreError> {
    let hold = Sql::new(HOLD).bind(fence.job).bind(fence.token).bind(version);
    hold.maybe::<(bool,)>(tx).await?.map(|(cancel,)| cancel).ok_or(FENCED)
}

const RELEASE: &str = "
update jobs set lease_until = 0, updated_at = $2
where state = 'running' and substr(lease_owner, 1, length($1)) = $1";

pub(super) fn release(owner_prefix: &str, now: Millis) -> Sql {
    Sql::new(RELEASE).bind(owner_prefix).bind(now)
}
