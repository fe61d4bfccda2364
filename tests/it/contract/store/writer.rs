//! The writer: whole or nothing, whoever waits for it.

use askback::domain::{
    chat::{ChatStore, HistoryStore, Refused},
    error::StoreError,
    run::RunStatus,
    user::UserStore,
};
use futures::FutureExt;

use super::{
    account, on_both_engines, someone,
    turns::{begin, says, told, turn},
};
use crate::support::store::TestStore;

on_both_engines!(
    a_caller_that_leaves_leaves_nothing_half_done,
    a_reader_that_leaves_leaves_no_snapshot_behind,
    a_refused_write_does_not_undo_its_neighbours,
    many_turns_at_once_are_all_kept,
);

/// Drops `future` after it was polled `polls` times.
async fn abandon<T>(future: impl Future<Output = T>, polls: usize) {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        if (&mut future).now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn a_caller_that_leaves_leaves_nothing_half_done(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let mut accepted = 0;
    for polls in 0..40 {
        let mut accept = turn(test, eva, says("one"));
        accept.session_name = format!("s{polls}");
        abandon(test.store.accept(&accept), polls).await;
        // A write behind it in the queue: what was begun has ended when this one has.
        someone(test, &polls.to_string()).await;
        match test.store.session(eva, &accept.session_name).await {
            Ok(session) => {
                accepted += 1;
                assert_eq!((session.running_run, session.message_count), (Some(accept.run), 1));
                let branch = test.store.conversation(eva, &session.name, None, 9).await.unwrap().1;
                assert_eq!(branch.iter().map(|line| line.id).collect::<Vec<_>>(), [accept.human, accept.message]);
                assert_eq!(test.store.run(eva, accept.run).await.unwrap().status, RunStatus::Running);
            }
            Err(error) => {
                assert_eq!(error, StoreError::NotFound);
                assert_eq!(test.store.run(eva, accept.run).await, Err(StoreError::NotFound));
                assert_eq!(test.store.message(eva, accept.human).await, Err(StoreError::NotFound));
            }
        }
    }
    assert!(accepted < 40, "some callers left before anything was begun");
}

async fn a_reader_that_leaves_leaves_no_snapshot_behind(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let session = begin(test, eva, says("one")).await.accepted.session;
    for polls in 0..40 {
        // Each takes a connection of its own, so that whichever comes next takes one of theirs.
        let readers = (0..8).map(|_| test.store.session(eva, &session.name));
        abandon(futures::future::join_all(readers), polls).await;
        let name = polls.to_string();
        let id = someone(test, &name).await;
        let seen = futures::future::join_all((0..8).map(|_| test.store.user(id))).await;
        assert!(seen.iter().all(|user| user.as_ref().is_ok_and(|user| user.name == name)), "{seen:?}");
    }
}

async fn a_refused_write_does_not_undo_its_neighbours(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let (ann, bob, again) = (account(test, "ann"), account(test, "bob"), account(test, "Ann"));
    let busy = turn(test, eva, says("two"));
    let (first, refused, taken, second) = tokio::join!(
        test.store.add_user(&ann, "ann"),
        test.store.accept(&busy),
        test.store.add_user(&again, "eva"),
        test.store.add_user(&bob, "bob"),
    );
    assert_eq!((first, second), (Ok(()), Ok(())));
    assert_eq!(refused, Err(Refused::Busy(running.accept.run)));
    assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
    assert_eq!(test.store.user_by_name("ann").await, Ok(ann));
    assert_eq!(test.store.user_by_name("bob").await, Ok(bob));
    assert_eq!(told(test, eva, running.accept.message).await.len(), 2);
}

async fn many_turns_at_once_are_all_kept(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let turns = (0..100).map(|no| {
        let mut accept = turn(test, eva, says(&format!("问题 {no}")));
        accept.session_name = no.to_string();
        accept
    });
    let turns: Vec<_> = turns.collect();
    let outcomes = futures::future::join_all(turns.iter().map(|turn| test.store.accept(turn))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(test.store.sessions(eva, None, 1000).await.unwrap().len(), 100);
    for turn in &turns {
        let said = test.store.message(eva, turn.human).await.unwrap().content;
        assert_eq!(said, turn.request.message);
    }
}

#[cfg(feature = "failpoints")]
mod failing {
    use super::*;

    /// A commit that fails fails its callers, writes nothing, and the next one works.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_failed_commit_writes_nothing_and_the_next_one_works() {
        let engines = [Some(TestStore::sqlite().await), TestStore::postgres().await];
        for test in engines.into_iter().flatten() {
            let eva = someone(&test, "eva").await;
            let accept = turn(&test, eva, says("one"));
            fail::cfg("accept:before-commit", "1*return").unwrap();
            let refused = test.store.accept(&accept).await;
            assert!(matches!(refused, Err(Refused::Store(StoreError::Unavailable(_)))), "{refused:?}");
            assert_eq!(test.store.session(eva, "s").await, Err(StoreError::NotFound));
            test.store.accept(&accept).await.unwrap();
            assert_eq!(test.store.ready().await, Ok(()));
            test.remove().await;
        }
    }

    /// The commit stands although its caller never hears of it: what a crash right after it looks like.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_commit_that_nobody_hears_of_stands() {
        let engines = [Some(TestStore::sqlite().await), TestStore::postgres().await];
        for test in engines.into_iter().flatten() {
            let eva = someone(&test, "eva").await;
            let running = begin(&test, eva, says("one")).await;
            fail::cfg("finish:after-commit", "1*return").unwrap();
            let finish = running.end(RunStatus::Completed, "said");
            assert!(matches!(test.store.finish(&finish).await, Err(StoreError::Unavailable(_))));
            assert_eq!(told(&test, eva, running.accept.message).await[1], (2, "said".into(), "completed"));
            test.remove().await;
        }
    }
}
