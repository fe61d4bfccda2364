//! Files by the SHA-256 of their bytes, in a folder of this machine.

use std::{io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use object_store::{ObjectStore as _, ObjectStoreExt, buffered::BufWriter, local::LocalFileSystem, path::Path};
use tokio::io::AsyncWriteExt;

use crate::domain::{
    error::StoreError,
    knowledge::{BlobFile, BlobStore},
};

/// Keeps files under `folder/ab/cdef…`. A file is written under another name, synced, and then renamed: what bears its
/// final name is whole, also after a power cut.
#[derive(Debug, Clone)]
pub struct LocalBlobs {
    store: Arc<LocalFileSystem>,
    folder: PathBuf,
}

impl LocalBlobs {
    /// Opens the folder, making it when it is not there.
    ///
    /// # Errors
    /// When it cannot be made or opened.
    pub fn open(folder: &std::path::Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|error| unavailable(&error))?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(failed)?.with_fsync(true);
        Ok(Self { store: Arc::new(store), folder: folder.to_owned() })
    }

    fn local(&self, sha256: &str) -> Result<(Path, PathBuf), StoreError> {
        let location = place(sha256)?;
        let path = self.store.path_to_filesystem(&location).map_err(failed)?;
        Ok((location, path))
    }
}

#[async_trait]
impl BlobStore for LocalBlobs {
    async fn put_file(&self, sha256: &str, path: &std::path::Path) -> Result<(), StoreError> {
        let location = place(sha256)?;
        match self.store.head(&location).await {
            Ok(_) => return Ok(()),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        let mut file = tokio::fs::File::open(path).await.map_err(|error| unavailable(&error))?;
        let mut writer = BufWriter::new(Arc::<LocalFileSystem>::clone(&self.store), location);
        let copied = tokio::io::copy(&mut file, &mut writer).await;
        let written = match copied {
            Ok(_) => writer.shutdown().await,
            Err(error) => {
                if let Err(error) = writer.abort().await {
                    tracing::warn!(%error, "a half-written blob could not be removed");
                }
                Err(error)
            }
        };
        written.map_err(|error| unavailable(&error))
    }

    async fn fetch(&self, sha256: &str) -> Result<BlobFile, StoreError> {
        let (location, path) = self.local(sha256)?;
        self.store.head(&location).await.map_err(failed)?;
        Ok(BlobFile { path, temporary: false })
    }

    async fn list(&self, first_byte: u8) -> Result<Vec<String>, StoreError> {
        let folder = format!("{first_byte:02x}");
        let found = self.store.list_with_delimiter(Some(&Path::from(folder.as_str()))).await.map_err(failed)?;
        let names = found.objects.iter().filter_map(|file| file.location.filename());
        Ok(names.map(|name| format!("{folder}{name}")).filter(|sha256| place(sha256).is_ok()).collect())
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        let folder = self.folder.clone();
        let swept = tokio::task::spawn_blocking(move || remove_staged(&folder)).await;
        swept.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| unavailable(&error))
    }

    async fn remove(&self, sha256: &str) -> Result<(), StoreError> {
        let (location, _) = self.local(sha256)?;
        match self.store.delete(&location).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Removes the files that are written under another name first: `name#1`.
fn remove_staged(folder: &std::path::Path) -> io::Result<()> {
    for group in std::fs::read_dir(folder)? {
        let group = group?;
        if !group.file_type()?.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(group.path())? {
            let file = file?;
            if file.file_name().to_string_lossy().contains('#') {
                std::fs::remove_file(file.path())?;
            }
        }
    }
    Ok(())
}

/// Two levels, so that no folder holds all files.
fn place(sha256: &str) -> Result<Path, StoreError> {
    if sha256.len() != 64 || !sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(StoreError::NotFound);
    }
    let (folder, name) = sha256.split_at(2);
    Ok(Path::from_iter([folder, name]))
}

fn failed(error: object_store::Error) -> StoreError {
    match error {
        object_store::Error::NotFound { .. } => StoreError::NotFound,
        other => StoreError::Unavailable(other.to_string()),
    }
}

fn unavailable(error: &io::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_found_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = LocalBlobs::open(&folder.path().join("blobs")).unwrap();
        let source = folder.path().join("upload");
        let sha = "ab".repeat(32);
        std::fs::write(&source, "保修期").unwrap();
        assert_eq!(blobs.fetch(&sha).await.unwrap_err(), StoreError::NotFound);
        blobs.put_file(&sha, &source).await.unwrap();
        blobs.put_file(&sha, &source).await.unwrap();
        let found = blobs.fetch(&sha).await.unwrap();
        assert_eq!(std::fs::read_to_string(&found.path).unwrap(), "保修期");
        assert!(!found.temporary);
        let names: Vec<_> = std::fs::read_dir(found.path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing half-written stays");
        assert_eq!(blobs.list(0xab).await.unwrap(), std::slice::from_ref(&sha));
        assert_eq!(blobs.list(0xac).await.unwrap(), Vec::<String>::new());
        let half = found.path.with_file_name(format!("{}#1", &sha[2..]));
        std::fs::write(&half, "half").unwrap();
        assert_eq!(blobs.list(0xab).await.unwrap(), std::slice::from_ref(&sha), "what is half-written is no file");
        blobs.sweep().await.unwrap();
        assert!(!half.exists() && found.path.exists());
        blobs.remove(&sha).await.unwrap();
        blobs.remove(&sha).await.unwrap();
        assert_eq!(blobs.fetch(&sha).await.unwrap_err(), StoreError::NotFound);
    }

    #[tokio::test]
    async fn only_hashes_are_names() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = LocalBlobs::open(folder.path()).unwrap();
        for name in ["../etc/passwd", "", &"AB".repeat(32)] {
            assert_eq!(blobs.fetch(name).await.unwrap_err(), StoreError::NotFound);
        }
    }
}
