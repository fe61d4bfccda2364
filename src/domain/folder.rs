//! Watched folders: folders of the machine whose files are documents of a collection as long as they lie there.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    id::{DocumentId, Id, JobId},
    job::JobState,
    time::Millis,
};

/// Names a [`Folder`].
pub type FolderId = Id<Folder>;

/// A folder that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Never changes.
    pub id: FolderId,
    /// Absolute. Unique together with the collection.
    pub path: String,
    /// The name of the collection that its files go to; made, readable by everyone, when unknown.
    pub collection: String,
    /// The node whose settings name it; `None`: an admin named it.
    pub node: Option<String>,
    /// What stood at the path at the last scan.
    pub root: Option<Root>,
    /// When a scan last saw all of it.
    pub scanned_at: Option<Millis>,
    /// Files of no type that askback reads, by that scan.
    pub skipped: i64,
    /// Why it is not followed just now.
    pub fault: Option<FolderFault>,
    /// When it was named.
    pub created_at: Millis,
}

/// The identity of a folder in its file system. Another one at the same path is another folder: a disk that was not
/// mounted, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// The file system.
    pub device: i64,
    /// The folder in it.
    pub inode: i64,
}

/// Why a folder cannot be watched, or is not followed just now. Its documents stay as they are meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum FolderFault {
    /// Nothing has this path.
    #[error("there is nothing at this path on the server's machine")]
    NotFound,
    /// Something else does.
    #[error("this is not a folder")]
    NotAFolder,
    /// The server may not read it, cannot just now, or must not because it is its own.
    #[error("the server cannot read this folder")]
    NotReadable,
    /// Another folder stands at its path, and most of the files are not there.
    #[error(
        "another folder stands here than before, and most of the files are missing, as when a disk is not mounted; \
         their documents are kept. If it is meant to be so, stop watching the folder and watch it again"
    )]
    FolderReplaced,
    /// It holds more than can be followed.
    #[error("the folder holds more files than can be followed; watch its subfolders in its place")]
    TooManyFiles,
}

impl FolderFault {
    /// Stable word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotAFolder => "not_a_folder",
            Self::NotReadable => "not_readable",
            Self::FolderReplaced => "folder_replaced",
            Self::TooManyFiles => "too_many_files",
        }
    }
}

/// How a folder's files stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// All that are followed.
    pub files: i64,
    /// Taken in: they answer.
    pub ready: i64,
    /// Refused, or failed.
    pub failed: i64,
}

/// A file that could not be taken in. It is not tried again before it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// Its path from the folder.
    pub name: String,
    /// Stable word.
    pub error_code: String,
    /// For people.
    pub error: String,
}

/// A folder as admins see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFolder {
    /// The folder.
    pub folder: Folder,
    /// How its files stand.
    pub counts: FileCounts,
    /// The first of those that could not be taken in, by name.
    pub bad_files: Vec<BadFile>,
}

/// What tells that a file has changed without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its size.
    pub bytes: i64,
    /// When its content last changed, in nanoseconds.
    pub modified: i64,
    /// When its entry last changed, in nanoseconds: another file may have come to its name with all of the above.
    pub changed: i64,
}

/// A file of a watched folder as it was seen last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFile {
    /// Its path from the folder, with `/`, and the name of its document.
    pub name: String,
    /// How it looked.
    pub stamp: Stamp,
    /// It was seen so twice, and then taken in or refused.
    pub is_settled: bool,
    /// The last scan did not see it.
    pub is_missing: bool,
    /// The hash of what was taken in last.
    pub sha256: Option<String>,
    /// Its document.
    pub document: Option<DocumentId>,
    /// The job that took it in last.
    pub job: Option<JobId>,
    /// Why it was refused before there was a job: stable word, and for people.
    pub refused: Option<(String, String)>,
}

/// A file, and what became of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// The file.
    pub file: WatchedFile,
    /// How its job stands.
    pub job: Option<FileJob>,
}

/// What matters of the job that took a file in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileJob {
    /// Where it stands.
    pub state: JobState,
    /// Why it failed.
    pub error_code: Option<String>,
    /// When it last moved.
    pub updated_at: Millis,
}

/// What a scan learned of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// It stands so now.
    Is(WatchedFile),
    /// It is not followed any more.
    Gone(String),
}

/// A scanner's hold on a folder: a write with an older token changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The folder.
    pub folder: FolderId,
    /// Rises by one with every claim.
    pub token: i64,
}

/// How a scan ended that saw all of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// What stood at the path.
    pub root: Root,
    /// Files of no type that askback reads.
    pub skipped: i64,
    /// The node that made it.
    pub node: String,
}

/// Keeps watched folders and how their files looked. A folder is scanned by whoever claims it; whoever lost the lease is
/// fenced (`Conflict`), also when nobody else has the folder yet. Leases and pauses go by the store's time where several
/// processes share it, for their clocks differ; `now` is the caller's, for where there is no other.
#[async_trait]
pub trait FolderStore: Send + Sync {
    /// Adds a folder, to be scanned at once. `Conflict` when it is watched for this collection already.
    async fn add_folder(&self, folder: &Folder) -> Result<(), StoreError>;
    /// Makes the folders that `node`'s settings name exactly these, and frees what this node held before it was
    /// restarted. One that an admin named as well stays the admin's; documents of one that is named no more stay.
    async fn set_folders(&self, node: &str, folders: &[Folder]) -> Result<(), StoreError>;
    /// Stops watching a folder. Its documents stay.
    async fn remove_folder(&self, id: FolderId) -> Result<(), StoreError>;
    /// At most `limit` folders after this path and collection, by these, each with at most `bad` of its bad files.
    async fn folders(&self, after: Option<(&str, &str)>, limit: i64, bad: i64)
    -> Result<Vec<ListedFolder>, StoreError>;
    /// Folders whose next scan is due and that nobody holds, longest due first, at most `limit`.
    async fn due_folders(&self, now: Millis, limit: i64) -> Result<Vec<Folder>, StoreError>;
    /// Takes a folder that is due and that nobody holds; `None` when someone else was quicker.
    async fn claim_folder(
        &self,
        id: FolderId,
        node: &str,
        now: Millis,
        lease: Duration,
    ) -> Result<Option<Hold>, StoreError>;
    /// Extends the lease.
    async fn hold_folder(&self, hold: Hold, now: Millis, lease: Duration) -> Result<(), StoreError>;
    /// The files of a folder, by name.
    async fn known_files(&self, folder: FolderId) -> Result<Vec<KnownFile>, StoreError>;
    /// Writes down what a scan learned.
    async fn change_files(&self, hold: Hold, changes: &[FileChange], now: Millis) -> Result<(), StoreError>;
    /// Whether a document of this name came to the collection from another folder that is watched.
    async fn is_anothers_file(&self, folder: FolderId, name: &str) -> Result<bool, StoreError>;
    /// The document of a file, if the folder's is the last upload that it has had and it was not deleted.
    async fn document_of_file(&self, folder: FolderId, name: &str) -> Result<Option<DocumentId>, StoreError>;
    /// Ends a scan that saw all of the folder, and gives the folder back: it is due again after `pause`.
    async fn end_scan(&self, hold: Hold, scanned: &Scanned, now: Millis, pause: Duration) -> Result<(), StoreError>;
    /// Ends a scan that did not.
    async fn fail_scan(&self, hold: Hold, fault: FolderFault, now: Millis, pause: Duration) -> Result<(), StoreError>;
    /// Says that `node` cannot read a folder; it stays due for others. Ignored while another node has read it not longer
    /// than `stale` ago: then it is not on this machine.
    async fn report_fault(
        &self,
        id: FolderId,
        node: &str,
        fault: FolderFault,
        now: Millis,
        stale: Duration,
    ) -> Result<(), StoreError>;
}
