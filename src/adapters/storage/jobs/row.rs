//! Jobs as rows.

use sqlx::{FromRow, types::Json};

use super::super::sql::{Sql, Tx, Word};
use crate::domain::{
    error::StoreError,
    id::{DocumentId, JobId, ProfileId, UserId, VersionId},
    job::{Job, JobKind, JobReport, JobState, JobStep},
    time::Millis,
};

#[derive(FromRow)]
pub(super) struct JobRow {
    id: JobId,
    kind: Word<JobKind>,
    document_id: Option<DocumentId>,
    version_id: Option<VersionId>,
    profile_id: Option<ProfileId>,
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
            profile: row.profile_id,
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

const JOB: &str = "
select j.id, j.kind, j.document_id, j.version_id, j.profile_id, j.user_id, j.filename, v.blob_sha256 as blob, j.state,
       j.step, j.message, j.steps, j.total, j.processed, j.attempts, j.error_code, j.error, j.created_at, j.updated_at
from jobs j left join versions v on v.id = j.version_id where j.id = $1";

pub(super) async fn job(tx: &mut Tx, id: JobId) -> Result<Job, StoreError> {
    Sql::new(JOB).bind(id).one::<JobRow>(tx).await.map(Job::from)
}

pub(super) const JOBS: &str = "
select j.id, j.kind, j.document_id, j.version_id, j.profile_id, j.user_id, j.filename, v.blob_sha256 as blob, j.state,
       j.step, j.message, j.steps, j.total, j.processed, j.attempts, j.error_code, j.error, j.created_at, j.updated_at
from jobs j left join versions v on v.id = j.version_id
where j.kind = $1 and (j.created_at, j.id) < ($2, $3) order by j.created_at desc, j.id desc limit $4";

impl Sql {
    /// The next five `$n`: step, message, steps, total, processed.
    pub(super) fn report(self, report: JobReport) -> Self {
        self.bind(report.current_step)
            .bind(report.message)
            .json(&report.steps)
            .bind(report.total)
            .bind(report.processed)
    }
}
