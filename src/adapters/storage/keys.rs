//! API keys.

use sqlx::FromRow;

use super::sql::{Sql, Texts, Tx, texts};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::Millis,
    user::{ApiKey, KeyId},
};

#[derive(FromRow)]
struct KeyRow {
    id: KeyId,
    user_id: UserId,
    name: String,
    hint: String,
    created_at: Millis,
    last_used_at: Option<Millis>,
}

impl From<KeyRow> for ApiKey {
    fn from(row: KeyRow) -> Self {
        Self {
            id: row.id,
            user: row.user_id,
            name: row.name,
            hint: row.hint,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
        }
    }
}

// Held until the transaction ends: of two keys that are added at once, one sees the other.
const OWNER: Texts = texts!("select id from users where id = $1" {" for update"});

const COUNT: &str = "select count(*) from api_keys where user_id = $1";

const ADD: &str = "
insert into api_keys (id, user_id, key_hash, name, hint, created_at, last_used_at) values ($1, $2, $3, $4, $5, $6, $7)";

pub(super) async fn add(tx: &mut Tx, key: ApiKey, hash: [u8; 32], most: i64) -> Result<(), StoreError> {
    Sql::of(OWNER).bind(key.user).one::<(UserId,)>(tx).await?;
    let (count,) = Sql::new(COUNT).bind(key.user).one::<(i64,)>(tx).await?;
    if count >= most {
        return Err(StoreError::Conflict("as many keys as may be"));
    }
    Sql::new(ADD)
        .bind(key.id)
        .bind(key.user)
        .bind(&hash[..])
        .bind(key.name)
        .bind(key.hint)
        .bind(key.created_at)
        .bind(key.last_used_at)
        .run(tx)
        .await
        .map(|_| ())
}

const OF_USER: &str = "
select id, user_id, name, hint, created_at, last_used_at from api_keys
where user_id = $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit $4";

/// Before the first page stands a place that is newer than every key.
const BEFORE_ALL: (Millis, KeyId) = (Millis(i64::MAX), KeyId::from_uuid(uuid::Uuid::max()));

pub(super) async fn of(
    tx: &mut Tx,
    user: UserId,
    after: Option<(Millis, KeyId)>,
    limit: i64,
) -> Result<Vec<ApiKey>, StoreError> {
    let (time, id) = after.unwrap_or(BEFORE_ALL);
    let rows = Sql::new(OF_USER).bind(user).bind(time).bind(id).bind(limit).all::<KeyRow>(tx).await?;
    Ok(rows.into_iter().map(ApiKey::from).collect())
}

const BY_HASH: &str = "
select id, user_id, name, hint, created_at, last_used_at from api_keys where key_hash = $1";

pub(super) async fn by_hash(tx: &mut Tx, hash: &[u8; 32]) -> Result<ApiKey, StoreError> {
    Sql::new(BY_HASH).bind(&hash[..]).one::<KeyRow>(tx).await.map(ApiKey::from)
}

// Of two uses that are noted in the other order the later one stays.
const USED: &str = "
update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)";

pub(super) async fn used(tx: &mut Tx, id: KeyId, now: Millis) -> Result<(), StoreError> {
    Sql::new(USED).bind(id).bind(now).run(tx).await.map(|_| ())
}

const REVOKE: &str = "
delete from api_keys where id = $1 and user_id = $2
returning id, user_id, name, hint, created_at, last_used_at";

pub(super) async fn revoke(tx: &mut Tx, user: UserId, id: KeyId) -> Result<ApiKey, StoreError> {
    Sql::new(REVOKE).bind(id).bind(user).one::<KeyRow>(tx).await.map(ApiKey::from)
}

const REVOKE_ALL: &str = "delete from api_keys where user_id = $1";

pub(super) async fn revoke_all(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    Sql::new(REVOKE_ALL).bind(user).run(tx).await.map(|_| ())
}
