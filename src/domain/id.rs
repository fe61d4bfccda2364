//! Identifiers: UUIDs with the type of what they name, so that one cannot be given for another.
//!
//! New rows get UUIDv7 (RFC 9562), made by services, never by the database. Order never comes from ids.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::time::Millis;

/// A UUID that names a `T`. On the wire and in SQL it is hyphenated lower-case text.
pub struct Id<T>(Uuid, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// A new UUIDv7 with `now` as its time part.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        let ms = u64::try_from(now.0).unwrap_or(0);
        let nanos = u32::try_from(ms % 1000).unwrap_or(0) * 1_000_000;
        let time = uuid::Timestamp::from_unix(uuid::NoContext, ms / 1000, nanos);
        Self(Uuid::new_v7(time), PhantomData)
    }

    /// The UUIDv5 of `name` within `parent`: the same inputs give the same id on every machine.
    #[must_use]
    pub fn derived<P>(parent: Id<P>, name: &str) -> Self {
        Self(Uuid::new_v5(&parent.0, name.as_bytes()), PhantomData)
    }

    /// The same bits as a plain UUID.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// Names a `T` by an existing UUID.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid, PhantomData)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl<T> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The text is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct NotAnId;

impl<T> FromStr for Id<T> {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Uuid::try_parse(text).map(Self::from_uuid).map_err(|_| NotAnId)
    }
}
impl<T> Serialize for Id<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
impl<'de, T> Deserialize<'de> for Id<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Uuid::deserialize(deserializer).map(Self::from_uuid)
    }
}
impl<T> utoipa::PartialSchema for Id<T> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("uuid".into())))
            .description(Some("A UUID, lower case with hyphens."))
            .into()
    }
}
impl<T> utoipa::ToSchema for Id<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }
}

/// Names a [`super::user::User`].
pub type UserId = Id<super::user::User>;
/// Names a [`super::chat::Session`]; internal, clients see the session's name.
pub type SessionId = Id<super::chat::Session>;
/// Names a [`super::chat::Message`].
pub type MessageId = Id<super::chat::Message>;
/// Names a [`super::run::Run`].
pub type RunId = Id<super::run::Run>;
/// Names a [`super::hitl::Pending`].
pub type HitlId = Id<super::hitl::Pending>;
/// Names a [`super::knowledge::Collection`].
pub type CollectionId = Id<super::knowledge::Collection>;
/// Names a [`super::knowledge::Document`].
pub type DocumentId = Id<super::knowledge::Document>;
/// Names a [`super::knowledge::Version`].
pub type VersionId = Id<super::knowledge::Version>;
/// Names a [`super::knowledge::Chunk`].
pub type ChunkId = Id<super::knowledge::Chunk>;
/// Names a [`super::job::Job`].
pub type JobId = Id<super::job::Job>;
/// Names a [`super::profile::StoredProfile`].
pub type ProfileId = Id<super::profile::StoredProfile>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        let id = RunId::at(Millis(1_700_000_000_123));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("nonsense".parse::<RunId>(), Err(NotAnId));
    }

    #[test]
    fn derived_ids_repeat() {
        let version = VersionId::at(Millis(1));
        assert_eq!(ChunkId::derived(version, "3/0"), ChunkId::derived(version, "3/0"));
        assert_ne!(ChunkId::derived(version, "3/0"), ChunkId::derived(version, "3/1"));
    }
}
