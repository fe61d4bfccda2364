//! All parts of the index as one search sees them, and the changes that make the next snapshot.
//!
//! A change costs what the document costs: it adds one small part and marks entries of others dead. Small parts are
//! merged by size, eight of a kind into one, so that a point is moved a few times in its life and there are never more
//! than some dozen parts; a part that is mostly dead is rewritten.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::part::{Draft, Entry, Part};
use crate::domain::{
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    index::{Filter, Segment},
    knowledge::Level,
};

/// Immutable; cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    slots: Vec<Slot>,
}

/// A part and which of its entries are dead.
#[derive(Debug, Clone)]
struct Slot {
    part: Arc<Part>,
    dead: Arc<[bool]>,
    live: u32,
}

/// What a change does to the statistics.
#[derive(Debug, Default)]
pub(super) struct Delta {
    /// Entries that came.
    pub(super) added: Vec<Entry>,
    /// Entries that went.
    pub(super) removed: Vec<Entry>,
}

/// So many parts of one size are merged.
const FAN_IN: usize = 8;
/// The smallest size class of parts ends here, in rows.
const SMALL: u32 = 64;
/// Parts are not merged beyond this many rows, so that a merge takes less than a second and bounded memory.
const LARGEST: u32 = 1 << 17;

impl Snapshot {
    /// For each part its rows that match, as few ranges as possible.
    pub(super) fn matching(&self, filter: &Filter) -> Vec<(&Part, Vec<Range<u32>>)> {
        let filter = Compiled::new(filter);
        let mut found = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let mut ranges: Vec<Range<u32>> = Vec::new();
            for entry in slot.live_entries().filter(|entry| filter.allows(entry)) {
                match ranges.last_mut() {
                    Some(last) if last.end == entry.rows.start => last.end = entry.rows.end,
                    _ => ranges.push(entry.rows.clone()),
                }
            }
            if !ranges.is_empty() {
                found.push((&*slot.part, ranges));
            }
        }
        found
    }

    /// The versions that it has points of.
    pub(super) fn versions(&self) -> Vec<(DocumentId, VersionId)> {
        let entries = self.slots.iter().flat_map(Slot::live_entries);
        let found: HashSet<_> = entries.map(|entry| (entry.document, entry.version)).collect();
        found.into_iter().collect()
    }

    /// The chunks of a version, ascending.
    pub(super) fn chunks(&self, version: VersionId) -> Vec<ChunkId> {
        let mut chunks = Vec::new();
        for slot in &self.slots {
            for entry in slot.live_entries().filter(|entry| entry.version == version) {
                chunks.extend_from_slice(slot.part.chunks(entry));
            }
        }
        chunks.sort();
        chunks
    }

    /// Where a chunk lives.
    pub(super) fn find(&self, chunk: ChunkId) -> Option<(&Part, u32)> {
        self.slots.iter().find_map(|slot| {
            let row = slot.part.row(chunk)?;
            slot.is_live(row).then_some((&*slot.part, row))
        })
    }

    /// Without the entries that match, and with the points of these segments. A chunk that is there already is
    /// replaced.
    pub(super) fn change(&self, dims: usize, remove: Option<&Filter>, segments: Vec<Segment>) -> (Self, Delta) {
        let mut next = self.clone();
        let mut delta = Delta::default();
        if let Some(filter) = remove {
            let filter = Compiled::new(filter);
            next.kill(|_, entry| filter.allows(entry), &mut delta);
        }
        let mut drafts = drafts(segments);
        for draft in &mut drafts {
            next.make_room(draft, &mut delta);
        }
        drafts.retain(|draft| !draft.points.is_empty());
        if !drafts.is_empty() {
            let part = Part::build(dims, &drafts);
            delta.added.extend(part.entries.iter().cloned());
            next.slots.push(Slot::new(part));
        }
        next.tidy(dims);
        (next, delta)
    }

    /// Takes entries of the draft's version that hold any of its chunks out of the snapshot; their other points join
    /// the draft.
    fn make_room(&mut self, draft: &mut Draft, delta: &mut Delta) {
        let coming: HashSet<ChunkId> = draft.points.iter().map(|point| point.chunk).collect();
        let mut kept = Vec::new();
        let holds = |part: &Part, entry: &Entry| {
            let is_hit = entry.version == draft.version
                && coming.iter().any(|chunk| part.row(*chunk).is_some_and(|row| entry.rows.contains(&row)));
            if is_hit {
                kept.extend(part.points(entry).into_iter().filter(|point| !coming.contains(&point.chunk)));
            }
            is_hit
        };
        self.kill(holds, delta);
        if !kept.is_empty() {
            kept.append(&mut draft.points);
            draft.points = kept;
        }
    }

    fn kill(&mut self, mut is_doomed: impl FnMut(&Part, &Entry) -> bool, delta: &mut Delta) {
        for slot in &mut self.slots {
            let part = Arc::clone(&slot.part);
            let doomed: Vec<usize> =
                (0..part.entries.len()).filter(|at| !slot.dead[*at] && is_doomed(&part, &part.entries[*at])).collect();
            if doomed.is_empty() {
                continue;
            }
            let mut dead = slot.dead.to_vec();
            for at in doomed {
                let entry = &part.entries[at];
                dead[at] = true;
                slot.live -= entry.rows.end - entry.rows.start;
                delta.removed.push(entry.clone());
            }
            slot.dead = dead.into();
        }
        self.slots.retain(|slot| slot.live > 0);
    }

    fn tidy(&mut self, dims: usize) {
        for slot in &mut self.slots {
            if slot.live * 2 < slot.part.len() && slot.part.len() > SMALL {
                *slot = Slot::new(Part::merge(dims, &[(&slot.part, &slot.dead)]));
            }
        }
        while let Some(class) = self.crowded() {
            let (merging, staying): (Vec<Slot>, Vec<Slot>) =
                std::mem::take(&mut self.slots).into_iter().partition(|slot| slot.class() == class);
            let sources: Vec<(&Part, &[bool])> = merging.iter().map(|slot| (&*slot.part, &*slot.dead)).collect();
            let merged = Slot::new(Part::merge(dims, &sources));
            self.slots = staying;
            self.slots.push(merged);
        }
    }

    /// The smallest size class that has too many parts.
    fn crowded(&self) -> Option<u32> {
        let mut rows: HashMap<u32, (usize, u32)> = HashMap::new();
        for slot in &self.slots {
            let (parts, live) = rows.entry(slot.class()).or_default();
            *parts += 1;
            *live += slot.live;
        }
        rows.into_iter().filter(|(_, (parts, live))| *parts >= FAN_IN && *live <= LARGEST).map(|(class, _)| class).min()
    }
}

impl Slot {
    fn new(part: Part) -> Self {
        Self { dead: vec![false; part.entries.len()].into(), live: part.len(), part: Arc::new(part) }
    }

    fn live_entries(&self) -> impl Iterator<Item = &Entry> {
        self.part.entries.iter().zip(&*self.dead).filter(|(_, dead)| !**dead).map(|(entry, _)| entry)
    }

    fn is_live(&self, row: u32) -> bool {
        let at = self.part.entries.partition_point(|entry| entry.rows.end <= row);
        self.dead.get(at) == Some(&false)
    }

    /// 0 up to [`SMALL`] live rows, then one more per factor of [`FAN_IN`].
    fn class(&self) -> u32 {
        let mut class = 0;
        let mut end = SMALL;
        while self.live > end {
            class += 1;
            end = end.saturating_mul(FAN_IN as u32);
        }
        class
    }
}

/// Groups the points of segments by version; of a chunk that comes twice the last one stays.
fn drafts(segments: Vec<Segment>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut places: HashMap<(DocumentId, VersionId), usize> = HashMap::new();
    for Segment { collection, document, version, points } in segments {
        let place = *places.entry((document, version)).or_insert_with(|| {
            drafts.push(Draft { collection, document, version, points: Vec::new() });
            drafts.len() - 1
        });
        drafts[place].points.extend(points);
    }
    for draft in &mut drafts {
        let mut seen = HashSet::new();
        let mut points: Vec<_> =
            std::mem::take(&mut draft.points).into_iter().rev().filter(|point| seen.insert(point.chunk)).collect();
        points.reverse();
        draft.points = points;
    }
    drafts
}

/// A filter made ready for many entries.
struct Compiled {
    collections: Option<HashSet<CollectionId>>,
    documents: Option<HashSet<DocumentId>>,
    except: HashSet<DocumentId>,
    versions: Option<HashSet<VersionId>>,
    is_leaf: bool,
}

impl Compiled {
    fn new(filter: &Filter) -> Self {
        Self {
            collections: filter.collections.as_ref().map(|ids| ids.iter().copied().collect()),
            documents: filter.documents.as_ref().map(|ids| ids.iter().copied().collect()),
            except: filter.except_documents.iter().copied().collect(),
            versions: filter.versions.as_ref().map(|ids| ids.iter().copied().collect()),
            is_leaf: filter.level.is_none_or(|level| level == Level::Leaf),
        }
    }

    fn allows(&self, entry: &Entry) -> bool {
        self.is_leaf
            && self.collections.as_ref().is_none_or(|ids| ids.contains(&entry.collection))
            && self.documents.as_ref().is_none_or(|ids| ids.contains(&entry.document))
            && (self.except.is_empty() || !self.except.contains(&entry.document))
            && self.versions.as_ref().is_none_or(|ids| ids.contains(&entry.version))
    }
}
