//! Auto-merge: where several parts of one passage were found, the passage takes their place.

use std::collections::{HashMap, HashSet};

use super::search::Scored;
use crate::domain::{
    error::StoreError,
    id::ChunkId,
    knowledge::{Access, DocumentStore, Level, Placed},
};

/// So many children of one parent become the parent.
pub const THRESHOLD: usize = 2;

/// A candidate with its text and place.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The chunk.
    pub placed: Placed,
    /// Its scores; of a merged one those of its best child.
    pub scored: Scored,
}

/// Candidates after merging.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Best first. A parent stands at the rank of its best child.
    pub candidates: Vec<Candidate>,
    /// How many candidates were taken up by parents.
    pub replaced: usize,
    /// How many of the two steps (leaf to block, block to section) merged anything.
    pub steps: usize,
}

/// Merges leaves into blocks, then blocks into sections. `candidates` come best first; parents are read through
/// `documents`, so what `access` does not allow is never merged into.
///
/// # Errors
/// Those of the store.
pub async fn merge(
    documents: &dyn DocumentStore,
    access: &Access,
    candidates: Vec<Candidate>,
) -> Result<Merged, StoreError> {
    let mut merged = Merged { candidates, replaced: 0, steps: 0 };
    for level in [Level::Leaf, Level::Block] {
        let wanted = crowded(&merged.candidates, level);
        if wanted.is_empty() {
            continue;
        }
        let parents = documents.hydrate(access, &wanted).await?;
        let replaced = replace(&mut merged.candidates, level, parents);
        merged.replaced += replaced;
        merged.steps += usize::from(replaced > 0);
    }
    Ok(merged)
}

/// Parents of [`THRESHOLD`] or more candidates of `level`, best first.
fn crowded(candidates: &[Candidate], level: Level) -> Vec<ChunkId> {
    let mut children: HashMap<ChunkId, usize> = HashMap::new();
    let mut parents = Vec::new();
    for parent in parents_of(candidates, level) {
        let count = children.entry(parent).or_default();
        *count += 1;
        if *count == THRESHOLD {
            parents.push(parent);
        }
    }
    parents
}

fn parents_of(candidates: &[Candidate], level: Level) -> impl Iterator<Item = ChunkId> {
    candidates
        .iter()
        .map(|candidate| &candidate.placed.chunk)
        .filter(move |chunk| chunk.level == level)
        .filter_map(|chunk| chunk.parent)
}

/// Puts each parent in the place of its best child and drops the others. Gives the number of children taken up.
fn replace(candidates: &mut Vec<Candidate>, level: Level, parents: Vec<Placed>) -> usize {
    let mut parents: HashMap<ChunkId, Placed> = parents.into_iter().map(|placed| (placed.chunk.id, placed)).collect();
    let mut taken: HashSet<ChunkId> = HashSet::new();
    let mut replaced = 0;
    candidates.retain_mut(|candidate| {
        let Some(parent) = candidate.placed.chunk.parent.filter(|_| candidate.placed.chunk.level == level) else {
            return true;
        };
        if let Some(placed) = parents.remove(&parent) {
            replaced += 1;
            taken.insert(parent);
            candidate.scored.chunk = parent;
            candidate.placed = placed;
            return true;
        }
        let is_taken = taken.contains(&parent);
        replaced += usize::from(is_taken);
        !is_taken
    });
    replaced
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Candidate, crowded, replace};
    use crate::{
        domain::{
            id::{ChunkId, CollectionId, DocumentId, VersionId},
            knowledge::{Chunk, Facets, Level, Placed},
        },
        services::retrieval::search::Scored,
    };

    fn id(n: u128) -> ChunkId {
        ChunkId::from_uuid(Uuid::from_u128(n))
    }

    fn placed(n: u128, level: Level, parent: Option<u128>) -> Placed {
        Placed {
            chunk: Chunk {
                id: id(n),
                version: VersionId::from_uuid(Uuid::nil()),
                level,
                no: 0,
                parent: parent.map(id),
                page: None,
                start: 0,
                end: 4,
                section: None,
                header: None,
                body: "text".to_owned(),
            },
            document: DocumentId::from_uuid(Uuid::nil()),
            collection: CollectionId::from_uuid(Uuid::nil()),
            filename: "a.md".to_owned(),
            version_no: 1,
            title: None,
            lang: None,
            facets: Facets::default(),
        }
    }

    fn candidate(n: u128, parent: Option<u128>, score: f32) -> Candidate {
        let document = DocumentId::from_uuid(Uuid::nil());
        let scored = Scored { chunk: id(n), document, score, lexical: score, dense: None };
        Candidate { placed: placed(n, Level::Leaf, parent), scored }
    }

    #[test]
    fn two_children_become_their_parent_at_the_best_rank() {
        let mut candidates = vec![
            candidate(1, Some(10), 0.9),
            candidate(2, Some(11), 0.8),
            candidate(3, Some(12), 0.7),
            candidate(4, Some(11), 0.6),
            candidate(5, None, 0.5),
            candidate(6, Some(11), 0.4),
        ];
        assert_eq!(crowded(&candidates, Level::Leaf), [id(11)]);
        assert_eq!(crowded(&candidates, Level::Block), []);
        let parent = placed(11, Level::Block, None);
        assert_eq!(replace(&mut candidates, Level::Leaf, vec![parent.clone()]), 3);
        let mut merged = candidate(11, None, 0.8);
        merged.placed = parent;
        assert_eq!(
            candidates,
            [candidate(1, Some(10), 0.9), merged, candidate(3, Some(12), 0.7), candidate(5, None, 0.5)]
        );
    }

    #[test]
    fn a_parent_that_may_not_be_read_merges_nothing() {
        let mut candidates = vec![candidate(1, Some(10), 0.9), candidate(2, Some(10), 0.8)];
        let before = candidates.clone();
        assert_eq!(replace(&mut candidates, Level::Leaf, vec![]), 0);
        assert_eq!(candidates, before);
    }
}
