//! Reading a folder: what lies in it, and what is not known of it.

use std::{
    fs::{self, DirEntry, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::super::is_name;
use crate::domain::folder::{FolderFault, Root, Stamp};

/// Most files of a folder.
pub(super) const MAX_FILES: usize = 100_000;
/// Most entries that are looked at, of whatever kind.
const MAX_ENTRIES: usize = 1_000_000;
/// How deep subfolders may lie in each other.
const MAX_DEPTH: usize = 64;

/// A folder as it was seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) root: Root,
    /// Files of types that askback reads, by name.
    pub(super) found: Vec<Found>,
    /// Subfolders that could not be read, as beginnings of names: nothing is known of what lies there.
    pub(super) unread: Vec<String>,
    /// Files of other types.
    pub(super) skipped: i64,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its path from the folder, with `/`.
    pub(super) name: String,
    pub(super) stamp: Stamp,
    /// Whether a document can be called so.
    pub(super) has_good_name: bool,
}

/// What a look needs to know.
pub(super) struct Eye<'a> {
    /// askback's own folder.
    pub(super) own: &'a Path,
    /// Whether askback reads files of this name's type.
    pub(super) reads: &'a dyn Fn(&str) -> bool,
    /// Whether nobody waits for it any more.
    pub(super) stops: &'a dyn Fn() -> bool,
}

/// The folder at this path without any symbolic links, and its identity.
pub(super) fn check(path: &Path, own: &Path) -> Result<(PathBuf, Root), FolderFault> {
    let metadata = fs::metadata(path).map_err(|error| fault(&error))?;
    if !metadata.is_dir() {
        return Err(FolderFault::NotAFolder);
    }
    let real = path.canonicalize().map_err(|error| fault(&error))?;
    if own.canonicalize().is_ok_and(|own| real.starts_with(own)) {
        return Err(FolderFault::NotReadable);
    }
    fs::read_dir(&real).map_err(|error| fault(&error))?;
    Ok((real, root(&metadata)))
}

fn fault(error: &io::Error) -> FolderFault {
    match error.kind() {
        io::ErrorKind::NotFound => FolderFault::NotFound,
        io::ErrorKind::NotADirectory => FolderFault::NotAFolder,
        _ => FolderFault::NotReadable,
    }
}

pub(super) fn root(metadata: &Metadata) -> Root {
    Root { device: metadata.dev().cast_signed(), inode: metadata.ino().cast_signed() }
}

pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stamp {
        bytes: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Looks through a folder. Hidden files and folders are passed over, links to folders and links that lead out of it too.
pub(super) fn look(path: &Path, eye: &Eye<'_>) -> Result<Look, FolderFault> {
    let (real, before) = check(path, eye.own)?;
    let own = fs::metadata(eye.own).ok().map(|metadata| root(&metadata));
    let mut walk = Walk { real: &real, own, eye, seen: 0, found: Vec::new(), unread: Vec::new(), skipped: 0 };
    walk.folder(&real, "", 0)?;
    let Walk { mut found, unread, skipped, .. } = walk;
    // A disk that went while it was read leaves half a folder.
    let (_, after) = check(path, eye.own)?;
    if before != after {
        return Err(FolderFault::NotReadable);
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    // Names that are no text can come to read the same.
    found.dedup_by(|one, other| one.name == other.name);
    Ok(Look { root: before, found, unread, skipped })
}

struct Walk<'a> {
    real: &'a Path,
    own: Option<Root>,
    eye: &'a Eye<'a>,
    seen: usize,
    found: Vec<Found>,
    unread: Vec<String>,
    skipped: i64,
}

impl Walk<'_> {
    /// Looks through a folder whose files' names begin with `prefix`. Only the topmost one has to be readable.
    fn folder(&mut self, path: &Path, prefix: &str, depth: usize) -> Result<(), FolderFault> {
        if depth > MAX_DEPTH {
            return self.leave(prefix, "it lies too deep");
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            // It went while its parent was read.
            Err(error) if depth > 0 && error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return self.unreadable(prefix, &error),
        };
        for entry in entries {
            self.seen += 1;
            if self.seen > MAX_ENTRIES || self.found.len() > MAX_FILES {
                return Err(FolderFault::TooManyFiles);
            }
            if (self.eye.stops)() {
                return Err(FolderFault::NotReadable);
            }
            match entry {
                Ok(entry) => self.entry(&entry, prefix, depth)?,
                Err(error) => return self.unreadable(prefix, &error),
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, prefix: &str, error: &io::Error) -> Result<(), FolderFault> {
        if prefix.is_empty() { Err(fault(error)) } else { self.leave(prefix, &error.to_string()) }
    }

    fn leave(&mut self, prefix: &str, why: &str) -> Result<(), FolderFault> {
        tracing::warn!(folder = prefix, why, "a part of a watched folder could not be read; its documents stay");
        self.unread.push(prefix.to_owned());
        Ok(())
    }

    fn entry(&mut self, entry: &DirEntry, prefix: &str, depth: usize) -> Result<(), FolderFault> {
        let plain = entry.file_name();
        let text = plain.to_string_lossy();
        // Office programs keep such a file beside one that is open.
        if text.starts_with('.') || text.starts_with("~$") {
            return Ok(());
        }
        let name = format!("{prefix}{text}");
        let metadata = match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                if self.own == Some(root(&metadata)) {
                    return Ok(());
                }
                return self.folder(&entry.path(), &format!("{name}/"), depth + 1);
            }
            Ok(metadata) if metadata.is_symlink() => match inside(&entry.path(), self.real) {
                Ok(Some(metadata)) => metadata,
                Ok(None) => return Ok(()),
                Err(_) => return self.leave(&name, "a link could not be followed"),
            },
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return self.leave(&name, &error.to_string()),
        };
        if !metadata.is_file() {
            return Ok(());
        }
        if !(self.eye.reads)(&text) {
            self.skipped += 1;
            return Ok(());
        }
        let has_good_name = entry.path().to_str().is_some() && is_name(&name);
        self.found.push(Found { name, stamp: stamp(&metadata), has_good_name });
        Ok(())
    }
}

/// The file that a link leads to, if it lies in the folder `real`.
fn inside(link: &Path, real: &Path) -> io::Result<Option<Metadata>> {
    let target = match link.canonicalize() {
        Ok(target) => target,
        // It leads nowhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !target.starts_with(real) {
        return Ok(None);
    }
    let metadata = fs::metadata(&target)?;
    Ok(metadata.is_file().then_some(metadata))
}
