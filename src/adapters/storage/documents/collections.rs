//! Collections and who may read them.

use std::collections::HashMap;

use sqlx::FromRow;

use super::super::sql::{Sql, Texts, Tx, Word, texts};
use crate::domain::{
    error::StoreError,
    id::{CollectionId, UserId},
    knowledge::{Access, Collection, Emptied, Readers, Visibility},
    time::Millis,
};

#[derive(FromRow)]
struct CollectionRow {
    id: CollectionId,
    name: String,
    visibility: Word<Visibility>,
    created_at: Millis,
}

#[derive(FromRow)]
struct ReaderRow {
    collection_id: CollectionId,
    is_group: bool,
    name: String,
}

/// The collections of these rows, each with its list.
async fn with_lists(tx: &mut Tx, rows: Vec<CollectionRow>) -> Result<Vec<Collection>, StoreError> {
    let ids: Vec<CollectionId> = rows.iter().map(|row| row.id).collect();
    let mut lists: HashMap<CollectionId, [Vec<String>; 2]> = HashMap::new();
    for reader in Sql::of(READERS).json(&ids).all::<ReaderRow>(tx).await? {
        let [users, groups] = lists.entry(reader.collection_id).or_default();
        if reader.is_group { groups.push(reader.name) } else { users.push(reader.name) }
    }
    let collection = |row: CollectionRow| {
        let [users, groups] = lists.remove(&row.id).unwrap_or_default();
        Collection {
            id: row.id,
            name: row.name,
            visibility: row.visibility.0,
            users,
            groups,
            created_at: row.created_at,
        }
    };
    Ok(rows.into_iter().map(collection).collect())
}

const READABLE: Texts = texts!("
select c.id from collections c
where ($2 is null or c.name in (" [2] "))
  and (c.visibility = 'everyone' or exists (
    select 1 from collection_readers r where r.collection_id = c.id and (
      (r.kind = 'user' and r.principal_id = $1)
      or (r.kind = 'group' and r.principal_id in (select g.group_id from group_members g where g.user_id = $1)))))
order by c.id");

pub(in super::super) async fn readable(
    tx: &mut Tx,
    user: UserId,
    only: Option<&[String]>,
) -> Result<Access, StoreError> {
    let query = Sql::of(READABLE).bind(user).json_opt(only.as_ref());
    let rows = query.all::<(CollectionId,)>(tx).await?;
    Ok(Access { collections: rows.into_iter().map(|(id,)| id).collect() })
}

const ALL: &str = "select id, name, visibility, created_at from collections where name > $1 order by name limit $2";

// Whoever left no account behind is shown to nobody.
const READERS: Texts = texts!("
select r.collection_id, r.kind = 'group' as is_group, coalesce(u.name, g.name) as name
from collection_readers r
left join users u on r.kind = 'user' and u.id = r.principal_id
left join groups g on r.kind = 'group' and g.id = r.principal_id
where r.collection_id in (" [1] ") and coalesce(u.name, g.name) is not null order by name");

pub(super) async fn all(tx: &mut Tx, after: Option<&str>, limit: i64) -> Result<Vec<Collection>, StoreError> {
    // No collection's name is empty.
    let rows = Sql::new(ALL).bind(after.unwrap_or_default()).bind(limit).all(tx).await?;
    with_lists(tx, rows).await
}

const SET: &str = "
insert into collections (id, name, visibility, created_at) values ($1, $2, $3, $4)
on conflict (name) do update set visibility = excluded.visibility
returning id, name, visibility, created_at";

const FORGET_READERS: &str = "delete from collection_readers where collection_id = $1";

const ADD_READER: &str = "
insert into collection_readers (collection_id, kind, principal_id) values ($1, $2, $3) on conflict do nothing";

pub(super) async fn set_readers(
    tx: &mut Tx,
    name: String,
    new_id: CollectionId,
    readers: Readers,
    now: Millis,
) -> Result<Collection, StoreError> {
    let (visibility, users, groups) = match readers {
        Readers::Everyone => (Visibility::Everyone, Vec::new(), Vec::new()),
        Readers::Listed { users, groups } => (Visibility::Listed, users, groups),
    };
    let set = Sql::new(SET).bind(new_id).bind(name).bind(Word(visibility)).bind(now);
    let row = set.one::<CollectionRow>(tx).await?;
    Sql::new(FORGET_READERS).bind(row.id).run(tx).await?;
    for user in users {
        Sql::new(ADD_READER).bind(row.id).bind("user").bind(user).run(tx).await?;
    }
    for group in groups {
        Sql::new(ADD_READER).bind(row.id).bind("group").bind(group).run(tx).await?;
    }
    one(tx, row).await
}

/// The collection of this row, with its list.
async fn one(tx: &mut Tx, row: CollectionRow) -> Result<Collection, StoreError> {
    with_lists(tx, vec![row]).await?.pop().ok_or(StoreError::NotFound)
}

const MAKE: &str = "
insert into collections (id, name, visibility, created_at) values ($1, $2, 'everyone', $3)
on conflict (name) do nothing";

const NAMED: &str = "select id, name, visibility, created_at from collections where name = $1";

pub(super) async fn named(tx: &mut Tx, name: &str) -> Result<Collection, StoreError> {
    let row = Sql::new(NAMED).bind(name).one::<CollectionRow>(tx).await?;
    one(tx, row).await
}

// Deletions under way remove what is left of their documents themselves.
const IS_IN_USE: &str = "
select exists (
  select 1 from documents d where d.collection_id = $1
    and (d.deleted_at is null
         or exists (select 1 from jobs j where j.document_id = d.id and j.state in ('pending', 'running'))))";

const IS_WATCHED: &str = "select exists (select 1 from watched_folders where collection = $1)";

// Answers that cite them say that their source was removed, tombstone or not.
const FORGET_VERSIONS: &str = "
delete from versions where document_id in (select d.id from documents d where d.collection_id = $1)";

const FORGET_DOCUMENTS: &str = "delete from documents where collection_id = $1 and deleted_at is not null";

const DELETE: &str = "delete from collections where id = $1";

pub(super) async fn delete(tx: &mut Tx, name: &str) -> Result<Emptied, StoreError> {
    let id = Sql::new(NAMED).bind(name).one::<CollectionRow>(tx).await?.id;
    if Sql::new(IS_IN_USE).bind(id).one::<(bool,)>(tx).await?.0 {
        return Ok(Emptied::NotEmpty);
    }
    if Sql::new(IS_WATCHED).bind(name).one::<(bool,)>(tx).await?.0 {
        return Ok(Emptied::Watched);
    }
    Sql::new(FORGET_VERSIONS).bind(id).run(tx).await?;
    Sql::new(FORGET_DOCUMENTS).bind(id).run(tx).await?;
    // A document that came meanwhile, which only Postgres lets happen, keeps the row: a conflict.
    Sql::new(DELETE).bind(id).run(tx).await.map(|_| Emptied::Deleted)
}

/// The collection of this name; made, readable by everyone, when unknown.
pub(super) async fn find_or_make(
    tx: &mut Tx,
    name: &str,
    new_id: CollectionId,
    now: Millis,
) -> Result<CollectionId, StoreError> {
    Sql::new(MAKE).bind(new_id).bind(name).bind(now).run(tx).await?;
    Sql::new(NAMED).bind(name).one::<CollectionRow>(tx).await.map(|row| row.id)
}
