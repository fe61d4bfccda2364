//! API keys.

use std::time::Duration;

use askback::domain::{
    error::StoreError,
    id::UserId,
    user::{AccountChange, ApiKey, UserStore},
};

use super::{on_both_engines, someone};
use crate::support::store::TestStore;

on_both_engines!(
    a_key_is_found_by_its_hash_and_listed_newest_first,
    of_many_that_are_made_at_once_no_more_than_may_be_stay,
    its_owner_alone_revokes_it,
    the_latest_use_is_noted,
    what_ends_a_users_tokens_ends_their_keys,
);

const MOST: i64 = 50;

fn key(test: &TestStore, user: UserId, name: &str) -> ApiKey {
    ApiKey { id: test.id(), user, name: name.into(), hint: "wxyz".into(), created_at: test.now(), last_used_at: None }
}

/// A key of this hash.
async fn added(test: &TestStore, user: UserId, hash: u8) -> ApiKey {
    let key = key(test, user, &format!("key {hash}"));
    test.store.add_key(&key, &[hash; 32], MOST).await.unwrap();
    key
}

async fn a_key_is_found_by_its_hash_and_listed_newest_first(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let first = added(test, eva, 1).await;
    test.clock.forward(Duration::from_secs(1));
    let second = added(test, eva, 2).await;
    added(test, bob, 3).await;
    assert_eq!(test.store.key(&[1; 32]).await, Ok(first.clone()));
    assert_eq!(test.store.key(&[9; 32]).await, Err(StoreError::NotFound));
    assert_eq!(test.store.keys(eva, None, 1).await, Ok(vec![second.clone()]));
    let place = (second.created_at, second.id);
    assert_eq!(test.store.keys(eva, Some(place), 100).await, Ok(vec![first.clone()]));
    assert_eq!(test.store.keys(eva, None, 100).await, Ok(vec![second, first]));
    assert_eq!(test.store.keys(test.id(), None, 100).await, Ok(Vec::new()));
    let nobodys = key(test, test.id(), "nobody's");
    assert_eq!(test.store.add_key(&nobodys, &[4; 32], MOST).await, Err(StoreError::NotFound));
}

async fn of_many_that_are_made_at_once_no_more_than_may_be_stay(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    added(test, bob, 99).await;
    let keys: Vec<ApiKey> = (0..8).map(|_| key(test, eva, "one of many")).collect();
    let hashes: Vec<[u8; 32]> = (0..8).map(|hash| [hash; 32]).collect();
    let tries = keys.iter().zip(&hashes).map(|(key, hash)| test.store.add_key(key, hash, 3));
    let outcomes = futures::future::join_all(tries).await;
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Conflict(_)))).count();
    assert_eq!((outcomes.iter().filter(|outcome| outcome.is_ok()).count(), refused), (3, 5), "{outcomes:?}");
    let kept = test.store.keys(eva, None, 100).await.unwrap();
    assert_eq!(kept.len(), 3);
    test.store.revoke_key(eva, kept[0].id).await.unwrap();
    assert_eq!(test.store.add_key(&key(test, eva, "in its place"), &[9; 32], 3).await, Ok(()));
}

async fn its_owner_alone_revokes_it(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let key = added(test, eva, 1).await;
    assert_eq!(test.store.revoke_key(bob, key.id).await, Err(StoreError::NotFound));
    assert_eq!(test.store.revoke_key(eva, key.id).await, Ok(key.clone()));
    assert_eq!(test.store.revoke_key(eva, key.id).await, Err(StoreError::NotFound));
    assert_eq!(test.store.key(&[1; 32]).await, Err(StoreError::NotFound));
}

async fn the_latest_use_is_noted(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let key = added(test, eva, 1).await;
    let (first, later) = (test.now(), test.now() + Duration::from_secs(1));
    for (used, noted) in [(first, first), (later, later), (first, later)] {
        test.store.key_used(key.id, used).await.unwrap();
        assert_eq!(test.store.key(&[1; 32]).await.unwrap().last_used_at, Some(noted));
    }
    test.store.key_used(test.id(), later).await.unwrap();
}

async fn what_ends_a_users_tokens_ends_their_keys(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let others = added(test, bob, 9).await;
    added(test, eva, 1).await;
    test.store.set_password(eva, "new").await.unwrap();
    assert_eq!(test.store.keys(eva, None, 100).await, Ok(Vec::new()), "by another password");
    added(test, eva, 1).await;
    for disabled in [true, false] {
        let change = AccountChange { disabled: Some(disabled), ..AccountChange::default() };
        test.store.change_account(eva, change, "local", test.now()).await.unwrap();
    }
    assert_eq!(test.store.keys(eva, None, 100).await, Ok(Vec::new()), "they do not come back with the account");
    added(test, eva, 1).await;
    test.store.delete_account(eva, "local").await.unwrap();
    assert_eq!(test.store.key(&[1; 32]).await, Err(StoreError::NotFound), "with the account");
    assert_eq!(test.store.keys(bob, None, 100).await, Ok(vec![others]));
}
