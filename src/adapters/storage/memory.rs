//! Notes of sessions and background events.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, types::Json};

use super::{
    Storage,
    sql::{Sql, Tx},
    writer::Kind,
};
use crate::domain::{
    error::StoreError,
    id::{SessionId, UserId},
    memory::{BackgroundEvent, EventId, ListedEvent, MemoryStore, Note},
    time::Millis,
};

#[derive(FromRow)]
struct EventRow {
    id: EventId,
    user_id: UserId,
    kind: String,
    subject_id: String,
    session_id: Option<SessionId>,
    body: Json<Body>,
    created_at: Millis,
}

#[derive(Serialize, Deserialize)]
struct Body {
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl From<EventRow> for BackgroundEvent {
    fn from(row: EventRow) -> Self {
        Self {
            id: row.id,
            user: row.user_id,
            kind: row.kind,
            subject: row.subject_id,
            session: row.session_id,
            title: row.body.0.title,
            detail: row.body.0.detail,
            created_at: row.created_at,
        }
    }
}

#[derive(FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    event: EventRow,
    session_name: Option<String>,
    is_unread: bool,
}

impl From<ListedRow> for ListedEvent {
    fn from(row: ListedRow) -> Self {
        Self { event: row.event.into(), session_name: row.session_name, is_unread: row.is_unread }
    }
}

#[derive(FromRow)]
struct NoteRow {
    body: String,
    upto_ord: i64,
    updated_at: i64,
}

impl From<NoteRow> for Note {
    fn from(row: NoteRow) -> Self {
        Self { body: row.body, upto_ord: row.upto_ord, version: row.updated_at }
    }
}

#[async_trait]
impl MemoryStore for Storage {
    async fn note(&self, session: SessionId) -> Result<Option<Note>, StoreError> {
        let mut tx = self.glance().await?;
        let row = Sql::new(NOTE).bind(session).maybe::<NoteRow>(&mut tx).await?;
        Ok(row.map(Note::from))
    }

    async fn put_note(
        &self,
        session: SessionId,
        body: &str,
        upto_ord: i64,
        before: Option<i64>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let body = body.to_owned();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                Sql::new(LOCK_SESSION).bind(session).run(tx).await?;
                let put = Sql::new(PUT_NOTE).bind(session).bind(body).bind(upto_ord).bind(now).bind(before);
                Ok(put.run(tx).await? == 1)
            })
        })
        .await
    }

    async fn edit_note(
        &self,
        user: UserId,
        session: SessionId,
        body: &str,
        before: Option<i64>,
        now: Millis,
    ) -> Result<Option<Note>, StoreError> {
        let body = body.to_owned();
        self.write(Kind::OTHER, move |tx| {
            Box::pin(async move {
                Sql::new(LOCK_SESSION).bind(session).run(tx).await?;
                let edit = Sql::new(EDIT_NOTE).bind(session).bind(user).bind(body).bind(now).bind(before);
                Ok(edit.maybe::<NoteRow>(tx).await?.map(Note::from))
            })
        })
        .await
    }

    async fn untold(&self, user: UserId, session: SessionId, limit: i64) -> Result<Vec<BackgroundEvent>, StoreError> {
        let mut tx = self.glance().await?;
        let rows = Sql::new(UNTOLD).bind(user).bind(session).bind(limit).all::<EventRow>(&mut tx).await?;
        Ok(rows.into_iter().map(BackgroundEvent::from).collect())
    }

    async fn events(
        &self,
        user: UserId,
        unread: bool,
        after: Option<(Millis, EventId)>,
        limit: i64,
    ) -> Result<Vec<ListedEvent>, StoreError> {
        let (time, id) = after.unwrap_or((Millis(i64::MAX), EventId::from_uuid(uuid::Uuid::max())));
        let query = if unread { Sql::new(UNREAD) } else { Sql::new(EVENTS) };
        let query = query.bind(user).bind(time).bind(id).bind(limit);
        let rows = query.all::<ListedRow>(&mut self.read().await?).await?;
        Ok(rows.into_iter().map(ListedEvent::from).collect())
    }

    async fn add_event(&self, event: &BackgroundEvent) -> Result<(), StoreError> {
        let event = event.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { add_event(tx, &event).await })).await
    }
}

// Its time is its version: each that is stored has a later one than that before it, also within one millisecond.
const NOTE: &str = "select body, upto_ord, updated_at from notes where session_id = $1";

// Deleting messages drops the note: one that is stored at the same time must see that, or be seen.
const LOCK_SESSION: &str = "update sessions set updated_at = updated_at where id = $1";

// Where a message of a branch was deleted, the last that the note covers is gone too.
const PUT_NOTE: &str = "
insert into notes (session_id, body, upto_ord, updated_at)
select m.session_id, $2, $3, $4 from messages m
where m.session_id = $1 and m.ord = $3
  and ($5 is null or exists (select 1 from notes n where n.session_id = $1 and n.updated_at = $5))
on conflict (session_id) do update
set body = excluded.body, upto_ord = excluded.upto_ord,
    updated_at = case when excluded.updated_at > notes.updated_at then excluded.updated_at
                      else notes.updated_at + 1 end
where notes.updated_at = $5";

const EDIT_NOTE: &str = "
insert into notes (session_id, body, upto_ord, updated_at)
select s.id, $3, 0, $4 from sessions s
where s.id = $1 and s.owner_id = $2
  and ($5 = 0 or exists (select 1 from notes n where n.session_id = $1 and ($5 is null or n.updated_at = $5)))
on conflict (session_id) do update
set body = excluded.body,
    updated_at = case when excluded.updated_at > notes.updated_at then excluded.updated_at
                      else notes.updated_at + 1 end
where $5 is null or notes.updated_at = $5
returning body, upto_ord, updated_at";

const UNTOLD: &str = "
select id, user_id, kind, subject_id, session_id, body, created_at from background_events
where user_id = $1 and told_in is null and (session_id is null or session_id = $2) order by created_at, id limit $3";

const EVENTS: &str = "
select e.id, e.user_id, e.kind, e.subject_id, e.session_id, e.body, e.created_at, s.name as session_name,
       e.told_in is null as is_unread
from background_events e left join sessions s on s.id = e.session_id
where e.user_id = $1 and (e.created_at, e.id) < ($2, $3) order by e.created_at desc, e.id desc limit $4";

const UNREAD: &str = "
select e.id, e.user_id, e.kind, e.subject_id, e.session_id, e.body, e.created_at, s.name as session_name,
       e.told_in is null as is_unread
from background_events e left join sessions s on s.id = e.session_id
where e.user_id = $1 and (e.created_at, e.id) < ($2, $3) and e.told_in is null
order by e.created_at desc, e.id desc limit $4";

const OWNS: &str = "select count(*) from sessions where id = $1 and owner_id = $2";

// The user may have been deleted since: then there is nobody to tell. What happens a second time is news again.
const ADD_EVENT: &str = "
insert into background_events (id, user_id, kind, subject_id, session_id, body, created_at)
select $1, u.id, $3, $4, $5, $6, $7 from users u where u.id = $2
on conflict (user_id, kind, subject_id) do update
set id = excluded.id, session_id = excluded.session_id, body = excluded.body, created_at = excluded.created_at,
    told_in = null
where background_events.created_at < excluded.created_at";

/// Adds an event within a transaction.
pub(super) async fn add_event(tx: &mut Tx, event: &BackgroundEvent) -> Result<(), StoreError> {
    if let Some(session) = event.session {
        let (owned,) = Sql::new(OWNS).bind(session).bind(event.user).one::<(i64,)>(tx).await?;
        if owned == 0 {
            return Err(StoreError::NotFound);
        }
    }
    let body = Body { title: event.title.clone(), detail: event.detail.clone() };
    Sql::new(ADD_EVENT)
        .bind(event.id)
        .bind(event.user)
        .bind(event.kind.as_str())
        .bind(event.subject.as_str())
        .bind(event.session)
        .json(&body)
        .bind(event.created_at)
        .run(tx)
        .await
        .map(|_| ())
}
