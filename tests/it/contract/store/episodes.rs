//! Episodes.

use askback::domain::{
    chat::{ChatStore, Finish, HistoryStore},
    episode::{EpisodeStore, Remembered, Source},
    error::{FaultCode, ToolFault},
    id::Id,
    run::RunStatus,
};

use super::{
    on_both_engines, someone,
    turns::{Turn, begin, says, turn},
};
use crate::support::store::TestStore;

on_both_engines!(
    the_last_results_of_a_branch_are_its_own,
    episodes_are_listed_and_erased_for_their_user,
    of_a_session_the_last_ones_are_kept,
    what_leaves_no_message_leaves_no_episode,
);

fn results(marker: u32) -> Remembered {
    let (chunk_id, document_id) = (Id::from_uuid(uuid::Uuid::nil()), Id::from_uuid(uuid::Uuid::max()));
    Remembered::Results { sources: vec![Source { marker, chunk_id, document_id, version: 1, start: 3, end: 9 }] }
}

fn fault(message: &str) -> Remembered {
    Remembered::ToolError { tool: "open_source".into(), fault: ToolFault::new(FaultCode::OutOfRange, message) }
}

async fn leave(test: &TestStore, turn: &Turn, episodes: Vec<Remembered>) {
    test.store.finish(&Finish { episodes, ..turn.end(RunStatus::Completed, "said") }).await.unwrap();
}

/// The number of the only result that a turn below `leaf` sees.
async fn seen(test: &TestStore, turn: &Turn) -> Option<u32> {
    let found = test.store.results(turn.accept.user, turn.accepted.session.id, turn.accept.message).await.unwrap();
    found.first().map(|source| source.marker)
}

async fn the_last_results_of_a_branch_are_its_own(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let first = begin(test, eva, says("one")).await;
    leave(test, &first, vec![results(1), fault("no 9")]).await;
    let second = begin(test, eva, says("two")).await;
    leave(test, &second, vec![results(2)]).await;
    let third = begin(test, eva, says("three")).await;
    leave(test, &third, vec![fault("no 7")]).await;
    assert_eq!(
        (seen(test, &first).await, seen(test, &second).await, seen(test, &third).await),
        (Some(1), Some(2), Some(2))
    );
    // Another branch from the first answer knows nothing of the second.
    let mut beside = says("beside");
    beside.parent = Some(first.accept.message);
    let beside = begin(test, eva, beside).await;
    leave(test, &beside, vec![]).await;
    assert_eq!(seen(test, &beside).await, Some(1));
    let session = third.accepted.session.id;
    assert_eq!(test.store.results(bob, session, third.accept.message).await, Ok(Vec::new()), "another user's");
    test.store.delete_message(eva, "s", second.accept.human).await.unwrap();
    assert_eq!(test.store.episodes(eva, None, None, 10).await.unwrap().len(), 2, "they go with their messages");
}

async fn episodes_are_listed_and_erased_for_their_user(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let first = begin(test, eva, says("one")).await;
    leave(test, &first, vec![results(1)]).await;
    test.clock.forward(std::time::Duration::from_secs(1));
    let mut elsewhere = turn(test, eva, says("two"));
    elsewhere.session_name = "t".into();
    let accepted = test.store.accept(&elsewhere).await.unwrap();
    let second = Turn { accept: elsewhere, accepted };
    leave(test, &second, vec![fault("没有第 7 个")]).await;
    let hers = test.store.episodes(eva, None, None, 10).await.unwrap();
    let told: Vec<(&str, &Remembered)> =
        hers.iter().map(|episode| (episode.session_name.as_str(), &episode.what)).collect();
    assert_eq!(told, [("t", &fault("没有第 7 个")), ("s", &results(1))]);
    assert_eq!(hers[1].message, first.accept.message);
    let after = (hers[0].created_at, hers[0].id);
    assert_eq!(test.store.episodes(eva, None, Some(after), 10).await.unwrap(), hers[1..]);
    let (here, there) = (first.accepted.session.id, second.accepted.session.id);
    assert_eq!(test.store.episodes(eva, Some(here), None, 10).await.unwrap(), hers[1..]);
    assert!(test.store.episodes(bob, None, None, 10).await.unwrap().is_empty());
    assert!(test.store.episodes(bob, Some(here), None, 10).await.unwrap().is_empty());

    test.store.forget_episodes(bob, None).await.unwrap();
    test.store.forget_episodes(bob, Some(here)).await.unwrap();
    test.store.forget_episodes(eva, Some(there)).await.unwrap();
    assert_eq!(test.store.episodes(eva, None, None, 10).await.unwrap(), hers[1..]);
    test.store.forget_episodes(eva, None).await.unwrap();
    assert!(test.store.episodes(eva, None, None, 10).await.unwrap().is_empty());
}

async fn of_a_session_the_last_ones_are_kept(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for round in 0..3 {
        let turn = begin(test, eva, says("one")).await;
        test.clock.forward(std::time::Duration::from_secs(1));
        let episodes = (0..30).map(|no| fault(&format!("{round}.{no}"))).collect();
        test.store
            .finish(&Finish { episodes, now: test.now(), ..turn.end(RunStatus::Completed, "said") })
            .await
            .unwrap();
    }
    let kept = test.store.episodes(eva, None, None, 100).await.unwrap();
    let of = |round: &str| {
        let is_of =
            |what: &Remembered| matches!(what, Remembered::ToolError { fault, .. } if fault.message.starts_with(round));
        kept.iter().filter(|episode| is_of(&episode.what)).count()
    };
    assert_eq!((of("0."), of("1."), of("2.")), (4, 30, 30));
}

async fn what_leaves_no_message_leaves_no_episode(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let turn = begin(test, eva, says("one")).await;
    test.store.finish(&Finish { episodes: vec![results(1)], ..turn.end(RunStatus::Failed, "") }).await.unwrap();
    assert!(test.store.episodes(eva, None, None, 10).await.unwrap().is_empty());
}
