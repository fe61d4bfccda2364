//! Ending a turn: one transaction that releases the session and writes the answer with all that hangs on it.

use sqlx::types::Json;

use super::{
    super::{
        episodes,
        sql::{Sql, Texts, Tx, Word, texts, unreadable},
    },
    hitl, log,
    search::{self, Terms},
    tree,
};
use crate::domain::{
    chat::{Citation, Finish, MessagePart, TurnRequest},
    error::StoreError,
    hitl::Settlement,
    id::{MessageId, RunId, UserId},
    run::RunKind,
    trace::RagTrace,
};

pub(super) async fn finish(tx: &mut Tx, finish: Finish, terms: &Terms) -> Result<(), StoreError> {
    if !finish.status.is_terminal() {
        return Err(StoreError::Conflict("a run does not end so"));
    }
    let something_said = !finish.content.is_empty();
    let anew = !finish.extends;
    release(tx, &finish, anew.then_some(something_said)).await?;
    fail::fail_point!("finish:released");
    if something_said {
        write_message(tx, &finish).await?;
        search::write_message(tx, finish.session, finish.message, terms).await?;
        add_parts(tx, finish.message, finish.run, &finish.parts).await?;
        add_citations(tx, finish.message, &finish.citations).await?;
        episodes::add(tx, &finish).await?;
    } else if anew {
        remove_message(tx, &finish).await?;
    }
    if let Some(trace) = finish.trace.as_ref().filter(|_| anew) {
        add_trace(tx, finish.run, trace).await?;
    }
    fail::fail_point!("finish:written");
    settle(tx, &finish).await?;
    fail::fail_point!("finish:settled");
    if let Some(ask) = &finish.ask {
        hitl::ask(tx, finish.session, finish.message, ask, finish.now).await?;
    }
    let last_seq = (!finish.frames.lines.is_empty()).then_some(finish.frames.last_seq);
    let user = end_run(tx, &finish, something_said || !anew, last_seq).await?;
    if last_seq.is_some() {
        log::append_last(tx, finish.frames).await?;
    }
    fail::fail_point!("finish:logged");
    if !finish.told.is_empty() {
        Sql::of(TELL).bind(user).bind(finish.run).json(&finish.told).run(tx).await?;
    }
    Ok(())
}

// A removed answer gives its place in the order back.
const RELEASE: &str = "
update sessions
set running_run = null, updated_at = $3, message_count = message_count + $4, next_ord = next_ord - $5
where id = $1 and running_run = $2";

/// Lets the session go. `stays` says of a new answer whether it stays; one that was written on is counted already.
async fn release(tx: &mut Tx, finish: &Finish, stays: Option<bool>) -> Result<(), StoreError> {
    let released = Sql::new(RELEASE)
        .bind(finish.session)
        .bind(finish.run)
        .bind(finish.now)
        .bind(i64::from(stays == Some(true)))
        .bind(i64::from(stays == Some(false)))
        .run(tx)
        .await?;
    if released == 0 { Err(FENCED) } else { Ok(()) }
}

const FENCED: StoreError = StoreError::Conflict("the run is not this owner's any more");

// The session is this run's, so nobody else writes its messages: an answer that is written on needs no check of its own.
const WRITE_MESSAGE: &str = "
update messages
set content = $3, status = $4, model = coalesce($5, model), finish_reason = $6,
    usage = coalesce($7, usage), timings = coalesce($8, timings)
where id = $1 and session_id = $9 and ($10 or (run_id = $2 and status = 'running'))";

async fn write_message(tx: &mut Tx, finish: &Finish) -> Result<(), StoreError> {
    let written = Sql::new(WRITE_MESSAGE)
        .bind(finish.message)
        .bind(finish.run)
        .bind(finish.content.as_str())
        .bind(Word(finish.status))
        .bind(finish.model.as_deref())
        .bind(finish.finish_reason.as_deref())
        .json_opt(finish.usage.as_ref())
        .json_opt(finish.timings.as_ref())
        .bind(finish.session)
        .bind(finish.extends)
        .run(tx)
        .await?;
    if written == 0 { Err(FENCED) } else { Ok(()) }
}

// Another answer was asked for, and there is none: nobody is taken away from where they were.
const SHOWN_BEFORE: &str = "
select m.id from runs r join messages m on m.session_id = r.session_id and m.id = r.request ->> 'shown'
where r.id = $1 and r.kind = 'regenerate'";

const WAITING: &str = "select id, request from runs where session_id = $1 and status = 'queued' order by id";

const PUT_REQUEST: &str = "update runs set request = $2 where id = $1";

/// What was to go on from an answer that is not there goes on from what it was to answer.
async fn lead_back(tx: &mut Tx, finish: &Finish) -> Result<(), StoreError> {
    for (run, Json(mut request)) in Sql::new(WAITING).bind(finish.session).all::<(RunId, Json<TurnRequest>)>(tx).await?
    {
        let before = request.clone();
        if request.parent == Some(finish.message) {
            request.parent = Some(finish.human);
        }
        if request.kind == RunKind::Regenerate(finish.message) {
            request.kind = RunKind::Regenerate(finish.human);
        }
        if request != before {
            Sql::new(PUT_REQUEST).bind(run).json(&request).run(tx).await?;
        }
    }
    Ok(())
}

const REMOVE_MESSAGE: &str = "delete from messages where id = $1 and run_id = $2 and status = 'running'";

async fn remove_message(tx: &mut Tx, finish: &Finish) -> Result<(), StoreError> {
    let removed = Sql::new(REMOVE_MESSAGE).bind(finish.message).bind(finish.run).run(tx).await?;
    if removed == 0 {
        return Err(FENCED);
    }
    lead_back(tx, finish).await?;
    // Shown is then what was, or what was last said below the user's message. A user who looks at another branch is left
    // there.
    let leaf = match Sql::new(SHOWN_BEFORE).bind(finish.run).maybe::<(MessageId,)>(tx).await? {
        Some((shown,)) => shown,
        None => tree::newest_below(tx, finish.session, finish.human).await?,
    };
    tree::move_leaf(tx, finish.session, finish.message, leaf).await
}

const ADD_PART: &str = "
insert into message_parts (message_id, no, run_id, kind, body)
select $1, coalesce(max(no), 0) + 1, $2, $3, $4 from message_parts where message_id = $1";

async fn add_parts(tx: &mut Tx, message: MessageId, run: RunId, parts: &[MessagePart]) -> Result<(), StoreError> {
    for part in parts {
        let kind = match part {
            MessagePart::Text { .. } => "text",
            MessagePart::Reasoning { .. } => "reasoning",
            MessagePart::ToolCall { .. } => "tool_call",
            MessagePart::ToolResult { .. } => "tool_result",
        };
        Sql::new(ADD_PART).bind(message).bind(run).bind(kind).json(part).run(tx).await?;
    }
    Ok(())
}

const ADD_CITATION: &str = "
insert into citations (message_id, marker, document_id, version_no, filename, page, char_start, char_end, quote,
                       quote_sha256)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (message_id, marker) do nothing";

async fn add_citations(tx: &mut Tx, message: MessageId, citations: &[Citation]) -> Result<(), StoreError> {
    for citation in citations {
        Sql::new(ADD_CITATION)
            .bind(message)
            .bind(citation.marker)
            .bind(citation.document_id)
            .bind(citation.version)
            .bind(citation.filename.as_str())
            .bind(citation.page.as_deref())
            .bind(citation.start)
            .bind(citation.end)
            .bind(citation.quote.as_str())
            .bind(citation.quote_sha256.as_str())
            .run(tx)
            .await?;
    }
    Ok(())
}

// An answer that is written on keeps the trace of what it rests on. One was kept from when the answer began.
const ADD_TRACE: &str = "
insert into traces (run_id, body) values ($1, $2) on conflict (run_id) do update set body = excluded.body";

async fn add_trace(tx: &mut Tx, run: RunId, trace: &RagTrace) -> Result<(), StoreError> {
    let body = serde_json::to_vec(trace).map_err(|error| unreadable("trace", error))?;
    Sql::new(ADD_TRACE).bind(run).bind(body).run(tx).await.map(|_| ())
}

/// Settles the question that the run says it had taken; one that it had taken and does not speak of opens again.
async fn settle(tx: &mut Tx, finish: &Finish) -> Result<(), StoreError> {
    if let Some((id, settlement, reason)) = &finish.settle {
        hitl::settle(tx, *id, (*settlement, reason), finish.run, finish.human, finish.now).await?;
    }
    for id in hitl::still_taken(tx, finish.session, finish.run).await? {
        let reopened = (Settlement::Reopened, "the run ended without judging the reply");
        hitl::settle(tx, id, reopened, finish.run, finish.human, finish.now).await?;
    }
    Ok(())
}

const END_RUN: &str = "
update runs
set status = $3, error = $4, ended_at = $5, message_id = case when $6 then message_id else null end,
    last_seq = coalesce($7, (select max(e.last_seq) from run_events e where e.run_id = runs.id), 0)
where id = $1 and status = 'running' and owner = $2
returning user_id";

async fn end_run(
    tx: &mut Tx,
    finish: &Finish,
    something_said: bool,
    last_seq: Option<u64>,
) -> Result<UserId, StoreError> {
    let ended = Sql::new(END_RUN)
        .bind(finish.run)
        .bind(finish.owner.as_str())
        .bind(Word(finish.status))
        .json_opt(finish.error.as_ref())
        .bind(finish.now)
        .bind(something_said)
        .bind(last_seq.map(u64::cast_signed))
        .maybe::<(UserId,)>(tx)
        .await?;
    ended.map(|(user,)| user).ok_or(FENCED)
}

const TELL: Texts = texts!("
update background_events set told_in = $2
where user_id = $1 and told_in is null and id in (" [3] ")");
