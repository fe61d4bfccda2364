//! Files that no version needs.

use async_trait::async_trait;

use super::super::{
    Storage,
    sql::{Sql, Tx},
    writer::Kind,
};
use crate::domain::{error::StoreError, time::Millis, upkeep::Upkeep};

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
    let dying = Sql::new(DYING).bind(limit).all::<(String,)>(tx).await?;
    Ok(dying.into_iter().map(|(sha256,)| sha256).collect())
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
