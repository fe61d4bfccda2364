//! A statement that is bound once and runs on either engine, and the values that cross into SQL and back.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use sqlx::{
    Arguments, Database, Decode, FromRow, PgConnection, Postgres, Sqlite, SqliteConnection, Transaction, Type,
    error::BoxDynError,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
    types::Json,
};

use crate::domain::{error::StoreError, id::Id, time::Millis};

/// A transaction on one of the engines. Dropped without commit it is rolled back.
pub(super) enum Tx {
    /// Embedded, to read.
    Snapshot(Transaction<'static, Sqlite>),
    /// Embedded, for one statement.
    Glance(PoolConnection<Sqlite>),
    /// Embedded: the writer's connection, which outlives its transactions. It begins and ends them itself.
    Writer(SqliteConnection),
    /// Server.
    Postgres(Transaction<'static, Postgres>),
    /// Server, for one statement.
    PostgresGlance(PoolConnection<Postgres>),
}

/// Where a statement runs.
enum On<'t> {
    Sqlite(&'t mut SqliteConnection),
    Postgres(&'t mut PgConnection),
}

impl Tx {
    /// Makes what a server was told durable and visible. What only reads has nothing to commit, and the embedded writer
    /// says it itself.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Postgres(tx) => tx.commit().await.map_err(failed),
            Self::Snapshot(_) | Self::Glance(_) | Self::Writer(_) | Self::PostgresGlance(_) => Ok(()),
        }
    }

    /// Whether it runs on the server.
    pub(super) const fn is_on_server(&self) -> bool {
        matches!(self, Self::Postgres(_) | Self::PostgresGlance(_))
    }

    fn on(&mut self) -> On<'_> {
        match self {
            Self::Snapshot(tx) => On::Sqlite(tx),
            Self::Glance(connection) => On::Sqlite(connection),
            Self::Writer(connection) => On::Sqlite(connection),
            Self::Postgres(tx) => On::Postgres(tx),
            Self::PostgresGlance(connection) => On::Postgres(connection),
        }
    }

    /// The time that leases go by: the server's where several processes share one, for their clocks differ; else `clock`.
    pub(super) async fn now(&mut self, clock: Millis) -> Result<Millis, StoreError> {
        if !self.is_on_server() {
            return Ok(clock);
        }
        Sql::new(SERVER_TIME).one::<(Millis,)>(self).await.map(|(now,)| now)
    }
}

const SERVER_TIME: &str = "select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)";

/// Decodes rows of both engines.
pub(super) trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T> Row for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// A value for a `$n`. Null keeps its type: Postgres wants to know it.
pub(super) enum Arg {
    Int(Option<i64>),
    Bool(bool),
    Text(Option<String>),
    Bytes(Vec<u8>),
    Json(Option<Box<RawValue>>),
}

/// The text of a statement, as each dialect says it.
#[derive(Clone, Copy)]
pub(super) struct Texts {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

/// The texts of a statement that reads lists, or holds rows: `[1]` stands for the values of the JSON list `$1`, and a lock
/// in braces is the server's alone, for the embedded engine has one writer; as in
/// `texts!("select id from users where id in (" [1] ") order by id" {" for update"})`.
macro_rules! texts {
    ($($part:tt)+) => {
        $crate::adapters::storage::sql::Texts {
            sqlite: concat!($($crate::adapters::storage::sql::part!(sqlite $part)),+),
            postgres: concat!($($crate::adapters::storage::sql::part!(postgres $part)),+),
        }
    };
}
pub(super) use texts;

macro_rules! part {
    (sqlite [$list:literal]) => {
        concat!("select value from json_each($", $list, ")")
    };
    (postgres [$list:literal]) => {
        concat!("select jsonb_array_elements_text($", $list, ")")
    };
    (sqlite {$lock:literal}) => {
        ""
    };
    (postgres {$lock:literal}) => {
        $lock
    };
    ($engine:ident $text:literal) => {
        $text
    };
}
pub(super) use part;

/// A statement and its values. The text is always a constant of this crate.
pub(super) struct Sql {
    texts: Texts,
    args: Vec<Arg>,
    unfit: Option<StoreError>,
}

impl Sql {
    /// One text for both engines.
    pub(super) const fn new(text: &'static str) -> Self {
        Self::each(text, text)
    }

    /// A text per engine, where the dialects differ.
    pub(super) const fn each(sqlite: &'static str, postgres: &'static str) -> Self {
        Self::of(Texts { sqlite, postgres })
    }

    pub(super) const fn of(texts: Texts) -> Self {
        Self { texts, args: Vec::new(), unfit: None }
    }

    /// The next `$n`.
    pub(super) fn bind(mut self, value: impl Into<Arg>) -> Self {
        self.args.push(value.into());
        self
    }

    /// The next `$n`, as JSON: a document, or a list of values for `json_each` and `jsonb_array_elements`.
    pub(super) fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match raw(value) {
            Ok(raw) => self.args.push(Arg::Json(Some(raw))),
            Err(error) => self.unfit = Some(error),
        }
        self
    }

    /// The next `$n`, as JSON or null.
    pub(super) fn json_opt<T: Serialize>(mut self, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.json(value),
            None => {
                self.args.push(Arg::Json(None));
                self
            }
        }
    }

    /// Runs it; the number of rows that it changed.
    pub(super) async fn run(self, tx: &mut Tx) -> Result<u64, StoreError> {
        match tx.on() {
            On::Sqlite(connection) => {
                let text = self.texts.sqlite;
                let done = sqlx::query_with(text, self.sqlite_args()?).execute(connection).await.map_err(failed)?;
                Ok(done.rows_affected())
            }
            On::Postgres(connection) => {
                let text = self.texts.postgres;
                let done = sqlx::query_with(text, self.postgres_args()?).execute(connection).await.map_err(failed)?;
                Ok(done.rows_affected())
            }
        }
    }

    /// All rows.
    pub(super) async fn all<T: Row>(self, tx: &mut Tx) -> Result<Vec<T>, StoreError> {
        match tx.on() {
            On::Sqlite(connection) => {
                let text = self.texts.sqlite;
                sqlx::query_as_with(text, self.sqlite_args()?).fetch_all(connection).await
            }
            On::Postgres(connection) => {
                let text = self.texts.postgres;
                sqlx::query_as_with(text, self.postgres_args()?).fetch_all(connection).await
            }
        }
        .map_err(failed)
    }

    /// The row, if there is one.
    pub(super) async fn maybe<T: Row>(self, tx: &mut Tx) -> Result<Option<T>, StoreError> {
        match tx.on() {
            On::Sqlite(connection) => {
                let text = self.texts.sqlite;
                sqlx::query_as_with(text, self.sqlite_args()?).fetch_optional(connection).await
            }
            On::Postgres(connection) => {
                let text = self.texts.postgres;
                sqlx::query_as_with(text, self.postgres_args()?).fetch_optional(connection).await
            }
        }
        .map_err(failed)
    }

    /// The row; `NotFound` without one.
    pub(super) async fn one<T: Row>(self, tx: &mut Tx) -> Result<T, StoreError> {
        self.maybe(tx).await?.ok_or(StoreError::NotFound)
    }

    fn sqlite_args(self) -> Result<SqliteArguments, StoreError> {
        let mut args = SqliteArguments::default();
        for arg in self.fit()? {
            match arg {
                Arg::Int(value) => args.add(value),
                Arg::Bool(value) => args.add(value),
                Arg::Text(value) => args.add(value),
                Arg::Bytes(value) => args.add(value),
                Arg::Json(value) => args.add(value.map(Json)),
            }
            .map_err(unfit)?;
        }
        Ok(args)
    }

    fn postgres_args(self) -> Result<PgArguments, StoreError> {
        let mut args = PgArguments::default();
        for arg in self.fit()? {
            match arg {
                Arg::Int(value) => args.add(value),
                Arg::Bool(value) => args.add(value),
                Arg::Text(value) => args.add(value),
                Arg::Bytes(value) => args.add(value),
                Arg::Json(value) => args.add(value.map(Json)),
            }
            .map_err(unfit)?;
        }
        Ok(args)
    }

    fn fit(self) -> Result<Vec<Arg>, StoreError> {
        match self.unfit {
            Some(error) => Err(error),
            None => Ok(self.args),
        }
    }
}

/// Classes an error of the driver by what the caller does next.
pub(super) fn failed(error: sqlx::Error) -> StoreError {
    match &error {
        sqlx::Error::RowNotFound => StoreError::NotFound,
        sqlx::Error::Database(report) if report.is_unique_violation() => StoreError::Conflict("it is there already"),
        sqlx::Error::Database(report) if report.is_foreign_key_violation() => {
            StoreError::Conflict("what it refers to is gone")
        }
        _ => StoreError::Unavailable(error.to_string()),
    }
}

/// A value that cannot be written.
fn unfit(error: BoxDynError) -> StoreError {
    StoreError::Unavailable(format!("a value cannot be stored: {error}"))
}

/// A stored value that cannot be read.
pub(super) fn unreadable(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("the stored {what} cannot be read: {error}"))
}

fn raw<T: Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, StoreError> {
    let text = serde_json::to_string(value).map_err(|error| unfit(error.into()))?;
    RawValue::from_string(without_nul_escapes(text)).map_err(|error| unfit(error.into()))
}

/// Postgres refuses NUL in text and in JSON. A model or a tool may say one, and a turn must not fail for it: both
/// engines keep U+FFFD in its place.
fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

fn without_nul_escapes(json: String) -> String {
    if !json.contains("\\u0000") {
        return json;
    }
    let mut clean = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        clean.push_str(before);
        // An escape is a backslash and one ASCII character, and for `\u` four digits that need no care.
        let (escape, after) = match escape.strip_prefix("\\u0000") {
            Some(after) => ("\\ufffd", after),
            None => escape.split_at(2),
        };
        clean.push_str(escape);
        rest = after;
    }
    clean.push_str(rest);
    clean
}

impl From<i64> for Arg {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}
impl From<Option<i64>> for Arg {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}
impl From<u64> for Arg {
    fn from(value: u64) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}
impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Int(Some(i64::from(value)))
    }
}
impl From<usize> for Arg {
    fn from(value: usize) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}
impl From<bool> for Arg {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
impl From<Millis> for Arg {
    fn from(value: Millis) -> Self {
        Self::Int(Some(value.0))
    }
}
impl From<Option<Millis>> for Arg {
    fn from(value: Option<Millis>) -> Self {
        Self::Int(value.map(|time| time.0))
    }
}
impl From<&str> for Arg {
    fn from(value: &str) -> Self {
        Self::Text(Some(without_nul(value.to_owned())))
    }
}
impl From<String> for Arg {
    fn from(value: String) -> Self {
        Self::Text(Some(without_nul(value)))
    }
}
impl From<Option<&str>> for Arg {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(|text| without_nul(text.to_owned())))
    }
}
impl From<Vec<u8>> for Arg {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}
impl From<&[u8]> for Arg {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}
impl<T> From<Id<T>> for Arg {
    fn from(value: Id<T>) -> Self {
        Self::Text(Some(value.to_string()))
    }
}
impl<T> From<Option<Id<T>>> for Arg {
    fn from(value: Option<Id<T>>) -> Self {
        Self::Text(value.map(|id| id.to_string()))
    }
}

/// Says that a type stands in columns of another's type.
macro_rules! column_of {
    ($column:ty: $type:ty $(, $parameter:ident)?) => {
        impl<$($parameter,)? DB: Database> Type<DB> for $type
        where
            $column: Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <$column as Type<DB>>::type_info()
            }

            fn compatible(ty: &DB::TypeInfo) -> bool {
                <$column as Type<DB>>::compatible(ty)
            }
        }
    };
}

column_of!(str: Id<T>, T);
column_of!(str: Word<T>, T);
column_of!(i64: Millis);

impl<'r, T, DB: Database> Decode<'r, DB> for Id<T>
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(<&str as Decode<DB>>::decode(value)?.parse()?)
    }
}

impl<'r, DB: Database> Decode<'r, DB> for Millis
where
    i64: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(<i64 as Decode<DB>>::decode(value)?))
    }
}

/// A fieldless enum as the word that serde gives it: the word of SQL is the word of the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<T>(pub(super) T);

impl<T: Serialize> From<Word<T>> for Arg {
    fn from(word: Word<T>) -> Self {
        match serde_json::to_value(&word.0) {
            Ok(serde_json::Value::String(text)) => Self::Text(Some(text)),
            // Not a fieldless enum: the column's check refuses null.
            _ => Self::Text(None),
        }
    }
}

impl<'r, T: DeserializeOwned, DB: Database> Decode<'r, DB> for Word<T>
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        let text = <&str as Decode<DB>>::decode(value)?;
        let word = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
        Ok(Self(T::deserialize(word)?))
    }
}

/// A count of SQL as the domain's unsigned number.
pub(super) fn unsigned<T: TryFrom<i64>>(value: i64) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| unreadable("number", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_kept_out_of_text_and_json() {
        assert_eq!(without_nul("a\0b".into()), "a\u{fffd}b");
        let json = serde_json::to_string(&["\0", "\\u0000", "x\\\0", "好\n"]).unwrap();
        let clean: Vec<String> = serde_json::from_str(&without_nul_escapes(json)).unwrap();
        assert_eq!(clean, ["\u{fffd}", "\\u0000", "x\\\u{fffd}", "好\n"]);
    }
}
