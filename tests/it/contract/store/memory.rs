//! Notes and background events.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, Finish},
    id::UserId,
    memory::{BackgroundEvent, EventId, MemoryStore, Note},
    run::RunStatus,
};

use super::{
    on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::store::TestStore;

on_both_engines!(a_note_gives_way_to_one_that_covers_more, an_event_is_told_once, an_event_is_added_once);

async fn a_note_gives_way_to_one_that_covers_more(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let session = begin(test, eva, says("one")).await.accepted.session.id;
    let note = |body: &str, upto_ord| Note { body: body.into(), upto_ord };
    assert_eq!(test.store.note(session).await, Ok(None));
    assert_eq!(test.store.put_note(session, &note("二", 4), test.now()).await, Ok(true));
    assert_eq!(test.store.put_note(session, &note("late", 2), test.now()).await, Ok(false));
    assert_eq!(test.store.put_note(session, &note("same", 4), test.now()).await, Ok(false));
    assert_eq!(test.store.note(session).await, Ok(Some(note("二", 4))));
    assert_eq!(test.store.put_note(session, &note("more", 6), test.now()).await, Ok(true));
    assert_eq!(test.store.note(session).await, Ok(Some(note("more", 6))));
}

fn event(test: &TestStore, user: UserId, subject: &str) -> BackgroundEvent {
    BackgroundEvent {
        id: test.id(),
        user,
        kind: "job_completed".into(),
        subject: subject.into(),
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
    assert_eq!(test.store.untold(eva, 1).await, Ok(vec![first.clone()]), "oldest first");
    let turn = begin(test, eva, says("one")).await;
    let told: Vec<EventId> = vec![first.id, foreign.id];
    test.store.finish(&Finish { told, ..turn.end(RunStatus::Completed, "…") }).await.unwrap();
    assert_eq!(test.store.untold(eva, 10).await, Ok(vec![second]));
    assert_eq!(test.store.untold(bob, 10).await, Ok(vec![foreign]), "another user's stays");
}

async fn an_event_is_added_once(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = event(test, eva, "a");
    test.store.add_event(&first).await.unwrap();
    test.store.add_event(&BackgroundEvent { title: "again".into(), ..event(test, eva, "a") }).await.unwrap();
    assert_eq!(test.store.untold(eva, 10).await, Ok(vec![first]));
    test.store.add_event(&event(test, test.id(), "a")).await.unwrap();
}
