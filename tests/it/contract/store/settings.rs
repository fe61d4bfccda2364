//! What users want remembered.

use askback::domain::{
    error::StoreError,
    setting::{Setting, SettingStore, SettingValue},
};

use super::{on_both_engines, someone};
use crate::support::store::TestStore;

on_both_engines!(settings_are_put_replaced_and_erased_for_their_user, there_is_room_for_so_many);

fn setting(test: &TestStore, key: &str, value: &str) -> Setting {
    Setting { key: key.into(), value: SettingValue::Text(value.into()), updated_at: test.now() }
}

async fn settings_are_put_replaced_and_erased_for_their_user(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let names = SettingValue::Names(vec!["manuals".into(), "政策".into()]);
    let collections = Setting { value: names, ..setting(test, "default_collections", "") };
    for put in [&setting(test, "tone", "brief"), &collections, &setting(test, "tone", "简短 \"x\"")] {
        assert_eq!(test.store.put_setting(eva, put, 9).await, Ok(true));
    }
    test.store.put_setting(bob, &setting(test, "tone", "his"), 9).await.unwrap();
    let hers = vec![collections.clone(), setting(test, "tone", "简短 \"x\"")];
    assert_eq!(test.store.settings(eva).await, Ok(hers));
    assert_eq!(test.store.delete_setting(bob, "default_collections").await, Ok(false), "not his");
    assert_eq!(test.store.delete_setting(eva, "tone").await, Ok(true));
    assert_eq!(test.store.delete_setting(eva, "tone").await, Ok(false));
    assert_eq!(test.store.settings(eva).await, Ok(vec![collections]));
    let others = vec![setting(test, "a", "1"), setting(test, "b", "2")];
    test.store.replace_settings(eva, &others).await.unwrap();
    assert_eq!(test.store.settings(eva).await, Ok(others));
    test.store.replace_settings(eva, &[]).await.unwrap();
    assert_eq!(test.store.settings(eva).await, Ok(Vec::new()));
    assert_eq!(test.store.settings(bob).await.unwrap().len(), 1, "his stay");
    let nobody = test.store.put_setting(test.id(), &setting(test, "a", "1"), 9).await;
    assert_eq!(nobody, Err(StoreError::NotFound));
}

async fn there_is_room_for_so_many(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let keys: Vec<String> = (0..8).map(|no| no.to_string()).collect();
    let puts = keys.iter().map(|key| {
        let (store, setting) = (test.store.clone(), setting(test, key, "x"));
        async move { store.put_setting(eva, &setting, 5).await.unwrap() }
    });
    let put = futures::future::join_all(puts).await.into_iter().filter(|is_put| *is_put).count();
    assert_eq!((put, test.store.settings(eva).await.unwrap().len()), (5, 5));
    let known = test.store.settings(eva).await.unwrap()[0].key.clone();
    assert_eq!(
        test.store.put_setting(eva, &setting(test, &known, "other"), 5).await,
        Ok(true),
        "it takes no more room"
    );
}
