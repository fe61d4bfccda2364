//! The tree of a session's messages: which branch is shown.

use super::super::sql::{Sql, Tx};
use crate::domain::{
    error::StoreError,
    id::{MessageId, SessionId},
};

// Whoever is said something to is older than what is said to them, so the newest message of a subtree ends a branch.
// `cross join` keeps SQLite from reading the whole session in each step.
const NEWEST_BELOW: &str = "
with recursive below (id, ord) as (
  select id, ord from messages where id = $2 and session_id = $1
  union all
  select m.id, m.ord from below cross join messages m where m.parent_id = below.id and m.session_id = $1)
select id from below order by ord desc limit 1";

/// The end of the branch through `message` that was written on last.
pub(super) async fn newest_below(tx: &mut Tx, session: SessionId, message: MessageId) -> Result<MessageId, StoreError> {
    let (leaf,) = Sql::new(NEWEST_BELOW).bind(session).bind(message).one::<(MessageId,)>(tx).await?;
    Ok(leaf)
}

const MOVE_LEAF: &str = "update sessions set active_leaf = $3 where id = $1 and active_leaf = $2";

/// Shows the branch of `to`, if that of `from` is shown.
pub(super) async fn move_leaf(
    tx: &mut Tx,
    session: SessionId,
    from: MessageId,
    to: MessageId,
) -> Result<(), StoreError> {
    Sql::new(MOVE_LEAF).bind(session).bind(from).bind(to).run(tx).await.map(|_| ())
}
