//! Messages, of a branch or of all, whole: with trace, citations, question, reasoning and tool calls.

use std::collections::{BTreeSet, HashMap};

use sqlx::{FromRow, types::Json};

use super::{
    super::{
        documents::readable,
        sql::{Sql, Texts, Tx, Word, texts, unsigned},
    },
    hitl::PendingRow,
};
use crate::domain::{
    chat::{
        Citation, Extent, Feedback, Message, MessageKind, MessagePart, MessageStatus, Outline, Rating, Said, Session,
        Timings,
    },
    error::StoreError,
    evidence::Passage,
    id::{DocumentId, MessageId, RunId, SessionId, UserId},
    model::Usage,
    time::Millis,
    trace::RagTrace,
};

#[derive(FromRow)]
struct MessageRow {
    id: MessageId,
    parent_id: Option<MessageId>,
    ord: i64,
    kind: Word<MessageKind>,
    status: Word<MessageStatus>,
    run_id: Option<RunId>,
    content: String,
    model: Option<String>,
    finish_reason: Option<String>,
    usage: Option<Json<Usage>>,
    timings: Option<Json<Timings>>,
    trace: Option<Vec<u8>>,
    sibling_index: i64,
    sibling_count: i64,
    created_at: Millis,
}

/// Messages with the place that each has among its siblings. `$wanted` joins the listed ids (`$1`) with their messages
/// `m`, as each dialect says it.
///
/// The siblings of a message are found by its parent: what it costs does not grow with its session. They are counted
/// once for all that are wanted of them: ten thousand of them cost ten thousand, not a hundred million.
macro_rules! messages {
    ($wanted:literal) => {
        concat!(
            "
with wanted as (
  select m.*, row_number() over (partition by m.parent_id, m.kind order by m.ord) as nth
  from ",
            $wanted,
            " where m.session_id = $2),
counted as (
  select w.*,
         case when w.nth > 1 then null when w.parent_id is null
           then (select count(*) from messages s
                 where s.session_id = $2 and s.parent_id is null and s.ord < w.ord and s.kind = w.kind)
           else (select count(*) from messages s
                 where s.session_id = $2 and s.parent_id = w.parent_id and s.ord < w.ord and s.kind = w.kind)
         end as earlier,
         case when w.nth > 1 then null when w.parent_id is null
           then (select count(*) from messages s
                 where s.session_id = $2 and s.parent_id is null and s.kind = w.kind)
           else (select count(*) from messages s
                 where s.session_id = $2 and s.parent_id = w.parent_id and s.kind = w.kind)
         end as siblings
  from wanted w)
select m.id, m.parent_id, m.ord, m.kind, m.status, m.run_id, m.content, m.model, m.finish_reason, m.usage, m.timings,
       t.body as trace, m.created_at,
       max(m.earlier) over (partition by m.parent_id, m.kind) + m.nth - 1 as sibling_index,
       max(m.siblings) over (partition by m.parent_id, m.kind) as sibling_count
from counted m left join traces t on t.run_id = m.run_id and m.kind = 'ai'
order by m.ord"
        )
    };
}

const MESSAGES: Texts = Texts {
    sqlite: messages!("json_each($1) j cross join messages m on m.id = j.value"),
    postgres: messages!("jsonb_array_elements_text($1) j (value) join messages m on m.id = j.value"),
};

#[derive(FromRow)]
struct PartRow {
    message_id: MessageId,
    body: Json<MessagePart>,
}

// Tool results are the model's reading, and long; no reader of a message shows them.
const PARTS: Texts = texts!("
select message_id, body from message_parts
where message_id in (" [1] ") and kind in ('reasoning', 'tool_call')
order by message_id, no");

#[derive(FromRow)]
struct CitationRow {
    message_id: MessageId,
    marker: i64,
    document_id: DocumentId,
    version_no: i64,
    filename: String,
    page: Option<String>,
    char_start: i64,
    char_end: i64,
    quote: String,
    quote_sha256: String,
    removed: bool,
}

const CITATIONS: Texts = texts!("
select c.message_id, c.marker, c.document_id, c.version_no, c.filename, c.page, c.char_start, c.char_end, c.quote,
       c.quote_sha256,
       not exists (select 1 from documents d where d.id = c.document_id and d.deleted_at is null) as removed
from citations c where c.message_id in (" [1] ") order by c.message_id, c.marker");

const QUESTIONS: Texts = texts!("
select id, message_id, root_id, round, kind, status, fingerprint, prompt, cast(record as text) as record, expires_at,
       taken_by, answered_by, created_at
from hitl where message_id in (" [1] ") order by created_at, id");

#[derive(FromRow)]
struct FeedbackRow {
    message_id: MessageId,
    rating: Word<Rating>,
    comment: Option<String>,
}

const FEEDBACK: Texts = texts!("
select message_id, rating, comment from feedback where message_id in (" [1] ")");

const OWNER: &str = "select owner_id from sessions where id = $1";

const THERE: Texts = texts!("
select id from documents where id in (" [1] ") and deleted_at is null and collection_id in (" [2] ")");

/// Leaves out the texts of passages that the owner of the session may no longer read.
async fn leave_out_unreadable(tx: &mut Tx, session: SessionId, messages: &mut [Message]) -> Result<(), StoreError> {
    let mut passages: Vec<&mut Passage> =
        messages.iter_mut().filter_map(|message| message.trace.as_mut()).flat_map(RagTrace::passages_mut).collect();
    let documents: BTreeSet<DocumentId> = passages.iter().map(|passage| passage.document_id).collect();
    if documents.is_empty() {
        return Ok(());
    }
    let (owner,) = Sql::new(OWNER).bind(session).one::<(UserId,)>(tx).await?;
    let access = readable(tx, owner, None).await?;
    let rows = Sql::of(THERE).json(&documents).json(&access.collections).all::<(DocumentId,)>(tx).await?;
    let readable: BTreeSet<DocumentId> = rows.into_iter().map(|(id,)| id).collect();
    for passage in passages.iter_mut().filter(|passage| !readable.contains(&passage.document_id)) {
        passage.remove();
    }
    Ok(())
}

/// These messages of a session, whole, by their order. Of siblings none may be left out between two.
pub(super) async fn whole(
    tx: &mut Tx,
    session: SessionId,
    ids: &[MessageId],
    now: Millis,
) -> Result<Vec<Message>, StoreError> {
    let on_them = |texts| Sql::of(texts).json(ids);
    let rows = on_them(MESSAGES).bind(session).all::<MessageRow>(tx).await?;
    let mut messages: Vec<Message> = rows.into_iter().map(MessageRow::bare).collect();
    leave_out_unreadable(tx, session, &mut messages).await?;
    let place: HashMap<MessageId, usize> =
        messages.iter().enumerate().map(|(place, message)| (message.id, place)).collect();
    for PartRow { message_id, body: Json(part) } in on_them(PARTS).all(tx).await? {
        let message = &mut messages[place[&message_id]];
        match part {
            MessagePart::Reasoning { text } => message.reasoning.get_or_insert_default().push_str(&text),
            MessagePart::ToolCall { call } => message.tool_calls.push(call),
            MessagePart::Text { .. } | MessagePart::ToolResult { .. } => {}
        }
    }
    for row in on_them(CITATIONS).all::<CitationRow>(tx).await? {
        messages[place[&row.message_id]].citations.push(row.citation()?);
    }
    for row in on_them(QUESTIONS).all::<PendingRow>(tx).await? {
        let message = &mut messages[place[&row.message_id]];
        message.pending = Some(row.at(now)?);
    }
    for FeedbackRow { message_id, rating: Word(rating), comment } in on_them(FEEDBACK).all(tx).await? {
        messages[place[&message_id]].feedback = Some(Feedback { rating, comment });
    }
    Ok(messages)
}

/// The message `$1` of the session `$2` and those above it, `up`: a primary key look-up each, and `$3` of them at most.
macro_rules! walk {
    ($select:literal) => {
        concat!(
            "
with recursive up (id, depth) as (
  select id, 1 from messages where id = $1 and session_id = $2
  union all
  select m.parent_id, up.depth + 1 from up join messages m on m.id = up.id
  where m.parent_id is not null and up.depth < $3)
",
            $select
        )
    };
}

const BRANCH: &str = walk!("select id from up");

pub(super) async fn branch(
    tx: &mut Tx,
    session: SessionId,
    leaf: MessageId,
    limit: i64,
    now: Millis,
) -> Result<Vec<Message>, StoreError> {
    let rows = Sql::new(BRANCH).bind(leaf).bind(session).bind(limit).all::<(MessageId,)>(tx).await?;
    if rows.is_empty() {
        return Err(StoreError::NotFound);
    }
    let ids: Vec<MessageId> = rows.into_iter().map(|(id,)| id).collect();
    // Who is answered was there before: the order of a branch is that of its session.
    whole(tx, session, &ids, now).await
}

#[derive(FromRow)]
struct SaidRow {
    ord: i64,
    kind: Word<MessageKind>,
    content: String,
}

const SAID: &str = walk!("select m.ord, m.kind, m.content from up join messages m on m.id = up.id order by m.ord");

pub(super) async fn said(
    tx: &mut Tx,
    session: SessionId,
    leaf: MessageId,
    limit: i64,
) -> Result<Vec<Said>, StoreError> {
    let rows = Sql::new(SAID).bind(leaf).bind(session).bind(limit).all::<SaidRow>(tx).await?;
    if rows.is_empty() {
        return Err(StoreError::NotFound);
    }
    Ok(rows.into_iter().map(|SaidRow { ord, kind: Word(kind), content }| Said { ord, kind, content }).collect())
}

#[derive(FromRow)]
struct OutlineRow {
    id: MessageId,
    parent_id: Option<MessageId>,
    status: Word<MessageStatus>,
}

const ALL: &str = "select id, parent_id, status from messages where session_id = $1 order by ord";

const SHOWN: &str = "
with recursive up (id, parent_id, status, ord) as (
  select id, parent_id, status, ord from messages where id = $2 and session_id = $1
  union all
  select m.id, m.parent_id, m.status, m.ord from up join messages m on m.id = up.parent_id)
select id, parent_id, status from up order by ord";

pub(super) async fn outline(tx: &mut Tx, session: Session, extent: Extent) -> Result<Outline, StoreError> {
    let mut rows: Vec<OutlineRow> = match (extent, session.active_leaf) {
        (Extent::All, _) => Sql::new(ALL).bind(session.id).all(tx).await?,
        (Extent::Shown, Some(leaf)) => Sql::new(SHOWN).bind(session.id).bind(leaf).all(tx).await?,
        (Extent::Shown, None) => Vec::new(),
    };
    let written = rows.iter().position(|row| row.status.0 == MessageStatus::Running).map(|at| rows.remove(at));
    let written = written.map(|row| (row.id, row.parent_id));
    Ok(Outline { session, messages: rows.into_iter().map(|row| row.id).collect(), written })
}

const TREE: &str = "select id from messages where session_id = $1 and ord > $2 order by ord limit $3";

pub(super) async fn tree(
    tx: &mut Tx,
    session: SessionId,
    after: i64,
    limit: i64,
    now: Millis,
) -> Result<Vec<Message>, StoreError> {
    let rows = Sql::new(TREE).bind(session).bind(after).bind(limit).all::<(MessageId,)>(tx).await?;
    let ids: Vec<MessageId> = rows.into_iter().map(|(id,)| id).collect();
    whole(tx, session, &ids, now).await
}

const SESSION_OF: &str = "
select m.session_id from messages m join sessions s on s.id = m.session_id where m.id = $1 and s.owner_id = $2";

pub(super) async fn message(tx: &mut Tx, user: UserId, id: MessageId, now: Millis) -> Result<Message, StoreError> {
    let (session,) = Sql::new(SESSION_OF).bind(id).bind(user).one::<(SessionId,)>(tx).await?;
    branch(tx, session, id, 1, now).await?.pop().ok_or(StoreError::NotFound)
}

/// What the answer `message` rests on, as stored.
pub(super) fn trace(body: &[u8], message: MessageId) -> Option<RagTrace> {
    serde_json::from_slice(body).inspect_err(|error| tracing::warn!(%message, %error, "a trace cannot be read")).ok()
}

impl MessageRow {
    /// The message without what lies in other tables.
    fn bare(self) -> Message {
        let trace = self.trace.and_then(|body| trace(&body, self.id));
        Message {
            id: self.id,
            parent: self.parent_id,
            ord: self.ord,
            kind: self.kind.0,
            status: self.status.0,
            run: self.run_id,
            content: self.content,
            model: self.model,
            finish_reason: self.finish_reason,
            usage: self.usage.map(|Json(usage)| usage),
            timings: self.timings.map(|Json(timings)| timings),
            trace,
            citations: Vec::new(),
            pending: None,
            reasoning: None,
            tool_calls: Vec::new(),
            feedback: None,
            siblings: (self.sibling_index, self.sibling_count),
            created_at: self.created_at,
        }
    }
}

impl CitationRow {
    fn citation(self) -> Result<Citation, StoreError> {
        Ok(Citation {
            marker: unsigned(self.marker)?,
            document_id: self.document_id,
            version: self.version_no,
            filename: self.filename,
            page: self.page,
            start: self.char_start,
            end: self.char_end,
            quote: self.quote,
            quote_sha256: self.quote_sha256,
            removed: self.removed,
        })
    }
}

#[cfg(test)]
mod tests {
    use sqlx::SqlitePool;

    use super::{BRANCH, MESSAGES};

    #[tokio::test]
    async fn a_branch_costs_what_it_is_long_not_what_its_session_is() {
        let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
        let layout = include_str!("../../../../migrations/sqlite/0001_layout.sql");
        sqlx::raw_sql(layout).execute(&pool).await.unwrap();
        let walk = sqlx::AssertSqlSafe(format!("explain query plan {BRANCH}"));
        let walked: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(walk).bind("leaf").bind("session").bind(6).fetch_all(&pool).await.unwrap();
        let read = sqlx::AssertSqlSafe(format!("explain query plan {}", MESSAGES.sqlite));
        let plan: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(read).bind("[]").bind("session").fetch_all(&pool).await.unwrap();
        let steps: Vec<&str> = walked.iter().chain(&plan).map(|(.., step)| step.as_str()).collect();
        let siblings: Vec<&&str> = steps.iter().filter(|step| step.starts_with("SEARCH s ")).collect();
        assert_eq!(siblings.len(), 4, "{steps:#?}");
        assert!(siblings.iter().all(|step| step.contains("(session_id=? AND parent_id=?")), "{steps:#?}");
        let whole = |step: &&str| ["SCAN m", "SCAN s", "SCAN messages"].iter().any(|scan| step == scan);
        assert!(!steps.iter().any(whole), "{steps:#?}");
    }
}
