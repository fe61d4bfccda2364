//! Comparing what SQL says with the files and the index, and mending what disagrees.

use std::collections::HashSet;

use super::{Ingest, IngestError};
use crate::domain::{
    error::StoreError,
    id::{JobId, VersionId},
    index::Filter,
    knowledge::Warning,
    upkeep::Damaged,
};

/// Findings of one kind that are looked for in one go; more are found the next time.
const MOST: usize = 1_000;
/// Rows that are read in one go.
const PAGE: i64 = 500;

/// What disagrees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Files that SQL does not know, by hash.
    pub orphan_files: Vec<String>,
    /// Documents whose file is gone. They answer, but cannot be downloaded or read again.
    pub without_file: Vec<Damaged>,
    /// Versions that do not answer and still have parts.
    pub leftovers: Vec<VersionId>,
    /// Documents whose chunks and segments do not fit together.
    pub unsound: Vec<Damaged>,
    /// Leaves that the index holds.
    pub indexed: u64,
    /// Leaves that SQL says are current.
    pub stored: u64,
}

impl Ingest {
    /// Looks for what disagrees; changes nothing.
    ///
    /// # Errors
    /// When a store or the index fails.
    pub async fn audit(&self) -> Result<Findings, IngestError> {
        let ports = &self.inner.ports;
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let indexed = ports.index.count(&Filter::default()).await;
        Ok(Findings {
            orphan_files: self.orphan_files().await?,
            without_file: self.without_file().await?,
            leftovers: ports.upkeep.leftovers(most).await?,
            unsound: ports.upkeep.unsound(most).await?,
            indexed: indexed.map_err(|error| StoreError::Unavailable(error.to_string()))?,
            stored: self.stored().await?,
        })
    }

    /// Mends what was found: files and parts that nothing points at are removed, a document without its file gets the
    /// warning `file_missing`, and unsound documents are read again from their file. Gives the jobs that do so.
    ///
    /// # Errors
    /// When a store fails; what was mended until then stays so.
    pub async fn mend(&self, found: &Findings) -> Result<Vec<JobId>, IngestError> {
        let ports = &self.inner.ports;
        {
            let _alone = self.inner.files.write().await;
            // An upload may have brought one since.
            let known = self.known(&found.orphan_files).await?;
            for orphan in found.orphan_files.iter().filter(|file| !known.contains(*file)) {
                ports.blobs.remove(orphan).await?;
            }
        }
        for version in &found.leftovers {
            ports.upkeep.clear(*version).await?;
        }
        for damaged in &found.without_file {
            let warning = Warning {
                code: "file_missing".into(),
                message: "The uploaded file is gone from the disk; upload it again.".into(),
            };
            ports.upkeep.warn(damaged.document, &warning).await?;
        }
        let mut jobs = Vec::new();
        for unsound in found.unsound.iter().filter(|each| !found.without_file.contains(each)) {
            let now = ports.clock.now();
            let job = JobId::at(now);
            ports.upkeep.read_again(unsound.document, job, VersionId::at(now), now).await?;
            jobs.push(job);
        }
        self.inner.wake.notify_one();
        Ok(jobs)
    }

    async fn known(&self, files: &[String]) -> Result<HashSet<String>, IngestError> {
        let mut known = HashSet::new();
        for page in files.chunks(usize::try_from(PAGE).unwrap_or(1)) {
            known.extend(self.inner.ports.upkeep.known_blobs(page).await?);
        }
        Ok(known)
    }

    async fn orphan_files(&self) -> Result<Vec<String>, IngestError> {
        let mut orphans = Vec::new();
        for byte in 0..=u8::MAX {
            let files = self.inner.ports.blobs.list(byte).await?;
            let known = self.known(&files).await?;
            orphans.extend(files.into_iter().filter(|file| !known.contains(file)).take(MOST - orphans.len()));
        }
        Ok(orphans)
    }

    async fn without_file(&self) -> Result<Vec<Damaged>, IngestError> {
        let ports = &self.inner.ports;
        let (mut damaged, mut after) = (Vec::new(), String::new());
        loop {
            let page = ports.upkeep.current_blobs(&after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(damaged) };
            after.clone_from(last);
            for sha256 in &page {
                match ports.blobs.fetch(sha256).await {
                    Ok(_) => {}
                    Err(StoreError::NotFound) => damaged.extend(ports.upkeep.documents_of(sha256).await?),
                    Err(error) => return Err(error.into()),
                }
            }
            if damaged.len() >= MOST {
                return Ok(damaged);
            }
        }
    }

    /// Leaves that SQL says are current.
    async fn stored(&self) -> Result<u64, IngestError> {
        let (mut stored, mut after) = (0, None);
        loop {
            let page = self.documents(None, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(stored) };
            after = Some((last.created_at, last.id));
            let current = page.iter().filter_map(|document| document.current.as_ref());
            stored += current.filter_map(|version| u64::try_from(version.chunk_count).ok()).sum::<u64>();
        }
    }
}
