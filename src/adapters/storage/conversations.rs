//! Conversations that clients keep, by their fingerprints.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    Storage,
    sql::{Sql, Tx, Word},
    writer::Kind,
};
use crate::domain::{
    chat::MessageStatus,
    conversation::{ConversationStore, Fingerprint, Held, Standing},
    error::StoreError,
    id::{MessageId, UserId},
    time::Millis,
};

#[async_trait]
impl ConversationStore for Storage {
    async fn hold(&self, held: &Held, since: Millis, most: i64) -> Result<(), StoreError> {
        let held = held.clone();
        self.write(Kind::OTHER, move |tx| Box::pin(async move { hold(tx, &held, since, most).await })).await
    }

    async fn held(&self, user: UserId, fingerprint: Fingerprint) -> Result<Option<Standing>, StoreError> {
        let find = Sql::new(FIND).bind(user).bind(&fingerprint.0[..]);
        let row = find.maybe::<StandingRow>(&mut self.glance().await?).await?;
        Ok(row.map(Standing::from))
    }
}

#[derive(FromRow)]
struct StandingRow {
    session_name: String,
    answer_id: MessageId,
    status: Word<MessageStatus>,
    reply_id: Option<MessageId>,
    reply: Option<String>,
}

impl From<StandingRow> for Standing {
    fn from(row: StandingRow) -> Self {
        Self {
            session_name: row.session_name,
            answer: row.answer_id,
            status: row.status.0,
            reply: row.reply_id.zip(row.reply),
        }
    }
}

const FIND: &str = "
select s.name as session_name, h.message_id as answer_id, m.status, r.id as reply_id, r.content as reply
from held_conversations h
join messages m on m.id = h.message_id
join sessions s on s.id = m.session_id and s.owner_id = h.user_id
left join messages r on r.id = (
  select c.id from messages c
  where c.session_id = m.session_id and c.parent_id = m.id and c.kind = 'human' order by c.ord desc limit 1)
where h.user_id = $1 and h.fingerprint = $2";

// One more has to find room.
const FORGET: &str = "
delete from held_conversations
where user_id = $1 and (held_at < $2 or (held_at, fingerprint) <= (
  select held_at, fingerprint from held_conversations
  where user_id = $1 order by held_at desc, fingerprint desc limit 1 offset $3))";

const HOLD: &str = "
insert into held_conversations (user_id, fingerprint, message_id, held_at)
select s.owner_id, $2, m.id, $4 from messages m join sessions s on s.id = m.session_id
where m.id = $3 and s.owner_id = $1
on conflict (user_id, fingerprint) do update set message_id = excluded.message_id, held_at = excluded.held_at";

async fn hold(tx: &mut Tx, held: &Held, since: Millis, most: i64) -> Result<(), StoreError> {
    Sql::new(FORGET).bind(held.user).bind(since).bind(most - 1).run(tx).await?;
    Sql::new(HOLD)
        .bind(held.user)
        .bind(&held.fingerprint.0[..])
        .bind(held.answer)
        .bind(held.at)
        .run(tx)
        .await
        .map(|_| ())
}
