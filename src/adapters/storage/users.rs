//! Accounts, groups, refresh tokens and API keys.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    Storage, accounts, groups, keys,
    sql::{Sql, Tx, Word},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::Millis,
    user::{
        Account, AccountChange, ApiKey, FamilyId, Group, GroupChange, GroupId, KeyId, NotChanged, RefreshToken, Role,
        Spent, User, UserStore,
    },
};

#[derive(FromRow)]
pub(super) struct UserRow {
    id: UserId,
    name: String,
    role: Word<Role>,
    password_hash: String,
    auth_epoch: i64,
    disabled_at: Option<Millis>,
    created_at: Millis,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            role: row.role.0,
            password_hash: row.password_hash,
            auth_epoch: row.auth_epoch,
            disabled_at: row.disabled_at,
            created_at: row.created_at,
        }
    }
}

#[async_trait]
impl UserStore for Storage {
    async fn add_user(&self, user: &User, name_key: &str) -> Result<(), StoreError> {
        let (user, name_key) = (user.clone(), name_key.to_owned());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { add_user(tx, user, name_key).await })).await
    }

    async fn user(&self, id: UserId) -> Result<User, StoreError> {
        let mut tx = self.glance().await?;
        Sql::new(USER).bind(id).one::<UserRow>(&mut tx).await.map(User::from)
    }

    async fn user_by_name(&self, name_key: &str) -> Result<User, StoreError> {
        let mut tx = self.glance().await?;
        Sql::new(USER_BY_NAME).bind(name_key).one::<UserRow>(&mut tx).await.map(User::from)
    }

    async fn set_password(&self, id: UserId, hash: &str) -> Result<(), StoreError> {
        let (hash, now) = (hash.to_owned(), self.now());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { set_password(tx, id, hash, now).await })).await
    }

    async fn accounts(&self, after: Option<(Millis, UserId)>, limit: i64) -> Result<Vec<Account>, StoreError> {
        accounts::all(&mut self.read().await?, after, limit).await
    }

    async fn account(&self, name_key: &str) -> Result<Account, StoreError> {
        accounts::named(&mut self.read().await?, name_key).await
    }

    async fn change_account(
        &self,
        id: UserId,
        change: AccountChange,
        uncounted: &str,
        now: Millis,
    ) -> Result<(), NotChanged> {
        let uncounted = uncounted.to_owned();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { accounts::change(tx, id, change, uncounted, now).await })
        })
        .await
    }

    async fn delete_account(&self, id: UserId, uncounted: &str) -> Result<(), NotChanged> {
        let uncounted = uncounted.to_owned();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { accounts::delete(tx, id, uncounted).await })).await
    }

    async fn groups(&self, after: Option<&str>, limit: i64) -> Result<Vec<Group>, StoreError> {
        groups::all(&mut self.read().await?, after, limit).await
    }

    async fn group(&self, name: &str) -> Result<Group, StoreError> {
        groups::named(&mut self.read().await?, name).await
    }

    async fn add_group(&self, id: GroupId, name: &str, members: &[UserId]) -> Result<Group, StoreError> {
        let (name, members) = (name.to_owned(), members.to_vec());
        self.write(Kind::OTHER, move |tx| Box::pin(async move { groups::add(tx, id, name, &members).await })).await
    }

    async fn change_group(&self, id: GroupId, change: &GroupChange) -> Result<Group, StoreError> {
        let change = change.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { groups::change(tx, id, change).await })).await
    }

    async fn delete_group(&self, id: GroupId) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { groups::delete(tx, id).await })).await
    }

    async fn add_refresh(&self, token: &RefreshToken) -> Result<(), StoreError> {
        let token = token.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { add_refresh(tx, &token).await })).await
    }

    async fn spend_refresh(&self, hash: &[u8; 32], now: Millis) -> Result<Spent, StoreError> {
        let hash = *hash;
        self.write(Kind::OTHER, move |tx| Box::pin(async move { spend_refresh(tx, hash, now).await })).await
    }

    async fn revoke_refresh(&self, hash: &[u8; 32], now: Millis) -> Result<(), StoreError> {
        let hash = *hash;
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { Sql::new(REVOKE_FAMILY_OF).bind(&hash[..]).bind(now).run(tx).await.map(|_| ()) })
        })
        .await
    }

    async fn add_key(&self, key: &ApiKey, hash: &[u8; 32], most: i64) -> Result<(), StoreError> {
        let (key, hash) = (key.clone(), *hash);
        self.write(Kind::OTHER, move |tx| Box::pin(async move { keys::add(tx, key, hash, most).await })).await
    }

    async fn keys(&self, user: UserId, after: Option<(Millis, KeyId)>, limit: i64) -> Result<Vec<ApiKey>, StoreError> {
        keys::of(&mut self.read().await?, user, after, limit).await
    }

    async fn key(&self, hash: &[u8; 32]) -> Result<ApiKey, StoreError> {
        keys::by_hash(&mut self.glance().await?, hash).await
    }

    async fn key_used(&self, id: KeyId, now: Millis) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { keys::used(tx, id, now).await })).await
    }

    async fn revoke_key(&self, user: UserId, id: KeyId) -> Result<ApiKey, StoreError> {
        self.write(Kind::OTHER, move |tx| Box::pin(async move { keys::revoke(tx, user, id).await })).await
    }
}

const USER: &str = "
select id, name, role, password_hash, auth_epoch, disabled_at, created_at from users where id = $1";

pub(super) const USER_BY_NAME: &str = "
select id, name, role, password_hash, auth_epoch, disabled_at, created_at from users where name_key = $1";

const ADD_USER: &str = "
insert into users (id, name, name_key, role, password_hash, auth_epoch, disabled_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (name_key) do nothing";

async fn add_user(tx: &mut Tx, user: User, name_key: String) -> Result<(), StoreError> {
    let added = Sql::new(ADD_USER)
        .bind(user.id)
        .bind(user.name)
        .bind(name_key)
        .bind(user.role.as_str())
        .bind(user.password_hash)
        .bind(user.auth_epoch)
        .bind(user.disabled_at)
        .bind(user.created_at)
        .run(tx)
        .await?;
    if added == 0 { Err(StoreError::Conflict("the name is taken")) } else { Ok(()) }
}

const SET_PASSWORD: &str = "update users set password_hash = $2, auth_epoch = auth_epoch + 1 where id = $1";

const REVOKE_TOKENS: &str = "update refresh_tokens set revoked_at = $2 where user_id = $1 and revoked_at is null";

/// Ends everything that speaks for a user but access tokens, which the epoch ends.
pub(super) async fn revoke_all(tx: &mut Tx, user: UserId, now: Millis) -> Result<(), StoreError> {
    Sql::new(REVOKE_TOKENS).bind(user).bind(now).run(tx).await?;
    keys::revoke_all(tx, user).await
}

/// Whoever knew the old password is out: access tokens by the epoch, refresh tokens and keys by revocation.
async fn set_password(tx: &mut Tx, id: UserId, hash: String, now: Millis) -> Result<(), StoreError> {
    if Sql::new(SET_PASSWORD).bind(id).bind(hash).run(tx).await? == 0 {
        return Err(StoreError::NotFound);
    }
    revoke_all(tx, id, now).await
}

const ADD_REFRESH: &str = "
insert into refresh_tokens (token_hash, family_id, user_id, issued_at, expires_at) values ($1, $2, $3, $4, $5)";

/// A family that outlived its last token by long is of no use to anyone; this keeps the table small.
const FORGET_OLD: &str = "delete from refresh_tokens where user_id = $1 and expires_at < $2";

async fn add_refresh(tx: &mut Tx, token: &RefreshToken) -> Result<(), StoreError> {
    Sql::new(FORGET_OLD).bind(token.user).bind(token.issued_at).run(tx).await?;
    Sql::new(ADD_REFRESH)
        .bind(&token.hash[..])
        .bind(token.family)
        .bind(token.user)
        .bind(token.issued_at)
        .bind(token.expires_at)
        .run(tx)
        .await
        .map(|_| ())
}

const SPEND: &str = "
update refresh_tokens set spent_at = $2
where token_hash = $1 and spent_at is null and revoked_at is null and expires_at > $2
returning family_id, user_id";

const WAS_SPENT: &str = "select count(*) from refresh_tokens where token_hash = $1 and spent_at is not null";

const REVOKE_FAMILY_OF: &str = "
update refresh_tokens set revoked_at = $2
where family_id = (select family_id from refresh_tokens where token_hash = $1) and revoked_at is null";

async fn spend_refresh(tx: &mut Tx, hash: [u8; 32], now: Millis) -> Result<Spent, StoreError> {
    let spent = Sql::new(SPEND).bind(&hash[..]).bind(now).maybe::<(FamilyId, UserId)>(tx).await?;
    if let Some((family, user)) = spent {
        return Ok(Spent::Ok(family, user));
    }
    let (before,) = Sql::new(WAS_SPENT).bind(&hash[..]).one::<(i64,)>(tx).await?;
    if before == 0 {
        return Ok(Spent::Invalid);
    }
    Sql::new(REVOKE_FAMILY_OF).bind(&hash[..]).bind(now).run(tx).await?;
    Ok(Spent::Reused)
}
