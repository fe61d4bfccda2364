//! Episodes of sessions.

use async_trait::async_trait;
use sqlx::{FromRow, types::Json};

use super::{
    Storage,
    sql::{Sql, Tx},
    writer::Kind,
};
use crate::domain::{
    chat::Finish,
    episode::{Episode, EpisodeId, EpisodeStore, Remembered, Source},
    error::StoreError,
    id::{MessageId, SessionId, UserId},
    time::Millis,
};

/// Most episodes of a session; the oldest go first.
const MOST: i64 = 64;

#[derive(FromRow)]
struct EpisodeRow {
    id: EpisodeId,
    session_name: String,
    message_id: MessageId,
    items: Json<Remembered>,
    created_at: Millis,
}

impl From<EpisodeRow> for Episode {
    fn from(row: EpisodeRow) -> Self {
        Self {
            id: row.id,
            session_name: row.session_name,
            message: row.message_id,
            what: row.items.0,
            created_at: row.created_at,
        }
    }
}

#[async_trait]
impl EpisodeStore for Storage {
    async fn results(&self, user: UserId, session: SessionId, leaf: MessageId) -> Result<Vec<Source>, StoreError> {
        let query = Sql::new(RESULTS).bind(session).bind(leaf).bind(user).bind(Remembered::RESULTS);
        let found = query.maybe::<(Json<Remembered>,)>(&mut self.glance().await?).await?;
        Ok(match found {
            Some((Json(Remembered::Results { sources }),)) => sources,
            Some((Json(Remembered::ToolError { .. }),)) | None => Vec::new(),
        })
    }

    async fn episodes(
        &self,
        user: UserId,
        session: Option<SessionId>,
        after: Option<(Millis, EpisodeId)>,
        limit: i64,
    ) -> Result<Vec<Episode>, StoreError> {
        let (time, id) = after.unwrap_or((Millis(i64::MAX), EpisodeId::from_uuid(uuid::Uuid::max())));
        let query = Sql::new(EPISODES).bind(user).bind(session).bind(time).bind(id).bind(limit);
        let rows = query.all::<EpisodeRow>(&mut self.glance().await?).await?;
        Ok(rows.into_iter().map(Episode::from).collect())
    }

    async fn forget_episodes(&self, user: UserId, session: Option<SessionId>) -> Result<(), StoreError> {
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move { Sql::new(FORGET).bind(user).bind(session).run(tx).await.map(|_| ()) })
        })
        .await
    }
}

// As in `chats::tree`, `cross join` keeps SQLite from reading the whole session in each step.
const RESULTS: &str = "
with recursive above (id, parent_id, ord) as (
  select m.id, m.parent_id, m.ord from messages m join sessions s on s.id = m.session_id
  where m.id = $2 and m.session_id = $1 and s.owner_id = $3
  union all
  select m.id, m.parent_id, m.ord from above cross join messages m where m.id = above.parent_id and m.session_id = $1)
select e.items from above cross join episodes e where e.message_id = above.id and e.kind = $4
order by above.ord desc limit 1";

const EPISODES: &str = "
select e.id, s.name as session_name, e.message_id, e.items, e.created_at
from episodes e join sessions s on s.id = e.session_id
where s.owner_id = $1 and ($2 is null or e.session_id = $2) and (e.created_at, e.id) < ($3, $4)
order by e.created_at desc, e.id desc limit $5";

const FORGET: &str = "
delete from episodes
where session_id in (select s.id from sessions s where s.owner_id = $1 and ($2 is null or s.id = $2))";

const ADD: &str = "
insert into episodes (id, session_id, message_id, kind, items, created_at) values ($1, $2, $3, $4, $5, $6)";

const DROP_OLDEST: &str = "
delete from episodes where session_id = $1 and id not in
  (select id from episodes where session_id = $1 order by created_at desc, id desc limit $2)";

/// Adds what a turn leaves, within the transaction that ends it.
pub(super) async fn add(tx: &mut Tx, finish: &Finish) -> Result<(), StoreError> {
    for what in &finish.episodes {
        Sql::new(ADD)
            .bind(EpisodeId::at(finish.now))
            .bind(finish.session)
            .bind(finish.message)
            .bind(what.kind())
            .json(what)
            .bind(finish.now)
            .run(tx)
            .await?;
    }
    if !finish.episodes.is_empty() {
        Sql::new(DROP_OLDEST).bind(finish.session).bind(MOST).run(tx).await?;
    }
    Ok(())
}
