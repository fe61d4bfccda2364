//! What users want remembered.

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};

use super::{
    Storage,
    sql::{Sql, Texts, Tx, texts},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::UserId,
    setting::{Setting, SettingStore, SettingValue},
    time::Millis,
};

#[derive(FromRow)]
struct SettingRow {
    key: String,
    value: Json<SettingValue>,
    updated_at: Millis,
}

impl From<SettingRow> for Setting {
    fn from(row: SettingRow) -> Self {
        Self { key: row.key, value: row.value.0, updated_at: row.updated_at }
    }
}

#[async_trait]
impl SettingStore for Storage {
    async fn settings(&self, user: UserId) -> Result<Vec<Setting>, StoreError> {
        let rows = Sql::new(SETTINGS).bind(user).all::<SettingRow>(&mut self.glance().await?).await?;
        Ok(rows.into_iter().map(Setting::from).collect())
    }

    async fn put_setting(&self, user: UserId, setting: &Setting, most: usize) -> Result<bool, StoreError> {
        let setting = setting.clone();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                lock(tx, user).await?;
                put(tx, user, &setting, most).await
            })
        })
        .await
    }

    async fn replace_settings(&self, user: UserId, settings: &[Setting]) -> Result<(), StoreError> {
        let settings = settings.to_vec();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                lock(tx, user).await?;
                Sql::new(DELETE_ALL).bind(user).run(tx).await?;
                for setting in &settings {
                    put(tx, user, setting, settings.len()).await?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn delete_setting(&self, user: UserId, key: &str) -> Result<bool, StoreError> {
        let key = key.to_owned();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { Ok(Sql::new(DELETE).bind(user).bind(key).run(tx).await? > 0) })
        })
        .await
    }
}

const SETTINGS: &str = "select key, value, updated_at from settings where user_id = $1 order by key";

// Two that are put at the same time are counted one after the other.
const LOCK: Texts = texts!("select id from users where id = $1" {" for update"});

/// `NotFound` when the user is gone.
async fn lock(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    Sql::of(LOCK).bind(user).one::<(UserId,)>(tx).await.map(|_| ())
}

const PUT: &str = "
insert into settings (user_id, key, value, updated_at)
select u.id, $2, $3, $4 from users u
where u.id = $1 and (select count(*) from settings s where s.user_id = $1 and s.key <> $2) < $5
on conflict (user_id, key) do update set value = excluded.value, updated_at = excluded.updated_at";

async fn put(tx: &mut Tx, user: UserId, setting: &Setting, most: usize) -> Result<bool, StoreError> {
    let put = Sql::new(PUT).bind(user).bind(setting.key.as_str()).json(&setting.value).bind(setting.updated_at);
    Ok(put.bind(most).run(tx).await? > 0)
}

const DELETE: &str = "delete from settings where user_id = $1 and key = $2";
const DELETE_ALL: &str = "delete from settings where user_id = $1";
