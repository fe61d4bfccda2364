//! Finding sessions by what was said in them: one row of terms per message and one per title, under an index.
//!
//! Rows are written in the transaction that writes their text. The owner is a term of each, so that the index itself
//! passes over what is another's.

use super::super::sql::{Sql, Tx};
use crate::{
    domain::{
        error::StoreError,
        id::{MessageId, SessionId, UserId},
    },
    text::search::{Pattern, query},
};

/// The terms of a text. Made before the transaction that writes them begins, for it takes a while.
pub(super) struct Terms(Vec<String>);

impl Terms {
    pub(super) fn of(text: &str) -> Self {
        Self(crate::text::search::terms(text))
    }
}

const WRITE_MESSAGE: &str = "
insert into search_terms (session_id, message_id, terms)
select id, $2, '@' || owner_id || ' ' || coalesce((select group_concat(value, ' ') from json_each($3)), '')
from sessions where id = $1
on conflict (message_id) do update set terms = excluded.terms";

const WRITE_MESSAGE_POSTGRES: &str = "
insert into search_terms (session_id, message_id, terms)
select id, $2, array_to_tsvector(array_append(array(select jsonb_array_elements_text($3)), '@' || owner_id))
from sessions where id = $1
on conflict (message_id) do update set terms = excluded.terms";

/// What a message is found by from now on.
pub(super) async fn write_message(
    tx: &mut Tx,
    session: SessionId,
    message: MessageId,
    terms: &Terms,
) -> Result<(), StoreError> {
    let write = Sql::each(WRITE_MESSAGE, WRITE_MESSAGE_POSTGRES).bind(session).bind(message).json(&terms.0);
    write.run(tx).await.map(|_| ())
}

const WRITE_TITLE: &str = "
insert into search_terms (session_id, terms)
select id, '@' || owner_id || ' ' || coalesce((select group_concat(value, ' ') from json_each($2)), '')
from sessions where id = $1
on conflict (session_id) where message_id is null do update set terms = excluded.terms";

const WRITE_TITLE_POSTGRES: &str = "
insert into search_terms (session_id, terms)
select id, array_to_tsvector(array_append(array(select jsonb_array_elements_text($2)), '@' || owner_id))
from sessions where id = $1
on conflict (session_id) where message_id is null do update set terms = excluded.terms";

/// What a session's title is found by from now on.
pub(super) async fn write_title(tx: &mut Tx, session: SessionId, title: &str) -> Result<(), StoreError> {
    let write = Sql::each(WRITE_TITLE, WRITE_TITLE_POSTGRES).bind(session).json(&Terms::of(title).0);
    write.run(tx).await.map(|_| ())
}

/// How an engine's index wants to be asked.
struct Dialect {
    quote: &'static str,
    and: &'static str,
    or: &'static str,
    /// Behind a quoted beginning.
    prefix: &'static str,
}

const FTS5: Dialect = Dialect { quote: "\"", and: " AND ", or: " OR ", prefix: " *" };
const TSQUERY: Dialect = Dialect { quote: "'", and: " & ", or: " | ", prefix: ":*" };

/// The texts of `user` that a search for `text` finds, as the index wants to be asked; `None`: none. Terms hold letters,
/// digits and `_` alone, so quoting them is enough.
pub(super) fn wanted(tx: &Tx, user: UserId, text: &str) -> Option<String> {
    let dialect = if tx.is_on_server() { &TSQUERY } else { &FTS5 };
    let groups = query(text);
    if groups.is_empty() {
        return None;
    }
    let Dialect { quote, and, or, prefix } = dialect;
    let owner = format!("{quote}@{user}{quote}");
    let groups = groups.into_iter().map(|group| {
        let patterns = group.into_iter().map(|pattern| match pattern {
            Pattern::Whole(term) => format!("{quote}{term}{quote}"),
            Pattern::Prefix(start) => format!("{quote}{start}{quote}{prefix}"),
        });
        format!("({})", patterns.collect::<Vec<_>>().join(or))
    });
    Some(std::iter::once(owner).chain(groups).collect::<Vec<_>>().join(and))
}
