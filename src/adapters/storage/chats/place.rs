//! Where in the tree a run writes, and which question above it may resume.

use sqlx::{FromRow, types::Json};

use super::{
    super::sql::{Sql, Tx, Word},
    claim::Claim,
    hitl::{self, PendingRow},
};
use crate::domain::{
    chat::{Accept, HitlReply, MessageKind, MessageStatus, Refused, TurnRequest},
    hitl::{HitlStatus, Pending},
    id::{MessageId, SessionId},
    run::RunKind,
    time::Millis,
};

/// A run's place in the tree.
pub(super) struct Place {
    /// What the user's message hangs on.
    pub(super) parent: Option<MessageId>,
    /// The user's message, new or not.
    pub(super) human: MessageId,
    /// Its text.
    pub(super) text: String,
    /// The answer, new or not.
    pub(super) message: MessageId,
    /// See [`crate::domain::chat::Accepted::question`]; `Open` as long as nobody took it.
    pub(super) question: Option<Pending>,
    /// See [`crate::domain::chat::Accepted::request`].
    pub(super) request: TurnRequest,
}

pub(super) async fn place(tx: &mut Tx, claim: &Claim, accept: &Accept) -> Result<Place, Refused> {
    match accept.request.kind {
        RunKind::Turn => turn(tx, claim, accept).await,
        RunKind::Edit(of) => edit(tx, claim, accept, of).await,
        RunKind::Regenerate(of) => regenerate(tx, claim, accept, of).await,
        RunKind::Continue(of) => go_on(tx, claim, accept, of).await,
    }
}

/// Under the shown leaf, or where the request says. A reply that names a question of another branch, and no parent,
/// answers where that question was asked.
async fn turn(tx: &mut Tx, claim: &Claim, accept: &Accept) -> Result<Place, Refused> {
    let request = accept.request.clone();
    if let Some(parent) = request.parent {
        stored(tx, claim.id, parent).await?;
    }
    let mut parent = request.parent.or(claim.active_leaf);
    let nearest = above(tx, parent).await?;
    let question = match request.hitl.as_ref().and_then(|reply| reply.id) {
        None => of_branch(tx, nearest, request.hitl.as_ref(), accept.now).await?,
        Some(id) => {
            let named = hitl::by_id(tx, claim.id, id).await?.ok_or(Refused::NotFound)?;
            let asked_in = named.message_id;
            let pending = open(named.at(accept.now)?)?;
            if nearest.is_none_or(|nearest| nearest.message_id != asked_in) {
                if request.parent.is_some() {
                    return Err(Refused::NotFound);
                }
                parent = Some(asked_in);
            }
            Some(pending)
        }
    };
    let text = request.stored_text(question.as_ref());
    Ok(Place { parent, human: accept.human, text, message: accept.message, question, request })
}

/// Beside a message of the user. Where that was the reply to a question, so is this.
async fn edit(tx: &mut Tx, claim: &Claim, accept: &Accept, of: MessageId) -> Result<Place, Refused> {
    let edited = stored(tx, claim.id, of).await?;
    if edited.kind.0 != MessageKind::Human {
        return Err(Refused::WrongMessage("only a message of the user can be edited"));
    }
    let parent = edited.parent_id;
    let request = accept.request.clone();
    let nearest = above(tx, parent).await?;
    if let Some(id) = request.hitl.as_ref().and_then(|reply| reply.id)
        && nearest.as_ref().is_none_or(|nearest| nearest.id != id)
    {
        return Err(Refused::NotFound);
    }
    let question = match replied(tx, &nearest, of, accept.now).await? {
        Some(settled) => Some(settled),
        None => of_branch(tx, nearest, request.hitl.as_ref(), accept.now).await?,
    };
    let text = request.stored_text(question.as_ref());
    Ok(Place { parent, human: accept.human, text, message: accept.message, question, request })
}

/// Another answer to a message of the user, under the conditions of the first.
async fn regenerate(tx: &mut Tx, claim: &Claim, accept: &Accept, of: MessageId) -> Result<Place, Refused> {
    let named = stored(tx, claim.id, of).await?;
    let (human, human_row) = match (named.kind.0, named.parent_id) {
        (MessageKind::Human, _) => (of, stored(tx, claim.id, of).await?),
        (MessageKind::Ai, Some(human)) => (human, stored(tx, claim.id, human).await?),
        (MessageKind::Ai, None) => return Err(Refused::WrongMessage("it answers nothing")),
    };
    let nearest = above(tx, human_row.parent_id).await?;
    let question = match replied(tx, &nearest, human, accept.now).await? {
        Some(settled) => Some(settled),
        None => of_branch(tx, nearest, None, accept.now).await?,
    };
    let mut request = under_conditions_of(&named, accept);
    // What was said about a question that is not resumed is said in the stored text.
    request.hitl = request.hitl.filter(|_| question.is_some());
    Ok(Place {
        parent: human_row.parent_id,
        human,
        text: human_row.content,
        message: accept.message,
        question,
        request,
    })
}

/// At the end of an answer. What somebody replied to stays as they read it.
async fn go_on(tx: &mut Tx, claim: &Claim, accept: &Accept, of: MessageId) -> Result<Place, Refused> {
    let answer = stored(tx, claim.id, of).await?;
    let human = match (answer.kind.0, answer.parent_id) {
        (MessageKind::Ai, Some(human)) => human,
        _ => return Err(Refused::NotContinuable("only an answer can be continued")),
    };
    match answer.status.0 {
        MessageStatus::Completed | MessageStatus::Stopped | MessageStatus::Failed | MessageStatus::Interrupted => {}
        MessageStatus::AwaitingInput => {
            return Err(Refused::NotContinuable("a question cannot be continued; answer it"));
        }
        MessageStatus::Running => return Err(Refused::NotContinuable("the answer is being written")),
    }
    if answer.replies > 0 {
        return Err(Refused::NotContinuable("an answer that was replied to cannot be continued; regenerate it"));
    }
    let human_row = stored(tx, claim.id, human).await?;
    // The run that began the answer left the question open; the one that ends it settles it.
    let nearest = above(tx, human_row.parent_id).await?;
    let question = of_branch(tx, nearest, None, accept.now).await?;
    let mut request = under_conditions_of(&answer, accept);
    request.hitl = request.hitl.filter(|_| question.is_some());
    Ok(Place { parent: human_row.parent_id, human, text: human_row.content, message: of, question, request })
}

#[derive(FromRow)]
struct Stored {
    parent_id: Option<MessageId>,
    kind: Word<MessageKind>,
    status: Word<MessageStatus>,
    content: String,
    replies: i64,
    request: Option<Json<TurnRequest>>,
}

const STORED: &str = "
select m.parent_id, m.kind, m.status, m.content, r.request,
       (select count(*) from messages c where c.session_id = m.session_id and c.parent_id = m.id) as replies
from messages m left join runs r on r.id = m.run_id where m.id = $1 and m.session_id = $2";

async fn stored(tx: &mut Tx, session: SessionId, id: MessageId) -> Result<Stored, Refused> {
    Sql::new(STORED).bind(id).bind(session).maybe(tx).await?.ok_or(Refused::NotFound)
}

/// The first request, with what the new one says of model and manner.
fn under_conditions_of(message: &Stored, accept: &Accept) -> TurnRequest {
    let new = accept.request.clone();
    let Some(Json(first)) = &message.request else { return new };
    let first = first.clone();
    TurnRequest {
        message: first.message,
        hitl: first.hitl.map(|reply| HitlReply { id: None, ..reply }),
        collections: new.collections.or(first.collections),
        model: new.model.or(first.model),
        sampling: new.sampling.or(first.sampling),
        ..new
    }
}

async fn above(tx: &mut Tx, parent: Option<MessageId>) -> Result<Option<PendingRow>, Refused> {
    Ok(match parent {
        Some(leaf) => hitl::nearest(tx, &[leaf]).await?.remove(&leaf),
        None => None,
    })
}

/// The question that `reply` settled: whatever became of it, another wording is understood against it.
async fn replied(
    tx: &mut Tx,
    nearest: &Option<PendingRow>,
    reply: MessageId,
    now: Millis,
) -> Result<Option<Pending>, Refused> {
    let Some(row) = nearest else { return Ok(None) };
    Ok(if hitl::is_settled_by(tx, row, reply).await? { Some(row.clone().at(now)?) } else { None })
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
