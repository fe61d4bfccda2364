//! Accounts and groups as admins manage them.

use std::{collections::BTreeMap, time::Duration};

use askback::domain::{
    chat::{ChatStore, Finish},
    conversation::{ConversationStore, Fingerprint, Held},
    error::StoreError,
    id::UserId,
    run::RunStatus,
    user::{Account, AccountChange, ApiKey, Group, GroupChange, NotChanged, Role, Spent, User, UserStore},
};

use super::{
    account, on_both_engines, someone,
    turns::{begin, says},
    users::token,
};
use crate::support::{store::TestStore, tables};

on_both_engines!(
    accounts_are_listed_with_their_groups,
    a_role_is_changed_while_an_admin_is_left,
    of_two_admins_who_remove_each_other_one_is_left,
    an_account_that_is_switched_off_keeps_no_token,
    a_deleted_account_leaves_nothing_of_its_own,
    a_group_is_changed_whole_or_not_at_all,
    groups_are_listed_by_name,
);

const LOCAL: &str = "local";

async fn admin(test: &TestStore, name: &str) -> UserId {
    let user = User { role: Role::Admin, ..account(test, name) };
    test.store.add_user(&user, name).await.unwrap();
    user.id
}

fn role(role: Role) -> AccountChange {
    AccountChange { role: Some(role), ..AccountChange::default() }
}

fn disabled(disabled: bool) -> AccountChange {
    AccountChange { disabled: Some(disabled), ..AccountChange::default() }
}

async fn accounts_are_listed_with_their_groups(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    test.clock.forward(Duration::from_secs(1));
    let bob = someone(test, "bob").await;
    for name in ["财务", "admins"] {
        test.store.add_group(test.id(), name, &[eva]).await.unwrap();
    }
    let (first, second) = (test.store.accounts(None, 1).await.unwrap(), test.store.account("eva").await.unwrap());
    assert_eq!(first, [Account { user: test.store.user(bob).await.unwrap(), groups: Vec::new() }]);
    let groups = vec!["admins".to_owned(), "财务".to_owned()];
    assert_eq!(second, Account { user: test.store.user(eva).await.unwrap(), groups });
    let place = (first[0].user.created_at, bob);
    assert_eq!(test.store.accounts(Some(place), 9).await, Ok(vec![second]));
    assert_eq!(test.store.account("nobody").await, Err(StoreError::NotFound));
}

async fn a_role_is_changed_while_an_admin_is_left(test: &mut TestStore) {
    let (root, eva) = (admin(test, "root").await, someone(test, "eva").await);
    admin(test, LOCAL).await;
    let change = async |id, change| test.store.change_account(id, change, LOCAL, test.now()).await;
    assert_eq!(change(root, role(Role::User)).await, Err(NotChanged::LastAdmin), "the uncounted one is none");
    assert_eq!(change(root, disabled(true)).await, Err(NotChanged::LastAdmin));
    assert_eq!(test.store.delete_account(root, LOCAL).await, Err(NotChanged::LastAdmin));
    assert_eq!(test.store.user(root).await.unwrap(), User { id: root, role: Role::Admin, ..account(test, "root") });
    assert_eq!(change(root, role(Role::Admin)).await, Ok(()));
    assert_eq!(change(eva, role(Role::User)).await, Ok(()));

    let both = AccountChange { disabled: Some(true), ..role(Role::Admin) };
    assert_eq!(change(eva, both).await, Ok(()));
    assert_eq!(change(root, role(Role::User)).await, Err(NotChanged::LastAdmin), "the other one is switched off");
    assert_eq!(change(eva, disabled(false)).await, Ok(()));
    assert_eq!(change(root, role(Role::User)).await, Ok(()));
    assert_eq!(test.store.delete_account(root, LOCAL).await, Ok(()));
    assert_eq!(change(root, role(Role::User)).await, Err(NotChanged::Store(StoreError::NotFound)));
    assert_eq!(test.store.delete_account(root, LOCAL).await, Err(NotChanged::Store(StoreError::NotFound)));
}

async fn of_two_admins_who_remove_each_other_one_is_left(test: &mut TestStore) {
    let (mut one, mut two) = (admin(test, "one").await, admin(test, "two").await);
    for round in 0..8 {
        let change = test.store.change_account(one, role(Role::User), LOCAL, test.now());
        let outcomes: [_; 2] = tokio::join!(change, test.store.delete_account(two, LOCAL)).into();
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{round}: {outcomes:?}");
        one = if outcomes[0].is_ok() { two } else { one };
        two = admin(test, &format!("after {round}")).await;
    }
}

async fn an_account_that_is_switched_off_keeps_no_token(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let token = token(test, eva, 1);
    test.store.add_refresh(&token).await.unwrap();
    let change = async |change| test.store.change_account(eva, change, LOCAL, test.now()).await.unwrap();
    change(disabled(true)).await;
    let off = test.store.user(eva).await.unwrap();
    assert_eq!((off.disabled_at, off.auth_epoch), (Some(test.now()), 1));
    test.clock.forward(Duration::from_secs(1));
    change(disabled(true)).await;
    assert_eq!(test.store.user(eva).await, Ok(off.clone()), "it was off before");
    change(disabled(false)).await;
    assert_eq!(test.store.user(eva).await, Ok(User { disabled_at: None, ..off }));
    assert_eq!(test.store.spend_refresh(&token.hash, test.now()).await, Ok(Spent::Invalid));
}

/// Rows of all tables but those of the full-text index, which clears up in its own time.
async fn rows(test: &TestStore) -> BTreeMap<String, i64> {
    let mut rows = tables::rows(&test.engine).await;
    rows.retain(|table, _| !table.starts_with("search_index"));
    rows
}

async fn a_deleted_account_leaves_nothing_of_its_own(test: &mut TestStore) {
    let bob = someone(test, "bob").await;
    let group = test.store.add_group(test.id(), "hr", &[bob]).await.unwrap();
    let before = rows(test).await;
    let eva = someone(test, "eva").await;
    test.store.add_refresh(&token(test, eva, 1)).await.unwrap();
    let into = GroupChange { add: vec![eva], ..GroupChange::default() };
    test.store.change_group(group.id, &into).await.unwrap();
    let key = ApiKey {
        id: test.id(),
        user: eva,
        name: "notebook".into(),
        hint: "wxyz".into(),
        created_at: test.now(),
        last_used_at: None,
    };
    test.store.add_key(&key, &[1; 32], 1).await.unwrap();
    let answered = begin(test, eva, says("one")).await;
    answered.answer(test, "1").await;
    let answer = answered.accept.message;
    let held = Held { user: eva, fingerprint: Fingerprint([1; 32]), answer, at: test.now() };
    test.store.hold(&held, test.now(), 1).await.unwrap();
    let running = begin(test, eva, says("two")).await;
    test.store.delete_account(eva, LOCAL).await.unwrap();
    assert_eq!(rows(test).await, before);
    let late: Finish = running.end(RunStatus::Completed, "too late");
    assert!(matches!(test.store.finish(&late).await, Err(StoreError::Conflict(_))), "its run ends nowhere");
    assert_eq!(test.store.group("hr").await, Ok(group));
}

async fn a_group_is_changed_whole_or_not_at_all(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let id = test.id();
    let hr = test.store.add_group(id, "hr", &[eva, eva, test.id()]).await.unwrap();
    assert_eq!(hr, Group { id, name: "hr".into(), members: vec!["eva".into()] });
    test.store.add_group(test.id(), "it", &[]).await.unwrap();
    let taken = test.store.add_group(test.id(), "hr", &[bob]).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");

    let change = |name: &str| GroupChange { name: Some(name.into()), add: vec![bob, eva], remove: vec![eva] };
    let taken = test.store.change_group(id, &change("it")).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
    assert_eq!(test.store.group("hr").await, Ok(hr));
    let renamed = Group { id, name: "人事".into(), members: vec!["bob".into()] };
    assert_eq!(test.store.change_group(id, &change("人事")).await, Ok(renamed.clone()));
    assert_eq!(test.store.group("人事").await, Ok(renamed));
    assert_eq!(test.store.group("hr").await, Err(StoreError::NotFound));

    test.store.delete_group(id).await.unwrap();
    assert_eq!(test.store.delete_group(id).await, Err(StoreError::NotFound));
    assert_eq!(test.store.change_group(id, &change("hr")).await, Err(StoreError::NotFound));
    assert_eq!(test.store.user(bob).await.unwrap().name, "bob", "members stay");
}

async fn groups_are_listed_by_name(test: &mut TestStore) {
    for name in ["b", "Z", "财务", "a"] {
        test.store.add_group(test.id(), name, &[]).await.unwrap();
    }
    let names = async |after, limit| {
        let groups = test.store.groups(after, limit).await.unwrap();
        groups.into_iter().map(|group| group.name).collect::<Vec<_>>()
    };
    assert_eq!(names(None, 9).await, ["Z", "a", "b", "财务"]);
    assert_eq!(names(Some("Z"), 2).await, ["a", "b"]);
    assert_eq!(names(Some("财务"), 2).await, [""; 0]);
}
