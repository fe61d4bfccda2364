//! Work that outlives the request that asked for it.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    id::{DocumentId, JobId, ProfileId, UserId, VersionId},
    memory::{BackgroundEvent, EventId},
    time::Millis,
};

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Reads an upload into a version.
    Ingest,
    /// Deletes a document.
    Delete,
    /// Makes the vectors of all documents anew, in the configured embedder's profile.
    Reindex,
}

/// Which jobs a worker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Uploads and deletions.
    Documents,
    /// Reindexing in this profile: the one whose vectors the worker's embedder makes.
    Reindexing(ProfileId),
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Waits for a worker.
    Pending,
    /// A worker holds it.
    Running,
    /// Done.
    Completed,
    /// Given up, with `error_code`; cancelled jobs too (`cancelled`).
    Failed,
}

impl JobState {
    /// Whether nothing more happens to the job by itself.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed => true,
        }
    }
}

/// The steps of a job, as the wire shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JobStep {
    /// `upload`, `cleanup`, `parse`, `parent_store`, `vector_store`; deletions: `prepare`, `bm25`, `milvus`, `parent_store`;
    /// reindexing: `vector_store`, `swap`.
    pub key: String,
    /// For people.
    pub label: String,
    /// 0 … 100.
    pub percent: u8,
    /// `pending`, `running`, `completed`, `failed`.
    pub status: JobState,
    /// For people.
    pub message: String,
}

/// What a job says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobReport {
    /// Key of the step at work.
    pub current_step: String,
    /// One sentence for people.
    pub message: String,
    /// All steps, in order.
    pub steps: Vec<JobStep>,
    /// Leaves to come, once known.
    pub total: i64,
    /// Leaves done.
    pub processed: i64,
}

/// A row of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Never changes.
    pub id: JobId,
    /// What it does.
    pub kind: JobKind,
    /// The document.
    pub document: Option<DocumentId>,
    /// The version in the making.
    pub version: Option<VersionId>,
    /// The profile that is to be built, for reindexing.
    pub profile: Option<ProfileId>,
    /// Its owner.
    pub user: Option<UserId>,
    /// The document's name; empty for one about all documents.
    pub filename: String,
    /// The file, for ingest jobs.
    pub blob: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// What it says.
    pub report: JobReport,
    /// How often it was claimed.
    pub attempts: i64,
    /// Stable word of the error.
    pub error_code: Option<String>,
    /// For people.
    pub error: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// When it last moved.
    pub updated_at: Millis,
}

impl Job {
    /// What its user is told once it has ended; `None` while it has not, and for jobs of nobody.
    #[must_use]
    pub fn event(&self) -> Option<BackgroundEvent> {
        let name = &self.filename;
        let (kind, title) = match (self.state, self.kind) {
            (JobState::Completed, JobKind::Ingest) => ("job_completed", format!("{name} is ready to be asked about")),
            (JobState::Completed, JobKind::Delete) => ("job_completed", format!("{name} was deleted")),
            (JobState::Completed, JobKind::Reindex) => ("job_completed", "All documents were indexed anew".into()),
            (JobState::Failed, JobKind::Ingest) => ("job_failed", format!("{name} could not be read in")),
            (JobState::Failed, JobKind::Delete) => ("job_failed", format!("{name} could not be deleted")),
            (JobState::Failed, JobKind::Reindex) => ("job_failed", "The documents could not be indexed anew".into()),
            (JobState::Pending | JobState::Running, _) => return None,
        };
        Some(BackgroundEvent {
            // A job that is tried again ends again: another event, which a turn that tells the first does not tell.
            id: EventId::derived(self.id, &format!("{kind}/{}", self.updated_at.0)),
            user: self.user?,
            kind: kind.into(),
            subject: self.id.to_string(),
            session: None,
            title,
            detail: self.error.clone(),
            created_at: self.updated_at,
        })
    }
}

/// A worker's hold on a job: a write with an older token changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The job.
    pub job: JobId,
    /// Rises by one with every claim.
    pub token: i64,
}

/// What to do with a job that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobFailure {
    /// Try again after this span.
    Retry(Duration),
    /// Give up with this code.
    Final {
        /// Stable word.
        code: String,
        /// For people.
        message: String,
    },
}

/// What became of the wish to have a failed job done after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retried {
    /// It waits for a worker, with all its attempts before it.
    Queued(Box<Job>),
    /// It has not failed.
    NotFailed,
    /// Its document was deleted, or its file is not kept any more.
    FileGone,
}

/// The durable queue. A job is claimed by lease; whoever lost the lease is fenced, also when nobody else has the job yet.
/// Leases and waits go by the store's time where several processes share it, for their clocks differ; `now` is the
/// caller's, for what is shown.
#[async_trait]
pub trait JobQueue: Send + Sync {
    /// Takes the next due job of this work, or one whose lease ran out; `None` when nothing is due. `owner` begins with its
    /// node and a colon. A job that only another node can do is left to that one, unless it has been gone for an hour; who
    /// makes vectors of another profile never gets a reindexing, however long it waits.
    async fn claim(
        &self,
        owner: &str,
        work: Work,
        now: Millis,
        lease: Duration,
    ) -> Result<Option<(Job, Fence)>, StoreError>;
    /// Extends the lease and stores progress. Gives whether cancelling was asked for. `Conflict` when fenced.
    async fn beat(&self, fence: Fence, report: &JobReport, now: Millis, lease: Duration) -> Result<bool, StoreError>;
    /// Ends a deletion or any job that publishes nothing. `Conflict` when fenced.
    async fn complete(&self, fence: Fence, report: &JobReport, now: Millis) -> Result<(), StoreError>;
    /// Ends or postpones a job that failed. `Conflict` when fenced.
    async fn fail(&self, fence: Fence, failure: &JobFailure, report: &JobReport, now: Millis)
    -> Result<(), StoreError>;
    /// Cancels a job of this kind: one that waits, or whose worker is silent past its lease, ends at once as `failed` with
    /// `cancelled`, and what it staged is gone; one that runs is told with its next beat, and does not publish. One that
    /// has ended stays as it is. Gives the job as it stands then; `NotFound` for jobs of other kinds too.
    async fn cancel(&self, id: JobId, kind: JobKind, now: Millis) -> Result<Job, StoreError>;
    /// Puts the failed job of an upload back into the queue. `NotFound` for jobs of other kinds too.
    async fn retry(&self, id: JobId, now: Millis) -> Result<Retried, StoreError>;
    /// One transaction: the document is deleted, and the job added that removes what it leaves. What is uploaded under
    /// its name from then on is another document. `NotFound` when it is deleted already.
    async fn enqueue_delete(
        &self,
        job: JobId,
        user: UserId,
        document: DocumentId,
        filename: &str,
        now: Millis,
    ) -> Result<(), StoreError>;
    /// Queues the reindexing of all documents in this profile at this node. One that waits becomes this node's and this
    /// profile's: its own may be gone, or be configured otherwise by now. One at which somebody works is given as it is.
    async fn enqueue_reindex(
        &self,
        job: JobId,
        user: Option<UserId>,
        node: &str,
        profile: ProfileId,
        now: Millis,
    ) -> Result<JobId, StoreError>;
    /// A job by id.
    async fn job(&self, id: JobId) -> Result<Job, StoreError>;
    /// Jobs, newest first.
    async fn jobs(&self, kind: JobKind, after: Option<(Millis, JobId)>, limit: i64) -> Result<Vec<Job>, StoreError>;
    /// Frees every lease whose owner starts with `prefix`: a restarted node takes up its own jobs at once.
    async fn release(&self, owner_prefix: &str, now: Millis) -> Result<u64, StoreError>;
    /// Whether anything is pending or running.
    async fn busy(&self) -> Result<bool, StoreError>;
}
