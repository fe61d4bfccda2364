//! Notes and background events.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, Finish, HistoryStore},
    error::StoreError,
    id::UserId,
    memory::{BackgroundEvent, EventId, ListedEvent, MemoryStore, Note},
    run::RunStatus,
};

use super::{
    on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::store::TestStore;

on_both_engines!(
    a_note_gives_way_to_one_that_was_made_from_it,
    a_note_is_edited_by_its_user_alone,
    an_event_is_told_once,
    an_event_is_added_once,
    an_event_of_a_session_is_told_there,
    events_are_listed_for_their_user,
    what_happens_again_is_told_again,
);

async fn a_note_gives_way_to_one_that_was_made_from_it(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = begin(test, eva, says("one")).await;
    first.answer(test, "1").await;
    let session = first.accepted.session.id;
    begin(test, eva, says("two")).await.answer(test, "2").await;
    let version = test.now().0;
    let note = |body: &str, upto_ord, version| Note { body: body.into(), upto_ord, version };
    let put = async |body: &str, upto_ord, before| {
        test.store.put_note(session, body, upto_ord, before, test.now()).await.unwrap()
    };
    assert_eq!(test.store.note(session).await, Ok(None));
    assert!(!put("made from one that is gone", 2, Some(version)).await);
    assert!(put("二", 2, None).await);
    assert!(!put("made beside it", 3, None).await);
    assert!(!put("made from another", 3, Some(version - 1)).await);
    assert_eq!(test.store.note(session).await, Ok(Some(note("二", 2, version))));
    assert!(put("more", 4, Some(version)).await);
    assert!(!put("late", 4, Some(version)).await);
    assert!(!put("of what is not there", 7, Some(version + 1)).await);
    let more = note("more", 4, version + 1);
    assert_eq!(test.store.note(session).await, Ok(Some(more)), "another version within the same moment");
    test.store.delete_message(eva, "s", first.accept.message).await.unwrap();
    assert!(!put("late", 6, Some(version + 1)).await);
    assert!(!put("late", 4, None).await);
    assert_eq!(test.store.note(session).await, Ok(None));
}

async fn a_note_is_edited_by_its_user_alone(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let first = begin(test, eva, says("one")).await;
    first.answer(test, "1").await;
    let session = first.accepted.session.id;
    let version = test.now().0;
    let edit = async |user, body: &str, before| {
        test.store.edit_note(user, session, body, Some(before), test.now()).await.unwrap()
    };
    let note = |body: &str, upto_ord, version| Some(Note { body: body.into(), upto_ord, version });
    let erase = async |user| test.store.edit_note(user, session, "", None, test.now()).await.unwrap();
    assert_eq!(edit(bob, "not his", 0).await, None);
    assert_eq!(erase(eva).await, None, "there is none");
    assert_eq!(edit(eva, "of nothing", version).await, None);
    assert_eq!(edit(eva, "她的", 0).await, note("她的", 0, version));
    assert_eq!(edit(eva, "again", 0).await, None);
    assert_eq!(edit(bob, "not his", version).await, None);
    // One that was being made meanwhile gives way, and the next goes on from it.
    assert!(!test.store.put_note(session, "by rule", 2, None, test.now()).await.unwrap());
    assert!(test.store.put_note(session, "by rule", 2, Some(version), test.now()).await.unwrap());
    assert_eq!(edit(eva, "hers", version).await, None);
    assert_eq!(edit(eva, "hers", version + 1).await, note("hers", 2, version + 2));
    assert_eq!(test.store.note(session).await, Ok(note("hers", 2, version + 2)));
    assert_eq!(erase(bob).await, None);
    assert_eq!(erase(eva).await, note("", 2, version + 3), "whichever it is");
}

fn event(test: &TestStore, user: UserId, subject: &str) -> BackgroundEvent {
    BackgroundEvent {
        id: test.id(),
        user,
        kind: "job_completed".into(),
        subject: subject.into(),
        session: None,
        title: format!("{subject} 已就绪"),
        detail: Some("2 chunks".into()),
        created_at: test.now(),
    }
}

async fn an_event_is_told_once(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let first = event(test, eva, "a");
    test.clock.forward(Duration::from_secs(1));
    let second = event(test, eva, "b");
    let foreign = event(test, bob, "a");
    for event in [&first, &second, &foreign] {
        test.store.add_event(event).await.unwrap();
    }
    assert_eq!(test.store.untold(eva, test.id(), 1).await, Ok(vec![first.clone()]), "oldest first");
    let turn = begin(test, eva, says("one")).await;
    let told: Vec<EventId> = vec![first.id, foreign.id];
    test.store.finish(&Finish { told, ..turn.end(RunStatus::Completed, "…") }).await.unwrap();
    assert_eq!(test.store.untold(eva, test.id(), 10).await, Ok(vec![second]));
    assert_eq!(test.store.untold(bob, test.id(), 10).await, Ok(vec![foreign]), "another user's stays");
}

async fn an_event_is_added_once(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = event(test, eva, "a");
    test.store.add_event(&first).await.unwrap();
    test.store.add_event(&BackgroundEvent { title: "again".into(), ..event(test, eva, "a") }).await.unwrap();
    assert_eq!(test.store.untold(eva, test.id(), 10).await, Ok(vec![first]));
    test.store.add_event(&event(test, test.id(), "a")).await.unwrap();
}

async fn an_event_of_a_session_is_told_there(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let turn = begin(test, eva, says("one")).await;
    turn.answer(test, "1").await;
    let session = turn.accepted.session.id;
    let event = BackgroundEvent { session: Some(session), ..event(test, eva, "a") };
    test.store.add_event(&event).await.unwrap();
    assert_eq!(test.store.untold(eva, test.id(), 10).await, Ok(Vec::new()));
    assert_eq!(test.store.untold(eva, session, 10).await, Ok(vec![event.clone()]));
    let foreign = BackgroundEvent { id: test.id(), user: bob, ..event.clone() };
    assert_eq!(test.store.add_event(&foreign).await, Err(StoreError::NotFound), "not a session of his");
    let unknown = BackgroundEvent { id: test.id(), session: Some(test.id()), subject: "b".into(), ..event };
    assert_eq!(test.store.add_event(&unknown).await, Err(StoreError::NotFound));
    test.store.delete_session(eva, "s").await.unwrap();
    assert_eq!(test.store.events(eva, false, None, 10).await, Ok(Vec::new()), "it goes with its session");
}

async fn events_are_listed_for_their_user(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let turn = begin(test, eva, says("one")).await;
    let old = event(test, eva, "a");
    test.clock.forward(Duration::from_secs(1));
    let new = BackgroundEvent { session: Some(turn.accepted.session.id), ..event(test, eva, "b") };
    for event in [&old, &new, &event(test, bob, "a")] {
        test.store.add_event(event).await.unwrap();
    }
    test.store.finish(&Finish { told: vec![old.id], ..turn.end(RunStatus::Completed, "…") }).await.unwrap();
    let told = ListedEvent { event: old, session_name: None, is_unread: false };
    let untold = ListedEvent { event: new, session_name: Some("s".into()), is_unread: true };
    assert_eq!(test.store.events(eva, false, None, 10).await, Ok(vec![untold.clone(), told.clone()]));
    assert_eq!(test.store.events(eva, true, None, 10).await, Ok(vec![untold.clone()]));
    let place = (untold.event.created_at, untold.event.id);
    assert_eq!(test.store.events(eva, false, None, 1).await, Ok(vec![untold]));
    assert_eq!(test.store.events(eva, false, Some(place), 1).await, Ok(vec![told]));
}

async fn what_happens_again_is_told_again(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = event(test, eva, "a");
    test.store.add_event(&first).await.unwrap();
    let turn = begin(test, eva, says("one")).await;
    let session = turn.accepted.session.id;
    test.clock.forward(Duration::from_secs(1));
    let again = BackgroundEvent { title: "again".into(), ..event(test, eva, "a") };
    test.store.add_event(&again).await.unwrap();
    test.store.finish(&Finish { told: vec![first.id], ..turn.end(RunStatus::Completed, "…") }).await.unwrap();
    assert_eq!(
        test.store.untold(eva, session, 10).await,
        Ok(vec![again.clone()]),
        "the turn told of the first time only"
    );
    test.store.add_event(&first).await.unwrap();
    let next = begin(test, eva, says("two")).await;
    test.store.finish(&Finish { told: vec![again.id], ..next.end(RunStatus::Completed, "…") }).await.unwrap();
    assert_eq!(test.store.untold(eva, session, 10).await, Ok(Vec::new()), "what is late and older is no news");
}
