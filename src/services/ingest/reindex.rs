//! Making the vectors of all documents anew, after another embedder or analyser was configured. The old ones answer
//! until all new ones are there; one transaction makes those current. What was made stays made: a job that dies, fails
//! or is cancelled is gone on with by the next one.

use std::{sync::atomic::Ordering, time::Duration};

use super::{
    Ingest, IngestError, Inner,
    passage::title_of,
    points::points,
    progress::Progress,
    steps::{Failed, INDEX_TRIES},
    vectors::Maker,
};
use crate::domain::{
    error::StoreError,
    id::{DocumentId, JobId, UserId, VersionId},
    index::Segment,
    job::{Fence, Job, JobKind},
    profile::{Adopted, Lacking},
    time::Millis,
};

/// Versions that are looked up in one go.
const PAGE: i64 = 100;
/// How often documents may come in, under another embedder still, between the last one that was made anew and the swap.
pub(super) const ROUNDS: usize = 8;
/// Between two tellings of how far it is.
const TELL: Duration = Duration::from_millis(250);
/// Documents that may be damaged; with more of them something else is wrong.
const DAMAGED: usize = 1_000;

impl Ingest {
    /// Queues the reindexing of all documents by the configured embedder, or gives the job that does so already.
    ///
    /// # Errors
    /// `OtherReindex` while another node makes the vectors of another embedder; those of the store.
    pub async fn submit_reindex(&self, user: Option<UserId>) -> Result<Job, IngestError> {
        let (ports, now) = (&self.inner.ports, self.inner.ports.clock.now());
        let (node, wanted) = (self.inner.config.node(), ports.vectors.wanted);
        let job = self.job(ports.jobs.enqueue_reindex(JobId::at(now), user, node, wanted, now).await?).await?;
        if job.profile.is_some_and(|profile| profile != wanted) {
            return Err(IngestError::OtherReindex(job.id));
        }
        self.inner.wake_reindexer.notify_one();
        Ok(job)
    }

    /// Cancels a reindexing; the old vectors go on answering.
    ///
    /// # Errors
    /// `NotFound` for an unknown id, and for other jobs.
    pub async fn cancel_reindex(&self, id: JobId) -> Result<Job, IngestError> {
        self.cancel_kind(id, JobKind::Reindex).await
    }

    /// Whether documents lack vectors of the configured embedder, as it was last looked at, or the index has not taken
    /// them.
    #[must_use]
    pub fn reindex_is_due(&self) -> bool {
        let inner = &self.inner;
        inner.ports.vectors.are_others() || inner.lacking.load(Ordering::Relaxed) > 0 || !inner.behind().is_empty()
    }

    /// Looks how the vectors stand, and searches those that are current, also those that the index has not taken before.
    ///
    /// # Errors
    /// When the store or the index fails.
    pub async fn survey(&self) -> Result<(), StoreError> {
        self.inner.renew().await?;
        self.inner.catch_up().await;
        let vectors = &self.inner.ports.vectors;
        let coverage = vectors.profiles.coverage(vectors.wanted).await?;
        self.inner.lacking.store(coverage.lacking, Ordering::Relaxed);
        Ok(())
    }
}

/// What a round of building came to.
pub(super) struct Built {
    /// Versions whose leaves are not all there, and their documents: only their files tell what is missing.
    damaged: Vec<(DocumentId, VersionId)>,
}

/// Makes the vectors that are lacking.
pub(super) async fn build(inner: &Inner, fence: Fence, progress: &Progress) -> Result<Built, Failed> {
    let vectors = &inner.ports.vectors;
    let maker = Maker { profile: vectors.wanted, embedder: vectors.embedders.configured().clone() };
    let coverage = vectors.profiles.coverage(maker.profile).await?;
    progress.begin("vector_store", format!("Indexing {} documents anew", coverage.lacking)).await?;
    let (done, leaves) = (coverage.done, coverage.leaves);
    let mut work = Work { inner, fence, progress, maker, done, leaves, told: Millis::default() };
    work.tell().await?;
    let (mut damaged, mut after) = (Vec::new(), None);
    loop {
        let page = vectors.profiles.lacking(work.maker.profile, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(Built { damaged }) };
        after = Some(last.version);
        for lacking in page {
            if !work.version(&lacking).await? {
                tracing::error!(document = %lacking.document, "a damaged document has to be read again");
                damaged.push((lacking.document, lacking.version));
            }
        }
        if damaged.len() > DAMAGED {
            let message = "Parts of many documents are missing; mend them with: askback doctor --repair";
            return Err(Failed::last("documents_damaged", message));
        }
    }
}

struct Work<'a> {
    inner: &'a Inner,
    fence: Fence,
    progress: &'a Progress,
    maker: Maker,
    /// Leaves that have their place, of all.
    done: i64,
    leaves: i64,
    /// When this was told last.
    told: Millis,
}

impl Work<'_> {
    /// Makes the segments that a version lacks, from the first one on that is not there. Gives whether its leaves are there.
    async fn version(&mut self, lacking: &Lacking) -> Result<bool, Failed> {
        let profiles = &self.inner.ports.vectors.profiles;
        let title = lacking.title.clone().unwrap_or_else(|| title_of(&lacking.filename));
        if lacking.is_spoilt {
            profiles.clear_segments(self.fence, self.maker.profile, lacking.version).await?;
        }
        let (mut no, mut done) = (lacking.segments, lacking.done);
        while done < lacking.leaves {
            let capacity = i64::try_from(Segment::CAPACITY).unwrap_or(i64::MAX);
            let leaves = profiles.leaves_from(lacking.version, done, capacity.min(lacking.leaves - done)).await?;
            if leaves.is_empty() {
                let current = self.inner.current(lacking.document).await?;
                return Ok(current.is_none_or(|current| current.id != lacking.version));
            }
            let mut points_made = Vec::with_capacity(leaves.len());
            for batch in leaves.chunks(self.inner.config.batch.max(1)) {
                points_made.extend(points(self.inner, &self.maker, &title, batch.to_vec()).await?);
                self.done += i64::try_from(batch.len()).unwrap_or(0);
                self.tell().await?;
            }
            done += i64::try_from(leaves.len()).unwrap_or(0);
            let segment = Segment {
                collection: lacking.collection,
                document: lacking.document,
                version: lacking.version,
                points: points_made,
            };
            let answers = profiles.add_segment(self.fence, self.maker.profile, no, &segment).await?;
            fail::fail_point!("reindex:indexed");
            if !answers {
                // Replaced or deleted meanwhile: what answers in its place has its vectors.
                return Ok(true);
            }
            no += 1;
        }
        Ok(true)
    }

    /// Tells how far it is, from time to time: a write for each of many small documents would take longer than they do.
    async fn tell(&mut self) -> Result<(), Failed> {
        let count = |leaves: i64| usize::try_from(leaves).unwrap_or(0);
        let (done, of) = (count(self.done), count(self.leaves));
        let now = self.inner.ports.clock.now();
        if now.since(self.told) < TELL {
            self.progress.count(done, of);
            return Ok(());
        }
        self.told = now;
        Ok(self.progress.advance(done, of).await?)
    }
}

/// Makes the new vectors current, then searches them. From the commit on nothing may stop this but the end of the
/// process. Gives whether the job has ended: it has not while something lacks vectors.
pub(super) async fn adopt(
    inner: &Inner,
    job: &Job,
    fence: Fence,
    built: &Built,
    progress: &Progress,
) -> Result<bool, Failed> {
    progress.begin("swap", "Searching the new vectors").await?;
    let report = progress.done(match built.damaged.len() {
        0 => "All documents have the configured vectors".into(),
        count => format!("{count} damaged documents are read again from their files"),
    });
    fail::fail_point!("reindex:built");
    let (vectors, now) = (&inner.ports.vectors, inner.ports.clock.now());
    inner.settle(job.id, true);
    let except: Vec<VersionId> = built.damaged.iter().map(|(_, version)| *version).collect();
    let adopted = vectors.profiles.adopt_profile(fence, vectors.wanted, &except, &report, now).await;
    fail::fail_point!("reindex:adopted");
    if let Ok(Adopted::Current) = adopted {
        renew(inner).await;
        read_again(inner, built).await;
        inner.lacking.store(i64::try_from(built.damaged.len()).unwrap_or(i64::MAX), Ordering::Relaxed);
        inner.untidy.notify_one();
    }
    inner.settle(job.id, false);
    Ok(adopted? != Adopted::Lacking)
}

/// Has the damaged documents read again from their files; until then their words alone find what is left of them. One for
/// which that fails is found again by the next reindexing, and by `askback doctor`.
async fn read_again(inner: &Inner, built: &Built) {
    for (document, _) in &built.damaged {
        if let Err(error) = inner.read_again(*document).await {
            tracing::error!(%error, %document, "a damaged document stays damaged");
        }
    }
    inner.wake.notify_one();
}

/// The swap cannot be undone, so this is tried again, and logged; the old index goes on answering.
async fn renew(inner: &Inner) {
    for attempt in 1..=INDEX_TRIES {
        match inner.renew().await {
            Ok(()) => return,
            Err(error) if attempt < INDEX_TRIES => {
                tracing::warn!(%error, "the new index could not be opened; trying again");
                inner.ports.clock.sleep(inner.config.wait(attempt)).await;
            }
            Err(error) => tracing::error!(%error, "the old index goes on answering"),
        }
    }
}
