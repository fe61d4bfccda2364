//! Files that no version needs, and parts that disagree.

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};

use super::{
    super::{
        Storage,
        jobs::{self, NewJob},
        sql::{Sql, Texts, Tx, Word, texts},
        writer::Kind,
    },
    changes,
    publish::{REMOVE_CHUNKS, REMOVE_SEGMENTS, purge_staged, remove_rows},
    segments, sound,
};
use crate::domain::{
    error::StoreError,
    id::{ChunkId, DocumentId, JobId, ProfileId, VersionId},
    index::Segment,
    job::{JobKind, JobReport, JobState},
    knowledge::{VersionState, Warning},
    time::Millis,
    upkeep::{Damaged, Upkeep},
};

#[async_trait]
impl Upkeep for Storage {
    async fn dying_blobs(&self, failed_after: Millis, limit: i64) -> Result<Vec<String>, StoreError> {
        // The search reads all files: not while the writer waits.
        let unused = Sql::new(UNUSED).bind(failed_after).bind(limit).all(&mut self.read().await?).await?;
        self.write(Kind::OTHER, move |tx| Box::pin(async move { mark(tx, unused, limit).await })).await
    }

    async fn forget_blob(&self, sha256: &str) -> Result<(), StoreError> {
        let sha256 = sha256.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { forget(tx, &sha256).await })).await
    }

    async fn expire(&self, before: Millis, limit: i64) -> Result<usize, StoreError> {
        // The search reads all replaced versions: not while the writer waits.
        let uncited = Sql::new(UNCITED).bind(before).bind(limit).all(&mut self.read().await?).await?;
        if uncited.is_empty() {
            return Ok(0);
        }
        self.write(Kind::OTHER, move |tx| Box::pin(async move { expire(tx, uncited).await })).await
    }

    async fn known_blobs(&self, sha256s: &[String]) -> Result<Vec<String>, StoreError> {
        let known = Sql::of(KNOWN).json(sha256s).all(&mut self.read().await?).await?;
        Ok(firsts(known))
    }

    async fn current_blobs(&self, after: &str, limit: i64) -> Result<Vec<String>, StoreError> {
        Ok(firsts(Sql::new(CURRENT).bind(after).bind(limit).all(&mut self.read().await?).await?))
    }

    async fn holders(&self, sha256: &str) -> Result<Vec<String>, StoreError> {
        if !self.is_shared() {
            return Ok(Vec::new());
        }
        Ok(firsts(Sql::new(HOLDERS).bind(sha256).all(&mut self.read().await?).await?))
    }

    async fn documents_of(&self, sha256: &str) -> Result<Vec<Damaged>, StoreError> {
        let rows = Sql::new(DOCUMENTS_OF).bind(sha256).all::<DamagedRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(Damaged::from).collect())
    }

    async fn warn(&self, document: DocumentId, warning: &Warning) -> Result<(), StoreError> {
        let warning = warning.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { warn(tx, document, warning).await })).await
    }

    async fn leftovers(&self, limit: i64) -> Result<Vec<VersionId>, StoreError> {
        Ok(firsts(Sql::new(LEFTOVERS).bind(limit).all(&mut self.read().await?).await?))
    }

    async fn clear(&self, version: VersionId) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { clear(tx, version).await })).await
    }

    async fn current(&self, after: Option<DocumentId>, limit: i64) -> Result<Vec<(Damaged, VersionId)>, StoreError> {
        let after = after.unwrap_or(DocumentId::from_uuid(uuid::Uuid::nil()));
        let rows = Sql::new(CURRENT_OF).bind(after).bind(limit).all::<CurrentRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(|row| (row.document.into(), row.version_id)).collect())
    }

    async fn leaves(&self, profile: ProfileId, version: VersionId) -> Result<Option<Vec<ChunkId>>, StoreError> {
        sound::leaves(&mut self.read().await?, profile, version).await
    }

    async fn segments(&self, profile: ProfileId, version: VersionId) -> Result<Vec<Segment>, StoreError> {
        let mut found = Vec::new();
        let mut tx = self.read().await?;
        segments::of_version(&mut tx, profile, version, |segment| segment.map(|segment| found.push(segment))).await?;
        Ok(found)
    }

    async fn last_change(&self) -> Result<i64, StoreError> {
        changes::last(&mut self.read().await?).await
    }

    async fn changes(&self, after: i64, limit: i64) -> Result<Vec<(i64, DocumentId)>, StoreError> {
        changes::since(&mut self.read().await?, after, limit).await
    }

    async fn read_again(
        &self,
        document: DocumentId,
        node: &str,
        job: JobId,
        version: VersionId,
        now: Millis,
    ) -> Result<(), StoreError> {
        let node = node.to_owned();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { read_again(tx, document, node, job, version, now).await })
        })
        .await
    }
}

fn firsts<T>(rows: Vec<(T,)>) -> Vec<T> {
    rows.into_iter().map(|(first,)| first).collect()
}

#[derive(FromRow)]
struct DamagedRow {
    id: DocumentId,
    filename: String,
    collection_name: String,
}

impl From<DamagedRow> for Damaged {
    fn from(row: DamagedRow) -> Self {
        Self { document: row.id, filename: row.filename, collection: row.collection_name }
    }
}

const UNUSED: &str = "
select b.sha256 from blobs b
where b.state = 'ready'
  and not exists (select 1 from versions v where v.blob_sha256 = b.sha256 and v.state <> 'purged')
  and not exists (select 1 from versions v join jobs j on j.version_id = v.id join documents d on d.id = v.document_id
                  where v.blob_sha256 = b.sha256 and d.deleted_at is null and j.state = 'failed'
                    and j.error_code <> 'cancelled' and j.updated_at >= $1)
limit $2";

const MARK: &str = "
update blobs set state = 'dying'
where sha256 = $1 and state = 'ready'
  and not exists (select 1 from versions v where v.blob_sha256 = $1 and v.state <> 'purged')";

// Postgres may let a job be tried again beside the marking.
const REVIVE: &str = "
update blobs set state = 'ready'
where state = 'dying' and exists (select 1 from versions v where v.blob_sha256 = sha256 and v.state <> 'purged')";

const DYING: &str = "select sha256 from blobs where state = 'dying' order by sha256 limit $1";

async fn mark(tx: &mut Tx, unused: Vec<(String,)>, limit: i64) -> Result<Vec<String>, StoreError> {
    for (sha256,) in unused {
        Sql::new(MARK).bind(sha256).run(tx).await?;
    }
    Sql::new(REVIVE).run(tx).await?;
    Ok(firsts(Sql::new(DYING).bind(limit).all(tx).await?))
}

// The job that made the current version, or one that found it unchanged, has ended by then.
const UNCITED: &str = "
select v.id from versions v
where v.state = 'retired'
  and not exists (select 1 from citations c where c.document_id = v.document_id and c.version_no = v.no)
  and exists (select 1 from versions n join jobs j on j.version_id = n.id
              where n.document_id = v.document_id and n.state = 'current' and n.no > v.no and j.state = 'completed'
                and j.updated_at < $1)
limit $2";

const EXPIRE: &str = "
update versions set state = 'purged'
where id = $1 and state = 'retired'
  and not exists (select 1 from citations c where c.document_id = versions.document_id and c.version_no = versions.no)";

async fn expire(tx: &mut Tx, uncited: Vec<(VersionId,)>) -> Result<usize, StoreError> {
    let mut expired = 0;
    for (version,) in uncited {
        if Sql::new(EXPIRE).bind(version).run(tx).await? == 1 {
            remove_rows(tx, version).await?;
            expired += 1;
        }
    }
    Ok(expired)
}

const FORGET_VERSIONS: &str = "
delete from versions
where blob_sha256 = $1 and state = 'purged'
  and exists (select 1 from blobs b where b.sha256 = $1 and b.state = 'dying')";

const FORGET: &str = "
delete from blobs
where sha256 = $1 and state = 'dying' and not exists (select 1 from versions v where v.blob_sha256 = $1)";

async fn forget(tx: &mut Tx, sha256: &str) -> Result<(), StoreError> {
    Sql::new(FORGET_VERSIONS).bind(sha256).run(tx).await?;
    Sql::new(FORGET).bind(sha256).run(tx).await.map(|_| ())
}

const KNOWN: Texts = texts!("select sha256 from blobs where sha256 in (" [1] ")");

const CURRENT: &str = "
select b.sha256 from blobs b
where b.sha256 > $1 and exists (select 1 from versions v where v.blob_sha256 = b.sha256 and v.state = 'current')
order by b.sha256 limit $2";

const HOLDERS: &str = "
select distinct j.node from versions v join jobs j on j.version_id = v.id
where v.blob_sha256 = $1 and v.state <> 'purged' and j.node is not null order by j.node";

const DOCUMENTS_OF: &str = "
select d.id, d.filename, c.name as collection_name
from versions v join documents d on d.id = v.document_id join collections c on c.id = d.collection_id
where v.blob_sha256 = $1 and v.state = 'current' and d.deleted_at is null order by c.name, d.filename";

const WARNINGS: &str = "select id, warnings from versions where document_id = $1 and state = 'current'";

const WARN: &str = "update versions set warnings = $2 where id = $1";

async fn warn(tx: &mut Tx, document: DocumentId, warning: Warning) -> Result<(), StoreError> {
    let current = Sql::new(WARNINGS).bind(document);
    let (version, Json(mut warnings)) = current.one::<(VersionId, Json<Vec<Warning>>)>(tx).await?;
    if warnings.iter().all(|each| each.code != warning.code) {
        warnings.push(warning);
        Sql::new(WARN).bind(version).json(&warnings).run(tx).await?;
    }
    Ok(())
}

const LEFTOVERS: &str = "
select v.id from versions v
where (v.state = 'staged' and not exists (select 1 from jobs j where j.version_id = v.id
                                                                 and j.state in ('pending', 'running')))
   or (v.state = 'purged' and exists (select 1 from pages p where p.version_id = v.id))
   or (v.state in ('purged', 'retired') and (exists (select 1 from chunks k where k.version_id = v.id)
                                             or exists (select 1 from segments s where s.version_id = v.id)))
order by v.id limit $1";

const STATE: &str = "select state from versions where id = $1";

async fn clear(tx: &mut Tx, version: VersionId) -> Result<(), StoreError> {
    let (Word(state),) = Sql::new(STATE).bind(version).one::<(Word<VersionState>,)>(tx).await?;
    match state {
        VersionState::Staged => purge_staged(tx, version).await,
        VersionState::Current => Ok(()),
        // Answers cite its text.
        VersionState::Retired => {
            Sql::new(REMOVE_CHUNKS).bind(version).run(tx).await?;
            Sql::new(REMOVE_SEGMENTS).bind(version).run(tx).await.map(|_| ())
        }
        VersionState::Purged => remove_rows(tx, version).await,
    }
}

#[derive(FromRow)]
struct CurrentRow {
    #[sqlx(flatten)]
    document: DamagedRow,
    version_id: VersionId,
}

const CURRENT_OF: &str = "
select d.id, d.filename, c.name as collection_name, v.id as version_id
from versions v join documents d on d.id = v.document_id join collections c on c.id = d.collection_id
where v.state = 'current' and d.deleted_at is null and d.id > $1
order by d.id limit $2";

const NEXT_NO: &str = "
update documents set last_no = last_no + 1 where id = $1 and deleted_at is null returning last_no, filename";

const COPY_CURRENT: &str = "
insert into versions (id, document_id, no, blob_sha256, media_type, extractor, facets, warnings, state, chars, created_at)
select $1, v.document_id, $3, v.blob_sha256, v.media_type, '', v.facets, v.warnings, 'staged', 0, $4
from versions v where v.document_id = $2 and v.state = 'current'";

const HOLDER: &str = "
select j.node from versions v join versions s on s.blob_sha256 = v.blob_sha256 join jobs j on j.version_id = s.id
where v.document_id = $1 and v.state = 'current' and s.state <> 'purged' and j.node is not null
order by j.node = $2 desc, j.created_at desc limit 1";

async fn read_again(
    tx: &mut Tx,
    document: DocumentId,
    node: String,
    job: JobId,
    version: VersionId,
    now: Millis,
) -> Result<(), StoreError> {
    let holder = Sql::new(HOLDER).bind(document).bind(node).maybe::<(String,)>(tx).await?;
    let (no, filename) = Sql::new(NEXT_NO).bind(document).one::<(i64, String)>(tx).await?;
    if Sql::new(COPY_CURRENT).bind(version).bind(document).bind(no).bind(now).run(tx).await? == 0 {
        return Err(StoreError::NotFound);
    }
    let new = NewJob {
        id: job,
        kind: JobKind::Ingest,
        document: Some(document),
        version: Some(version),
        profile: None,
        user: None,
        filename,
        node: holder.map(|(node,)| node),
        state: JobState::Pending,
        report: JobReport::default(),
        now,
    };
    jobs::add(tx, new).await
}
