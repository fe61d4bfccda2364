//! Conversations that clients keep, found by their fingerprints.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, HistoryStore, MessageStatus, TurnRequest},
    conversation::{ConversationStore, Fingerprint, Held, Standing},
    id::{MessageId, UserId},
    time::Millis,
};

use super::{
    on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::store::TestStore;

on_both_engines!(
    a_conversation_is_found_with_what_was_said_last,
    of_equal_ones_the_latest_is_found,
    it_is_its_users_alone,
    it_goes_with_its_answer,
    old_ones_and_those_beyond_the_bound_are_forgotten,
);

const MOST: i64 = 100;

/// An answer of `user` in session `s`.
async fn answer(test: &TestStore, user: UserId, question: TurnRequest) -> MessageId {
    let turn = begin(test, user, question).await;
    turn.answer(test, "said").await;
    turn.accept.message
}

async fn hold(test: &TestStore, user: UserId, fingerprint: u8, answer: MessageId, most: i64) {
    let held = Held { user, fingerprint: Fingerprint([fingerprint; 32]), answer, at: test.now() };
    test.store.hold(&held, Millis(0), most).await.unwrap();
}

async fn held(test: &TestStore, user: UserId, fingerprint: u8) -> Option<Standing> {
    test.store.held(user, Fingerprint([fingerprint; 32])).await.unwrap()
}

fn standing(answer: MessageId) -> Standing {
    Standing { session_name: "s".into(), answer, status: MessageStatus::Completed, reply: None }
}

async fn a_conversation_is_found_with_what_was_said_last(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let turn = begin(test, eva, says("one")).await;
    let first = turn.accept.message;
    hold(test, eva, 1, first, MOST).await;
    let running = Standing { status: MessageStatus::Running, ..standing(first) };
    assert_eq!(held(test, eva, 1).await, Some(running));
    turn.answer(test, "said").await;
    assert_eq!(held(test, eva, 1).await, Some(standing(first)));
    assert_eq!(held(test, eva, 2).await, None);
    for text in ["two", "二"] {
        let turn = begin(test, eva, TurnRequest { parent: Some(first), ..says(text) }).await;
        turn.answer(test, "said").await;
        let reply = Some((turn.accept.human, text.to_owned()));
        assert_eq!(held(test, eva, 1).await, Some(Standing { reply, ..standing(first) }));
    }
}

async fn of_equal_ones_the_latest_is_found(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let (first, second) = (answer(test, eva, says("one")).await, answer(test, eva, says("two")).await);
    for answer in [first, second] {
        hold(test, eva, 1, answer, MOST).await;
    }
    assert_eq!(held(test, eva, 1).await, Some(standing(second)));
}

async fn it_is_its_users_alone(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let evas = answer(test, eva, says("one")).await;
    hold(test, eva, 1, evas, MOST).await;
    assert_eq!(held(test, bob, 1).await, None);
    hold(test, bob, 1, evas, MOST).await;
    assert_eq!(held(test, bob, 1).await, None, "an answer that is not his");
    let bobs = answer(test, bob, says("one")).await;
    hold(test, bob, 1, bobs, MOST).await;
    assert_eq!((held(test, eva, 1).await, held(test, bob, 1).await), (Some(standing(evas)), Some(standing(bobs))));
}

async fn it_goes_with_its_answer(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = answer(test, eva, says("one")).await;
    let second = answer(test, eva, says("two")).await;
    hold(test, eva, 1, first, MOST).await;
    hold(test, eva, 2, second, MOST).await;
    test.store.delete_message(eva, "s", second).await.unwrap();
    assert_eq!((held(test, eva, 1).await.map(|known| known.answer), held(test, eva, 2).await), (Some(first), None));
    hold(test, eva, 2, second, MOST).await;
    assert_eq!(held(test, eva, 2).await, None, "it is gone");
    test.store.delete_session(eva, "s").await.unwrap();
    assert_eq!(held(test, eva, 1).await, None, "with its session");
}

async fn old_ones_and_those_beyond_the_bound_are_forgotten(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let (evas, bobs) = (answer(test, eva, says("one")).await, answer(test, bob, says("one")).await);
    hold(test, bob, 1, bobs, MOST).await;
    // Of one moment too.
    for fingerprint in [1, 2, 3, 4] {
        hold(test, eva, fingerprint, evas, 3).await;
    }
    let mut known = Vec::new();
    for fingerprint in [1, 2, 3, 4] {
        known.push(held(test, eva, fingerprint).await.is_some());
    }
    assert_eq!(known, [false, true, true, true]);

    test.clock.forward(Duration::from_secs(60));
    let held_now = Held { user: eva, fingerprint: Fingerprint([5; 32]), answer: evas, at: test.now() };
    test.store.hold(&held_now, test.now(), 3).await.unwrap();
    let found = (held(test, eva, 4).await.is_some(), held(test, eva, 5).await.is_some());
    assert_eq!(found, (false, true), "those held a minute ago are forgotten");
    assert!(held(test, bob, 1).await.is_some(), "another user's stay");
}
