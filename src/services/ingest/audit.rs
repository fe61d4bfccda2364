//! Comparing what SQL says with the files and the index, and mending what disagrees.

use std::collections::{HashMap, HashSet};

use super::{Ingest, IngestError, Inner, digest, steps};
use crate::domain::{
    error::StoreError,
    id::{ChunkId, DocumentId, JobId, VersionId},
    index::Filter,
    knowledge::Warning,
    profile::Served,
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
    /// Documents whose file is not here, because another node took it in.
    pub elsewhere: usize,
    /// Files of documents that hold other bytes than were uploaded, by hash, and the documents that lost theirs.
    pub damaged_files: Vec<(String, Vec<Damaged>)>,
    /// Versions that do not answer and still have parts.
    pub leftovers: Vec<VersionId>,
    /// Documents whose text, chunks and segments do not fit together.
    pub unsound: Vec<Damaged>,
    /// Documents of which the index holds other leaves than SQL, and the version that it should hold.
    pub misindexed: Vec<(Damaged, VersionId)>,
    /// Documents that the index holds and that do not answer.
    pub stray: Vec<DocumentId>,
    /// Leaves that the index holds.
    pub indexed: u64,
    /// Leaves that SQL says are current.
    pub stored: u64,
}

impl Ingest {
    /// Looks for what disagrees, by content: files by their hash, chunks by their place in the text, segments and index
    /// by the ids of their leaves. Changes nothing.
    ///
    /// # Errors
    /// When a store or the index fails.
    pub async fn audit(&self) -> Result<Findings, IngestError> {
        let (ports, served) = (&self.inner.ports, self.inner.served());
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let mut found = Findings {
            orphan_files: self.orphan_files().await?,
            leftovers: ports.upkeep.leftovers(most).await?,
            indexed: served.index.count(&Filter::default()).await.map_err(StoreError::from)?,
            ..Findings::default()
        };
        self.audit_files(&mut found).await?;
        self.audit_documents(&served, &mut found).await?;
        Ok(found)
    }

    /// Mends what was found: files and parts that nothing points at are removed, a document without its file gets the
    /// warning `file_missing`, a damaged file counts as gone, unsound documents are read again from their file, and the
    /// index is told again what it should hold. Gives the jobs that read.
    ///
    /// # Errors
    /// When a store or the index fails; what was mended until then stays so.
    pub async fn mend(&self, found: &Findings) -> Result<Vec<JobId>, IngestError> {
        let ports = &self.inner.ports;
        self.remove_orphans(&found.orphan_files).await?;
        for version in &found.leftovers {
            ports.upkeep.clear(*version).await?;
        }
        // The bytes are lost: whoever uploads them again must not be told that they are there.
        for (sha256, _) in &found.damaged_files {
            let _alone = self.inner.files.write().await;
            ports.blobs.remove(sha256).await?;
        }
        let damaged = found.damaged_files.iter().flat_map(|(_, documents)| documents);
        let without_file: Vec<&Damaged> = found.without_file.iter().chain(damaged).collect();
        for document in &without_file {
            ports.upkeep.warn(document.document, &Warning::file_missing()).await?;
        }
        let mut jobs = Vec::new();
        for unsound in found.unsound.iter().filter(|each| !without_file.contains(each)) {
            jobs.push(self.inner.read_again(unsound.document).await?);
        }
        self.inner.wake.notify_one();
        self.index_again(found).await?;
        Ok(jobs)
    }

    async fn index_again(&self, found: &Findings) -> Result<(), IngestError> {
        let _order = self.inner.swap.lock().await;
        let served = self.inner.served();
        for (document, version) in &found.misindexed {
            // Another version may be current by now, and is indexed then.
            let current = self.inner.current(document.document).await?;
            if current.is_some_and(|current| current.id == *version) {
                self.inner.index_version(&served, document.document, *version).await.map_err(StoreError::from)?;
            }
        }
        for document in &found.stray {
            if self.inner.current(*document).await?.is_none() {
                let filter = Filter { documents: Some(vec![*document]), ..Filter::default() };
                served.index.delete(&filter).await.map_err(StoreError::from)?;
            }
        }
        Ok(())
    }

    /// Removes those of these files that SQL does not know.
    pub(super) async fn remove_orphans(&self, files: &[String]) -> Result<(), IngestError> {
        let _alone = self.inner.files.write().await;
        // An upload may have brought one since.
        let known = self.known(files).await?;
        for orphan in files.iter().filter(|file| !known.contains(*file)) {
            self.inner.ports.blobs.remove(orphan).await?;
        }
        Ok(())
    }

    async fn known(&self, files: &[String]) -> Result<HashSet<String>, IngestError> {
        let mut known = HashSet::new();
        for page in files.chunks(usize::try_from(PAGE).unwrap_or(1)) {
            known.extend(self.inner.ports.upkeep.known_blobs(page).await?);
        }
        Ok(known)
    }

    pub(super) async fn orphan_files(&self) -> Result<Vec<String>, IngestError> {
        let mut orphans = Vec::new();
        for byte in 0..=u8::MAX {
            let files = self.inner.ports.blobs.list(byte).await?;
            let known = self.known(&files).await?;
            orphans.extend(files.into_iter().filter(|file| !known.contains(file)).take(MOST - orphans.len()));
        }
        Ok(orphans)
    }

    /// Whether the files of what answers are there, with the bytes that were uploaded.
    async fn audit_files(&self, found: &mut Findings) -> Result<(), IngestError> {
        let ports = &self.inner.ports;
        let mut after = String::new();
        while found.without_file.len() + found.damaged_files.len() < MOST {
            let page = ports.upkeep.current_blobs(&after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(last);
            for sha256 in page {
                let file = match ports.blobs.fetch(&sha256).await {
                    Ok(file) => file,
                    Err(StoreError::NotFound) => {
                        let documents = ports.upkeep.documents_of(&sha256).await?;
                        match self.elsewhere(&sha256).await? {
                            false => found.without_file.extend(documents),
                            true => found.elsewhere += documents.len(),
                        }
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                let held = digest(&file.path).await;
                steps::discard(file).await;
                if held?.0 != sha256 {
                    let mut documents = ports.upkeep.documents_of(&sha256).await?;
                    if self.elsewhere(&sha256).await? {
                        // What lies here is a copy that nobody asked for.
                        documents.clear();
                    }
                    found.damaged_files.push((sha256, documents));
                }
            }
        }
        Ok(())
    }

    /// Whether other nodes took this file in, and this one did not.
    async fn elsewhere(&self, sha256: &str) -> Result<bool, StoreError> {
        let holders = self.inner.ports.upkeep.holders(sha256).await?;
        Ok(!holders.is_empty() && holders.iter().all(|node| node != self.inner.config.node()))
    }

    /// Whether each document's parts fit together, and the index holds exactly them.
    async fn audit_documents(&self, served: &Served, found: &mut Findings) -> Result<(), IngestError> {
        let upkeep = &self.inner.ports.upkeep;
        let mut indexed: HashMap<DocumentId, HashSet<VersionId>> = HashMap::new();
        for (document, version) in served.index.versions().await.map_err(StoreError::from)? {
            indexed.entry(document).or_default().insert(version);
        }
        let mut after = None;
        loop {
            let page = upkeep.current(after, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.document);
            for (document, version) in page {
                let held = indexed.remove(&document.document).unwrap_or_default();
                match upkeep.leaves(served.stored.id, version).await? {
                    None if found.unsound.len() < MOST => found.unsound.push(document),
                    None => {}
                    Some(leaves) => {
                        found.stored += u64::try_from(leaves.len()).unwrap_or(u64::MAX);
                        let is_indexed = holds(served, &held, version, &leaves).await?;
                        if !is_indexed && found.misindexed.len() < MOST {
                            found.misindexed.push((document, version));
                        }
                    }
                }
            }
        }
        found.stray = indexed.into_keys().take(MOST).collect();
        found.stray.sort();
        Ok(())
    }
}

impl Inner {
    /// Queues a job that reads the file of what answers in a document again.
    pub(super) async fn read_again(&self, document: DocumentId) -> Result<JobId, StoreError> {
        let now = self.ports.clock.now();
        let job = JobId::at(now);
        self.ports.upkeep.read_again(document, self.config.node(), job, VersionId::at(now), now).await?;
        Ok(job)
    }
}

/// Whether the index holds these leaves of the version, and no other version of its document.
async fn holds(
    served: &Served,
    held: &HashSet<VersionId>,
    version: VersionId,
    leaves: &[ChunkId],
) -> Result<bool, IngestError> {
    let expected: HashSet<VersionId> = (!leaves.is_empty()).then_some(version).into_iter().collect();
    if *held != expected {
        return Ok(false);
    }
    Ok(served.index.chunks(version).await.map_err(StoreError::from)? == leaves)
}
