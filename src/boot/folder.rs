//! The data folder: what askback keeps there for itself beside the database.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system refused.
    #[error("{path} cannot be used: {error}")]
    Io {
        /// What was tried.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Another process owns it.
    #[error("another askback process is using the data folder {0}; stop it, or give this one a folder of its own")]
    Locked(PathBuf),
}

/// A data folder that exists.
#[derive(Debug, Clone)]
pub struct DataFolder(PathBuf);

impl DataFolder {
    /// Opens it, making it for this user alone when it is not there.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        if !path.is_dir() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path).map_err(|error| FolderError::Io { path: path.to_owned(), error })?;
        }
        Ok(Self(path.to_owned()))
    }

    /// The path of `name` in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An empty folder `name` in it: what a dead process left there is removed.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, FolderError> {
        let path = self.path(name);
        let emptied = match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir(&path),
        };
        emptied.map(|()| path.clone()).map_err(|error| FolderError::Io { path, error })
    }

    /// Owns the folder until the file is dropped. On SQLite the store does this itself; on Postgres several processes
    /// share the database but not a folder.
    ///
    /// # Errors
    /// `Locked` when another process owns it.
    pub fn lock(&self) -> Result<File, FolderError> {
        let path = self.path("askback.lock");
        let refused = |error| FolderError::Io { path: path.clone(), error };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(FolderError::Locked(self.0.clone())),
            Err(TryLockError::Error(error)) => Err(refused(error)),
        }
    }

    /// The text kept under `name`, for the owner of the folder alone; made by `make` when it is not there. Gives also
    /// whether it was made now.
    ///
    /// # Errors
    /// When the file system refuses, or the file is empty.
    pub fn secret(&self, name: &str, make: impl FnOnce() -> SecretString) -> Result<(SecretString, bool), FolderError> {
        if let Some(text) = self.read(name)? {
            return Ok((text.into(), false));
        }
        let secret = make();
        self.write(name, secret.expose_secret())?;
        Ok((secret, true))
    }

    /// The trimmed text of a file; none when it is not there.
    ///
    /// # Errors
    /// When it cannot be read, or is empty: a file that lost its text is not one that never was.
    pub fn read(&self, name: &str) -> Result<Option<String>, FolderError> {
        let path = self.path(name);
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => {
                Err(FolderError::Io { path, error: io::Error::new(io::ErrorKind::InvalidData, "the file is empty") })
            }
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::Io { path, error }),
        }
    }

    /// Writes a file whole or not at all, readable for the owner alone.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.path(name);
        let refused = |error| FolderError::Io { path: path.clone(), error };
        let half = self.path(&format!("{name}.new"));
        match fs::remove_file(&half) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(error)),
            _ => {}
        }
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&half).map_err(refused)?;
        file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(refused)?;
        file.sync_all().map_err(refused)?;
        fs::rename(&half, &path).map_err(refused)?;
        File::open(&self.0).and_then(|folder| folder.sync_all()).map_err(refused)
    }

    /// Removes a file; not there is fine.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::Io { path, error }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_for_the_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&root.path().join("deep/var")).unwrap();
        let (first, made) = folder.secret("key", || "one".into()).unwrap();
        assert_eq!((first.expose_secret(), made), ("one", true));
        let (again, made) = folder.secret("key", || "two".into()).unwrap();
        assert_eq!((again.expose_secret(), made), ("one", false));
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(folder.path("key")), mode(folder.path(""))), (0o600, 0o700));
    }

    #[test]
    fn a_secret_that_lost_its_text_is_not_made_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(root.path()).unwrap();
        fs::write(folder.path("key"), "\n").unwrap();
        assert!(matches!(folder.secret("key", || "two".into()), Err(FolderError::Io { .. })));
    }

    #[test]
    fn one_process_owns_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(root.path()).unwrap();
        let lock = folder.lock().unwrap();
        assert!(matches!(folder.lock(), Err(FolderError::Locked(_))));
        drop(lock);
        folder.lock().unwrap();
    }
}
