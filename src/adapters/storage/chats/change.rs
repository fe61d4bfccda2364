//! Changing a session: its title, and the branch that is shown.

use super::{
    super::sql::{Sql, Tx},
    search, sessions, tree,
};
use crate::domain::{
    chat::{Session, SessionChange},
    error::StoreError,
    id::{SessionId, UserId},
    time::Millis,
};

// First of all: what else writes the session waits for it.
const LOCK: &str = "
update sessions set title = coalesce($3, title), title_by = case when $3 is null then title_by else 'user' end
where owner_id = $1 and name = $2 returning id";

const SHOW: &str = "update sessions set active_leaf = $2 where id = $1";

pub(super) async fn change(
    tx: &mut Tx,
    user: UserId,
    name: String,
    change: SessionChange,
    now: Millis,
) -> Result<Session, StoreError> {
    let lock = Sql::new(LOCK).bind(user).bind(name.as_str()).bind(change.title.as_deref());
    let (session,) = lock.one::<(SessionId,)>(tx).await?;
    if let Some(title) = &change.title {
        search::write_title(tx, session, title).await?;
    }
    if let Some(message) = change.shown {
        let leaf = tree::newest_below(tx, session, message).await?;
        Sql::new(SHOW).bind(session).bind(leaf).run(tx).await?;
    }
    sessions::session(tx, user, &name, now).await
}

const ENTITLE: &str = "
update sessions set title = $2, title_by = 'model' where id = $1 and title_by = 'words'";

/// A title by a model gives way to one by the user, and is not made anew.
pub(super) async fn entitle(tx: &mut Tx, session: SessionId, title: String) -> Result<bool, StoreError> {
    if Sql::new(ENTITLE).bind(session).bind(title.as_str()).run(tx).await? == 0 {
        return Ok(false);
    }
    search::write_title(tx, session, &title).await?;
    Ok(true)
}
