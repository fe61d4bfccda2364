//! Segments as rows. A version is read in one profile: the one that was asked for, or where that has not all of it,
//! another that stands for it. The vectors of another embedder are left out: its words are all that can be compared.

use sqlx::FromRow;

use super::super::sql::{Sql, Tx, unreadable, unsigned};
use crate::domain::{
    error::StoreError,
    id::{CollectionId, DocumentId, ProfileId, VersionId},
    index::{Point, Segment},
    segment,
};

#[derive(FromRow)]
pub(super) struct SegmentRow {
    version_id: VersionId,
    no: i64,
    document_id: DocumentId,
    collection_id: CollectionId,
    body: Vec<u8>,
    dims: i64,
    comparable: bool,
}

pub(super) const CURRENT_SEGMENTS: &str = "
select s.version_id, s.no, v.document_id, d.collection_id, s.body, p.dims,
       p.embedder = w.embedder and p.dims = w.dims as comparable
from segments s join versions v on v.id = s.version_id join documents d on d.id = v.document_id
join profiles p on p.id = s.profile_id join profiles w on w.id = $1
where (s.version_id, s.no) > ($2, $3) and v.state = 'current' and d.deleted_at is null
  and s.profile_id = (select t.id from (select q.id, q.created_at, sum(o.leaves) = v.chunk_count as is_whole
                                        from segments o join profiles q on q.id = o.profile_id
                                        where o.version_id = s.version_id group by q.id, q.created_at) t
                      order by t.is_whole desc, t.id = $1 desc, t.created_at desc, t.id limit 1)
order by s.version_id, s.no limit $4";

const SEGMENTS_OF: &str = "
select s.version_id, s.no, v.document_id, d.collection_id, s.body, p.dims,
       p.embedder = w.embedder and p.dims = w.dims as comparable
from segments s join versions v on v.id = s.version_id join documents d on d.id = v.document_id
join profiles p on p.id = s.profile_id join profiles w on w.id = $1
where s.version_id = $2 and s.no > $3
  and s.profile_id = (select t.id from (select q.id, q.created_at, sum(o.leaves) = v.chunk_count as is_whole
                                        from segments o join profiles q on q.id = o.profile_id
                                        where o.version_id = s.version_id group by q.id, q.created_at) t
                      order by t.is_whole desc, t.id = $1 desc, t.created_at desc, t.id limit 1)
order by s.no limit $4";

/// Segments that are read in one go: each may have half a megabyte.
const PAGE: i64 = 32;

/// Unpacks the segments of a version, in order; `take` gets an error for each that is damaged.
pub(super) async fn of_version(
    tx: &mut Tx,
    profile: ProfileId,
    version: VersionId,
    mut take: impl FnMut(Result<Segment, StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = -1;
    loop {
        let query = Sql::new(SEGMENTS_OF).bind(profile).bind(version).bind(after).bind(PAGE);
        let rows = query.all::<SegmentRow>(tx).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.no;
        for row in rows {
            take(row.segment().map(|(_, _, segment)| segment))?;
        }
    }
}

impl SegmentRow {
    /// The segment, or one without points where the row is damaged: the other documents answer all the same.
    pub(super) fn whole_or_empty(self) -> (VersionId, i64, Segment) {
        let (version, no, document, collection) = (self.version_id, self.no, self.document_id, self.collection_id);
        self.segment().unwrap_or_else(|error| {
            tracing::error!(%error, %document, no, "a damaged segment is left out; mend it with: askback doctor --repair");
            (version, no, Segment { collection, document, version, points: Vec::new() })
        })
    }

    fn segment(self) -> Result<(VersionId, i64, Segment), StoreError> {
        let mut points = segment::decode(&self.body).map_err(|error| unreadable("segment", error))?;
        let dims: usize = unsigned(self.dims)?;
        let is_fit = |point: &Point| point.dense.as_ref().is_none_or(|dense| dense.codes.len() == dims);
        if !points.iter().all(is_fit) {
            return Err(unreadable("segment", format!("its vectors have not the {dims} values of its profile")));
        }
        if !self.comparable {
            points.iter_mut().for_each(|point| point.dense = None);
        }
        let segment =
            Segment { collection: self.collection_id, document: self.document_id, version: self.version_id, points };
        Ok((self.version_id, self.no, segment))
    }
}
