//! What becomes of versions: publishing one, purging one, deleting a document.

use sqlx::FromRow;

use super::{
    super::{
        jobs::{self, End},
        sql::{Sql, Tx},
    },
    changes,
};
use crate::domain::{
    error::StoreError,
    id::{DocumentId, VersionId},
    job::{Fence, JobReport},
    knowledge::Published,
    time::Millis,
};

#[derive(FromRow)]
struct Staged {
    document_id: DocumentId,
    no: i64,
}

const STAGED: &str = "select document_id, no from versions where id = $1 and state = 'staged'";

// The document's row is the lock of the swap; a later upload that is current already wins.
const SWAP_DOCUMENT: &str = "
update documents set current_no = $2
where id = $1 and deleted_at is null and (current_no is null or current_no < $2)";

const RETIRE: &str = "update versions set state = 'retired' where document_id = $1 and state = 'current' returning id";

const MAKE_CURRENT: &str = "update versions set state = 'current', chunk_count = $2 where id = $1";

/// The job's end and the swap are one transaction. The old version's pages stay: answers cite them.
pub(super) async fn publish(
    tx: &mut Tx,
    fence: Fence,
    version: VersionId,
    chunk_count: i64,
    report: JobReport,
    now: Millis,
) -> Result<Published, StoreError> {
    if jobs::hold(tx, fence, version).await? {
        jobs::end(tx, fence, &End::cancelled(), report, now).await?;
        purge_staged(tx, version).await?;
        return Ok(Published::Cancelled);
    }
    let staged = Sql::new(STAGED).bind(version).maybe::<Staged>(tx).await?;
    let staged = staged.ok_or(StoreError::Conflict("the version is not staged"))?;
    jobs::end(tx, fence, &End::Completed, report, now).await?;
    if Sql::new(SWAP_DOCUMENT).bind(staged.document_id).bind(staged.no).run(tx).await? == 0 {
        purge_staged(tx, version).await?;
        return Ok(Published::TooLate);
    }
    let replaced = Sql::new(RETIRE).bind(staged.document_id).maybe::<(VersionId,)>(tx).await?.map(|(id,)| id);
    if let Some(old) = replaced {
        Sql::new(REMOVE_CHUNKS).bind(old).run(tx).await?;
        Sql::new(REMOVE_SEGMENTS).bind(old).run(tx).await?;
    }
    Sql::new(MAKE_CURRENT).bind(version).bind(chunk_count).run(tx).await?;
    changes::note(tx, staged.document_id).await?;
    Ok(Published::Current { replaced })
}

const PURGE_STAGED: &str = "update versions set state = 'purged' where id = $1 and state = 'staged'";

/// Gives up a version that never became current.
pub(in super::super) async fn purge_staged(tx: &mut Tx, version: VersionId) -> Result<(), StoreError> {
    if Sql::new(PURGE_STAGED).bind(version).run(tx).await? == 1 {
        remove_rows(tx, version).await?;
    }
    Ok(())
}

// The row of the file is held, and the file still kept, or there is nothing to read.
const KEEP_FILE: &str = "
update blobs set state = 'ready'
where state = 'ready' and sha256 = (select v.blob_sha256 from versions v join documents d on d.id = v.document_id
                                    where v.id = $1 and d.deleted_at is null)";

const STAGE_AGAIN: &str = "update versions set state = 'staged' where id = $1 and state = 'purged'";

/// Lets the version of a failed job be read once more. Gives whether there is anything to read.
pub(in super::super) async fn stage_again(tx: &mut Tx, version: VersionId) -> Result<bool, StoreError> {
    if Sql::new(KEEP_FILE).bind(version).run(tx).await? == 0 {
        return Ok(false);
    }
    Ok(Sql::new(STAGE_AGAIN).bind(version).run(tx).await? == 1)
}

const REMOVE_PAGES: &str = "delete from pages where version_id = $1";
pub(super) const REMOVE_CHUNKS: &str = "delete from chunks where version_id = $1";
pub(super) const REMOVE_SEGMENTS: &str = "delete from segments where version_id = $1";

/// Removes everything that was read from a version's file.
pub(super) async fn remove_rows(tx: &mut Tx, version: VersionId) -> Result<(), StoreError> {
    for remove in [REMOVE_PAGES, REMOVE_CHUNKS, REMOVE_SEGMENTS] {
        Sql::new(remove).bind(version).run(tx).await?;
    }
    Ok(())
}

const BURY: &str = "update documents set deleted_at = $2, current_no = null where id = $1 and deleted_at is null";

const LEAVES: &str = "
select coalesce(max(v.chunk_count), 0) from versions v join documents d on d.id = v.document_id
where d.id = $1 and d.deleted_at is not null and v.state = 'current'";

// A version still staged stays so: its job was cancelled with the deletion, and purges it when it ends.
const PURGE_ALL: &str = "
update versions set state = 'purged'
where document_id = $1 and state in ('current', 'retired')
  and exists (select 1 from documents d where d.id = versions.document_id and d.deleted_at is not null)
returning id";

const CANCEL_UPLOADS: &str = "
update jobs set cancel_requested = $2 where document_id = $1 and kind = 'ingest' and state in ('pending', 'running')";

/// Deletes a document with all uploads to it that were accepted so far; its name is free from here on. Leaves a
/// tombstone, by which citations say that their source was removed.
pub(in super::super) async fn bury(tx: &mut Tx, document: DocumentId, now: Millis) -> Result<(), StoreError> {
    // Jobs before documents, the order in which `publish` takes its locks.
    Sql::new(CANCEL_UPLOADS).bind(document).bind(true).run(tx).await?;
    let buried = Sql::new(BURY).bind(document).bind(now).run(tx).await?;
    if buried == 0 { Err(StoreError::NotFound) } else { changes::note(tx, document).await }
}

pub(super) async fn delete(tx: &mut Tx, document: DocumentId, now: Millis) -> Result<i64, StoreError> {
    bury(tx, document, now).await?;
    purge(tx, document).await
}

/// Removes what a buried document leaves. Gives the leaves that answered until it was buried.
pub(super) async fn purge(tx: &mut Tx, document: DocumentId) -> Result<i64, StoreError> {
    let (leaves,) = Sql::new(LEAVES).bind(document).one::<(i64,)>(tx).await?;
    for (version,) in Sql::new(PURGE_ALL).bind(document).all::<(VersionId,)>(tx).await? {
        remove_rows(tx, version).await?;
    }
    Ok(leaves)
}
