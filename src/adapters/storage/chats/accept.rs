//! Accepting a turn: one transaction that claims the session, takes the branch's open question, and appends the user's
//! message, the running answer and the run. A refusal is an error, so that all of it is undone.

use sqlx::FromRow;

use super::{
    super::sql::{Sql, Tx, Word},
    hitl::{self, PendingRow},
    search::{self, Terms},
};
use crate::domain::{
    chat::{Accept, Accepted, HitlReply, Refused, Session, TurnRequest},
    error::StoreError,
    hitl::{HitlStatus, Pending},
    id::{MessageId, RunId, SessionId},
    time::Millis,
};

pub(super) async fn accept(tx: &mut Tx, accept: &Accept, terms: &Terms) -> Result<Accepted, Refused> {
    claim_key(tx, accept).await?;
    let claim = claim_session(tx, accept).await?;
    fail::fail_point!("accept:claimed");
    let (parent, open) = place(tx, &claim, &accept.request, accept.now).await?;
    let taken = match open {
        Some(pending) => Some(take(tx, pending, accept).await?),
        None => None,
    };
    fail::fail_point!("accept:taken");
    let text = accept.request.stored_text(taken.as_ref());
    append(tx, accept, &claim, parent, &text).await?;
    make_searchable(tx, accept, &claim, &text, terms).await?;
    fail::fail_point!("accept:appended");
    let question = taken.as_ref().map(|taken| taken.id);
    let session = Session {
        id: claim.id,
        owner: accept.user,
        name: accept.session_name.clone(),
        title: claim.title,
        active_leaf: Some(accept.message),
        running_run: Some(accept.run),
        message_count: claim.message_count,
        question,
        awaiting_input: false,
        created_at: claim.created_at,
        updated_at: accept.now,
    };
    Ok(Accepted { first_turn: claim.message_count == 1, session, parent, text, taken })
}

const FORGET_KEYS: &str = "delete from idempotency where user_id = $1 and expires_at <= $2";

const CLAIM_KEY: &str = "
insert into idempotency (user_id, scope, key, body_sha256, run_id, expires_at) values ($1, $2, $3, $4, $5, $6)
on conflict (user_id, scope, key) do nothing";

const KEY: &str = "select body_sha256, run_id from idempotency where user_id = $1 and scope = $2 and key = $3";

async fn claim_key(tx: &mut Tx, accept: &Accept) -> Result<(), Refused> {
    let Some(promise) = &accept.idempotency else { return Ok(()) };
    Sql::new(FORGET_KEYS).bind(accept.user).bind(accept.now).run(tx).await?;
    let claimed = Sql::new(CLAIM_KEY)
        .bind(accept.user)
        .bind(promise.scope.as_str())
        .bind(promise.key.as_str())
        .bind(promise.body_sha256.as_str())
        .bind(accept.run)
        .bind(promise.expires_at)
        .run(tx)
        .await?;
    if claimed == 1 {
        return Ok(());
    }
    let earlier = Sql::new(KEY).bind(accept.user).bind(promise.scope.as_str()).bind(promise.key.as_str());
    match earlier.maybe::<(String, RunId)>(tx).await? {
        Some((body, run)) if body == promise.body_sha256 => Err(Refused::Duplicate(run)),
        Some(_) => Err(Refused::IdempotencyMismatch),
        None => Err(StoreError::Conflict("the key was let go meanwhile").into()),
    }
}

#[derive(FromRow)]
struct Claim {
    id: SessionId,
    ord: i64,
    active_leaf: Option<MessageId>,
    title: Option<String>,
    message_count: i64,
    created_at: Millis,
}

const MAKE_SESSION: &str = "
insert into sessions (id, owner_id, name, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (owner_id, name) do nothing";

// The answer counts when it has ended with something said.
const CLAIM_SESSION: &str = "
update sessions
set running_run = $3, next_ord = next_ord + 2, message_count = message_count + 1, updated_at = $4,
    title = coalesce(title, $5), title_by = case when title is null then 'words' else title_by end
where owner_id = $1 and name = $2 and running_run is null
returning id, next_ord - 2 as ord, active_leaf, title, message_count, created_at";

const RUNNING: &str = "select running_run from sessions where owner_id = $1 and name = $2";

async fn claim_session(tx: &mut Tx, accept: &Accept) -> Result<Claim, Refused> {
    Sql::new(MAKE_SESSION)
        .bind(accept.new_session)
        .bind(accept.user)
        .bind(accept.session_name.as_str())
        .bind(accept.now)
        .run(tx)
        .await?;
    let claim = Sql::new(CLAIM_SESSION)
        .bind(accept.user)
        .bind(accept.session_name.as_str())
        .bind(accept.run)
        .bind(accept.now)
        .bind(accept.title.as_str())
        .maybe::<Claim>(tx)
        .await?;
    if let Some(claim) = claim {
        return Ok(claim);
    }
    let running = Sql::new(RUNNING).bind(accept.user).bind(accept.session_name.as_str());
    match running.maybe::<(Option<RunId>,)>(tx).await? {
        Some((Some(run),)) => Err(Refused::Busy(run)),
        // It ended, or the session was deleted, between the two statements: only Postgres lets that be seen.
        _ => Err(StoreError::Conflict("the session changed meanwhile").into()),
    }
}

const HAS_MESSAGE: &str = "select count(*) from messages where id = $1 and session_id = $2";

/// Where the user's message hangs, and the question there that is open.
///
/// A reply that names a question of another branch, and no parent, answers where that question was asked.
async fn place(
    tx: &mut Tx,
    claim: &Claim,
    request: &TurnRequest,
    now: Millis,
) -> Result<(Option<MessageId>, Option<Pending>), Refused> {
    let parent = request.parent.or(claim.active_leaf);
    if let Some(parent) = request.parent {
        let (found,) = Sql::new(HAS_MESSAGE).bind(parent).bind(claim.id).one::<(i64,)>(tx).await?;
        if found == 0 {
            return Err(Refused::NotFound);
        }
    }
    let nearest = match parent {
        Some(leaf) => hitl::nearest(tx, &[leaf]).await?.remove(&leaf),
        None => None,
    };
    let Some(id) = request.hitl.as_ref().and_then(|reply| reply.id) else {
        let open = of_branch(tx, nearest, request.hitl.as_ref(), now).await?;
        return Ok((parent, open));
    };
    let named = hitl::by_id(tx, claim.id, id).await?.ok_or(Refused::NotFound)?;
    let asked_in = named.message_id;
    let pending = open(named.at(now)?)?;
    if nearest.is_some_and(|nearest| nearest.message_id == asked_in) {
        Ok((parent, Some(pending)))
    } else if request.parent.is_none() {
        Ok((Some(asked_in), Some(pending)))
    } else {
        Err(Refused::NotFound)
    }
}

/// The open question of the branch. A message that only says something about a question needs one.
async fn of_branch(
    tx: &mut Tx,
    nearest: Option<PendingRow>,
    reply: Option<&HitlReply>,
    now: Millis,
) -> Result<Option<Pending>, Refused> {
    let needs_one = reply.is_some_and(|reply| reply.action.is_some() || !reply.option_ids.is_empty());
    let Some(row) = nearest else {
        return if needs_one { Err(Refused::NotFound) } else { Ok(None) };
    };
    let is_due = row.is_due(now);
    let pending = row.at(now)?;
    if is_due {
        hitl::expire(tx, pending.id, now).await?;
    }
    if pending.status == HitlStatus::Open || needs_one { open(pending).map(Some) } else { Ok(None) }
}

/// Passes an open question on and says why another one cannot be answered.
fn open(pending: Pending) -> Result<Pending, Refused> {
    match pending.status {
        HitlStatus::Open => Ok(pending),
        HitlStatus::Expired => Err(Refused::HitlExpired),
        status => Err(Refused::HitlNotOpen(status)),
    }
}

/// Takes the question for this run. Options are checked here, so that a wrong one leaves it open.
async fn take(tx: &mut Tx, mut pending: Pending, accept: &Accept) -> Result<Pending, Refused> {
    // Without a readable record nothing can be checked, and the message will run as a new question.
    if let (Some(reply), Some(record)) = (&accept.request.hitl, &pending.record) {
        let valid: Vec<&String> = record.question.options.iter().map(|option| &option.id).collect();
        if let Some(unknown) = reply.option_ids.iter().find(|id| !valid.contains(id)) {
            let valid = valid.into_iter().cloned().collect();
            return Err(Refused::UnknownOption { option: unknown.clone(), valid });
        }
    }
    hitl::take(tx, pending.id, accept.run, accept.human, accept.now).await?;
    pending.status = HitlStatus::Taken;
    pending.taken_by = Some(accept.run);
    Ok(pending)
}

const APPEND: &str = "
insert into messages (id, session_id, parent_id, ord, kind, status, run_id, content, model, created_at)
values ($1, $2, $3, $4, 'human', 'completed', $5, $6, null, $7), ($8, $2, $1, $4 + 1, 'ai', 'running', $5, '', $9, $7)";

const ADD_RUN: &str = "
insert into runs (id, session_id, user_id, kind, status, request, human_id, message_id, owner, on_disconnect,
                  created_at, started_at)
values ($1, $2, $3, 'turn', 'running', $4, $5, $6, $7, $8, $9, $9)
on conflict (session_id) where status = 'running' do nothing";

const SHOW_LEAF: &str = "update sessions set active_leaf = $2 where id = $1";

async fn append(
    tx: &mut Tx,
    accept: &Accept,
    claim: &Claim,
    parent: Option<MessageId>,
    text: &str,
) -> Result<(), Refused> {
    Sql::new(APPEND)
        .bind(accept.human)
        .bind(claim.id)
        .bind(parent)
        .bind(claim.ord)
        .bind(accept.run)
        .bind(text)
        .bind(accept.now)
        .bind(accept.message)
        .bind(accept.model.as_str())
        .run(tx)
        .await?;
    let added = Sql::new(ADD_RUN)
        .bind(accept.run)
        .bind(claim.id)
        .bind(accept.user)
        .json(&accept.request)
        .bind(accept.human)
        .bind(accept.message)
        .bind(accept.owner.as_str())
        .bind(Word(accept.request.on_disconnect))
        .bind(accept.now)
        .run(tx)
        .await?;
    if added == 0 {
        return Err(StoreError::Conflict("another run of the session is running").into());
    }
    Sql::new(SHOW_LEAF).bind(claim.id).bind(accept.message).run(tx).await?;
    Ok(())
}

/// `terms` are those of the message as it was sent; chosen labels in its place are short.
async fn make_searchable(
    tx: &mut Tx,
    accept: &Accept,
    claim: &Claim,
    text: &str,
    terms: &Terms,
) -> Result<(), StoreError> {
    if text == accept.request.message {
        search::write_message(tx, claim.id, accept.human, terms).await?;
    } else {
        search::write_message(tx, claim.id, accept.human, &Terms::of(text)).await?;
    }
    match &claim.title {
        Some(title) if claim.message_count == 1 => search::write_title(tx, claim.id, title).await,
        _ => Ok(()),
    }
}
