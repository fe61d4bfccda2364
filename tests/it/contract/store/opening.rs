//! Opening, closing, and opening again.

use askback::{
    adapters::{
        embed::builtin::Builtin,
        storage::{Engine, OpenError, Options, Storage},
    },
    domain::{
        chat::{ChatStore, HistoryStore},
        error::StoreError,
        id::{ChunkId, Id},
        index::{Point, Quantized, Sparse},
        knowledge::DocumentStore,
        profile::{Profile, ProfileStore},
        segment,
        time::Millis,
        user::UserStore,
    },
    services::ingest::ANALYSER,
};
use sqlx::{PgPool, SqlitePool, sqlite::SqliteConnectOptions};

use super::{
    account, on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::{
    store::{Schema, TestClock, TestStore},
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

/// Rows of a document with one segment, as they were before segments had profiles of their own.
const EARLIER: [&str; 4] = [
    "insert into collections (id, name, visibility, created_at) values ('01980000-0000-7000-8000-00000000000a', 'c', 'everyone', 0)",
    "insert into blobs (sha256, bytes, state, created_at) values ('00', 1, 'ready', 0)",
    "insert into documents (id, collection_id, filename, current_no, last_no, created_at)
     values ('01980000-0000-7000-8000-00000000000b', '01980000-0000-7000-8000-00000000000a', 'a.txt', 1, 1, 0)",
    "insert into versions (id, document_id, no, blob_sha256, media_type, extractor, facets, warnings, state, chars, chunk_count, created_at)
     values ('01980000-0000-7000-8000-00000000000c', '01980000-0000-7000-8000-00000000000b', 1, '00', 'text/plain', 'text/1',
             '{}', '[]', 'current', 10, 1, 0)",
];
const EARLIER_SEGMENT: &str = "
insert into segments (version_id, no, profile_id, leaves, body) values ('01980000-0000-7000-8000-00000000000c', 0, '1', 1, $1)";

/// A segment of one leaf with a vector of the built-in embedder's length.
fn earlier_segment() -> Vec<u8> {
    let point = Point {
        chunk: ChunkId::from_uuid(uuid::Uuid::from_u128(1)),
        dense: Some(Quantized { scale: 0.5, codes: vec![1; 256] }),
        sparse: Sparse { terms: vec![1], weights: vec![1.0] },
    };
    segment::encode(&[point]).unwrap()
}

/// The store after the migration: the built-in embedder's profile is current and has all.
async fn vectors_of_before_are_the_built_in_ones(engine: Engine) {
    let store = Storage::open(Options { engine, clock: TestClock::new() }).await.unwrap();
    let configured = Profile::of(&Builtin::load().unwrap(), ANALYSER);
    let id = store.open_profile(Id::at(Millis(1)), &configured, Millis(1)).await.unwrap();
    let current = store.current_profile().await.unwrap();
    assert_eq!((current.id, &current.profile), (id, &configured), "nothing has to be made anew");
    assert_eq!(store.lacking(id, None, 9).await, Ok(Vec::new()));
    let segments = store.current_segments(id, None, 9).await.unwrap();
    assert_eq!(segments.len(), 1);
    assert!(segments[0].2.points[0].dense.is_some());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_from_before_there_were_profiles_go_on_answering() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteConnectOptions::new().filename(folder.path().join("askback.sqlite")).create_if_missing(true);
    let pool = SqlitePool::connect_with(file).await.unwrap();
    sqlx::migrate!("./migrations/sqlite").run_to(7, &pool).await.unwrap();
    for row in EARLIER {
        sqlx::query(row).execute(&pool).await.unwrap();
    }
    sqlx::query(EARLIER_SEGMENT).bind(earlier_segment()).execute(&pool).await.unwrap();
    pool.close().await;
    vectors_of_before_are_the_built_in_ones(Engine::Sqlite { folder: folder.path().to_owned() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_from_before_there_were_profiles_go_on_answering_on_postgres() {
    let Some(schema) = Schema::make().await else { return };
    let pool = PgPool::connect(&schema.url()).await.unwrap();
    sqlx::migrate!("./migrations/postgres").run_to(7, &pool).await.unwrap();
    for row in EARLIER {
        sqlx::query(row).execute(&pool).await.unwrap();
    }
    sqlx::query(EARLIER_SEGMENT).bind(earlier_segment()).execute(&pool).await.unwrap();
    pool.close().await;
    vectors_of_before_are_the_built_in_ones(Engine::Postgres { url: schema.url().into(), connections: 2 }).await;
    schema.remove().await;
}
