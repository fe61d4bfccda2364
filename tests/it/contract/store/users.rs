//! Accounts and refresh tokens.

use std::time::Duration;

use askback::domain::{
    error::StoreError,
    time::Millis,
    user::{FamilyId, RefreshToken, Role, Spent, User, UserStore},
};

use super::{account, on_both_engines, someone};
use crate::support::store::TestStore;

on_both_engines!(
    an_account_is_found_by_id_and_by_folded_name,
    a_folded_name_is_taken_once,
    a_new_password_ends_every_token,
    a_refresh_token_is_spent_once,
    reuse_of_a_refresh_token_kills_its_family,
    a_token_spent_by_many_at_once_is_good_for_one,
);

async fn an_account_is_found_by_id_and_by_folded_name(test: &mut TestStore) {
    let user = User { role: Role::Admin, disabled_at: Some(Millis(5)), ..account(test, "Éva 伊娃") };
    test.store.add_user(&user, "éva 伊娃").await.unwrap();
    assert_eq!(test.store.user(user.id).await, Ok(user.clone()));
    assert_eq!(test.store.user_by_name("éva 伊娃").await, Ok(user));
    assert_eq!(test.store.user_by_name("Éva 伊娃").await, Err(StoreError::NotFound));
    assert_eq!(test.store.user(test.id()).await, Err(StoreError::NotFound));
}

async fn a_folded_name_is_taken_once(test: &mut TestStore) {
    let first = account(test, "Eva");
    test.store.add_user(&first, "eva").await.unwrap();
    let second = test.store.add_user(&account(test, "EVA"), "eva").await;
    assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
    assert_eq!(test.store.user_by_name("eva").await, Ok(first));
}

async fn a_new_password_ends_every_token(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let token = token(test, eva, 1);
    test.store.add_refresh(&token).await.unwrap();
    test.store.set_password(eva, "new").await.unwrap();
    let user = test.store.user(eva).await.unwrap();
    assert_eq!((user.auth_epoch, user.password_hash.as_str()), (1, "new"));
    assert_eq!(test.store.spend_refresh(&token.hash, test.now()).await, Ok(Spent::Invalid));
    assert_eq!(test.store.set_password(test.id(), "new").await, Err(StoreError::NotFound));
}

async fn a_refresh_token_is_spent_once(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let token = token(test, eva, 1);
    test.store.add_refresh(&token).await.unwrap();
    assert_eq!(test.store.spend_refresh(&[9; 32], test.now()).await, Ok(Spent::Invalid));
    assert_eq!(test.store.spend_refresh(&token.hash, token.expires_at).await, Ok(Spent::Invalid), "expired");
    assert_eq!(test.store.spend_refresh(&token.hash, test.now()).await, Ok(Spent::Ok(token.family, eva)));
    assert_eq!(test.store.spend_refresh(&token.hash, test.now()).await, Ok(Spent::Reused));
}

async fn reuse_of_a_refresh_token_kills_its_family(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = token(test, eva, 1);
    let second = RefreshToken { hash: [2; 32], ..first.clone() };
    let other_login = token(test, eva, 3);
    for token in [&first, &second, &other_login] {
        test.store.add_refresh(token).await.unwrap();
    }
    test.store.spend_refresh(&first.hash, test.now()).await.unwrap();
    assert_eq!(test.store.spend_refresh(&first.hash, test.now()).await, Ok(Spent::Reused));
    assert_eq!(test.store.spend_refresh(&second.hash, test.now()).await, Ok(Spent::Invalid));
    let other = test.store.spend_refresh(&other_login.hash, test.now()).await;
    assert_eq!(other, Ok(Spent::Ok(other_login.family, eva)));
    test.store.revoke_refresh(&[7; 32], test.now()).await.unwrap();
}

async fn a_token_spent_by_many_at_once_is_good_for_one(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let token = token(test, eva, 1);
    test.store.add_refresh(&token).await.unwrap();
    let tries = (0..8).map(|_| test.store.spend_refresh(&token.hash, test.now()));
    let outcomes = futures::future::join_all(tries).await;
    let good = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Spent::Ok(..)))).count();
    let reused = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Spent::Reused))).count();
    assert_eq!((good, reused), (1, 7));
}

pub(super) fn token(test: &TestStore, user: askback::domain::id::UserId, hash: u8) -> RefreshToken {
    RefreshToken {
        hash: [hash; 32],
        family: FamilyId::derived(user, &hash.to_string()),
        user,
        issued_at: test.now(),
        expires_at: test.now() + Duration::from_secs(60),
    }
}
