//! Questions to the user: the table of moves.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, Finish, HitlAction, HitlMove, HitlReply, Refused},
    error::StoreError,
    hitl::{HitlStatus, NewPending, Pending, Settlement},
    id::{HitlId, UserId},
    run::RunStatus,
};

use super::{
    on_both_engines, someone,
    turns::{Turn, begin, question, replies, says, try_begin, whole},
    two_products,
};
use crate::support::store::TestStore;

on_both_engines!(
    a_question_is_taken_by_the_next_message_and_answered,
    a_question_waits_on_its_session,
    a_session_waits_whatever_answer_is_passed_over,
    a_failed_run_opens_its_question_again,
    a_run_that_says_nothing_of_its_question_opens_it_again,
    a_question_is_superseded_or_dismissed,
    an_answer_that_asks_again_opens_the_next_round,
    the_same_question_is_not_asked_twice,
    an_expired_question_lets_the_message_through,
    a_question_that_expires_while_taken_does_not_open_again,
    a_reply_by_id_to_a_question_that_is_not_open_is_refused,
    an_unknown_option_writes_nothing,
    chosen_labels_are_the_message,
    each_branch_has_its_own_question,
    a_passed_over_answer_does_not_hide_the_question,
);

async fn status(test: &TestStore, user: UserId, id: HitlId) -> HitlStatus {
    test.store.pending(user, id).await.unwrap().0.status
}

async fn moves(test: &TestStore, user: UserId, id: HitlId) -> Vec<(HitlStatus, HitlStatus, String)> {
    let (_, moves) = test.store.pending(user, id).await.unwrap();
    moves.into_iter().map(|step| (step.from, step.to, step.reason)).collect()
}

async fn asked(test: &TestStore, user: UserId) -> (Turn, HitlId) {
    let turn = begin(test, user, says("How long is the warranty?")).await;
    let id = turn.ask(test).await;
    (turn, id)
}

async fn a_question_is_taken_by_the_next_message_and_answered(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (asking, id) = asked(test, eva).await;
    let open = Pending {
        id,
        message: asking.accept.message,
        root: id,
        round: 1,
        status: HitlStatus::Open,
        fingerprint: "warranty/subject".into(),
        record: Some(two_products()),
        prompt: "哪一个产品？".into(),
        route: askback::domain::evidence::Route::ScopeSelect,
        expires_at: test.now() + Duration::from_secs(3600),
        created_at: test.now(),
        taken_by: None,
        answered_by: None,
    };
    assert_eq!(test.store.pending(eva, id).await, Ok((open.clone(), Vec::new())));
    assert_eq!(whole(test, eva, asking.accept.message).await[1].pending, Some(open.clone()));

    let reply = begin(test, eva, says("2")).await;
    let taken = Pending { status: HitlStatus::Taken, taken_by: Some(reply.accept.run), ..open.clone() };
    assert_eq!(reply.accepted.question, Some(taken.clone()));
    assert_eq!(test.store.pending(eva, id).await.unwrap().0, taken);

    let finish = reply.settling(id, Settlement::Answered, RunStatus::Completed);
    test.store.finish(&finish).await.unwrap();
    let answered = Pending { status: HitlStatus::Answered, answered_by: Some(reply.accept.human), ..open };
    let run = Some(reply.accept.run);
    let history = vec![
        HitlMove {
            from: HitlStatus::Open,
            to: HitlStatus::Taken,
            run,
            reason: "a message arrived".into(),
            at: test.now(),
        },
        HitlMove { from: HitlStatus::Taken, to: HitlStatus::Answered, run, reason: "because".into(), at: test.now() },
    ];
    assert_eq!(test.store.pending(eva, id).await, Ok((answered, history)));
    assert_eq!(begin(test, eva, says("next")).await.accepted.question, None);
}

async fn a_question_waits_on_its_session(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    assert!(test.store.session(eva, "s").await.unwrap().awaiting_input);
    assert!(test.store.sessions(eva, None, 1).await.unwrap()[0].awaiting_input);
    test.clock.forward(Duration::from_secs(3600));
    assert!(!test.store.session(eva, "s").await.unwrap().awaiting_input);
    assert_eq!(status(test, eva, id).await, HitlStatus::Expired, "before any row says so");
}

/// The question of session `s` and whether it waits, as the list and the session itself tell it.
async fn waiting(test: &TestStore, user: UserId) -> (Option<HitlId>, bool) {
    let listed = test.store.sessions(user, None, 1).await.unwrap().remove(0);
    assert_eq!(test.store.session(user, "s").await, Ok(listed.clone()), "one truth for both");
    (listed.question, listed.awaiting_input)
}

async fn a_session_waits_whatever_answer_is_passed_over(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    for (end, content) in [
        (RunStatus::Stopped, "half"),
        (RunStatus::Failed, "an answer"),
        (RunStatus::Interrupted, "that broke off"),
        (RunStatus::Failed, ""),
    ] {
        let reply = begin(test, eva, says("2")).await;
        assert_eq!(waiting(test, eva).await, (Some(id), false), "it is being answered");
        test.store.finish(&reply.end(end, content)).await.unwrap();
        assert_eq!(waiting(test, eva).await, (Some(id), true), "after {end:?}");
    }
    let reply = begin(test, eva, says("2")).await;
    test.store.finish(&reply.settling(id, Settlement::Answered, RunStatus::Completed)).await.unwrap();
    assert_eq!(waiting(test, eva).await, (None, false));
}

async fn a_failed_run_opens_its_question_again(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    for end in [RunStatus::Failed, RunStatus::Stopped, RunStatus::Interrupted] {
        let reply = begin(test, eva, says("2")).await;
        assert_eq!(reply.accepted.question.as_ref().map(|taken| taken.id), Some(id));
        let finish = Finish { content: String::new(), ..reply.settling(id, Settlement::Reopened, end) };
        test.store.finish(&finish).await.unwrap();
        let (pending, _) = test.store.pending(eva, id).await.unwrap();
        assert_eq!((pending.status, pending.taken_by), (HitlStatus::Open, None));
    }
    assert_eq!(moves(test, eva, id).await.len(), 6);
}

async fn a_run_that_says_nothing_of_its_question_opens_it_again(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let reply = begin(test, eva, says("2")).await;
    test.store.finish(&reply.end(RunStatus::Failed, "half")).await.unwrap();
    assert_eq!(status(test, eva, id).await, HitlStatus::Open);
}

async fn a_question_is_superseded_or_dismissed(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for (settlement, end) in
        [(Settlement::Superseded, HitlStatus::Superseded), (Settlement::Dismissed, HitlStatus::Dismissed)]
    {
        let (_, id) = asked(test, eva).await;
        let reply = begin(test, eva, says("What is the weather?")).await;
        test.store.finish(&reply.settling(id, settlement, RunStatus::Completed)).await.unwrap();
        let (pending, _) = test.store.pending(eva, id).await.unwrap();
        assert_eq!((pending.status, pending.answered_by), (end, None));
        assert_eq!(
            moves(test, eva, id).await,
            [
                (HitlStatus::Open, HitlStatus::Taken, "a message arrived".into()),
                (HitlStatus::Taken, end, "because".into())
            ]
        );
    }
}

async fn an_answer_that_asks_again_opens_the_next_round(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, root) = asked(test, eva).await;
    let reply = begin(test, eva, says("2")).await;
    let next = NewPending { root, round: 2, fingerprint: "warranty/place".into(), ..question(test, two_products()) };
    let finish =
        Finish { ask: Some(next.clone()), ..reply.settling(root, Settlement::Answered, RunStatus::AwaitingInput) };
    test.store.finish(&finish).await.unwrap();
    assert_eq!(status(test, eva, root).await, HitlStatus::Answered);
    let (pending, _) = test.store.pending(eva, next.id).await.unwrap();
    assert_eq!((pending.status, pending.root, pending.round), (HitlStatus::Open, root, 2));
}

async fn the_same_question_is_not_asked_twice(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, root) = asked(test, eva).await;
    let reply = begin(test, eva, says("2")).await;
    let same = NewPending { root, round: 2, ..question(test, two_products()) };
    let finish = Finish { ask: Some(same), ..reply.settling(root, Settlement::Answered, RunStatus::AwaitingInput) };
    let refused = test.store.finish(&finish).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(status(test, eva, root).await, HitlStatus::Taken, "nothing was written");
    let run = test.store.run(eva, reply.accept.run).await.unwrap();
    assert_eq!(run.status, RunStatus::Running);
}

async fn an_expired_question_lets_the_message_through(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    test.clock.forward(Duration::from_secs(3600));
    let by_id = try_begin(test, eva, replies("2", Some(id), &[])).await.map(|_| ());
    assert_eq!(by_id, Err(Refused::HitlExpired));
    assert_eq!(moves(test, eva, id).await, [], "a refusal writes nothing");
    let by_option = try_begin(test, eva, replies("", None, &["aurora"])).await.map(|_| ());
    assert_eq!(by_option, Err(Refused::HitlExpired));
    assert_eq!(begin(test, eva, says("2")).await.accepted.question, None);
    assert_eq!(moves(test, eva, id).await, [(HitlStatus::Open, HitlStatus::Expired, "its time passed".into())]);
}

async fn a_question_that_expires_while_taken_does_not_open_again(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let reply = begin(test, eva, says("2")).await;
    test.clock.forward(Duration::from_secs(3600));
    let finish = Finish { now: test.now(), ..reply.settling(id, Settlement::Reopened, RunStatus::Failed) };
    test.store.finish(&finish).await.unwrap();
    assert_eq!(status(test, eva, id).await, HitlStatus::Expired);
    assert_eq!(moves(test, eva, id).await[1], (HitlStatus::Taken, HitlStatus::Expired, "because".into()));
}

async fn a_reply_by_id_to_a_question_that_is_not_open_is_refused(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let reply = begin(test, eva, says("2")).await;
    test.store.finish(&reply.settling(id, Settlement::Answered, RunStatus::Completed)).await.unwrap();
    let late = try_begin(test, eva, replies("1", Some(id), &[])).await.map(|_| ());
    assert_eq!(late, Err(Refused::HitlNotOpen(HitlStatus::Answered)));
    let unknown = try_begin(test, eva, replies("1", Some(test.id()), &[])).await.map(|_| ());
    assert_eq!(unknown, Err(Refused::NotFound));
    let mut nothing_open = says("");
    nothing_open.hitl = Some(HitlReply { action: Some(HitlAction::Dismiss), ..HitlReply::default() });
    assert_eq!(try_begin(test, eva, nothing_open).await.map(|_| ()), Err(Refused::NotFound));
    // Another user's question, from a session of the same name.
    let bob = someone(test, "bob").await;
    let (_, foreign) = asked(test, bob).await;
    assert_eq!(try_begin(test, eva, replies("1", Some(foreign), &[])).await.map(|_| ()), Err(Refused::NotFound));
}

async fn an_unknown_option_writes_nothing(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let before = test.store.session(eva, "s").await;
    let refused = try_begin(test, eva, replies("", Some(id), &["aurora", "cassiopeia"])).await.map(|_| ());
    let valid = vec!["aurora".into(), "borealis".into()];
    assert_eq!(refused, Err(Refused::UnknownOption { option: "cassiopeia".into(), valid }));
    assert_eq!(test.store.session(eva, "s").await, before);
    assert_eq!(
        test.store.pending(eva, id).await.map(|(pending, moves)| (pending.status, moves)),
        Ok((HitlStatus::Open, Vec::new()))
    );
}

async fn chosen_labels_are_the_message(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let reply = begin(test, eva, replies("", Some(id), &["borealis"])).await;
    assert_eq!(reply.accepted.text, "Borealis Z9");
    assert_eq!(test.store.message(eva, reply.accept.human).await.unwrap().content, "Borealis Z9");
}

async fn each_branch_has_its_own_question(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = begin(test, eva, says("hello")).await;
    root.answer(test, "Hello.").await;
    let (asking, first) = asked(test, eva).await;
    let mut elsewhere = says("something else");
    elsewhere.parent = Some(root.accept.message);
    let other = begin(test, eva, elsewhere).await;
    assert_eq!(other.accepted.question, None, "answered from above the question");
    let second = other.ask(test).await;
    // By id, the question of the other branch is answered where it was asked.
    let reply = begin(test, eva, replies("2", Some(first), &[])).await;
    assert_eq!(reply.accepted.parent, Some(asking.accept.message));
    assert_eq!(reply.accepted.question.as_ref().map(|taken| taken.id), Some(first));
    reply.answer(test, "…").await;
    // But not from a place that has nothing to do with it.
    let mut wrong = replies("2", Some(second), &[]);
    wrong.parent = Some(root.accept.message);
    assert_eq!(try_begin(test, eva, wrong).await.map(|_| ()), Err(Refused::NotFound));
    assert_eq!(status(test, eva, second).await, HitlStatus::Open);
}

async fn a_passed_over_answer_does_not_hide_the_question(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (_, id) = asked(test, eva).await;
    let stopped = begin(test, eva, says("2")).await;
    test.store.finish(&stopped.settling(id, Settlement::Reopened, RunStatus::Stopped)).await.unwrap();
    let again = begin(test, eva, says("2")).await;
    assert_eq!(again.accepted.parent, Some(stopped.accept.message));
    assert_eq!(again.accepted.question.map(|taken| taken.id), Some(id));
}
