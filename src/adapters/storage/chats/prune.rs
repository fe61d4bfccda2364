//! Deleting a message with its branch: everything that came of it goes too, runs and their logs included.

use super::{
    super::sql::{Sql, Texts, Tx, texts},
    tree,
};
use crate::domain::{
    error::StoreError,
    id::{MessageId, RunId, SessionId, UserId},
};

// First of all: a turn that is to be accepted waits for it, or is seen.
const LOCK: &str = "
update sessions set updated_at = updated_at
where owner_id = $1 and name = $2 and running_run is null and queued = 0
returning id";

const EXISTS: &str = "
select count(*) from messages m join sessions s on s.id = m.session_id
where s.owner_id = $1 and s.name = $2 and m.id = $3";

const PARENT: &str = "select parent_id, ord from messages where session_id = $1 and id = $2";

// The oldest that goes is the message itself: whatever a note covers from there on may speak of it.
const FORGET_NOTE: &str = "delete from notes where session_id = $1 and upto_ord >= $2";

/// The message `$2` of the session `$1` and all `below` it. As in `tree`, `cross join` keeps SQLite from reading the whole
/// session in each step.
macro_rules! below {
    ($statement:literal) => {
        concat!(
            "
with recursive below (id) as (
  select id from messages where session_id = $1 and id = $2
  union all
  select m.id from below cross join messages m where m.parent_id = below.id and m.session_id = $1)
",
            $statement
        )
    };
}

const DELETE_RUNS: &str = below!(
    "
delete from runs
where session_id = $1
  and (human_id in (select id from below)
       or message_id in (select id from below)
          and not exists (select 1 from messages h where h.id = runs.human_id and h.run_id = runs.id))"
);

// The question of a deleted answer stays, with the run that brought it: another answer is made under the same conditions,
// and an equal key still stands for it.
const EMPTY_RUNS: &str = below!(
    "
update runs set message_id = null, log_from = last_seq + 1
where session_id = $1 and message_id in (select id from below)
returning id"
);

const DELETE_MESSAGES: &str = below!("delete from messages where session_id = $1 and id in (select id from below)");

/// What is kept of a run beside its row.
const LEAVINGS: [Texts; 4] = [
    texts!("delete from run_events where run_id in (" [1] ")"),
    texts!("delete from traces where run_id in (" [1] ")"),
    texts!("delete from recordings where run_id in (" [1] ")"),
    texts!("delete from replies where run_id in (" [1] ")"),
];

pub(super) async fn delete(tx: &mut Tx, user: UserId, name: String, message: MessageId) -> Result<(), StoreError> {
    let locked = Sql::new(LOCK).bind(user).bind(name.as_str()).maybe::<(SessionId,)>(tx).await?;
    let Some((session,)) = locked else {
        let (there,) = Sql::new(EXISTS).bind(user).bind(name).bind(message).one::<(i64,)>(tx).await?;
        let busy = StoreError::Conflict("the session has a running turn");
        return Err(if there == 0 { StoreError::NotFound } else { busy });
    };
    let (parent, ord) = Sql::new(PARENT).bind(session).bind(message).one::<(Option<MessageId>, i64)>(tx).await?;
    Sql::new(FORGET_NOTE).bind(session).bind(ord).run(tx).await?;
    Sql::new(DELETE_RUNS).bind(session).bind(message).run(tx).await?;
    let emptied = Sql::new(EMPTY_RUNS).bind(session).bind(message).all::<(RunId,)>(tx).await?;
    let emptied: Vec<RunId> = emptied.into_iter().map(|(run,)| run).collect();
    if !emptied.is_empty() {
        for leavings in LEAVINGS {
            Sql::of(leavings).json(&emptied).run(tx).await?;
        }
    }
    let deleted = Sql::new(DELETE_MESSAGES).bind(session).bind(message).run(tx).await?;
    Sql::new(COUNT).bind(session).bind(deleted).run(tx).await?;
    Sql::new(FORGET_TITLE).bind(session).run(tx).await?;
    show_what_is_left(tx, session, parent).await
}

// A session that is empty again is named by its next first question, unless its user has named it.
const COUNT: &str = "
update sessions
set message_count = message_count - $2,
    title = case when message_count > $2 or title_by = 'user' then title else null end,
    title_by = case when message_count > $2 or title_by = 'user' then title_by else 'none' end
where id = $1";

const FORGET_TITLE: &str = "
delete from search_terms where session_id = $1 and message_id is null
  and exists (select 1 from sessions s where s.id = $1 and s.title is null)";

const SHOWS_NOTHING: &str = "
select count(*) from sessions s
where s.id = $1 and not exists (select 1 from messages m where m.session_id = s.id and m.id = s.active_leaf)";

const NEWEST: &str = "select id from messages where session_id = $1 order by ord desc limit 1";

const SHOW: &str = "update sessions set active_leaf = $2 where id = $1";

/// A user who looks at another branch is left there.
async fn show_what_is_left(tx: &mut Tx, session: SessionId, parent: Option<MessageId>) -> Result<(), StoreError> {
    let (shows_nothing,) = Sql::new(SHOWS_NOTHING).bind(session).one::<(i64,)>(tx).await?;
    if shows_nothing == 0 {
        return Ok(());
    }
    let leaf = match parent {
        Some(parent) => Some(tree::newest_below(tx, session, parent).await?),
        None => Sql::new(NEWEST).bind(session).maybe::<(MessageId,)>(tx).await?.map(|(newest,)| newest),
    };
    Sql::new(SHOW).bind(session).bind(leaf).run(tx).await.map(|_| ())
}
