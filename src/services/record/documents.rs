//! What documents say, recorded. Writing to them is none of a turn's business and is handed on.

use std::sync::Arc;

use async_trait::async_trait;

use super::through;
use crate::domain::{
    error::StoreError,
    extract::PageMark,
    id::{ChunkId, CollectionId, DocumentId, ProfileId, UserId, VersionId},
    index::Segment,
    job::{Fence, JobReport},
    knowledge::{
        Access, Chunk, Collection, Document, DocumentStore, Emptied, NewVersion, Page, Placed, Published, Readers,
        Submitted, Upload, Version,
    },
    time::Millis,
};

/// See the module.
pub struct TapedDocuments(Arc<dyn DocumentStore>);

impl TapedDocuments {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn DocumentStore>) -> Arc<dyn DocumentStore> {
        Arc::new(Self(inner))
    }
}

#[async_trait]
impl DocumentStore for TapedDocuments {
    async fn readable(&self, user: UserId, only: Option<&[String]>) -> Result<Access, StoreError> {
        through("documents.readable", &(user, only), self.0.readable(user, only)).await
    }

    async fn collections(&self, after: Option<&str>, limit: i64) -> Result<Vec<Collection>, StoreError> {
        self.0.collections(after, limit).await
    }

    async fn collection(&self, name: &str) -> Result<Collection, StoreError> {
        self.0.collection(name).await
    }

    async fn delete_collection(&self, name: &str) -> Result<Emptied, StoreError> {
        self.0.delete_collection(name).await
    }

    async fn set_readers(
        &self,
        name: &str,
        new_id: CollectionId,
        readers: &Readers,
        now: Millis,
    ) -> Result<Collection, StoreError> {
        self.0.set_readers(name, new_id, readers, now).await
    }

    async fn submit(&self, upload: &Upload) -> Result<Submitted, StoreError> {
        self.0.submit(upload).await
    }

    async fn documents(
        &self,
        collection: Option<&str>,
        after: Option<(Millis, DocumentId)>,
        limit: i64,
    ) -> Result<Vec<Document>, StoreError> {
        self.0.documents(collection, after, limit).await
    }

    async fn documents_named(&self, filename: &str, collection: Option<&str>) -> Result<Vec<Document>, StoreError> {
        self.0.documents_named(filename, collection).await
    }

    async fn document(&self, id: DocumentId) -> Result<Document, StoreError> {
        self.0.document(id).await
    }

    async fn version(&self, document: DocumentId, no: i64) -> Result<Version, StoreError> {
        self.0.version(document, no).await
    }

    async fn stage_version(&self, fence: Fence, version: &NewVersion) -> Result<(), StoreError> {
        self.0.stage_version(fence, version).await
    }

    async fn stage_pages(&self, fence: Fence, version: VersionId, pages: &[Page]) -> Result<(), StoreError> {
        self.0.stage_pages(fence, version, pages).await
    }

    async fn stage_chunks(&self, fence: Fence, version: VersionId, chunks: &[Chunk]) -> Result<(), StoreError> {
        self.0.stage_chunks(fence, version, chunks).await
    }

    async fn stage_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        version: VersionId,
        no: i64,
        segment: &Segment,
    ) -> Result<(), StoreError> {
        self.0.stage_segment(fence, profile, version, no, segment).await
    }

    async fn unstage(&self, fence: Fence, version: VersionId) -> Result<(), StoreError> {
        self.0.unstage(fence, version).await
    }

    async fn publish(
        &self,
        fence: Fence,
        version: VersionId,
        chunk_count: i64,
        report: &JobReport,
        now: Millis,
    ) -> Result<Published, StoreError> {
        self.0.publish(fence, version, chunk_count, report, now).await
    }

    async fn delete_document(&self, id: DocumentId, now: Millis) -> Result<i64, StoreError> {
        self.0.delete_document(id, now).await
    }

    async fn purge_document(&self, id: DocumentId) -> Result<i64, StoreError> {
        self.0.purge_document(id).await
    }

    async fn current_segments(
        &self,
        profile: ProfileId,
        after: Option<(VersionId, i64)>,
        limit: i64,
    ) -> Result<Vec<(VersionId, i64, Segment)>, StoreError> {
        self.0.current_segments(profile, after, limit).await
    }

    async fn hydrate(&self, access: &Access, ids: &[ChunkId]) -> Result<Vec<Placed>, StoreError> {
        through("documents.hydrate", &(access, ids), self.0.hydrate(access, ids)).await
    }

    async fn present(&self, access: &Access, ids: &[DocumentId]) -> Result<Vec<(DocumentId, DocumentId)>, StoreError> {
        through("documents.present", &(access, ids), self.0.present(access, ids)).await
    }

    async fn children(&self, access: &Access, parent: ChunkId) -> Result<Vec<Placed>, StoreError> {
        through("documents.children", &(access, parent), self.0.children(access, parent)).await
    }

    async fn pages_inside(&self, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, PageMark)>, StoreError> {
        through("documents.pages_inside", &chunks, self.0.pages_inside(chunks)).await
    }

    async fn child_counts(&self, parents: &[ChunkId]) -> Result<Vec<(ChunkId, i64)>, StoreError> {
        through("documents.child_counts", &parents, self.0.child_counts(parents)).await
    }

    async fn text(
        &self,
        access: &Access,
        document: DocumentId,
        no: i64,
        start: i64,
        end: i64,
    ) -> Result<String, StoreError> {
        through("documents.text", &(access, document, no, start, end), self.0.text(access, document, no, start, end))
            .await
    }
}
