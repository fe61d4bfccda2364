//! What the vectors of an index were made by, and the change from one maker to another.
//!
//! SQL keeps segments per [`Profile`]. One profile is current: its segments are what each process holds in memory and
//! searches ([`Serving`]). Where another embedder is configured, its segments grow beside them until one transaction
//! makes its profile current. A version that has no whole set of segments in a profile is stood for there by those of
//! another: by its words, and by its vectors only if the same embedder made them.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;

use super::{
    error::{EngineError, StoreError},
    id::{CollectionId, DocumentId, ProfileId, VersionId},
    index::{Embedder, Segment, Strict, VectorIndex},
    job::{Fence, JobReport},
    knowledge::Chunk,
    time::Millis,
};

/// What vectors and terms are made by. Vectors of different embedders or lengths are never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name of the embedder: model and revision.
    pub embedder: String,
    /// Length of its vectors.
    pub dims: usize,
    /// What makes terms and their weights, with its revision.
    pub analyser: String,
}

impl Profile {
    /// Of this embedder and analyser.
    #[must_use]
    pub fn of(embedder: &dyn Embedder, analyser: &str) -> Self {
        Self { embedder: embedder.name().to_owned(), dims: embedder.dims(), analyser: analyser.to_owned() }
    }

    /// Whether this embedder makes its vectors.
    #[must_use]
    pub fn is_made_by(&self, embedder: &dyn Embedder) -> bool {
        self.embedder == embedder.name() && self.dims == embedder.dims()
    }
}

/// A profile that the store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProfile {
    /// Never changes.
    pub id: ProfileId,
    /// What made its vectors.
    pub profile: Profile,
    /// Number of the change by which it became current, or was completed: with another number it has other segments.
    pub since: i64,
}

/// The embedders that a process has, held to their contract: whoever takes one from here need not look at its vectors.
#[derive(Clone)]
pub struct Embedders {
    configured: Arc<dyn Embedder>,
    former: Option<Arc<dyn Embedder>>,
}

impl Embedders {
    /// This one alone.
    #[must_use]
    pub fn new(configured: Arc<dyn Embedder>) -> Self {
        Self { configured: Arc::new(Strict(configured)), former: None }
    }

    /// And one that was configured before: its vectors go on answering until all are made anew.
    #[must_use]
    pub fn and(self, former: Arc<dyn Embedder>) -> Self {
        Self { former: Some(Arc::new(Strict(former))), ..self }
    }

    /// The configured one.
    #[must_use]
    pub fn configured(&self) -> &Arc<dyn Embedder> {
        &self.configured
    }

    /// The one before, if it is there.
    #[must_use]
    pub const fn former(&self) -> Option<&Arc<dyn Embedder>> {
        self.former.as_ref()
    }

    /// The one that makes vectors of this profile.
    #[must_use]
    pub fn maker(&self, profile: &Profile) -> Option<&Arc<dyn Embedder>> {
        std::iter::once(&self.configured).chain(&self.former).find(|embedder| profile.is_made_by(embedder.as_ref()))
    }
}

/// Stands for an embedder that this process does not have: its vectors are there, but no question can be put to them.
struct Absent {
    profile: Profile,
    /// For turns that are played again, whose vectors come from a recording.
    weight: f32,
}

impl Absent {
    fn refusal<T>(&self) -> Result<T, EngineError> {
        let name = &self.profile.embedder;
        Err(EngineError::Unavailable(format!(
            "the vectors are of {name}, which is not configured; run: askback reindex"
        )))
    }
}

#[async_trait]
impl Embedder for Absent {
    fn name(&self) -> &str {
        &self.profile.embedder
    }

    fn dims(&self) -> usize {
        self.profile.dims
    }

    fn weight(&self) -> f32 {
        self.weight
    }

    fn embeds_words(&self) -> bool {
        false
    }

    async fn passages(&self, _: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        self.refusal()
    }

    async fn query(&self, _: &str) -> Result<Option<Vec<f32>>, EngineError> {
        self.refusal()
    }
}

/// An index and the embedder that made its vectors. A search takes both at once and keeps them to its end.
#[derive(Clone)]
pub struct Served {
    /// Whose segments the index holds.
    pub stored: Arc<StoredProfile>,
    /// The index.
    pub index: Arc<dyn VectorIndex>,
    /// The embedder. One that this process does not have is always unavailable.
    pub embedder: Arc<dyn Embedder>,
}

impl Served {
    /// The index of a stored profile, with its embedder if it is one of these.
    #[must_use]
    pub fn of(stored: StoredProfile, index: Arc<dyn VectorIndex>, embedders: &Embedders) -> Self {
        let embedder = match embedders.maker(&stored.profile) {
            Some(embedder) => Arc::clone(embedder),
            None => Arc::new(Absent { profile: stored.profile.clone(), weight: embedders.configured.weight() }),
        };
        Self { stored: Arc::new(stored), index, embedder }
    }
}

/// What a process searches. Clones share it; [`switch`](Self::switch) changes it for all of them in one step.
#[derive(Clone)]
pub struct Serving {
    current: Arc<RwLock<Served>>,
    wrap: fn(Served) -> Served,
}

impl Serving {
    /// Searches this.
    #[must_use]
    pub fn new(served: Served) -> Self {
        Self { current: Arc::new(RwLock::new(served)), wrap: |served| served }
    }

    /// Searches an index that no store fills.
    #[must_use]
    pub fn alone(index: Arc<dyn VectorIndex>, embedder: Arc<dyn Embedder>) -> Self {
        let profile = Profile::of(embedder.as_ref(), "");
        let stored = StoredProfile { id: ProfileId::from_uuid(uuid::Uuid::nil()), profile, since: 0 };
        Self::new(Served { stored: Arc::new(stored), index, embedder })
    }

    /// The same, seen through wrappers of its ports.
    #[must_use]
    pub fn through(&self, wrap: fn(Served) -> Served) -> Self {
        Self { current: Arc::clone(&self.current), wrap }
    }

    /// What is searched now.
    #[must_use]
    pub fn current(&self) -> Served {
        (self.wrap)(self.current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Searches this from now on. Searches under way end on what they began with.
    pub fn switch(&self, served: Served) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = served;
    }
}

/// Opens indexes.
#[async_trait]
pub trait Indexes: Send + Sync {
    /// An index of every current version in this profile, apart from the one that is searched.
    async fn open(&self, stored: &StoredProfile) -> Result<Arc<dyn VectorIndex>, EngineError>;
}

/// How much of what answers has segments in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Documents that answer.
    pub documents: i64,
    /// Those of them that lack segments.
    pub lacking: i64,
    /// Leaves of all.
    pub leaves: i64,
    /// Leaves that have their place.
    pub done: i64,
}

/// A version that answers, and that has no whole set of segments in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Which.
    pub version: VersionId,
    /// Its document.
    pub document: DocumentId,
    /// Its collection.
    pub collection: CollectionId,
    /// The document's name.
    pub filename: String,
    /// The title that it gives itself.
    pub title: Option<String>,
    /// Its leaves.
    pub leaves: i64,
    /// Segments that are there: the numbers below this one, without a gap.
    pub segments: i64,
    /// Leaves in them: the first ones.
    pub done: i64,
    /// There are segments that are no such beginning, and have to be cleared.
    pub is_spoilt: bool,
}

/// What became of the wish to make a profile current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// It is current, the others are retired, and the job has completed.
    Current,
    /// Something that answers lacks segments in it; nothing changed.
    Lacking,
    /// The job was cancelled and has failed as `cancelled`.
    Cancelled,
}

/// Keeps profiles, and builds the segments of one beside those of another.
///
/// Contract: nothing that is built in a profile is searched before the profile is current; a fenced job changes nothing
/// and gets `Conflict`.
#[async_trait]
pub trait ProfileStore: Send + Sync {
    /// The profile that this process makes vectors in; it gets `new_id` if it has to be made. It is current at once
    /// where none is yet, or where nothing answers that would have to be made anew.
    async fn open_profile(&self, new_id: ProfileId, profile: &Profile, now: Millis) -> Result<ProfileId, StoreError>;
    /// The current one. `NotFound` before the first was opened.
    async fn current_profile(&self) -> Result<StoredProfile, StoreError>;
    /// How much of what answers has segments in this profile.
    async fn coverage(&self, profile: ProfileId) -> Result<Coverage, StoreError>;
    /// Versions that answer and lack segments in this profile, ascending by id, at most `limit` after `after`.
    async fn lacking(
        &self,
        profile: ProfileId,
        after: Option<VersionId>,
        limit: i64,
    ) -> Result<Vec<Lacking>, StoreError>;
    /// The leaves of a version from number `from` on, in order, at most `limit`.
    async fn leaves_from(&self, version: VersionId, from: i64, limit: i64) -> Result<Vec<Chunk>, StoreError>;
    /// Adds a segment to a version. Gives whether the version still answers; nothing is added to one that does not.
    async fn add_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        no: i64,
        segment: &Segment,
    ) -> Result<bool, StoreError>;
    /// Removes the segments of a version in a profile.
    async fn clear_segments(&self, fence: Fence, profile: ProfileId, version: VersionId) -> Result<(), StoreError>;
    /// One transaction: the profile becomes current, all others are retired, the job completes with `report`. Versions
    /// of `except` may lack segments.
    async fn adopt_profile(
        &self,
        fence: Fence,
        profile: ProfileId,
        except: &[VersionId],
        report: &JobReport,
        now: Millis,
    ) -> Result<Adopted, StoreError>;
    /// Removes the segments of retired profiles of at most `limit` versions, where the current profile has all of the
    /// version: the last segments of a version stay. Gives of how many.
    async fn drop_retired(&self, limit: i64) -> Result<usize, StoreError>;
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn profile(embedder: &str, dims: usize) -> Profile {
        Profile { embedder: embedder.into(), dims, analyser: "words@1".into() }
    }

    fn embedder(name: &str, dims: usize) -> Arc<dyn Embedder> {
        Arc::new(Absent { profile: profile(name, dims), weight: 0.5 })
    }

    #[test]
    fn vectors_are_made_by_who_has_their_name_and_length() {
        let embedders = Embedders::new(embedder("new", 8)).and(embedder("old", 4));
        let maker = |name: &str, dims| embedders.maker(&profile(name, dims)).map(|embedder| embedder.name().to_owned());
        assert_eq!(
            (maker("new", 8), maker("old", 4), maker("old", 8), maker("older", 4)),
            (Some("new".into()), Some("old".into()), None, None)
        );
        assert_eq!(embedders.configured().name(), "new");
    }

    #[test]
    fn who_is_not_there_says_what_to_do() {
        let refused = embedder("old", 4).query("How long?").now_or_never().unwrap();
        let Err(EngineError::Unavailable(why)) = refused else { panic!("{refused:?}") };
        assert_eq!(why, "the vectors are of old, which is not configured; run: askback reindex");
    }
}
