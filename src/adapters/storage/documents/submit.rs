//! Accepting an upload: collection, document, version, blob and job in one transaction.

use sqlx::FromRow;

use super::{
    super::{
        jobs::{self, NewJob},
        sql::{Sql, Tx},
    },
    collections::find_or_make,
    rows::VersionRow,
};
use crate::domain::{
    error::StoreError,
    id::DocumentId,
    job::{JobKind, JobReport, JobState},
    knowledge::{Facets, Submitted, Upload, Version, Warning},
};

pub(super) async fn submit(tx: &mut Tx, upload: Upload) -> Result<Submitted, StoreError> {
    let document = lock_document(tx, &upload).await?;
    if let Some(mut version) = unchanged(tx, document.id, &upload.blob).await? {
        found_again(tx, &mut version).await?;
        jobs::add(tx, done_already(&upload, document.id, &version)).await?;
        return Ok(Submitted::Unchanged { job: upload.job, document: document.id, version: Box::new(version) });
    }
    let no = document.last_no + 1;
    add_version(tx, &upload, document.id, no).await?;
    let job = upload.job;
    let new = NewJob {
        id: job,
        kind: JobKind::Ingest,
        document: Some(document.id),
        version: Some(upload.version),
        profile: None,
        user: upload.user,
        filename: upload.filename,
        node: upload.node,
        state: JobState::Pending,
        report: JobReport::default(),
        now: upload.now,
    };
    jobs::add(tx, new).await?;
    Ok(Submitted::Queued { job, document: document.id, no })
}

#[derive(FromRow)]
struct Locked {
    id: DocumentId,
    last_no: i64,
}

const MAKE_DOCUMENT: &str = "
insert into documents (id, collection_id, filename, created_by, created_at) values ($1, $2, $3, $4, $5)
on conflict (collection_id, filename) where deleted_at is null do nothing";

// Changes nothing, but holds the row: uploads of one name get their numbers one after the other.
const LOCK_DOCUMENT: &str = "
update documents set last_no = last_no where collection_id = $1 and filename = $2 and deleted_at is null
returning id, last_no";

/// Deletions of one name that an upload outlives.
const LOCK_TRIES: usize = 3;

async fn lock_document(tx: &mut Tx, upload: &Upload) -> Result<Locked, StoreError> {
    let collection = find_or_make(tx, &upload.collection, upload.new_collection, upload.now).await?;
    for _ in 0..LOCK_TRIES {
        Sql::new(MAKE_DOCUMENT)
            .bind(upload.new_document)
            .bind(collection)
            .bind(upload.filename.as_str())
            .bind(upload.user)
            .bind(upload.now)
            .run(tx)
            .await?;
        let lock = Sql::new(LOCK_DOCUMENT).bind(collection).bind(upload.filename.as_str());
        if let Some(locked) = lock.maybe::<Locked>(tx).await? {
            return Ok(locked);
        }
        // A deletion was committed between the two statements, which only Postgres lets be seen: the name is free now.
    }
    Err(StoreError::Conflict("the document was deleted meanwhile"))
}

// While a newer upload is under way, the old bytes are a change again.
const UNCHANGED: &str = "
select v.id, v.document_id, v.no, v.blob_sha256, b.bytes, v.media_type, v.extractor, v.title, v.lang, v.facets,
       v.warnings, v.state, v.chars, v.chunk_count, v.created_at
from versions v join blobs b on b.sha256 = v.blob_sha256
where v.document_id = $1 and v.state = 'current' and v.blob_sha256 = $2
  and not exists (select 1 from versions n join jobs j on j.version_id = n.id
                  where n.document_id = $1 and n.no > v.no and n.state = 'staged'
                    and j.state in ('pending', 'running'))";

async fn unchanged(tx: &mut Tx, document: DocumentId, blob: &str) -> Result<Option<Version>, StoreError> {
    let row = Sql::new(UNCHANGED).bind(document).bind(blob).maybe::<VersionRow>(tx).await?;
    Ok(row.map(Version::from))
}

const SET_WARNINGS: &str = "update versions set warnings = $2 where id = $1";

/// The file was gone, and this upload has brought it back.
async fn found_again(tx: &mut Tx, version: &mut Version) -> Result<(), StoreError> {
    let before = version.warnings.len();
    version.warnings.retain(|warning| warning.code != Warning::FILE_MISSING);
    if version.warnings.len() < before {
        Sql::new(SET_WARNINGS).bind(version.id).json(&version.warnings).run(tx).await?;
    }
    Ok(())
}

fn done_already(upload: &Upload, document: DocumentId, version: &Version) -> NewJob {
    NewJob {
        id: upload.job,
        kind: JobKind::Ingest,
        document: Some(document),
        version: Some(version.id),
        profile: None,
        user: upload.user,
        filename: upload.filename.clone(),
        node: None,
        state: JobState::Completed,
        report: JobReport {
            current_step: "vector_store".into(),
            message: "The file has not changed since its last upload.".into(),
            steps: Vec::new(),
            total: version.chunk_count,
            processed: version.chunk_count,
        },
        now: upload.now,
    }
}

const KEEP_BLOB: &str = "
insert into blobs (sha256, bytes, state, created_at) values ($1, $2, 'ready', $3)
on conflict (sha256) do update set state = 'ready'";

const NUMBER: &str = "update documents set last_no = $2 where id = $1";

const ADD_VERSION: &str = "
insert into versions (id, document_id, no, blob_sha256, media_type, extractor, facets, warnings, state, chars, created_at)
values ($1, $2, $3, $4, $5, '', $6, $7, 'staged', 0, $8)";

async fn add_version(tx: &mut Tx, upload: &Upload, document: DocumentId, no: i64) -> Result<(), StoreError> {
    Sql::new(KEEP_BLOB).bind(upload.blob.as_str()).bind(upload.bytes).bind(upload.now).run(tx).await?;
    Sql::new(NUMBER).bind(document).bind(no).run(tx).await?;
    Sql::new(ADD_VERSION)
        .bind(upload.version)
        .bind(document)
        .bind(no)
        .bind(upload.blob.as_str())
        .bind(upload.media_type.as_str())
        .json(&Facets::default())
        .json::<[Warning]>(&[])
        .bind(upload.now)
        .run(tx)
        .await
        .map(|_| ())
}
