//! Groups of users.

use std::collections::HashMap;

use sqlx::FromRow;

use super::sql::{Sql, Texts, Tx, texts};
use crate::domain::{
    error::StoreError,
    id::UserId,
    user::{Group, GroupChange, GroupId},
};

#[derive(FromRow)]
struct GroupRow {
    id: GroupId,
    name: String,
}

const ALL: &str = "select id, name from groups where name > $1 order by name limit $2";

pub(super) async fn all(tx: &mut Tx, after: Option<&str>, limit: i64) -> Result<Vec<Group>, StoreError> {
    // No group's name is empty.
    let rows = Sql::new(ALL).bind(after.unwrap_or_default()).bind(limit).all::<GroupRow>(tx).await?;
    with_members(tx, rows).await
}

const NAMED: &str = "select id, name from groups where name = $1";

pub(super) async fn named(tx: &mut Tx, name: &str) -> Result<Group, StoreError> {
    let row = Sql::new(NAMED).bind(name).one::<GroupRow>(tx).await?;
    whole(tx, row).await
}

const MEMBERS: Texts = texts!("
select m.group_id, u.name from group_members m join users u on u.id = m.user_id
where m.group_id in (" [1] ") order by u.name_key");

async fn with_members(tx: &mut Tx, rows: Vec<GroupRow>) -> Result<Vec<Group>, StoreError> {
    let ids: Vec<GroupId> = rows.iter().map(|row| row.id).collect();
    let mut members: HashMap<GroupId, Vec<String>> = HashMap::new();
    for (group, name) in Sql::of(MEMBERS).json(&ids).all::<(GroupId, String)>(tx).await? {
        members.entry(group).or_default().push(name);
    }
    let group =
        |row: GroupRow| Group { id: row.id, name: row.name, members: members.remove(&row.id).unwrap_or_default() };
    Ok(rows.into_iter().map(group).collect())
}

async fn whole(tx: &mut Tx, row: GroupRow) -> Result<Group, StoreError> {
    with_members(tx, vec![row]).await?.pop().ok_or(StoreError::NotFound)
}

const ADD: &str = "insert into groups (id, name) values ($1, $2)";

pub(super) async fn add(tx: &mut Tx, id: GroupId, name: String, members: &[UserId]) -> Result<Group, StoreError> {
    Sql::new(ADD).bind(id).bind(name.as_str()).run(tx).await?;
    add_members(tx, id, members).await?;
    whole(tx, GroupRow { id, name }).await
}

// An account may have been deleted since it was looked up.
const ADD_MEMBERS: Texts = texts!("
insert into group_members (group_id, user_id)
select $1, u.id from users u where u.id in (" [2] ")
on conflict do nothing");

async fn add_members(tx: &mut Tx, id: GroupId, members: &[UserId]) -> Result<(), StoreError> {
    Sql::of(ADD_MEMBERS).bind(id).json(members).run(tx).await.map(|_| ())
}

const REMOVE_MEMBERS: Texts = texts!("
delete from group_members where group_id = $1 and user_id in (" [2] ")");

// Also where the name stays: the row is held, so that two changes of a group come one after the other.
const NAME: &str = "update groups set name = coalesce($2, name) where id = $1 returning id, name";

pub(super) async fn change(tx: &mut Tx, id: GroupId, change: GroupChange) -> Result<Group, StoreError> {
    let row = Sql::new(NAME).bind(id).bind(change.name.as_deref()).one::<GroupRow>(tx).await?;
    add_members(tx, id, &change.add).await?;
    Sql::of(REMOVE_MEMBERS).bind(id).json(&change.remove).run(tx).await?;
    whole(tx, row).await
}

const FORGET_READER: &str = "delete from collection_readers where kind = 'group' and principal_id = $1";

const DELETE: &str = "delete from groups where id = $1";

pub(super) async fn delete(tx: &mut Tx, id: GroupId) -> Result<(), StoreError> {
    Sql::new(FORGET_READER).bind(id).run(tx).await?;
    if Sql::new(DELETE).bind(id).run(tx).await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}
