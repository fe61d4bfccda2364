//! Whose vectors are searched, and whose are made.

use std::sync::Arc;

use super::passage::ANALYSER;
use crate::domain::{
    error::EngineError,
    id::ProfileId,
    index::Embedder,
    profile::{Embedders, Indexes, Profile, ProfileStore, Served, Serving},
    time::Millis,
};

/// Everything about the vectors of documents.
#[derive(Clone)]
pub struct Vectors {
    /// Profiles and their segments.
    pub profiles: Arc<dyn ProfileStore>,
    /// Opens the index of a profile.
    pub indexes: Arc<dyn Indexes>,
    /// The embedders that this process has.
    pub embedders: Embedders,
    /// What is searched: the current profile as this process has it.
    pub serving: Serving,
    /// The profile of the configured embedder, which new vectors are made in. Not the current one while reindexing is due.
    pub wanted: ProfileId,
}

/// Who makes the vectors of a profile.
#[derive(Clone)]
pub(super) struct Maker {
    pub(super) profile: ProfileId,
    pub(super) embedder: Arc<dyn Embedder>,
}

impl Vectors {
    /// Opens the profile of the configured embedder, and the index of the one that is current.
    ///
    /// # Errors
    /// When the store or the index fails.
    pub async fn open(
        profiles: Arc<dyn ProfileStore>,
        indexes: Arc<dyn Indexes>,
        embedders: Embedders,
        now: Millis,
    ) -> Result<Self, EngineError> {
        let configured = Profile::of(embedders.configured().as_ref(), ANALYSER);
        let wanted = profiles.open_profile(ProfileId::at(now), &configured, now).await?;
        let current = profiles.current_profile().await?;
        let index = indexes.open(&current).await?;
        let serving = Serving::new(Served::of(current, index, &embedders));
        Ok(Self { profiles, indexes, embedders, serving, wanted })
    }

    /// Whether the vectors that are searched are of another profile than the configured embedder's.
    pub(super) fn are_others(&self) -> bool {
        self.serving.current().stored.id != self.wanted
    }

    /// Who makes the vectors of a new version: the configured embedder, and while others answer, theirs if it is there.
    pub(super) fn makers(&self) -> Vec<Maker> {
        let mut makers = vec![Maker { profile: self.wanted, embedder: Arc::clone(self.embedders.configured()) }];
        let served = self.serving.current().stored;
        if served.id != self.wanted
            && let Some(embedder) = self.embedders.maker(&served.profile)
        {
            makers.push(Maker { profile: served.id, embedder: Arc::clone(embedder) });
        }
        makers
    }
}
