//! Profiles, and the segments of one that is built beside those of another.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::{
        Storage,
        jobs::{self, End},
        sql::{Sql, Texts, Tx, texts, unsigned},
        writer::Kind,
    },
    changes,
    passages::ChunkRow,
    stage,
};
use crate::domain::{
    error::StoreError,
    id::{CollectionId, DocumentId, ProfileId, VersionId},
    index::Segment,
    job::{Fence, JobReport},
    knowledge::Chunk,
    profile::{Adopted, Coverage, Lacking, Profile, ProfileStore, StoredProfile},
    time::Millis,
};

#[async_trait]
impl ProfileStore for Storage {
    async fn open_profile(&self, new_id: ProfileId, profile: &Profile, now: Millis) -> Result<ProfileId, StoreError> {
        let profile = profile.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { open(tx, new_id, profile, now).await })).await
    }

    async fn current_profile(&self) -> Result<StoredProfile, StoreError> {
        Sql::new(CURRENT).one::<ProfileRow>(&mut self.glance().await?).await?.stored()
    }

    async fn coverage(&self, profile: ProfileId) -> Result<Coverage, StoreError> {
        let (documents, lacking, leaves, done) = Sql::new(COVERAGE).bind(profile).one(&mut self.read().await?).await?;
        Ok(Coverage { documents, lacking, leaves, done })
    }

    async fn lacking(
        &self,
        profile: ProfileId,
        after: Option<VersionId>,
        limit: i64,
    ) -> Result<Vec<Lacking>, StoreError> {
        let after = after.unwrap_or(VersionId::from_uuid(uuid::Uuid::nil()));
        let rows = Sql::new(LACKING).bind(profile).bind(after).bind(limit);
        let rows = rows.all::<LackingRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(Lacking::from).collect())
    }

    async fn leaves_from(&self, version: VersionId, from: i64, limit: i64) -> Result<Vec<Chunk>, StoreError> {
        let rows = Sql::new(LEAVES).bind(version).bind(from).bind(limit);
        let rows = rows.all::<ChunkRow>(&mut self.read().await?).await?;
        rows.into_iter().map(ChunkRow::chunk).collect()
    }

    async fn add_segment(
        &self,
        fence: Fence,
        profile: ProfileId,
        no: i64,
        segment: &Segment,
    ) -> Result<bool, StoreError> {
        let (version, add) = (segment.version, stage::segment(profile, segment.version, no, segment)?);
        self.write(Kind::OTHER, move |tx| Box::pin(async move { add_segment(tx, fence, version, add).await })).await
    }

    async fn clear_segments(&self, fence: Fence, profile: ProfileId, version: VersionId) -> Result<(), StoreError> {
        let clear = Sql::new(CLEAR).bind(version).bind(profile);
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                jobs::hold_any(tx, fence).await?;
                clear.run(tx).await.map(|_| ())
            })
        })
        .await
    }

    async fn adopt_profile(
        &self,
        fence: Fence,
        profile: ProfileId,
        except: &[VersionId],
        report: &JobReport,
        now: Millis,
    ) -> Result<Adopted, StoreError> {
        let (except, report) = (except.to_vec(), report.clone());
        self.write(Kind::ADOPT, move |tx| Box::pin(async move { adopt(tx, fence, profile, except, report, now).await }))
            .await
    }

    async fn drop_retired(&self, limit: i64) -> Result<usize, StoreError> {
        // Most often there is nothing: not while the writer waits.
        let replaced = Sql::new(REPLACED).bind(limit).all::<(VersionId,)>(&mut self.read().await?).await?;
        for (version,) in &replaced {
            let drop = Sql::new(DROP).bind(*version);
            self.write(Kind::OTHER, move |tx| Box::pin(drop.run(tx))).await?;
        }
        Ok(replaced.len())
    }
}

#[derive(FromRow)]
struct ProfileRow {
    id: ProfileId,
    embedder: String,
    dims: i64,
    analyser: String,
    since: i64,
}

impl ProfileRow {
    fn stored(self) -> Result<StoredProfile, StoreError> {
        let profile = Profile { embedder: self.embedder, dims: unsigned(self.dims)?, analyser: self.analyser };
        Ok(StoredProfile { id: self.id, profile, since: self.since })
    }
}

const CURRENT: &str = "select id, embedder, dims, analyser, since from profiles where state = 'current'";

// One that was given up is taken up again.
const OPEN: &str = "
insert into profiles (id, embedder, dims, analyser, state, created_at) values ($1, $2, $3, $4, 'building', $5)
on conflict (embedder, dims, analyser) do update
set state = case when profiles.state = 'retired' then 'building' else profiles.state end
returning id";

const ANSWERS: &str = "
select exists (select 1 from versions v join documents d on d.id = v.document_id
               where v.state = 'current' and d.deleted_at is null)";

async fn open(tx: &mut Tx, new_id: ProfileId, profile: Profile, now: Millis) -> Result<ProfileId, StoreError> {
    let open = Sql::new(OPEN).bind(new_id).bind(profile.embedder).bind(profile.dims).bind(profile.analyser).bind(now);
    let (id,) = open.one::<(ProfileId,)>(tx).await?;
    if needs_no_reindex(tx, id).await? {
        // Others may have made one current, or published something, until this one may count.
        let no = changes::count(tx).await?;
        if needs_no_reindex(tx, id).await? {
            make_current(tx, id, no).await?;
        }
    }
    Ok(id)
}

/// Whether the profile is not current and may be so at once.
async fn needs_no_reindex(tx: &mut Tx, id: ProfileId) -> Result<bool, StoreError> {
    match Sql::new(CURRENT).maybe::<ProfileRow>(tx).await? {
        None => Ok(true),
        Some(current) if current.id == id => Ok(false),
        Some(_) => Ok(!Sql::new(ANSWERS).one::<(bool,)>(tx).await?.0),
    }
}

const RETIRE: &str = "update profiles set state = 'retired' where id <> $1";

const MAKE_CURRENT: &str = "update profiles set state = 'current', since = $2 where id = $1";

async fn make_current(tx: &mut Tx, id: ProfileId, no: i64) -> Result<(), StoreError> {
    Sql::new(RETIRE).bind(id).run(tx).await?;
    if Sql::new(MAKE_CURRENT).bind(id).bind(no).run(tx).await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

const COVERAGE: &str = "
select count(*), coalesce(sum(case when t.done <> t.leaves then 1 else 0 end), 0),
       cast(coalesce(sum(t.leaves), 0) as bigint),
       cast(coalesce(sum(case when t.done < t.leaves then t.done else t.leaves end), 0) as bigint)
from (select v.chunk_count as leaves, coalesce(sum(s.leaves), 0) as done
      from versions v join documents d on d.id = v.document_id
      left join segments s on s.version_id = v.id and s.profile_id = $1
      where v.state = 'current' and d.deleted_at is null group by v.id, v.chunk_count) t";

#[derive(FromRow)]
struct LackingRow {
    id: VersionId,
    document_id: DocumentId,
    collection_id: CollectionId,
    filename: String,
    title: Option<String>,
    leaves: i64,
    segments: i64,
    last: i64,
    done: i64,
}

impl From<LackingRow> for Lacking {
    fn from(row: LackingRow) -> Self {
        // Segments with a gap, or more than there can be, are no beginning.
        let is_begun = row.last + 1 == row.segments && row.done < row.leaves;
        let (segments, done) = if is_begun { (row.segments, row.done) } else { (0, 0) };
        Self {
            version: row.id,
            document: row.document_id,
            collection: row.collection_id,
            filename: row.filename,
            title: row.title,
            leaves: row.leaves,
            segments,
            done,
            is_spoilt: !is_begun && row.last >= 0,
        }
    }
}

const LACKING: &str = "
select v.id, v.document_id, d.collection_id, d.filename, v.title, v.chunk_count as leaves, count(s.no) as segments,
       coalesce(max(s.no), -1) as last, cast(coalesce(sum(s.leaves), 0) as bigint) as done
from versions v join documents d on d.id = v.document_id
left join segments s on s.version_id = v.id and s.profile_id = $1
where v.state = 'current' and d.deleted_at is null and v.id > $2
group by v.id, v.document_id, d.collection_id, d.filename, v.title, v.chunk_count
having coalesce(sum(s.leaves), 0) <> v.chunk_count
order by v.id limit $3";

const LEAVES: &str = "
select id, version_id, level, no, parent_id, page, char_start, char_end, section, header, body from chunks
where version_id = $1 and level = 3 and no >= $2 order by no limit $3";

// Changes nothing, but holds the row: whoever retires the version removes all its segments.
const HOLD_VERSION: &str = "update versions set state = 'current' where id = $1 and state = 'current'";

async fn add_segment(tx: &mut Tx, fence: Fence, version: VersionId, add: Sql) -> Result<bool, StoreError> {
    jobs::hold_any(tx, fence).await?;
    if Sql::new(HOLD_VERSION).bind(version).run(tx).await? == 0 {
        return Ok(false);
    }
    add.run(tx).await.map(|_| true)
}

const CLEAR: &str = "delete from segments where version_id = $1 and profile_id = $2";

const LACKS: Texts = texts!("
select exists (
  select 1 from versions v join documents d on d.id = v.document_id
  where v.state = 'current' and d.deleted_at is null and v.id not in (" [2] ")
    and v.chunk_count <> (select coalesce(sum(s.leaves), 0) from segments s
                          where s.version_id = v.id and s.profile_id = $1))");

/// The job's end and the swap of profiles are one transaction. Publishing waits from the count on, so nothing comes in
/// between the look and the swap.
async fn adopt(
    tx: &mut Tx,
    fence: Fence,
    profile: ProfileId,
    except: Vec<VersionId>,
    report: JobReport,
    now: Millis,
) -> Result<Adopted, StoreError> {
    if jobs::hold_any(tx, fence).await? {
        jobs::end(tx, fence, &End::cancelled(), report, now).await?;
        return Ok(Adopted::Cancelled);
    }
    let no = changes::count(tx).await?;
    let lacks = Sql::of(LACKS).bind(profile).json(&except);
    if lacks.one::<(bool,)>(tx).await?.0 {
        return Ok(Adopted::Lacking);
    }
    make_current(tx, profile, no).await?;
    jobs::end(tx, fence, &End::Completed, report, now).await?;
    Ok(Adopted::Current)
}

const REPLACED: &str = "
select distinct s.version_id from segments s
join profiles p on p.id = s.profile_id join versions v on v.id = s.version_id
where p.state = 'retired' and v.state = 'current'
  and v.chunk_count = (select sum(o.leaves) from segments o join profiles c on c.id = o.profile_id
                       where o.version_id = v.id and c.state = 'current')
order by s.version_id limit $1";

const DROP: &str = "
delete from segments
where version_id = $1 and profile_id in (select p.id from profiles p where p.state = 'retired')
  and exists (select 1 from versions v where v.id = $1
                and v.chunk_count = (select sum(o.leaves) from segments o join profiles c on c.id = o.profile_id
                                     where o.version_id = v.id and c.state = 'current'))";
