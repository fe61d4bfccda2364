//! Segments as rows. A version is read in one profile: the one that was asked for, or where that has not all of it,
//! another that stands for it. The vectors of another embedder are left out: its words are all that can be compared.

use sqlx::FromRow;
use uuid::Uuid;

use super::super::sql::{Sql, Texts, Tx, texts, unreadable, unsigned};
use crate::domain::{
    error::StoreError,
    id::{CollectionId, DocumentId, ProfileId, VersionId},
    index::{Point, Segment},
    segment,
};

/// Where a version stands.
#[derive(FromRow)]
struct Place {
    version: VersionId,
    document: DocumentId,
    collection: CollectionId,
}

#[derive(FromRow)]
struct Row {
    version_id: VersionId,
    no: i64,
    body: Vec<u8>,
    dims: i64,
    comparable: bool,
}

/// A row and where its version stands.
pub(super) struct SegmentRow {
    row: Row,
    document: DocumentId,
    collection: CollectionId,
}

// A few versions at a time: the choice of a profile for each is cheap, and nothing that a planner should guess about.
const SEGMENTS: Texts = texts!("
select s.version_id, s.no, s.body, p.dims, p.embedder = w.embedder and p.dims = w.dims as comparable
from segments s join profiles p on p.id = s.profile_id join profiles w on w.id = $1
where s.version_id in (" [2] ") and (s.version_id, s.no) > ($3, $4)
  and s.profile_id = (
    select t.id
    from (select q.id, q.created_at,
                 sum(o.leaves) = (select v.chunk_count from versions v where v.id = s.version_id) as is_whole
          from segments o join profiles q on q.id = o.profile_id
          where o.version_id = s.version_id group by q.id, q.created_at) t
    order by t.is_whole desc, t.id = $1 desc, t.created_at desc, t.id limit 1)
order by s.version_id, s.no limit $5");

/// Segments of the versions at these places, ascending, in a profile: at most `limit` after number `after` of the first.
async fn page(
    tx: &mut Tx,
    profile: ProfileId,
    places: &[Place],
    after: i64,
    limit: i64,
) -> Result<Vec<SegmentRow>, StoreError> {
    let Some(first) = places.first() else { return Ok(Vec::new()) };
    let versions: Vec<VersionId> = places.iter().map(|place| place.version).collect();
    let query = Sql::of(SEGMENTS).bind(profile).json(&versions).bind(first.version);
    let rows = query.bind(after).bind(limit).all::<Row>(tx).await?;
    let placed = rows.into_iter().filter_map(|row| {
        let place = places.iter().find(|place| place.version == row.version_id)?;
        Some(SegmentRow { row, document: place.document, collection: place.collection })
    });
    Ok(placed.collect())
}

const CURRENT: &str = "
select v.id as version, v.document_id as document, d.collection_id as collection
from versions v join documents d on d.id = v.document_id
where v.id >= $1 and v.state = 'current' and d.deleted_at is null order by v.id limit $2";

/// Segments of current versions in a profile, at most `limit` after the place `after`, in order. None: there are no more.
pub(super) async fn current(
    tx: &mut Tx,
    profile: ProfileId,
    after: Option<(VersionId, i64)>,
    limit: i64,
) -> Result<Vec<SegmentRow>, StoreError> {
    let (mut version, mut no) = after.unwrap_or((VersionId::from_uuid(Uuid::nil()), -1));
    loop {
        let places = Sql::new(CURRENT).bind(version).bind(limit).all::<Place>(tx).await?;
        // The version of the place may be gone meanwhile: then the next one is read from its beginning.
        let after = if places.first().is_some_and(|first| first.version == version) { no } else { -1 };
        let found = page(tx, profile, &places, after, limit).await?;
        match places.last() {
            Some(last) if found.is_empty() && last.version != version => (version, no) = (last.version, i64::MAX),
            _ => return Ok(found),
        }
    }
}

/// Segments that are read in one go: each may have half a megabyte.
const PAGE: i64 = 32;

const PLACE: &str = "
select v.id as version, v.document_id as document, d.collection_id as collection
from versions v join documents d on d.id = v.document_id where v.id = $1";

/// Unpacks the segments of a version, in order; `take` gets an error for each that is damaged.
pub(super) async fn of_version(
    tx: &mut Tx,
    profile: ProfileId,
    version: VersionId,
    mut take: impl FnMut(Result<Segment, StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let place = Sql::new(PLACE).bind(version).all::<Place>(tx).await?;
    let mut after = -1;
    loop {
        let rows = page(tx, profile, &place, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.row.no;
        for row in rows {
            take(row.segment().map(|(_, _, segment)| segment))?;
        }
    }
}

impl SegmentRow {
    /// The segment, or one without points where the row is damaged: the other documents answer all the same.
    pub(super) fn whole_or_empty(self) -> (VersionId, i64, Segment) {
        let (version, no, document, collection) = (self.row.version_id, self.row.no, self.document, self.collection);
        self.segment().unwrap_or_else(|error| {
            tracing::error!(%error, %document, no, "a damaged segment is left out; mend it with: askback doctor --repair");
            (version, no, Segment { collection, document, version, points: Vec::new() })
        })
    }

    fn segment(self) -> Result<(VersionId, i64, Segment), StoreError> {
        let Row { version_id: version, no, body, dims, comparable } = self.row;
        let mut points = segment::decode(&body).map_err(|error| unreadable("segment", error))?;
        let dims: usize = unsigned(dims)?;
        let is_fit = |point: &Point| point.dense.as_ref().is_none_or(|dense| dense.codes.len() == dims);
        if !points.iter().all(is_fit) {
            return Err(unreadable("segment", format!("its vectors have not the {dims} values of its profile")));
        }
        if !comparable {
            points.iter_mut().for_each(|point| point.dense = None);
        }
        let segment = Segment { collection: self.collection, document: self.document, version, points };
        Ok((version, no, segment))
    }
}
