//! Accounts as admins see and change them.

use std::collections::HashMap;

use super::{
    sql::{Sql, Texts, Tx, texts},
    users::{USER_BY_NAME, UserRow, revoke_all},
};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::Millis,
    user::{Account, AccountChange, NotChanged, Role, User},
};

/// Before the first page stands a place that is newer than every account.
const BEFORE_ALL: (Millis, UserId) = (Millis(i64::MAX), UserId::from_uuid(uuid::Uuid::max()));

const ALL: &str = "
select id, name, role, password_hash, auth_epoch, disabled_at, created_at
from users where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3";

pub(super) async fn all(tx: &mut Tx, after: Option<(Millis, UserId)>, limit: i64) -> Result<Vec<Account>, StoreError> {
    let (time, id) = after.unwrap_or(BEFORE_ALL);
    let rows = Sql::new(ALL).bind(time).bind(id).bind(limit).all::<UserRow>(tx).await?;
    with_groups(tx, rows).await
}

pub(super) async fn named(tx: &mut Tx, name_key: &str) -> Result<Account, StoreError> {
    let row = Sql::new(USER_BY_NAME).bind(name_key).one::<UserRow>(tx).await?;
    with_groups(tx, vec![row]).await?.pop().ok_or(StoreError::NotFound)
}

const GROUPS: Texts = texts!("
select m.user_id, g.name from group_members m join groups g on g.id = m.group_id
where m.user_id in (" [1] ") order by g.name");

async fn with_groups(tx: &mut Tx, rows: Vec<UserRow>) -> Result<Vec<Account>, StoreError> {
    let users: Vec<User> = rows.into_iter().map(User::from).collect();
    let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
    let mut groups: HashMap<UserId, Vec<String>> = HashMap::new();
    for (user, name) in Sql::of(GROUPS).json(&ids).all::<(UserId, String)>(tx).await? {
        groups.entry(user).or_default().push(name);
    }
    let account = |user: User| Account { groups: groups.remove(&user.id).unwrap_or_default(), user };
    Ok(users.into_iter().map(account).collect())
}

// Held until the transaction ends: two admins who switch each other off at once do so one after the other.
const ADMINS: Texts = texts!("
select id from users where role = 'admin' and disabled_at is null and name_key <> $1 order by id" {" for update"});

/// Whether an admin is left without this user.
async fn leaves_an_admin(tx: &mut Tx, without: UserId, uncounted: String) -> Result<(), NotChanged> {
    let admins = Sql::of(ADMINS).bind(uncounted).all::<(UserId,)>(tx).await?;
    // Who is none of them takes none away.
    if admins.iter().all(|(admin,)| *admin == without) && !admins.is_empty() {
        return Err(NotChanged::LastAdmin);
    }
    Ok(())
}

const SET_ROLE: &str = "update users set role = $2 where id = $1";

const DISABLE: &str = "
update users set disabled_at = $2, auth_epoch = auth_epoch + 1 where id = $1 and disabled_at is null";

const ENABLE: &str = "update users set disabled_at = null where id = $1";

const EXISTS: &str = "select count(*) from users where id = $1";

pub(super) async fn change(
    tx: &mut Tx,
    id: UserId,
    change: AccountChange,
    uncounted: String,
    now: Millis,
) -> Result<(), NotChanged> {
    let (there,) = Sql::new(EXISTS).bind(id).one::<(i64,)>(tx).await?;
    if there == 0 {
        return Err(StoreError::NotFound.into());
    }
    let takes_an_admin = change.role == Some(Role::User) || change.disabled == Some(true);
    if takes_an_admin {
        leaves_an_admin(tx, id, uncounted).await?;
    }
    if let Some(role) = change.role {
        Sql::new(SET_ROLE).bind(id).bind(role.as_str()).run(tx).await?;
    }
    match change.disabled {
        Some(true) => {
            Sql::new(DISABLE).bind(id).bind(now).run(tx).await?;
            // Whoever had a token does not get it back with the account.
            revoke_all(tx, id, now).await?;
        }
        Some(false) => {
            Sql::new(ENABLE).bind(id).run(tx).await?;
        }
        None => {}
    }
    Ok(())
}

// What hangs on an account goes with it by the layout's own rules; lists of readers name principals of two kinds, so
// that no rule of the layout covers them.
const FORGET_READER: &str = "delete from collection_readers where kind = 'user' and principal_id = $1";

const DELETE: &str = "delete from users where id = $1";

pub(super) async fn delete(tx: &mut Tx, id: UserId, uncounted: String) -> Result<(), NotChanged> {
    leaves_an_admin(tx, id, uncounted).await?;
    Sql::new(FORGET_READER).bind(id).run(tx).await?;
    if Sql::new(DELETE).bind(id).run(tx).await? == 0 {
        return Err(StoreError::NotFound.into());
    }
    Ok(())
}
