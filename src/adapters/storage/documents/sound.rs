//! Whether the parts of a version fit together: each chunk stands in the text where it says, and the segments hold
//! exactly the leaves.

use sqlx::FromRow;

use super::{
    super::sql::{Sql, Tx},
    segments,
};
use crate::domain::{
    error::StoreError,
    id::{ChunkId, ProfileId, VersionId},
};

#[derive(FromRow)]
struct PageRow {
    char_start: i64,
    char_end: i64,
    body: String,
}

#[derive(FromRow)]
struct ChunkRow {
    id: ChunkId,
    level: i64,
    no: i64,
    char_start: i64,
    char_end: i64,
    body: String,
}

const COUNT: &str = "select chunk_count from versions where id = $1";

const PAGES: &str = "select char_start, char_end, body from pages where version_id = $1 order by no";

const CHUNKS: &str = "
select id, level, no, char_start, char_end, body from chunks where version_id = $1 and (level, no) > ($2, $3)
order by level, no limit $4";

/// Chunks that are read in one go.
const PAGE: i64 = 1_000;
const LEAF: i64 = 3;

/// The leaves of a version, ascending; `None` where its parts do not fit together.
pub(super) async fn leaves(
    tx: &mut Tx,
    profile: ProfileId,
    version: VersionId,
) -> Result<Option<Vec<ChunkId>>, StoreError> {
    let (count,) = Sql::new(COUNT).bind(version).one::<(i64,)>(tx).await?;
    let mut text = Text { pages: Sql::new(PAGES).bind(version).all(tx).await?, open: None };
    let mut leaves = Vec::new();
    let (mut level, mut no) = (0, -1);
    loop {
        let page = Sql::new(CHUNKS).bind(version).bind(level).bind(no).bind(PAGE).all::<ChunkRow>(tx).await?;
        let Some(last) = page.last() else { break };
        (level, no) = (last.level, last.no);
        for chunk in &page {
            if !text.holds(chunk) {
                return Ok(None);
            }
            if chunk.level == LEAF {
                leaves.push(chunk.id);
            }
        }
    }
    leaves.sort();
    let mut indexed = Vec::with_capacity(leaves.len());
    let mut damaged = 0;
    segments::of_version(tx, profile, version, |segment| {
        match segment {
            Ok(segment) => indexed.extend(segment.points.iter().map(|point| point.chunk)),
            Err(_) => damaged += 1,
        }
        Ok(())
    })
    .await?;
    indexed.sort();
    let is_sound = damaged == 0 && leaves == indexed && i64::try_from(leaves.len()) == Ok(count);
    Ok(is_sound.then_some(leaves))
}

/// The stored text; one page at a time is held by characters.
struct Text {
    pages: Vec<PageRow>,
    open: Option<(usize, Vec<char>)>,
}

impl Text {
    /// Whether the chunk's body stands where it says.
    fn holds(&mut self, chunk: &ChunkRow) -> bool {
        let mut body = chunk.body.chars();
        let mut at = chunk.char_start;
        let first = self.pages.partition_point(|page| page.char_end <= at);
        for no in first..self.pages.len() {
            let page = &self.pages[no];
            if page.char_start > at || at >= chunk.char_end {
                break;
            }
            let (start, end) = (page.char_start, page.char_end.min(chunk.char_end));
            let chars = self.chars(no);
            let (Ok(from), Ok(to)) = (usize::try_from(at - start), usize::try_from(end - start)) else { return false };
            let Some(stretch) = chars.get(from..to) else { return false };
            if !stretch.iter().all(|c| body.next() == Some(*c)) {
                return false;
            }
            at = end;
        }
        at == chunk.char_end && body.next().is_none()
    }

    fn chars(&mut self, no: usize) -> &[char] {
        if self.open.as_ref().is_none_or(|(open, _)| *open != no) {
            self.open = Some((no, self.pages[no].body.chars().collect()));
        }
        self.open.as_ref().map_or(&[], |(_, chars)| chars)
    }
}
