//! Documents and versions as rows.

use std::collections::HashMap;

use sqlx::{FromRow, types::Json};
use uuid::Uuid;

use super::super::sql::{Sql, Texts, Tx, Word, texts};
use crate::domain::{
    error::StoreError,
    id::{CollectionId, DocumentId, VersionId},
    job::JobState,
    knowledge::{Document, Facets, Version, VersionState, Warning},
    time::Millis,
};

#[derive(FromRow)]
struct DocumentRow {
    id: DocumentId,
    collection_id: CollectionId,
    collection_name: String,
    filename: String,
    current_no: Option<i64>,
    job_state: Option<Word<JobState>>,
    created_at: Millis,
}

#[derive(FromRow)]
pub(super) struct VersionRow {
    id: VersionId,
    document_id: DocumentId,
    no: i64,
    blob_sha256: String,
    bytes: i64,
    media_type: String,
    extractor: String,
    title: Option<String>,
    lang: Option<String>,
    facets: Json<Facets>,
    warnings: Json<Vec<Warning>>,
    state: Word<VersionState>,
    chars: i64,
    chunk_count: i64,
    created_at: Millis,
}

impl From<VersionRow> for Version {
    fn from(row: VersionRow) -> Self {
        Self {
            id: row.id,
            document: row.document_id,
            no: row.no,
            blob: row.blob_sha256,
            bytes: row.bytes,
            media_type: row.media_type,
            extractor: row.extractor,
            title: row.title,
            lang: row.lang,
            facets: row.facets.0,
            warnings: row.warnings.0,
            state: row.state.0,
            chars: row.chars,
            chunk_count: row.chunk_count,
            created_at: row.created_at,
        }
    }
}

const DOCUMENTS: &str = "
select d.id, d.collection_id, c.name as collection_name, d.filename, d.current_no, d.created_at,
       (select j.state from jobs j where j.document_id = d.id order by j.created_at desc, j.id desc limit 1)
         as job_state
from documents d join collections c on c.id = d.collection_id
where d.deleted_at is null and ($1 is null or c.name = $1) and (d.created_at, d.id) < ($2, $3)
order by d.created_at desc, d.id desc limit $4";

pub(super) async fn documents(
    tx: &mut Tx,
    collection: Option<&str>,
    after: Option<(Millis, DocumentId)>,
    limit: i64,
) -> Result<Vec<Document>, StoreError> {
    let (time, id) = after.unwrap_or((Millis(i64::MAX), DocumentId::from_uuid(Uuid::max())));
    let rows = Sql::new(DOCUMENTS).bind(collection).bind(time).bind(id).bind(limit).all(tx).await?;
    with_versions(tx, rows).await
}

const DOCUMENTS_NAMED: &str = "
select d.id, d.collection_id, c.name as collection_name, d.filename, d.current_no, d.created_at,
       (select j.state from jobs j where j.document_id = d.id order by j.created_at desc, j.id desc limit 1)
         as job_state
from documents d join collections c on c.id = d.collection_id
where d.deleted_at is null and d.filename = $1 and ($2 is null or c.name = $2) order by c.name";

pub(super) async fn documents_named(
    tx: &mut Tx,
    filename: &str,
    collection: Option<&str>,
) -> Result<Vec<Document>, StoreError> {
    let rows = Sql::new(DOCUMENTS_NAMED).bind(filename).bind(collection).all(tx).await?;
    with_versions(tx, rows).await
}

const DOCUMENT: &str = "
select d.id, d.collection_id, c.name as collection_name, d.filename, d.current_no, d.created_at,
       (select j.state from jobs j where j.document_id = d.id order by j.created_at desc, j.id desc limit 1)
         as job_state
from documents d join collections c on c.id = d.collection_id where d.id = $1 and d.deleted_at is null";

pub(super) async fn document(tx: &mut Tx, id: DocumentId) -> Result<Document, StoreError> {
    let rows = Sql::new(DOCUMENT).bind(id).all(tx).await?;
    with_versions(tx, rows).await?.pop().ok_or(StoreError::NotFound)
}

const CURRENT_VERSIONS: Texts = texts!("
select v.id, v.document_id, v.no, v.blob_sha256, b.bytes, v.media_type, v.extractor, v.title, v.lang, v.facets,
       v.warnings, v.state, v.chars, v.chunk_count, v.created_at
from versions v join blobs b on b.sha256 = v.blob_sha256
where v.state = 'current' and v.document_id in (" [1] ")");

async fn with_versions(tx: &mut Tx, rows: Vec<DocumentRow>) -> Result<Vec<Document>, StoreError> {
    let ids: Vec<DocumentId> = rows.iter().map(|row| row.id).collect();
    let current = Sql::of(CURRENT_VERSIONS).json(&ids).all::<VersionRow>(tx).await?;
    let mut current: HashMap<DocumentId, Version> =
        current.into_iter().map(Version::from).map(|version| (version.document, version)).collect();
    let documents = rows.into_iter().map(|row| Document {
        id: row.id,
        collection: row.collection_id,
        collection_name: row.collection_name,
        filename: row.filename,
        current_no: row.current_no,
        current: current.remove(&row.id),
        job_state: row.job_state.map(|Word(state)| state).filter(|state| *state != JobState::Completed),
        created_at: row.created_at,
    });
    Ok(documents.collect())
}

const VERSION: &str = "
select v.id, v.document_id, v.no, v.blob_sha256, b.bytes, v.media_type, v.extractor, v.title, v.lang, v.facets,
       v.warnings, v.state, v.chars, v.chunk_count, v.created_at
from versions v join blobs b on b.sha256 = v.blob_sha256 where v.document_id = $1 and v.no = $2";

pub(super) async fn version(tx: &mut Tx, document: DocumentId, no: i64) -> Result<Version, StoreError> {
    Sql::new(VERSION).bind(document).bind(no).one::<VersionRow>(tx).await.map(Version::from)
}
