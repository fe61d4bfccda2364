//! Staging: what a running job writes before anyone sees it. Each write holds the job's row, so a fenced worker writes
//! nothing. Rows travel as one JSON list per statement: a statement per row would keep the writer from turns.

use serde::Serialize;

use super::{
    super::{
        jobs,
        sql::{Sql, Tx},
    },
    publish,
};
use crate::domain::{
    error::StoreError,
    id::{ChunkId, ProfileId, VersionId},
    index::Segment,
    job::Fence,
    knowledge::{Chunk, Level, NewVersion, Page},
    segment,
};

/// Runs a staging statement if the job is still the worker's.
pub(super) async fn run(tx: &mut Tx, fence: Fence, version: VersionId, stage: Sql) -> Result<(), StoreError> {
    jobs::hold(tx, fence, version).await?;
    stage.run(tx).await.map(|_| ())
}

const DESCRIBE: &str = "
update versions
set media_type = $2, extractor = $3, title = $4, lang = $5, facets = $6, warnings = $7, chars = $8
where id = $1 and state = 'staged'";

pub(super) fn describe(version: &NewVersion) -> Sql {
    Sql::new(DESCRIBE)
        .bind(version.id)
        .bind(version.media_type.as_str())
        .bind(version.extractor.as_str())
        .bind(version.title.as_deref())
        .bind(version.lang.as_deref())
        .json(&version.facets)
        .json(&version.warnings)
        .bind(version.chars)
}

#[derive(Serialize)]
struct StagedPage<'a> {
    no: i64,
    label: Option<&'a str>,
    char_start: i64,
    char_end: i64,
    body: &'a str,
}

const ADD_PAGES: &str = "
insert into pages (version_id, no, label, char_start, char_end, body)
select $1, value ->> 'no', value ->> 'label', value ->> 'char_start', value ->> 'char_end', value ->> 'body'
from json_each($2)";

const ADD_PAGES_POSTGRES: &str = "
insert into pages (version_id, no, label, char_start, char_end, body)
select $1, r.no, r.label, r.char_start, r.char_end, r.body
from jsonb_to_recordset($2) as r (no bigint, label text, char_start bigint, char_end bigint, body text)";

pub(super) fn pages(version: VersionId, pages: &[Page]) -> Sql {
    let rows: Vec<StagedPage<'_>> = pages
        .iter()
        .map(|page| StagedPage {
            no: page.no,
            label: page.label.as_deref(),
            char_start: page.start,
            char_end: page.end,
            body: &page.body,
        })
        .collect();
    Sql::each(ADD_PAGES, ADD_PAGES_POSTGRES).bind(version).json(&rows)
}

#[derive(Serialize)]
struct StagedChunk<'a> {
    id: ChunkId,
    level: Level,
    no: i64,
    parent_id: Option<ChunkId>,
    page: Option<&'a str>,
    char_start: i64,
    char_end: i64,
    section: Option<&'a str>,
    header: Option<&'a str>,
    body: &'a str,
}

const ADD_CHUNKS: &str = "
insert into chunks (id, version_id, level, no, parent_id, page, char_start, char_end, section, header, body)
select value ->> 'id', $1, value ->> 'level', value ->> 'no', value ->> 'parent_id', value ->> 'page',
       value ->> 'char_start', value ->> 'char_end', value ->> 'section', value ->> 'header', value ->> 'body'
from json_each($2)";

const ADD_CHUNKS_POSTGRES: &str = "
insert into chunks (id, version_id, level, no, parent_id, page, char_start, char_end, section, header, body)
select r.id, $1, r.level, r.no, r.parent_id, r.page, r.char_start, r.char_end, r.section, r.header, r.body
from jsonb_to_recordset($2) as r (id text, level bigint, no bigint, parent_id text, page text, char_start bigint,
                                  char_end bigint, section text, header text, body text)";

pub(super) fn chunks(version: VersionId, chunks: &[Chunk]) -> Sql {
    let rows: Vec<StagedChunk<'_>> = chunks
        .iter()
        .map(|chunk| StagedChunk {
            id: chunk.id,
            level: chunk.level,
            no: chunk.no,
            parent_id: chunk.parent,
            page: chunk.page.as_deref(),
            char_start: chunk.start,
            char_end: chunk.end,
            section: chunk.section.as_deref(),
            header: chunk.header.as_deref(),
            body: &chunk.body,
        })
        .collect();
    Sql::each(ADD_CHUNKS, ADD_CHUNKS_POSTGRES).bind(version).json(&rows)
}

const ADD_SEGMENT: &str = "
insert into segments (version_id, no, profile_id, leaves, body) values ($1, $2, $3, $4, $5)";

pub(super) fn segment(profile: ProfileId, version: VersionId, no: i64, segment: &Segment) -> Result<Sql, StoreError> {
    let body = segment::encode(&segment.points)
        .map_err(|error| StoreError::Unavailable(format!("a segment cannot be stored: {error}")))?;
    Ok(Sql::new(ADD_SEGMENT).bind(version).bind(no).bind(profile).bind(segment.points.len()).bind(body))
}

/// Throws away what an earlier attempt staged.
pub(super) async fn unstage(tx: &mut Tx, fence: Fence, version: VersionId) -> Result<(), StoreError> {
    jobs::hold(tx, fence, version).await?;
    publish::remove_rows(tx, version).await
}
