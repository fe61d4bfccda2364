//! What readers think of messages.

use super::super::sql::{Sql, Texts, Tx, Word, texts};
use crate::domain::{
    chat::Feedback,
    error::StoreError,
    id::{MessageId, UserId},
    time::Millis,
};

// The message is held, so that one that is being deleted is gone, or stays until it is rated.
const RATE: Texts = texts!("
insert into feedback (message_id, user_id, rating, comment, updated_at)
select m.id, s.owner_id, $4, $5, $6 from messages m join sessions s on s.id = m.session_id
where s.owner_id = $1 and s.name = $2 and m.id = $3" {" for key share of m"} "
on conflict (message_id, user_id) do update
set rating = excluded.rating, comment = excluded.comment, updated_at = excluded.updated_at");

pub(super) async fn rate(
    tx: &mut Tx,
    user: UserId,
    session: String,
    message: MessageId,
    feedback: Feedback,
    now: Millis,
) -> Result<(), StoreError> {
    let rate = Sql::of(RATE)
        .bind(user)
        .bind(session)
        .bind(message)
        .bind(Word(feedback.rating))
        .bind(feedback.comment.as_deref())
        .bind(now);
    if rate.run(tx).await? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}
