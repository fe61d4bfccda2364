//! The ports of ingestion with faults, around real ones.

use std::{path::Path, sync::Arc};

use askback::domain::{
    error::{ExtractError, StoreError},
    extract::{Extractor, FileType, PageMark, Part},
    id::{ChunkId, CollectionId, DocumentId, ProfileId, UserId, VersionId},
    index::Segment,
    job::{Fence, JobReport},
    knowledge::{
        Access, BlobFile, BlobStore, Chunk, Collection, Document, DocumentStore, Emptied, NewVersion, Page, Placed,
        Published, Readers, Submitted, Upload, Version,
    },
    time::Millis,
};
use async_trait::async_trait;

use super::faults::Faults;

/// A document store with faults at what jobs write, by the operation's name.
pub struct FaultyDocuments {
    pub inner: Arc<dyn DocumentStore>,
    pub faults: Faults,
}

#[async_trait]
impl DocumentStore for FaultyDocuments {
    async fn readable(&self, user: UserId, only: Option<&[String]>) -> Result<Access, StoreError> {
        self.inner.readable(user, only).await
    }

    async fn collections(&self, after: Option<&str>, limit: i64) -> Result<Vec<Collection>, StoreError> {
        self.inner.collections(after, limit).await
    }

    async fn collection(&self, name: &str) -> Result<Collection, StoreError> {
        self.inner.collection(name).await
    }

    async fn delete_collection(&self, name: &str) -> Result<Emptied, StoreError> {
        self.inner.delete_collection(name).await
    }

    async fn set_readers(
        &self,
        name: &str,
        new_id: CollectionId,
        readers: &Readers,
        now: Millis,
    ) -> Result<Collection, StoreError> {
        self.inner.set_readers(name, new_id, readers, now).await
    }

    async fn submit(&self, upload: &Upload) -> Result<Submitted, StoreError> {
        self.faults.write("submit", self.inner.submit(upload)).await
    }

    async fn documents(
        &self,
        collection: Option<&str>,
        after: Option<(Millis, DocumentId)>,
        limit: i64,
    ) -> Result<Vec<Document>, StoreError> {
        self.inner.documents(collection, after, limit).await
    }

    async fn documents_named(&self, filename: &str, collection: Option<&str>) -> Result<Vec<Document>, StoreError> {
        self.inner.documents_named(filename, collection).await
    }

    async fn document(&self, id: DocumentId) -> Result<Document, StoreError> {
        self.inner.document(id).await
    }

    async fn version(&self, document: DocumentId, no: i64) -> Result<Version, StoreError> {
        self.inner.version(document, no).await
    }

    async fn stage_version(&self, fence: Fence, version: &NewVersion) -> Result<(), StoreError> {
        self.faults.write("stage_version", self.inner.stage_version(fence, version)).await
    }

    async fn stage_pages(&self, fence: Fence, version: VersionId, pages: &[Page]) -> Result<(), StoreError> {
        self.faults.write("stage_pages", self.inner.stage_pages(fence, version, pages)).await
    }

    async fn stage_chunks(&self, fence: Fence, version: VersionId, chunks: &[Chunk]) -> Result<(), StoreError> {
        self.faults.write("stage_chunks", self.inner.stage_chunks(fence, version, chunks)).await
    }

    async fn stage_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        version: VersionId,
        no: i64,
        segment: &Segment,
    ) -> Result<(), StoreError> {
        self.faults.write("stage_segment", self.inner.stage_segment(fence, profile, version, no, segment)).await
    }

    async fn unstage(&self, fence: Fence, version: VersionId) -> Result<(), StoreError> {
        self.faults.write("unstage", self.inner.unstage(fence, version)).await
    }

    async fn publish(
        &self,
        fence: Fence,
        version: VersionId,
        chunk_count: i64,
        report: &JobReport,
        now: Millis,
    ) -> Result<Published, StoreError> {
        self.faults.write("publish", self.inner.publish(fence, version, chunk_count, report, now)).await
    }

    async fn delete_document(&self, id: DocumentId, now: Millis) -> Result<i64, StoreError> {
        self.faults.write("delete_document", self.inner.delete_document(id, now)).await
    }

    async fn purge_document(&self, id: DocumentId) -> Result<i64, StoreError> {
        self.faults.write("purge_document", self.inner.purge_document(id)).await
    }

    async fn current_segments(
        &self,
        profile: ProfileId,
        after: Option<(VersionId, i64)>,
        limit: i64,
    ) -> Result<Vec<(VersionId, i64, Segment)>, StoreError> {
        self.inner.current_segments(profile, after, limit).await
    }

    async fn hydrate(&self, access: &Access, ids: &[ChunkId]) -> Result<Vec<Placed>, StoreError> {
        self.inner.hydrate(access, ids).await
    }

    async fn present(&self, access: &Access, ids: &[DocumentId]) -> Result<Vec<(DocumentId, DocumentId)>, StoreError> {
        self.inner.present(access, ids).await
    }

    async fn children(&self, access: &Access, parent: ChunkId) -> Result<Vec<Placed>, StoreError> {
        self.inner.children(access, parent).await
    }

    async fn pages_inside(&self, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, PageMark)>, StoreError> {
        self.inner.pages_inside(chunks).await
    }

    async fn child_counts(&self, parents: &[ChunkId]) -> Result<Vec<(ChunkId, i64)>, StoreError> {
        self.inner.child_counts(parents).await
    }

    async fn text(
        &self,
        access: &Access,
        document: DocumentId,
        no: i64,
        start: i64,
        end: i64,
    ) -> Result<String, StoreError> {
        self.inner.text(access, document, no, start, end).await
    }
}

/// A blob store with faults at every operation, by its name.
pub struct FaultyBlobs {
    pub inner: Arc<dyn BlobStore>,
    pub faults: Faults,
}

#[async_trait]
impl BlobStore for FaultyBlobs {
    async fn put_file(&self, sha256: &str, path: &Path) -> Result<(), StoreError> {
        self.faults.write("put_file", self.inner.put_file(sha256, path)).await
    }

    async fn fetch(&self, sha256: &str) -> Result<BlobFile, StoreError> {
        self.faults.store("fetch").await?;
        self.inner.fetch(sha256).await
    }

    async fn list(&self, first_byte: u8) -> Result<Vec<String>, StoreError> {
        self.faults.store("list").await?;
        self.inner.list(first_byte).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.inner.sweep().await
    }

    async fn remove(&self, sha256: &str) -> Result<(), StoreError> {
        self.faults.write("remove", self.inner.remove(sha256)).await
    }
}

/// An extractor with faults at `extract`.
pub struct FaultyExtractor {
    pub inner: Arc<dyn Extractor>,
    pub faults: Faults,
}

#[async_trait]
impl Extractor for FaultyExtractor {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn file_type(&self, filename: &str) -> Option<FileType> {
        self.inner.file_type(filename)
    }

    async fn extract(&self, path: &Path, filename: &str, from: u64) -> Result<Part, ExtractError> {
        if self.faults.meet("extract").await {
            return Err(ExtractError::Unavailable);
        }
        self.inner.extract(path, filename, from).await
    }
}
