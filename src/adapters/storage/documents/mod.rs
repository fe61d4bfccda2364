//! Collections, documents, their versions, and what is read from them.

mod changes;
mod collections;
mod passages;
mod profiles;
mod publish;
mod rows;
mod segments;
mod sound;
mod stage;
mod submit;
mod upkeep;

use async_trait::async_trait;

use self::segments::SegmentRow;
pub(super) use self::{
    collections::readable,
    publish::{bury, purge_staged, stage_again},
};
use super::{Storage, writer::Kind};
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

/// Most rows that one write stages, so that a turn never waits long for the writer.
const STAGED_ROWS: usize = 256;
/// Most pages: each may have 64k characters.
const STAGED_PAGES: usize = 16;

#[async_trait]
impl DocumentStore for Storage {
    async fn readable(&self, user: UserId, only: Option<&[String]>) -> Result<Access, StoreError> {
        collections::readable(&mut self.glance().await?, user, only).await
    }

    async fn collections(&self, after: Option<&str>, limit: i64) -> Result<Vec<Collection>, StoreError> {
        collections::all(&mut self.read().await?, after, limit).await
    }

    async fn collection(&self, name: &str) -> Result<Collection, StoreError> {
        collections::named(&mut self.read().await?, name).await
    }

    async fn delete_collection(&self, name: &str) -> Result<Emptied, StoreError> {
        let name = name.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { collections::delete(tx, &name).await })).await
    }

    async fn set_readers(
        &self,
        name: &str,
        new_id: CollectionId,
        readers: &Readers,
        now: Millis,
    ) -> Result<Collection, StoreError> {
        let (name, readers) = (name.to_owned(), readers.clone());
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { collections::set_readers(tx, name, new_id, readers, now).await })
        })
        .await
    }

    async fn submit(&self, upload: &Upload) -> Result<Submitted, StoreError> {
        let upload = upload.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { submit::submit(tx, upload).await })).await
    }

    async fn documents(
        &self,
        collection: Option<&str>,
        after: Option<(Millis, DocumentId)>,
        limit: i64,
    ) -> Result<Vec<Document>, StoreError> {
        rows::documents(&mut self.read().await?, collection, after, limit).await
    }

    async fn documents_named(&self, filename: &str, collection: Option<&str>) -> Result<Vec<Document>, StoreError> {
        rows::documents_named(&mut self.read().await?, filename, collection).await
    }

    async fn document(&self, id: DocumentId) -> Result<Document, StoreError> {
        rows::document(&mut self.read().await?, id).await
    }

    async fn version(&self, document: DocumentId, no: i64) -> Result<Version, StoreError> {
        rows::version(&mut self.read().await?, document, no).await
    }

    async fn stage_version(&self, fence: Fence, version: &NewVersion) -> Result<(), StoreError> {
        let (id, describe) = (version.id, stage::describe(version));
        self.write(Kind::OTHER, move |tx| Box::pin(async move { stage::run(tx, fence, id, describe).await })).await
    }

    async fn stage_pages(&self, fence: Fence, version: VersionId, pages: &[Page]) -> Result<(), StoreError> {
        for pages in pages.chunks(STAGED_PAGES) {
            let add = stage::pages(version, pages);
            self.write(Kind::OTHER, move |tx| Box::pin(async move { stage::run(tx, fence, version, add).await }))
                .await?;
        }
        Ok(())
    }

    async fn stage_chunks(&self, fence: Fence, version: VersionId, chunks: &[Chunk]) -> Result<(), StoreError> {
        for chunks in chunks.chunks(STAGED_ROWS) {
            let add = stage::chunks(version, chunks);
            self.write(Kind::OTHER, move |tx| Box::pin(async move { stage::run(tx, fence, version, add).await }))
                .await?;
        }
        Ok(())
    }

    async fn stage_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        version: VersionId,
        no: i64,
        segment: &Segment,
    ) -> Result<(), StoreError> {
        let add = stage::segment(profile, version, no, segment)?;
        self.write(Kind::OTHER, move |tx| Box::pin(async move { stage::run(tx, fence, version, add).await })).await
    }

    async fn unstage(&self, fence: Fence, version: VersionId) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { stage::unstage(tx, fence, version).await })).await
    }

    async fn publish(
        &self,
        fence: Fence,
        version: VersionId,
        chunk_count: i64,
        report: &JobReport,
        now: Millis,
    ) -> Result<Published, StoreError> {
        let report = report.clone();
        self.write(Kind::PUBLISH, move |tx| {
            Box::pin(async move { publish::publish(tx, fence, version, chunk_count, report, now).await })
        })
        .await
    }

    async fn delete_document(&self, id: DocumentId, now: Millis) -> Result<i64, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { publish::delete(tx, id, now).await })).await
    }

    async fn purge_document(&self, id: DocumentId) -> Result<i64, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { publish::purge(tx, id).await })).await
    }

    async fn current_segments(
        &self,
        profile: ProfileId,
        after: Option<(VersionId, i64)>,
        limit: i64,
    ) -> Result<Vec<(VersionId, i64, Segment)>, StoreError> {
        let rows = segments::current(&mut self.read().await?, profile, after, limit).await?;
        Ok(rows.into_iter().map(SegmentRow::whole_or_empty).collect())
    }

    async fn hydrate(&self, access: &Access, ids: &[ChunkId]) -> Result<Vec<Placed>, StoreError> {
        passages::hydrate(&mut self.glance().await?, access, ids).await
    }

    async fn present(&self, access: &Access, ids: &[DocumentId]) -> Result<Vec<(DocumentId, DocumentId)>, StoreError> {
        passages::present(&mut self.read().await?, access, ids).await
    }

    async fn children(&self, access: &Access, parent: ChunkId) -> Result<Vec<Placed>, StoreError> {
        passages::children(&mut self.glance().await?, access, parent).await
    }

    async fn pages_inside(&self, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, PageMark)>, StoreError> {
        passages::pages_inside(&mut self.glance().await?, chunks).await
    }

    async fn child_counts(&self, parents: &[ChunkId]) -> Result<Vec<(ChunkId, i64)>, StoreError> {
        passages::child_counts(&mut self.glance().await?, parents).await
    }

    async fn text(
        &self,
        access: &Access,
        document: DocumentId,
        no: i64,
        start: i64,
        end: i64,
    ) -> Result<String, StoreError> {
        passages::text(&mut self.read().await?, access, document, no, start, end).await
    }
}
