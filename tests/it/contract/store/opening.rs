//! Opening, closing, and opening again.

use askback::{
    adapters::storage::{Engine, OpenError, Options, Storage},
    domain::{
        chat::{ChatStore, HistoryStore},
        error::StoreError,
        user::UserStore,
    },
};

use super::{
    account, on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::{
    store::{TestClock, TestStore},
    tables,
};

on_both_engines!(
    what_was_written_is_there_after_a_restart,
    a_closed_store_refuses,
    a_newer_layout_is_refused_by_name,
    a_store_that_works_is_ready,
    conversations_from_before_the_search_are_found,
);

async fn what_was_written_is_there_after_a_restart(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let turn = begin(test, eva, says("one")).await;
    test.reopen().await;
    assert_eq!(test.store.session(eva, "s").await.unwrap().running_run, Some(turn.accept.run));
    assert_eq!(test.store.orphans().await.unwrap().len(), 1);
}

async fn a_closed_store_refuses(test: &mut TestStore) {
    test.store.close().await;
    let refused = test.store.add_user(&account(test, "eva"), "eva").await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    test.store.close().await;
}

async fn a_store_that_works_is_ready(test: &mut TestStore) {
    assert_eq!(test.store.ready().await, Ok(()));
}

async fn conversations_from_before_the_search_are_found(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for question in ["zebra", "giraffe"] {
        begin(test, eva, says(question)).await.answer(test, "An animal.").await;
    }
    test.store.close().await;
    // As the migration leaves it.
    tables::execute(&test.engine, "delete from search_terms").await;
    tables::execute(&test.engine, "insert into meta (key, value) values ('search_behind', '1')").await;
    test.reopen().await;
    for query in ["zebra", "giraffe", "animal"] {
        assert_eq!(test.store.search(eva, query, None, 10).await.unwrap().len(), 1, "{query}");
    }
    tables::execute(&test.engine, "delete from search_terms").await;
    test.reopen().await;
    assert_eq!(test.store.search(eva, "zebra", None, 10).await, Ok(Vec::new()), "it is done once");
}

const NEXT_LAYOUT: &str = "update meta set value = '999' where key = 'layout'";

async fn a_newer_layout_is_refused_by_name(test: &mut TestStore) {
    test.store.close().await;
    tables::execute(&test.engine, NEXT_LAYOUT).await;
    let refused = test.try_reopen().await;
    let Err(OpenError::NewerLayout { found: 999, .. }) = refused else { panic!("opened") };
}

#[tokio::test]
async fn a_second_process_on_the_folder_is_told_which_folder() {
    let test = TestStore::sqlite().await;
    let options = Options { engine: test.engine.clone(), clock: TestClock::new() };
    let Err(refused) = Storage::open(options).await else { panic!("opened twice") };
    let Engine::Sqlite { folder } = &test.engine else { panic!() };
    assert!(refused.to_string().contains(&folder.display().to_string()), "{refused}");
    test.remove().await;
}
