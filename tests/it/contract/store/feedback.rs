//! What readers think of messages.

use askback::{
    adapters::storage::Engine,
    domain::{
        chat::{ChatStore, Feedback, HistoryStore, Rating},
        error::StoreError,
        id::{MessageId, UserId},
    },
};
use secrecy::ExposeSecret;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{
    on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::store::TestStore;

on_both_engines!(feedback_is_the_last_that_was_given, a_message_that_is_being_deleted_is_not_found);

async fn answered(test: &TestStore, user: UserId) -> MessageId {
    let turn = begin(test, user, says("question")).await;
    turn.answer(test, "answer").await;
    turn.accept.message
}

async fn feedback_is_the_last_that_was_given(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let message = answered(test, eva).await;
    let rate = |rating, comment: Option<&str>| Feedback { rating, comment: comment.map(str::to_owned) };
    let up = rate(Rating::Up, Some("好"));
    test.store.rate(eva, "s", message, &up, test.now()).await.unwrap();
    assert_eq!(test.store.message(eva, message).await.unwrap().feedback, Some(up));
    let down = rate(Rating::Down, None);
    test.store.rate(eva, "s", message, &down, test.now()).await.unwrap();
    assert_eq!(test.store.message(eva, message).await.unwrap().feedback, Some(down.clone()));
    for (user, session, message) in [(bob, "s", message), (eva, "t", message), (eva, "s", test.id())] {
        assert_eq!(test.store.rate(user, session, message, &down, test.now()).await, Err(StoreError::NotFound));
    }
    test.store.delete_message(eva, "s", message).await.unwrap();
}

// Only a server lets two write at once.
async fn a_message_that_is_being_deleted_is_not_found(test: &mut TestStore) {
    let Engine::Postgres { url, .. } = &test.engine else { return };
    let eva = someone(test, "eva").await;
    let message = answered(test, eva).await;
    let mut deleting = PgConnection::connect(url.expose_secret()).await.unwrap();
    let by: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut deleting).await.unwrap();
    deleting.execute("begin").await.unwrap();
    deleting.execute(AssertSqlSafe(format!("delete from messages where id = '{message}'"))).await.unwrap();

    let (store, now) = (test.store.clone(), test.now());
    let rating = tokio::spawn(async move {
        let feedback = Feedback { rating: Rating::Up, comment: None };
        store.rate(eva, "s", message, &feedback, now).await
    });
    let mut watching = PgConnection::connect(url.expose_secret()).await.unwrap();
    let waiting =
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and $1 = any(pg_blocking_pids(pid))";
    while sqlx::query_scalar::<_, i64>(waiting).bind(by).fetch_one(&mut watching).await.unwrap() == 0 {
        assert!(!rating.is_finished(), "it waits for the deletion");
        tokio::task::yield_now().await;
    }
    deleting.execute("commit").await.unwrap();
    assert_eq!(rating.await.unwrap(), Err(StoreError::NotFound));
}
