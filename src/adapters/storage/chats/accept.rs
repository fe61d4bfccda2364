//! Accepting a turn: one transaction that claims the session, takes the branch's open question, and appends the user's
//! message, the running answer and the run. A refusal is an error, so that all of it is undone.

use serde::Serialize;

use super::{
    super::sql::{Sql, Tx, Word},
    claim::{Claim, claim_key, claim_session},
    hitl,
    place::{Place, place},
    search::{self, Terms},
};
use crate::domain::{
    chat::{Accept, Accepted, HitlReply, Refused, Session, TurnRequest},
    error::StoreError,
    hitl::{HitlStatus, Pending},
    id::MessageId,
};

pub(super) async fn accept(tx: &mut Tx, accept: &Accept, terms: &Terms) -> Result<Accepted, Refused> {
    claim_key(tx, accept).await?;
    let claim = claim_session(tx, accept).await?;
    fail::fail_point!("accept:claimed");
    begin(tx, accept, claim, terms, RunRow::New).await
}

/// Whether the run has its row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunRow {
    /// It gets it now.
    New,
    /// It waited in line.
    Queued,
}

/// Everything behind the claim.
pub(super) async fn begin(
    tx: &mut Tx,
    accept: &Accept,
    claim: Claim,
    terms: &Terms,
    row: RunRow,
) -> Result<Accepted, Refused> {
    let mut place = place(tx, &claim, accept).await?;
    if let Some(question) = &mut place.question {
        take(tx, question, &place.request.hitl, accept, place.human).await?;
    }
    fail::fail_point!("accept:taken");
    append(tx, accept, &claim, &place, row).await?;
    if place.request.kind.speaks() {
        make_searchable(tx, accept, &claim, &place, terms).await?;
    }
    fail::fail_point!("accept:appended");
    let question = place.question.as_ref().map(|question| question.id);
    let session = Session {
        id: claim.id,
        owner: accept.user,
        name: accept.session_name.clone(),
        title: claim.title,
        active_leaf: Some(place.message),
        running_run: Some(accept.run),
        message_count: claim.message_count,
        question,
        awaiting_input: false,
        created_at: claim.created_at,
        updated_at: accept.now,
    };
    let Place { parent, human, text, message, question: above, request } = place;
    let first_turn = request.kind.speaks() && claim.message_count == 1;
    Ok(Accepted { session, first_turn, request, parent, human, text, message, question: above })
}

/// Refuses options that the question does not offer.
pub(super) fn check_options(question: &Pending, reply: Option<&HitlReply>) -> Result<(), Refused> {
    // Without a readable record nothing can be checked, and the message will run as a new question.
    let (Some(reply), Some(record)) = (reply, &question.record) else { return Ok(()) };
    let valid: Vec<&String> = record.question.options.iter().map(|option| &option.id).collect();
    match reply.option_ids.iter().find(|id| !valid.contains(id)) {
        Some(unknown) => {
            let valid = valid.into_iter().cloned().collect();
            Err(Refused::UnknownOption { option: unknown.clone(), valid })
        }
        None => Ok(()),
    }
}

/// Takes an open question for this run; one that was settled before stays as it is. Options are checked here, so that
/// a wrong one leaves it open.
async fn take(
    tx: &mut Tx,
    question: &mut Pending,
    reply: &Option<HitlReply>,
    accept: &Accept,
    human: MessageId,
) -> Result<(), Refused> {
    check_options(question, reply.as_ref())?;
    if question.status == HitlStatus::Open {
        hitl::take(tx, question.id, accept.run, human, accept.now).await?;
        question.status = HitlStatus::Taken;
        question.taken_by = Some(accept.run);
    }
    Ok(())
}

/// A run's request, and what the session showed before it.
#[derive(Serialize)]
struct Kept<'r> {
    #[serde(flatten)]
    request: &'r TurnRequest,
    shown: Option<MessageId>,
}

const ADD_QUESTION: &str = "
insert into messages (id, session_id, parent_id, ord, kind, status, run_id, content, created_at)
values ($1, $2, $3, $4, 'human', 'completed', $5, $6, $7)";

const ADD_ANSWER: &str = "
insert into messages (id, session_id, parent_id, ord, kind, status, run_id, content, model, created_at)
values ($1, $2, $3, $4, 'ai', 'running', $5, '', $6, $7)";

const ADD_RUN: &str = "
insert into runs (id, session_id, user_id, kind, status, request, human_id, message_id, owner, on_disconnect,
                  created_at, started_at)
values ($1, $2, $3, $10, 'running', $4, $5, $6, $7, $8, $9, $9)
on conflict (session_id) where status = 'running' do nothing";

const START_RUN: &str = "
update runs
set status = 'running', request = $4, human_id = $5, message_id = $6, owner = $7, started_at = $9
where id = $1 and session_id = $2 and user_id = $3 and status = 'queued' and on_disconnect = $8 and kind = $10";

const SHOW_LEAF: &str = "update sessions set active_leaf = $2 where id = $1";

async fn append(tx: &mut Tx, accept: &Accept, claim: &Claim, place: &Place, row: RunRow) -> Result<(), Refused> {
    let kind = place.request.kind;
    let mut ord = claim.ord;
    if kind.speaks() {
        Sql::new(ADD_QUESTION)
            .bind(place.human)
            .bind(claim.id)
            .bind(place.parent)
            .bind(ord)
            .bind(accept.run)
            .bind(place.text.as_str())
            .bind(accept.now)
            .run(tx)
            .await?;
        ord += 1;
    }
    if kind.answers_anew() {
        Sql::new(ADD_ANSWER)
            .bind(place.message)
            .bind(claim.id)
            .bind(place.human)
            .bind(ord)
            .bind(accept.run)
            .bind(accept.model.as_str())
            .bind(accept.now)
            .run(tx)
            .await?;
    }
    let running = Sql::new(match row {
        RunRow::New => ADD_RUN,
        RunRow::Queued => START_RUN,
    });
    let running = running
        .bind(accept.run)
        .bind(claim.id)
        .bind(accept.user)
        .json(&Kept { request: &place.request, shown: claim.active_leaf })
        .bind(place.human)
        .bind(place.message)
        .bind(accept.owner.as_str())
        .bind(Word(place.request.on_disconnect))
        .bind(accept.now)
        .bind(kind.as_str());
    if running.run(tx).await? == 0 {
        return Err(StoreError::Conflict("another run of the session is running").into());
    }
    Sql::new(SHOW_LEAF).bind(claim.id).bind(place.message).run(tx).await?;
    Ok(())
}

/// `terms` are those of the message as it was sent; chosen labels in its place are short.
async fn make_searchable(
    tx: &mut Tx,
    accept: &Accept,
    claim: &Claim,
    place: &Place,
    terms: &Terms,
) -> Result<(), StoreError> {
    if place.text == accept.request.message {
        search::write_message(tx, claim.id, place.human, terms).await?;
    } else {
        search::write_message(tx, claim.id, place.human, &Terms::of(&place.text)).await?;
    }
    match &claim.title {
        Some(title) if claim.message_count == 1 => search::write_title(tx, claim.id, title).await,
        _ => Ok(()),
    }
}
