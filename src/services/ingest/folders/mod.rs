//! Watched folders: their files are taken in when they are whole, again when they have changed, and their documents go
//! with them.
//!
//! Every folder is looked through every now and then. That costs a look at each entry, needs no watch of the operating
//! system, and so sees what such a watch misses: mounted disks, and changes made while askback did not run.
//! `look` reads a folder, `plan` compares it with what was known, `scan` does what follows, `take` brings one file in.

mod look;
mod plan;
mod scan;
mod take;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Ingest, is_name};
use crate::domain::{
    error::StoreError,
    folder::{Folder, FolderFault, FolderId, FolderStore, ListedFolder},
    time::{Clock, Millis},
};

/// Most folders that are watched.
pub const MAX_FOLDERS: usize = 100;
/// Longest path, in bytes.
const MAX_PATH: usize = 4_096;
/// Where no page is asked for.
const ALL: i64 = i64::MAX;
/// Bad files that are listed of each folder.
const BAD_FILES: i64 = 100;
/// Folders that are scanned at the same time.
const AT_ONCE: usize = 4;
/// How long a disk may take to say that a folder is there, and to show all of it.
const PATIENCE_CHECK: Duration = Duration::from_secs(30);
const PATIENCE_LOOK: Duration = Duration::from_secs(600);
/// Rounds without a pause while a folder has more to take in than one scan does.
const ROUNDS: usize = 1_000;

/// How folders are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldersConfig {
    /// This node, through restarts.
    pub node: String,
    /// Time between two looks at a folder; a folder whose look takes long is looked at less often.
    pub interval: Duration,
    /// A scanner that is silent for this long has lost the folder.
    pub lease: Duration,
    /// Largest file, in bytes.
    pub largest: u64,
    /// Where files are copied before they are taken in: they may change while they are read. On the blob store's disk.
    pub scratch: PathBuf,
    /// askback's own folder, whose files are never taken in.
    pub own: PathBuf,
}

impl FoldersConfig {
    /// The defaults for this node, over these folders of its own.
    #[must_use]
    pub fn new(node: impl Into<String>, scratch: PathBuf, own: PathBuf) -> Self {
        let (interval, lease) = (Duration::from_secs(5), Duration::from_secs(60));
        Self { node: node.into(), interval, lease, largest: 100 << 20, scratch, own }
    }
}

/// Why a folder is not watched, or not let go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// The path cannot be one.
    #[error("a path has 1 to 4096 bytes and no NUL")]
    Path,
    /// The collection cannot be called so.
    #[error("a collection's name has 1 to 255 characters and no NUL")]
    Collection,
    /// It is no folder that can be read.
    #[error(transparent)]
    Fault(FolderFault),
    /// It is watched for this collection.
    #[error("the folder is watched already")]
    AlreadyWatched,
    /// As many are watched as may be.
    #[error("as many folders are watched as may be")]
    TooMany,
    /// The settings name it.
    #[error("the settings name this folder")]
    SetByConfig,
    /// It is watched for several collections, and none was given.
    #[error("the folder is watched for several collections")]
    Ambiguous(Vec<String>),
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The watched folders. Clones share them.
#[derive(Clone)]
pub struct Folders {
    inner: Arc<Inner>,
}

struct Inner {
    ingest: Ingest,
    store: Arc<dyn FolderStore>,
    clock: Arc<dyn Clock>,
    config: FoldersConfig,
    /// A folder was added.
    wake: Notify,
    /// Folders that are being read on a thread, which a disk that does not answer may hold for long.
    looking: Arc<Mutex<HashSet<FolderId>>>,
}

impl Folders {
    /// Folders in `store` whose files `ingest` takes in. Nothing is looked at before [`start`](Self::start).
    #[must_use]
    pub fn new(ingest: Ingest, store: Arc<dyn FolderStore>, clock: Arc<dyn Clock>, config: FoldersConfig) -> Self {
        let (wake, looking) = (Notify::new(), Arc::default());
        Self { inner: Arc::new(Inner { ingest, store, clock, config, wake, looking }) }
    }

    /// Watches what the settings name, and looks at all watched folders until `stop`. A folder that cannot be read is
    /// no reason to fail: it is listed with its fault, and followed when it can be.
    ///
    /// # Errors
    /// `Path`, `Collection`: the settings are wrong; those of the store.
    pub async fn start(
        &self,
        named: &[(PathBuf, String)],
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<(), FolderError> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let mut folders = Vec::with_capacity(named.len());
        for (path, collection) in named {
            let path = whole(&path.to_string_lossy())?;
            folders.push(inner.folder(path, collection, Some(inner.config.node.clone()), now)?);
        }
        inner.store.set_folders(&inner.config.node, &folders).await?;
        let folders = self.clone();
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move { folders.follow().await }));
        Ok(())
    }

    /// Looks at what is due, for ever.
    async fn follow(&self) {
        loop {
            if let Err(error) = self.pass().await {
                tracing::warn!(%error, "the watched folders could not be looked at");
            }
            tokio::select! {
                () = self.inner.wake.notified() => {}
                () = tokio::time::sleep(self.inner.config.interval) => {}
            }
        }
    }

    /// Scans every folder that is due, and again at once those that had more to take in than one scan does.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pass(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let due = self.inner.store.due_folders(self.inner.clock.now(), count(MAX_FOLDERS)).await?;
            let scans = due.into_iter().map(|folder| self.inner.look_after(folder));
            let more: Vec<bool> = stream::iter(scans).buffer_unordered(AT_ONCE).collect().await;
            if !more.contains(&true) {
                break;
            }
        }
        Ok(())
    }

    /// Watches a folder from now on.
    ///
    /// # Errors
    /// See [`FolderError`].
    pub async fn add(&self, path: &str, collection: &str) -> Result<ListedFolder, FolderError> {
        let inner = &self.inner;
        let path = whole(path)?;
        let folder = inner.folder(path, collection, None, inner.clock.now())?;
        inner.check(folder.id, &folder.path).await.map_err(FolderError::Fault)?;
        if inner.store.folders(None, ALL, 0).await?.len() >= MAX_FOLDERS {
            return Err(FolderError::TooMany);
        }
        match inner.store.add_folder(&folder).await {
            Err(StoreError::Conflict(_)) => return Err(FolderError::AlreadyWatched),
            added => added?,
        }
        inner.wake.notify_one();
        let listed = self.list(None, ALL).await?.into_iter().find(|listed| listed.folder.id == folder.id);
        listed.ok_or(FolderError::Store(StoreError::NotFound))
    }

    /// Stops watching a folder. Its documents stay.
    ///
    /// # Errors
    /// `NotFound`, `Ambiguous`, `SetByConfig`; those of the store.
    pub async fn remove(&self, path: &str, collection: Option<&str>) -> Result<ListedFolder, FolderError> {
        let path = whole(path)?;
        let mut found = self.list(None, ALL).await?;
        found.retain(|listed| {
            let folder = &listed.folder;
            Path::new(&folder.path) == path && collection.is_none_or(|name| name == folder.collection)
        });
        if found.len() > 1 {
            return Err(FolderError::Ambiguous(found.into_iter().map(|listed| listed.folder.collection).collect()));
        }
        let listed = found.pop().ok_or(StoreError::NotFound)?;
        if listed.folder.node.is_some() {
            return Err(FolderError::SetByConfig);
        }
        self.inner.store.remove_folder(listed.folder.id).await?;
        Ok(listed)
    }

    /// Folders by path and collection, after those of the last one seen.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn list(&self, after: Option<(&str, &str)>, limit: i64) -> Result<Vec<ListedFolder>, StoreError> {
        self.inner.store.folders(after, limit, BAD_FILES).await
    }
}

impl Inner {
    fn folder(
        &self,
        path: PathBuf,
        collection: &str,
        node: Option<String>,
        now: Millis,
    ) -> Result<Folder, FolderError> {
        if !is_name(collection) {
            return Err(FolderError::Collection);
        }
        Ok(Folder {
            id: FolderId::at(now),
            path: path.into_os_string().into_string().map_err(|_| FolderError::Path)?,
            collection: collection.to_owned(),
            node,
            root: None,
            scanned_at: None,
            skipped: 0,
            fault: None,
            created_at: now,
        })
    }

    /// Whether this is a folder that can be watched.
    async fn check(&self, id: FolderId, path: &str) -> Result<(), FolderFault> {
        let (path, own) = (PathBuf::from(path), self.config.own.clone());
        self.read(id, PATIENCE_CHECK, move |_| look::check(&path, &own).map(|_| ())).await
    }

    /// Reads of a folder on a thread of its own. A disk that does not answer holds that thread, and no other one.
    async fn read<T: Send + 'static>(
        &self,
        id: FolderId,
        patience: Duration,
        reading: impl FnOnce(&CancellationToken) -> Result<T, FolderFault> + Send + 'static,
    ) -> Result<T, FolderFault> {
        let Some(place) = Looking::begin(&self.looking, id) else { return Err(FolderFault::NotReadable) };
        let stop = CancellationToken::new();
        // Ends it when nobody waits for it any more.
        let _guard = stop.clone().drop_guard();
        let read = tokio::task::spawn_blocking(move || {
            let _place = place;
            reading(&stop)
        });
        match tokio::time::timeout(patience, read).await {
            Ok(Ok(read)) => read,
            Ok(Err(_)) | Err(_) => Err(FolderFault::NotReadable),
        }
    }
}

/// A place among the folders that are being read.
struct Looking(Arc<Mutex<HashSet<FolderId>>>, FolderId);

impl Looking {
    /// None while it is taken.
    fn begin(all: &Arc<Mutex<HashSet<FolderId>>>, id: FolderId) -> Option<Self> {
        let is_new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        is_new.then(|| Self(Arc::clone(all), id))
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// The path from the file system's root, without what changes nothing about it.
fn whole(path: &str) -> Result<PathBuf, FolderError> {
    if path.trim().is_empty() || path.len() > MAX_PATH || path.contains('\0') {
        return Err(FolderError::Path);
    }
    let path = std::path::absolute(path).map_err(|_| FolderError::Path)?;
    Ok(path.components().collect())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_in_one_way() {
        assert_eq!(whole("/srv//docs/./"), Ok(PathBuf::from("/srv/docs")));
        assert_eq!(whole("docs").map(|path| path.is_absolute()), Ok(true));
        for wrong in ["", " ", "/a\0b", &format!("/{}", "a".repeat(MAX_PATH))] {
            assert_eq!(whole(wrong), Err(FolderError::Path));
        }
    }
}
