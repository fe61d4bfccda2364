//! Watched folders and how their files looked.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    Storage,
    sql::{Sql, Tx, Word},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    folder::{
        BadFile, FileChange, FileCounts, FileJob, Folder, FolderFault, FolderId, FolderStore, Hold, KnownFile,
        ListedFolder, Root, Scanned, Stamp, WatchedFile,
    },
    id::{DocumentId, JobId},
    job::JobState,
    time::Millis,
};

#[derive(FromRow)]
struct FolderRow {
    id: FolderId,
    path: String,
    collection: String,
    node: Option<String>,
    root_device: Option<i64>,
    root_inode: Option<i64>,
    scanned_at: Option<Millis>,
    skipped: i64,
    fault: Option<Word<FolderFault>>,
    created_at: Millis,
}

impl From<FolderRow> for Folder {
    fn from(row: FolderRow) -> Self {
        Self {
            id: row.id,
            path: row.path,
            collection: row.collection,
            node: row.node,
            root: row.root_device.zip(row.root_inode).map(|(device, inode)| Root { device, inode }),
            scanned_at: row.scanned_at,
            skipped: row.skipped,
            fault: row.fault.map(|fault| fault.0),
            created_at: row.created_at,
        }
    }
}

#[derive(FromRow)]
struct CountedRow {
    #[sqlx(flatten)]
    folder: FolderRow,
    files: i64,
    ready: i64,
    failed: i64,
}

#[derive(FromRow)]
struct FileRow {
    name: String,
    bytes: i64,
    modified: i64,
    changed: i64,
    settled: bool,
    missing: bool,
    sha256: Option<String>,
    document_id: Option<DocumentId>,
    job_id: Option<JobId>,
    error_code: Option<String>,
    error: Option<String>,
    state: Option<Word<JobState>>,
    job_error_code: Option<String>,
    updated_at: Option<Millis>,
}

impl From<FileRow> for KnownFile {
    fn from(row: FileRow) -> Self {
        let job = row.state.zip(row.updated_at).map(|(state, updated_at)| FileJob {
            state: state.0,
            error_code: row.job_error_code,
            updated_at,
        });
        let file = WatchedFile {
            name: row.name,
            stamp: Stamp { bytes: row.bytes, modified: row.modified, changed: row.changed },
            is_settled: row.settled,
            is_missing: row.missing,
            sha256: row.sha256,
            document: row.document_id,
            job: row.job_id,
            refused: row.error_code.zip(row.error),
        };
        Self { file, job }
    }
}

#[async_trait]
impl FolderStore for Storage {
    async fn add_folder(&self, folder: &Folder) -> Result<(), StoreError> {
        let folder = folder.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { insert(ADD, &folder).run(tx).await.map(|_| ()) })).await
    }

    async fn set_folders(&self, node: &str, folders: &[Folder]) -> Result<(), StoreError> {
        let (node, folders) = (node.to_owned(), folders.to_vec());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { set(tx, &node, &folders).await })).await
    }

    async fn remove_folder(&self, id: FolderId) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { remove(tx, id).await })).await
    }

    async fn folders(
        &self,
        after: Option<(&str, &str)>,
        limit: i64,
        bad: i64,
    ) -> Result<Vec<ListedFolder>, StoreError> {
        all(&mut self.read().await?, after, limit, bad).await
    }

    async fn due_folders(&self, now: Millis, limit: i64) -> Result<Vec<Folder>, StoreError> {
        let mut tx = self.read().await?;
        let now = tx.now(now).await?;
        let rows = Sql::new(DUE).bind(now).bind(limit).all::<FolderRow>(&mut tx).await?;
        Ok(rows.into_iter().map(Folder::from).collect())
    }

    async fn claim_folder(
        &self,
        id: FolderId,
        node: &str,
        now: Millis,
        lease: Duration,
    ) -> Result<Option<Hold>, StoreError> {
        let node = node.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { claim(tx, id, node, now, lease).await })).await
    }

    async fn hold_folder(&self, hold: Hold, now: Millis, lease: Duration) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                let now = tx.now(now).await?;
                fenced(held(HOLD, hold, now).bind(now + lease), tx).await
            })
        })
        .await
    }

    async fn known_files(&self, folder: FolderId) -> Result<Vec<KnownFile>, StoreError> {
        let rows = Sql::new(FILES).bind(folder).all::<FileRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(KnownFile::from).collect())
    }

    async fn change_files(&self, hold: Hold, changes: &[FileChange], now: Millis) -> Result<(), StoreError> {
        for part in changes.chunks(CHANGES) {
            let part = part.to_vec();
            self.write(Kind::OTHER, move |tx| Box::pin(async move { change(tx, hold, part, now).await })).await?;
        }
        Ok(())
    }

    async fn is_anothers_file(&self, folder: FolderId, name: &str) -> Result<bool, StoreError> {
        let query = Sql::new(ANOTHERS).bind(folder).bind(name);
        Ok(query.one::<(bool,)>(&mut self.read().await?).await?.0)
    }

    async fn document_of_file(&self, folder: FolderId, name: &str) -> Result<Option<DocumentId>, StoreError> {
        let query = Sql::new(DOCUMENT_OF).bind(folder).bind(name);
        Ok(query.maybe::<(DocumentId,)>(&mut self.read().await?).await?.map(|(id,)| id))
    }

    async fn end_scan(&self, hold: Hold, scanned: &Scanned, now: Millis, pause: Duration) -> Result<(), StoreError> {
        let scanned = scanned.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { end(tx, hold, scanned, now, pause).await })).await
    }

    async fn fail_scan(&self, hold: Hold, fault: FolderFault, now: Millis, pause: Duration) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                let now = tx.now(now).await?;
                fenced(held(FAIL, hold, now).bind(now + pause).bind(Word(fault)), tx).await
            })
        })
        .await
    }

    async fn report_fault(
        &self,
        id: FolderId,
        node: &str,
        fault: FolderFault,
        now: Millis,
        stale: Duration,
    ) -> Result<(), StoreError> {
        let report = Sql::new(REPORT).bind(id).bind(node).bind(Word(fault));
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                let now = tx.now(now).await?;
                report.bind(now - stale).run(tx).await.map(|_| ())
            })
        })
        .await
    }
}

/// Files of one write, so that a turn never waits long for the writer.
const CHANGES: usize = 256;

// Due at once, whatever time it is.
const ADD: &str = "
insert into watched_folders (id, path, collection, node, due_at, created_at) values ($1, $2, $3, $4, 0, $5)";

// An admin's stays the admin's; of two nodes that name one, the last to start answers for it.
const NAME: &str = "
insert into watched_folders (id, path, collection, node, due_at, created_at) values ($1, $2, $3, $4, 0, $5)
on conflict (path, collection) do update set node = excluded.node where watched_folders.node is not null";

fn insert(statement: &'static str, folder: &Folder) -> Sql {
    Sql::new(statement)
        .bind(folder.id)
        .bind(folder.path.as_str())
        .bind(folder.collection.as_str())
        .bind(folder.node.as_deref())
        .bind(folder.created_at)
}

const NAMED_BY: &str = "select id, path, collection from watched_folders where node = $1 order by id";

const FREE: &str = "update watched_folders set lease_until = 0 where lease_owner = $1";

async fn set(tx: &mut Tx, node: &str, folders: &[Folder]) -> Result<(), StoreError> {
    for (id, path, collection) in Sql::new(NAMED_BY).bind(node).all::<(FolderId, String, String)>(tx).await? {
        if !folders.iter().any(|folder| folder.path == path && folder.collection == collection) {
            remove(tx, id).await?;
        }
    }
    for folder in folders {
        insert(NAME, folder).run(tx).await?;
    }
    Sql::new(FREE).bind(node).run(tx).await.map(|_| ())
}

// Files of other folders that were refused for its files' names are looked at once more.
const FREE_NAMES: &str = "
update watched_files set settled = false
where error_code = 'name_taken' and name in (select f.name from watched_files f where f.folder_id = $1)";

const REMOVE: &str = "delete from watched_folders where id = $1";

async fn remove(tx: &mut Tx, id: FolderId) -> Result<(), StoreError> {
    Sql::new(FREE_NAMES).bind(id).run(tx).await?;
    if Sql::new(REMOVE).bind(id).run(tx).await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

const ALL: &str = "
select w.id, w.path, w.collection, w.node, w.root_device, w.root_inode, w.scanned_at, w.skipped, w.fault, w.created_at,
       count(f.name) as files,
       count(case when f.settled and f.error_code is null and j.state = 'completed' then 1 end) as ready,
       count(case when f.settled and (f.error_code is not null or j.state = 'failed') then 1 end) as failed
from watched_folders w
left join watched_files f on f.folder_id = w.id
left join jobs j on j.id = f.job_id
where (w.path, w.collection) > ($1, $2)
group by w.id order by w.path, w.collection limit $3";

const BAD: &str = "
select f.name, coalesce(f.error_code, j.error_code) as error_code, coalesce(f.error, j.error) as error
from watched_files f left join jobs j on j.id = f.job_id
where f.folder_id = $1 and f.settled and (f.error_code is not null or j.state = 'failed')
order by f.name limit $2";

async fn all(tx: &mut Tx, after: Option<(&str, &str)>, limit: i64, bad: i64) -> Result<Vec<ListedFolder>, StoreError> {
    // No path is empty.
    let (path, collection) = after.unwrap_or_default();
    let rows = Sql::new(ALL).bind(path).bind(collection).bind(limit).all::<CountedRow>(tx).await?;
    let mut files: HashMap<FolderId, Vec<BadFile>> = HashMap::new();
    for row in rows.iter().filter(|row| row.failed > 0) {
        let rows = Sql::new(BAD).bind(row.folder.id).bind(bad).all::<(String, String, String)>(tx).await?;
        let bad = rows.into_iter().map(|(name, error_code, error)| BadFile { name, error_code, error });
        files.insert(row.folder.id, bad.collect());
    }
    let listed = |row: CountedRow| ListedFolder {
        bad_files: files.remove(&row.folder.id).unwrap_or_default(),
        counts: FileCounts { files: row.files, ready: row.ready, failed: row.failed },
        folder: row.folder.into(),
    };
    Ok(rows.into_iter().map(listed).collect())
}

const DUE: &str = "
select id, path, collection, node, root_device, root_inode, scanned_at, skipped, fault, created_at
from watched_folders where due_at <= $1 and lease_until <= $1 order by due_at, id limit $2";

const CLAIM: &str = "
update watched_folders set lease_owner = $2, lease_token = lease_token + 1, lease_until = $4
where id = $1 and due_at <= $3 and lease_until <= $3 returning lease_token";

async fn claim(
    tx: &mut Tx,
    id: FolderId,
    node: String,
    now: Millis,
    lease: Duration,
) -> Result<Option<Hold>, StoreError> {
    let now = tx.now(now).await?;
    let claim = Sql::new(CLAIM).bind(id).bind(node).bind(now).bind(now + lease);
    Ok(claim.maybe::<(i64,)>(tx).await?.map(|(token,)| Hold { folder: id, token }))
}

const FENCED: StoreError = StoreError::Conflict("the folder is not this scanner's any more");

/// A statement on a folder that is held: `$1` to `$3` say by whom and when, by the store's time.
fn held(statement: &'static str, hold: Hold, now: Millis) -> Sql {
    Sql::new(statement).bind(hold.folder).bind(hold.token).bind(now)
}

async fn fenced(statement: Sql, tx: &mut Tx) -> Result<(), StoreError> {
    if statement.run(tx).await? == 0 { Err(FENCED) } else { Ok(()) }
}

const HOLD: &str = "
update watched_folders set lease_until = $4 where id = $1 and lease_token = $2 and lease_until > $3";

const END: &str = "
update watched_folders
set scanned_at = $3, due_at = $4, root_device = $5, root_inode = $6, skipped = $7, scanned_by = $8, fault = null,
    lease_until = 0
where id = $1 and lease_token = $2 and lease_until > $3";

async fn end(tx: &mut Tx, hold: Hold, scanned: Scanned, now: Millis, pause: Duration) -> Result<(), StoreError> {
    let now = tx.now(now).await?;
    let end = held(END, hold, now)
        .bind(now + pause)
        .bind(scanned.root.device)
        .bind(scanned.root.inode)
        .bind(scanned.skipped)
        .bind(scanned.node);
    fenced(end, tx).await
}

const FAIL: &str = "
update watched_folders set due_at = $4, fault = $5, lease_until = 0
where id = $1 and lease_token = $2 and lease_until > $3";

const REPORT: &str = "
update watched_folders set fault = $3
where id = $1 and (scanned_by is null or scanned_by = $2 or scanned_at < $4)";

const FILES: &str = "
select f.name, f.bytes, f.modified, f.changed, f.settled, f.missing, f.sha256, f.document_id, f.job_id, f.error_code,
       f.error, j.state, j.error_code as job_error_code, j.updated_at
from watched_files f left join jobs j on j.id = f.job_id where f.folder_id = $1 order by f.name";

// Changes nothing, but holds the row: who is fenced meanwhile has to wait.
const STILL: &str = "
update watched_folders set lease_token = lease_token where id = $1 and lease_token = $2 and lease_until > $3";

const PUT: &str = "
insert into watched_files (folder_id, name, bytes, modified, changed, settled, missing, sha256, document_id, job_id,
                           error_code, error)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (folder_id, name) do update
set bytes = excluded.bytes, modified = excluded.modified, changed = excluded.changed, settled = excluded.settled,
    missing = excluded.missing, sha256 = excluded.sha256, document_id = excluded.document_id,
    job_id = excluded.job_id, error_code = excluded.error_code, error = excluded.error";

const FORGET: &str = "delete from watched_files where folder_id = $1 and name = $2";

const FREE_NAME: &str = "update watched_files set settled = false where name = $1 and error_code = 'name_taken'";

async fn change(tx: &mut Tx, hold: Hold, changes: Vec<FileChange>, now: Millis) -> Result<(), StoreError> {
    let now = tx.now(now).await?;
    fenced(held(STILL, hold, now), tx).await?;
    for change in changes {
        match change {
            FileChange::Is(file) => put(tx, hold.folder, file).await?,
            FileChange::Gone(name) => {
                Sql::new(FORGET).bind(hold.folder).bind(name.as_str()).run(tx).await?;
                Sql::new(FREE_NAME).bind(name).run(tx).await?;
            }
        }
    }
    Ok(())
}

async fn put(tx: &mut Tx, folder: FolderId, file: WatchedFile) -> Result<(), StoreError> {
    let (error_code, error) = file.refused.unzip();
    Sql::new(PUT)
        .bind(folder)
        .bind(file.name)
        .bind(file.stamp.bytes)
        .bind(file.stamp.modified)
        .bind(file.stamp.changed)
        .bind(file.is_settled)
        .bind(file.is_missing)
        .bind(file.sha256.as_deref())
        .bind(file.document)
        .bind(file.job)
        .bind(error_code.as_deref())
        .bind(error.as_deref())
        .run(tx)
        .await
        .map(|_| ())
}

const ANOTHERS: &str = "
select exists (
  select 1 from watched_files f join watched_folders w on w.id = f.folder_id
  join documents d on d.id = f.document_id
  where f.name = $2 and f.folder_id <> $1 and f.document_id is not null and d.deleted_at is null
    and w.collection = (select o.collection from watched_folders o where o.id = $1))";

// What a person uploaded under the name since is not the folder's.
const DOCUMENT_OF: &str = "
select d.id from watched_files f join documents d on d.id = f.document_id join jobs o on o.id = f.job_id
where f.folder_id = $1 and f.name = $2 and d.deleted_at is null
  and not exists (select 1 from jobs j
                  where j.document_id = d.id and j.kind = 'ingest' and j.user_id is not null
                    and (j.created_at, j.id) > (o.created_at, o.id)
                    and (j.state <> 'failed'))";
