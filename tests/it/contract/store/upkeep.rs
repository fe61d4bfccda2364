//! What is of no use any more, and what must stay.

use std::time::Duration;

use askback::domain::{
    chat::{ChatStore, Citation, Finish},
    error::StoreError,
    id::{DocumentId, UserId},
    job::JobQueue,
    knowledge::{DocumentStore, VersionState},
    run::RunStatus,
    upkeep::Upkeep,
};

use super::{
    documents::{profile, publish_text, upload},
    on_both_engines, someone,
    turns::{begin, says},
};
use crate::support::store::TestStore;

on_both_engines!(a_replaced_version_stays_while_an_answer_cites_it, leaves_are_told_only_where_all_parts_fit);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An answer that cites this version.
async fn cite(test: &TestStore, user: UserId, document_id: DocumentId, version: i64) {
    let turn = begin(test, user, says("How long?")).await;
    let citation = Citation {
        marker: 1,
        document_id,
        version,
        filename: "a.txt".into(),
        page: None,
        start: 0,
        end: 3,
        quote: "One".into(),
        quote_sha256: "00".into(),
        removed: false,
    };
    let finish = Finish { citations: vec![citation], ..turn.end(RunStatus::Completed, "One [1].") };
    test.store.finish(&finish).await.unwrap();
}

async fn a_replaced_version_stays_while_an_answer_cites_it(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let mut document = None;
    for (bytes, text) in [("v1", "One year."), ("v2", "Two years."), ("v3", "Three years.")] {
        document = Some(publish_text(test, &upload(test, "a.txt", bytes), text).await);
    }
    let document = document.unwrap();
    cite(test, eva, document, 1).await;
    let replaced = test.now();
    let states = async |test: &TestStore| {
        let mut states = Vec::new();
        for no in 1..=3 {
            states.push(test.store.version(document, no).await.map(|version| version.state));
        }
        states
    };
    assert_eq!(test.store.expire(replaced, 9).await, Ok(0), "replaced just now");
    test.clock.forward(DAY);
    assert_eq!(test.store.expire(test.now(), 9).await, Ok(1));
    let expected = [VersionState::Retired, VersionState::Purged, VersionState::Current].map(Ok);
    assert_eq!(states(test).await, expected);
    let access = test.store.readable(eva, None).await.unwrap();
    assert_eq!(test.store.text(&access, document, 1, 0, 99).await, Ok("One year.".into()), "a quote can be checked");
    assert_eq!(test.store.text(&access, document, 2, 0, 99).await, Err(StoreError::NotFound));
    let dying = test.store.dying_blobs(test.now(), 9).await.unwrap();
    assert_eq!(dying, [format!("{:0>64}", "v2")], "its file goes too, and that of the cited one stays");
    test.store.forget_blob(&dying[0]).await.unwrap();

    test.store.delete_session(eva, "s").await.unwrap();
    assert_eq!(test.store.expire(test.now(), 9).await, Ok(1));
    assert_eq!(states(test).await, [Ok(VersionState::Purged), Err(StoreError::NotFound), Ok(VersionState::Current)]);
    assert_eq!(test.store.busy().await, Ok(false));
}

async fn leaves_are_told_only_where_all_parts_fit(test: &mut TestStore) {
    let text = "Two years. 两年保修。";
    let good = upload(test, "good.txt", "v1");
    publish_text(test, &good, text).await;
    let leaves = test.store.leaves(profile(test).await, good.version).await.unwrap().unwrap();
    assert_eq!((leaves.len(), leaves.is_sorted()), (2, true));
    let segments = test.store.segments(profile(test).await, good.version).await.unwrap();
    assert_eq!(segments.iter().map(|segment| segment.points.len()).collect::<Vec<_>>(), [2]);
    for (no, damage) in [
        "update pages set body = replace(body, '保', '报') where no = 1",
        "update chunks set body = 'Two yeah' where level = 3 and no = 0",
        "update chunks set char_end = char_end + 1 where level = 1",
        "delete from chunks where level = 3 and no = 1",
        "delete from pages where no = 0",
        "update versions set chunk_count = 3",
        "delete from segments",
    ]
    .into_iter()
    .enumerate()
    {
        test.store.delete_document(test.store.documents(None, None, 1).await.unwrap()[0].id, test.now()).await.unwrap();
        let bad = upload(test, &format!("bad-{no}.txt"), "v2");
        publish_text(test, &bad, text).await;
        crate::support::store::tamper(&test.engine, damage).await;
        assert_eq!(test.store.leaves(profile(test).await, bad.version).await, Ok(None), "{damage}");
    }
}
