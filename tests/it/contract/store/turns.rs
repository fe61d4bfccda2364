//! How the suite speaks of turns.

use std::time::Duration;

use askback::domain::{
    chat::{Accept, Accepted, ChatStore, Finish, HistoryStore, HitlReply, Idempotency, Message, Refused, TurnRequest},
    hitl::{NewPending, Record, Settlement},
    id::{HitlId, MessageId, UserId},
    run::{FrameBatch, RunStatus},
};

use super::two_products;
use crate::support::store::TestStore;

/// The process of these tests.
pub(super) const OWNER: &str = "node:boot";

/// A request that says this.
pub(super) fn says(message: &str) -> TurnRequest {
    TurnRequest { message: message.into(), ..TurnRequest::default() }
}

/// A request about a question.
pub(super) fn replies(message: &str, id: Option<HitlId>, options: &[&str]) -> TurnRequest {
    let option_ids = options.iter().map(|option| (*option).to_owned()).collect();
    TurnRequest { hitl: Some(HitlReply { id, action: None, option_ids }), ..says(message) }
}

/// What accepting this request in session `s` writes.
pub(super) fn turn(test: &TestStore, user: UserId, request: TurnRequest) -> Accept {
    Accept {
        user,
        session_name: "s".into(),
        new_session: test.id(),
        human: test.id(),
        message: test.id(),
        run: test.id(),
        owner: OWNER.into(),
        title: request.message.clone(),
        request,
        model: "built-in".into(),
        idempotency: None,
        now: test.now(),
    }
}

pub(super) fn promise(test: &TestStore, body: &str) -> Idempotency {
    Idempotency {
        scope: "chat".into(),
        key: "key".into(),
        body_sha256: body.into(),
        expires_at: test.now() + Duration::from_secs(60),
    }
}

/// A turn that was accepted and now runs.
pub(super) struct Turn {
    pub(super) accept: Accept,
    pub(super) accepted: Accepted,
}

pub(super) async fn begin(test: &TestStore, user: UserId, request: TurnRequest) -> Turn {
    try_begin(test, user, request).await.unwrap()
}

pub(super) async fn try_begin(test: &TestStore, user: UserId, request: TurnRequest) -> Result<Turn, Refused> {
    let accept = turn(test, user, request);
    test.store.accept(&accept).await.map(|accepted| Turn { accept, accepted })
}

impl Turn {
    /// How it ends when it ends so, and nothing else is to be said about it.
    pub(super) fn end(&self, status: RunStatus, content: &str) -> Finish {
        Finish {
            run: self.accept.run,
            owner: OWNER.into(),
            extends: !self.accepted.request.kind.answers_anew(),
            session: self.accepted.session.id,
            human: self.accepted.human,
            message: self.accepted.message,
            status,
            content: content.into(),
            finish_reason: None,
            model: None,
            usage: None,
            timings: None,
            parts: Vec::new(),
            citations: Vec::new(),
            trace: None,
            settle: None,
            ask: None,
            episodes: Vec::new(),
            told: Vec::new(),
            error: None,
            frames: self.frames(1, 0, ""),
            now: self.accept.now,
        }
    }

    pub(super) fn frames(&self, first_seq: u64, last_seq: u64, lines: &str) -> FrameBatch {
        FrameBatch { run: self.accept.run, owner: OWNER.into(), first_seq, last_seq, lines: lines.into() }
    }

    pub(super) async fn answer(&self, test: &TestStore, content: &str) {
        test.store.finish(&self.end(RunStatus::Completed, content)).await.unwrap();
    }

    /// Ends it with a question; gives the question's id.
    pub(super) async fn ask(&self, test: &TestStore) -> HitlId {
        let ask = question(test, two_products());
        let id = ask.id;
        let finish = Finish { ask: Some(ask), ..self.end(RunStatus::AwaitingInput, "哪一个产品？") };
        test.store.finish(&finish).await.unwrap();
        id
    }

    pub(super) fn settling(&self, id: HitlId, settlement: Settlement, status: RunStatus) -> Finish {
        Finish { settle: Some((id, settlement, "because".into())), ..self.end(status, "said") }
    }
}

/// A first-round question that is open for an hour.
pub(super) fn question(test: &TestStore, record: Record) -> NewPending {
    let id = test.id();
    NewPending {
        id,
        root: id,
        round: 1,
        fingerprint: "warranty/subject".into(),
        record,
        expires_at: test.now() + Duration::from_secs(3600),
    }
}

/// The branch under this leaf: who said what, in which state.
pub(super) async fn told(test: &TestStore, user: UserId, leaf: MessageId) -> Vec<(i64, String, &'static str)> {
    whole(test, user, leaf).await.into_iter().map(|line| (line.ord, line.content, line.status.as_str())).collect()
}

pub(super) async fn whole(test: &TestStore, user: UserId, leaf: MessageId) -> Vec<Message> {
    test.store.conversation(user, "s", Some(leaf), i64::MAX).await.unwrap().1
}
