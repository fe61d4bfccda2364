//! The tables of a store, as another program sees them.

use std::collections::BTreeMap;

use askback::adapters::storage::Engine;
use secrecy::ExposeSecret as _;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

const TABLES: &str = "select name from sqlite_master where type = 'table' order by name";
const TABLES_POSTGRES: &str =
    "select table_name::text from information_schema.tables where table_schema = current_schema() order by 1";

/// Rows of each table.
pub async fn rows(engine: &Engine) -> BTreeMap<String, i64> {
    let mut rows = BTreeMap::new();
    match engine {
        Engine::Sqlite { folder } => {
            let url = format!("sqlite://{}", folder.join("askback.sqlite").display());
            let mut reader = SqliteConnection::connect(&url).await.unwrap();
            let tables: Vec<(String,)> = sqlx::query_as(TABLES).fetch_all(&mut reader).await.unwrap();
            for (table,) in tables {
                let (count,): (i64,) = sqlx::query_as(AssertSqlSafe(format!("select count(*) from {table}")))
                    .fetch_one(&mut reader)
                    .await
                    .unwrap();
                rows.insert(table, count);
            }
        }
        Engine::Postgres { url, .. } => {
            let mut reader = PgConnection::connect(url.expose_secret()).await.unwrap();
            let tables: Vec<(String,)> = sqlx::query_as(TABLES_POSTGRES).fetch_all(&mut reader).await.unwrap();
            for (table,) in tables {
                let (count,): (i64,) = sqlx::query_as(AssertSqlSafe(format!("select count(*) from {table}")))
                    .fetch_one(&mut reader)
                    .await
                    .unwrap();
                rows.insert(table, count);
            }
        }
    }
    rows
}

/// Runs a statement.
pub async fn execute(engine: &Engine, statement: &'static str) {
    match engine {
        Engine::Sqlite { folder } => {
            let url = format!("sqlite://{}", folder.join("askback.sqlite").display());
            let mut other = SqliteConnection::connect(&url).await.unwrap();
            sqlx::query(statement).execute(&mut other).await.unwrap();
        }
        Engine::Postgres { url, .. } => {
            let mut other = PgConnection::connect(url.expose_secret()).await.unwrap();
            sqlx::query(statement).execute(&mut other).await.unwrap();
        }
    }
}
