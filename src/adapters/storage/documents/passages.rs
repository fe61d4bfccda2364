//! Reading what was found: chunks with their place, and stretches of text. Access is part of every query.

use std::collections::HashMap;

use sqlx::{FromRow, types::Json};

use super::super::sql::{Sql, Texts, Tx, texts, unreadable, unsigned};
use crate::domain::{
    error::StoreError,
    extract::PageMark,
    id::{ChunkId, CollectionId, DocumentId, VersionId},
    knowledge::{Access, Chunk, Facets, Level, Placed},
};

#[derive(FromRow)]
pub(super) struct ChunkRow {
    id: ChunkId,
    version_id: VersionId,
    level: i64,
    no: i64,
    parent_id: Option<ChunkId>,
    page: Option<String>,
    char_start: i64,
    char_end: i64,
    section: Option<String>,
    header: Option<String>,
    body: String,
}

impl ChunkRow {
    pub(super) fn chunk(self) -> Result<Chunk, StoreError> {
        let level = Level::try_from(unsigned::<u8>(self.level)?).map_err(|error| unreadable("chunk", error))?;
        Ok(Chunk {
            id: self.id,
            version: self.version_id,
            level,
            no: self.no,
            parent: self.parent_id,
            page: self.page,
            start: self.char_start,
            end: self.char_end,
            section: self.section,
            header: self.header,
            body: self.body,
        })
    }
}

#[derive(FromRow)]
struct PlacedRow {
    #[sqlx(flatten)]
    chunk: ChunkRow,
    document_id: DocumentId,
    collection_id: CollectionId,
    filename: String,
    version_no: i64,
    title: Option<String>,
    lang: Option<String>,
    facets: Json<Facets>,
}

impl PlacedRow {
    fn placed(self) -> Result<Placed, StoreError> {
        Ok(Placed {
            chunk: self.chunk.chunk()?,
            document: self.document_id,
            collection: self.collection_id,
            filename: self.filename,
            version_no: self.version_no,
            title: self.title,
            lang: self.lang,
            facets: self.facets.0,
        })
    }
}

const HYDRATE: Texts = texts!("
select c.id, c.version_id, c.level, c.no, c.parent_id, c.page, c.char_start, c.char_end, c.section, c.header, c.body,
       v.document_id, d.collection_id, d.filename, v.no as version_no, v.title, v.lang, v.facets
from chunks c join versions v on v.id = c.version_id join documents d on d.id = v.document_id
where c.id in (" [1] ") and v.state = 'current' and d.deleted_at is null
  and d.collection_id in (" [2] ")");

pub(super) async fn hydrate(tx: &mut Tx, access: &Access, ids: &[ChunkId]) -> Result<Vec<Placed>, StoreError> {
    let query = Sql::of(HYDRATE).json(ids).json(&access.collections);
    let rows = query.all::<PlacedRow>(tx).await?;
    let mut found: HashMap<ChunkId, PlacedRow> = rows.into_iter().map(|row| (row.chunk.id, row)).collect();
    ids.iter().filter_map(|id| found.remove(id)).map(PlacedRow::placed).collect()
}

const PRESENT: Texts = texts!("
select asked.id, d.id from documents asked
join documents d on d.collection_id = asked.collection_id and d.filename = asked.filename and d.deleted_at is null
where asked.id in (" [1] ") and (asked.deleted_at is not null or d.id = asked.id)
  and d.collection_id in (" [2] ") order by asked.id");

pub(super) async fn present(
    tx: &mut Tx,
    access: &Access,
    ids: &[DocumentId],
) -> Result<Vec<(DocumentId, DocumentId)>, StoreError> {
    Sql::of(PRESENT).json(ids).json(&access.collections).all(tx).await
}

#[derive(FromRow)]
struct MarkRow {
    id: ChunkId,
    label: String,
    char_start: i64,
}

const PAGES_INSIDE: Texts = texts!("
select c.id, p.label, p.char_start
from chunks c join pages p on p.version_id = c.version_id and p.char_start > c.char_start and p.char_start < c.char_end
where c.id in (" [1] ") and p.label is not null order by p.no");

pub(super) async fn pages_inside(tx: &mut Tx, chunks: &[ChunkId]) -> Result<Vec<(ChunkId, PageMark)>, StoreError> {
    let rows = Sql::of(PAGES_INSIDE).json(chunks).all::<MarkRow>(tx).await?;
    let place = |row: MarkRow| unsigned(row.char_start).map(|start| (row.id, PageMark { label: row.label, start }));
    rows.into_iter().map(place).collect()
}

const CHILDREN: Texts = texts!("
select c.id, c.version_id, c.level, c.no, c.parent_id, c.page, c.char_start, c.char_end, c.section, c.header, c.body,
       v.document_id, d.collection_id, d.filename, v.no as version_no, v.title, v.lang, v.facets
from chunks c join versions v on v.id = c.version_id join documents d on d.id = v.document_id
where c.parent_id = $1 and v.state = 'current' and d.deleted_at is null
  and d.collection_id in (" [2] ")
order by c.no");

pub(super) async fn children(tx: &mut Tx, access: &Access, parent: ChunkId) -> Result<Vec<Placed>, StoreError> {
    let query = Sql::of(CHILDREN).bind(parent).json(&access.collections);
    query.all::<PlacedRow>(tx).await?.into_iter().map(PlacedRow::placed).collect()
}

const CHILD_COUNTS: Texts = texts!("
select parent_id, count(*) from chunks where parent_id in (" [1] ") group by parent_id");

pub(super) async fn child_counts(tx: &mut Tx, parents: &[ChunkId]) -> Result<Vec<(ChunkId, i64)>, StoreError> {
    let counts = Sql::of(CHILD_COUNTS).json(parents).all::<(ChunkId, i64)>(tx).await?;
    let counts: HashMap<ChunkId, i64> = counts.into_iter().collect();
    Ok(parents.iter().map(|parent| (*parent, counts.get(parent).copied().unwrap_or(0))).collect())
}

#[derive(FromRow)]
struct StretchRow {
    char_start: i64,
    body: String,
}

const READABLE_VERSION: Texts = texts!("
select v.id from versions v join documents d on d.id = v.document_id
where d.id = $1 and d.deleted_at is null and v.no = $2 and v.state in ('current', 'retired')
  and d.collection_id in (" [3] ")");

const STRETCHES: &str = "
select char_start, body from pages where version_id = $1 and char_end > $2 and char_start < $3 order by no";

pub(super) async fn text(
    tx: &mut Tx,
    access: &Access,
    document: DocumentId,
    no: i64,
    start: i64,
    end: i64,
) -> Result<String, StoreError> {
    let query = Sql::of(READABLE_VERSION).bind(document).bind(no);
    let (version,) = query.json(&access.collections).one::<(VersionId,)>(tx).await?;
    let stretches = Sql::new(STRETCHES).bind(version).bind(start).bind(end).all::<StretchRow>(tx).await?;
    let mut text = String::new();
    for StretchRow { char_start, body } in stretches {
        let skip = usize::try_from(start - char_start).unwrap_or(0);
        let take = usize::try_from(end - start.max(char_start)).unwrap_or(0);
        text.extend(body.chars().skip(skip).take(take));
    }
    Ok(text)
}
