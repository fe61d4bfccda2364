//! Conversations from before there was a search index: a migration cannot make terms, so the next start does, once.

use sqlx::FromRow;

use super::{
    super::{Storage, sql::Sql, writer::Kind},
    search::{self, Terms},
};
use crate::domain::{
    error::StoreError,
    id::{MessageId, SessionId},
};

/// Texts that are read at a time, and written in one transaction.
const PIECE: i64 = 256;

const IS_BEHIND: &str = "select count(*) from meta where key = 'search_behind'";

const MESSAGES: &str = "
select id, session_id, content as text from messages m
where id > $1 and status <> 'running' and not exists (select 1 from search_terms t where t.message_id = m.id)
order by id limit $2";

const TITLES: &str = "
select id, id as session_id, title as text from sessions s
where id > $1 and title is not null
  and not exists (select 1 from search_terms t where t.session_id = s.id and t.message_id is null)
order by id limit $2";

const IS_DONE: &str = "delete from meta where key = 'search_behind'";

/// A text that is not found yet.
#[derive(FromRow)]
struct TextRow {
    id: MessageId,
    session_id: SessionId,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    Messages,
    Titles,
}

impl Storage {
    /// Makes all conversations found.
    pub(in super::super) async fn index_earlier(&self) -> Result<(), StoreError> {
        let (behind,) = Sql::new(IS_BEHIND).one::<(i64,)>(&mut self.read().await?).await?;
        if behind == 0 {
            return Ok(());
        }
        tracing::info!("earlier conversations are being made searchable");
        self.index_texts(Texts::Messages).await?;
        self.index_texts(Texts::Titles).await?;
        self.write(Kind::OTHER, |tx| Box::pin(async { Sql::new(IS_DONE).run(tx).await.map(|_| ()) })).await
    }

    async fn index_texts(&self, texts: Texts) -> Result<(), StoreError> {
        let query = match texts {
            Texts::Messages => MESSAGES,
            Texts::Titles => TITLES,
        };
        let mut after = MessageId::from_uuid(uuid::Uuid::nil());
        loop {
            let piece = Sql::new(query).bind(after).bind(PIECE);
            let rows = piece.all::<TextRow>(&mut self.read().await?).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.id;
            self.write(Kind::OTHER, move |tx| {
                Box::pin(async move {
                    for row in rows {
                        match texts {
                            Texts::Messages => {
                                search::write_message(tx, row.session_id, row.id, &Terms::of(&row.text)).await?;
                            }
                            Texts::Titles => search::write_title(tx, row.session_id, &row.text).await?,
                        }
                    }
                    Ok::<_, StoreError>(())
                })
            })
            .await?;
        }
    }
}
