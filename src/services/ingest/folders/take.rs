//! Bringing one file in: copied while it does not change, then handed to ingestion like an upload.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    Inner,
    look::{root, stamp},
    plan::{INVALID_NAME, NOT_READABLE, failed_innocently},
};
use crate::{
    domain::{
        error::StoreError,
        folder::{FileJob, Folder, KnownFile, Stamp, WatchedFile},
        job::JobState,
        knowledge::Submitted,
    },
    services::ingest::{IngestError, digest},
};

/// The code of a file whose name another watched folder of the collection has taken.
const NAME_TAKEN: &str = "name_taken";
/// The code of a file that is too large.
const TOO_LARGE: &str = "payload_too_large";

/// What became of copying a file.
enum Copied {
    /// All of it.
    Whole(Scratch),
    /// It is not what was seen: the next scan sees what it is now.
    Changed,
    /// Stable word, and for people.
    Refused(&'static str, String),
}

/// A file that is removed when nobody needs it any more.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.0.display(), "a copy of a watched file stays");
            }
            _ => {}
        }
    }
}

impl Inner {
    /// Takes a file in that looked the same twice. Gives how it stands then; nothing when it has changed meanwhile.
    pub(super) async fn take(&self, folder: &Folder, known: KnownFile) -> Result<Option<WatchedFile>, StoreError> {
        let KnownFile { file, job } = known;
        let file = WatchedFile { is_settled: true, refused: None, ..file };
        let refused = |file: WatchedFile, code: &str, why: &str| {
            Ok(Some(WatchedFile { refused: Some((code.into(), why.into())), ..file }))
        };
        let copy = match self.copy(folder, &file).await? {
            Copied::Whole(copy) => copy,
            Copied::Changed => return Ok(None),
            Copied::Refused(code, why) => return refused(file, code, &why),
        };
        let (sha256, _) = digest(&copy.0).await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        // Only its time has changed.
        if file.sha256.as_ref() == Some(&sha256) && !job.as_ref().is_none_or(may_be_tried_again) {
            return Ok(Some(file));
        }
        if self.store.is_anothers_file(folder.id, &file.name).await? {
            return refused(file, NAME_TAKEN, "Another watched folder has a file of this name in the same collection.");
        }
        match self.ingest.submit(None, &folder.collection, &file.name, &copy.0).await {
            Ok(Submitted::Queued { job, document, .. } | Submitted::Unchanged { job, document, .. }) => {
                Ok(Some(WatchedFile { sha256: Some(sha256), document: Some(document), job: Some(job), ..file }))
            }
            Err(IngestError::File(error)) => refused(file, error.code(), &error.sentence()),
            Err(IngestError::Filename) => {
                refused(file, INVALID_NAME, "A file name has 1 to 255 characters and no NUL.")
            }
            // Its document was deleted in the same moment; the next scan takes it in.
            Err(IngestError::Store(StoreError::Conflict(_))) => Ok(None),
            Err(IngestError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::Unavailable(error.to_string())),
        }
    }

    async fn copy(&self, folder: &Folder, file: &WatchedFile) -> Result<Copied, StoreError> {
        let (folder, name, stamp) = (PathBuf::from(&folder.path), file.name.clone(), file.stamp);
        let scratch = Scratch(self.config.scratch.join(hex::encode(rand::random::<[u8; 16]>())));
        let largest = self.config.largest;
        let copied =
            tokio::task::spawn_blocking(move || copy(&folder, &folder.join(name), stamp, largest, scratch)).await;
        match copied {
            Ok(Ok(copied)) => Ok(copied),
            Ok(Err(error)) => Err(StoreError::Unavailable(format!("a file could not be copied: {error}"))),
            Err(error) => Err(StoreError::Unavailable(error.to_string())),
        }
    }
}

/// Whether the same bytes are worth another job.
fn may_be_tried_again(job: &FileJob) -> bool {
    failed_innocently(job) || job.state == JobState::Failed && job.error_code.as_deref() == Some("cancelled")
}

/// Copies the file at `path` while it stays what `seen` says. An error is one of the scratch folder.
fn copy(folder: &Path, path: &Path, seen: Stamp, largest: u64, scratch: Scratch) -> io::Result<Copied> {
    let mut file = match open_inside(folder, path, seen) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Copied::Changed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Copied::Changed),
        Err(error) => return Ok(Copied::Refused(NOT_READABLE, format!("The file cannot be read: {error}."))),
    };
    if u64::try_from(seen.bytes).unwrap_or(0) > largest {
        return Ok(Copied::Refused(TOO_LARGE, format!("The file is larger than {largest} bytes.")));
    }
    let mut copy = File::create_new(&scratch.0)?;
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Copied::Refused(NOT_READABLE, format!("The file cannot be read: {error}."))),
        };
        bytes += read;
        if i64::try_from(bytes).unwrap_or(i64::MAX) > seen.bytes {
            return Ok(Copied::Changed);
        }
        io::Write::write_all(&mut copy, &buffer[..read])?;
    }
    let is_whole = file.metadata().is_ok_and(|after| stamp(&after) == seen && bytes as u64 == after.len());
    Ok(if is_whole { Copied::Whole(scratch) } else { Copied::Changed })
}

/// Opens a file if it is the one that was seen, and lies in the folder: what was seen may have become a link since.
fn open_inside(folder: &Path, path: &Path, seen: Stamp) -> io::Result<Option<File>> {
    // Before it is opened: opening a pipe would wait for someone who writes.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let real = path.canonicalize()?;
    let is_inside = real.starts_with(folder.canonicalize()?) && root(&fs::symlink_metadata(&real)?) == root(&opened);
    Ok((is_inside && opened.is_file() && stamp(&opened) == seen).then_some(file))
}
