//! Several processes over one database, each with an index and a folder of its own.

use std::time::Duration;

use askback::{
    adapters::clock::SystemClock,
    domain::{
        chat::ChatStore,
        id::JobId,
        job::{JobQueue, Work},
        time::{Clock, Millis},
        upkeep::Upkeep,
    },
    services::ingest::Findings,
};

use super::desk::{Desk, Setup};
use crate::support::store::Schema;

const OLD: &[u8] = "# Lantern\n\nThe lantern burns for nine hours.\n".as_bytes();
const NEW: &[u8] = "# Lantern\n\nThe lantern burns for eleven hours.\n".as_bytes();
const OTHER: &[u8] = "# Compass\n\nThe compass points north.\n".as_bytes();

async fn node(schema: &Schema, node: &'static str) -> Desk {
    Desk::closed(Setup { schema: Some(schema.clone()), node, ..Setup::default() }).await
}

/// What a question finds at a node: name and text of the best passage.
async fn best(desk: &Desk) -> Option<String> {
    desk.best("lantern burns hours").await.map(|(_, text)| text.lines().last().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_changes_the_others_take_up() {
    let Some(schema) = Schema::make().await else { return };
    let (one, two) = (node(&schema, "one").await, node(&schema, "two").await);
    one.start().await;
    let mut seen = two.storage.last_change().await.unwrap();
    assert_eq!(one.upload("lantern.md", OLD).await, None);
    assert_eq!((best(&two).await, two.leaves().await), (None, 0), "nobody has told it");
    seen = two.ingest.take_up(seen).await.unwrap();
    assert_eq!(best(&two).await.as_deref(), Some("The lantern burns for nine hours."));
    assert_eq!(two.ingest.take_up(seen).await.unwrap(), seen, "there is nothing new");

    assert_eq!(one.upload("lantern.md", NEW).await, None);
    assert_eq!(best(&two).await, None, "the old version answers nowhere");
    assert_eq!(one.upload("compass.md", OTHER).await, None);
    seen = two.ingest.take_up(seen).await.unwrap();
    assert_eq!(best(&two).await.as_deref(), Some("The lantern burns for eleven hours."));
    assert_eq!((one.leaves().await, two.leaves().await), (2, 2));

    one.ingest.delete("lantern.md", None).await.unwrap();
    assert_eq!(best(&two).await, None, "from the acknowledgement on");
    seen = two.ingest.take_up(seen).await.unwrap();
    assert_eq!((one.leaves().await, two.leaves().await), (1, 1));

    // A deletion by a job is seen before the job has run.
    let compass = one.current("compass.md").await.document;
    one.storage.enqueue_delete(JobId::at(Millis(1)), one.user, compass, "compass.md", Millis(1)).await.unwrap();
    two.ingest.take_up(seen).await.unwrap();
    assert_eq!(two.leaves().await, 0);

    one.ingest.take_up(0).await.unwrap();
    assert_eq!(one.leaves().await, 0);
    one.close().await;
    two.close().await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cannot_be_taken_up_does_not_keep_the_others() {
    let Some(schema) = Schema::make().await else { return };
    let (one, two) = (node(&schema, "one").await, node(&schema, "two").await);
    one.start().await;
    let seen = two.storage.last_change().await.unwrap();
    assert_eq!(one.upload("lantern.md", OLD).await, None);
    one.tamper("create table kept as select version_id, no, body from segments").await;
    one.tamper("update segments set body = substr(body, 1, 20)").await;
    assert_eq!(one.upload("compass.md", OTHER).await, None);
    let last = two.ingest.take_up(seen).await.unwrap();
    assert_eq!((two.leaves().await, two.ingest.take_up(last).await), (1, Ok(last)));
    assert!(two.ingest.reindex_is_due(), "and it is told");

    one.tamper(
        "update segments set body = k.body from kept k where k.version_id = segments.version_id
                                                          and k.no = segments.no",
    )
    .await;
    two.ingest.survey().await.unwrap();
    assert_eq!((two.leaves().await, two.ingest.reindex_is_due()), (2, false));
    for desk in [one, two] {
        desk.close().await;
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_nodes_change_one_document_and_end_alike() {
    let Some(schema) = Schema::make().await else { return };
    let (one, two) = (node(&schema, "one").await, node(&schema, "two").await);
    let lease = Duration::from_secs(60 * 60);
    for (desk, node) in [(&one, "one"), (&two, "two")] {
        desk.storage.beat_process(node, "now", lease).await.unwrap();
        desk.start().await;
    }
    let texts: Vec<Vec<u8>> =
        (0..8).map(|hour| format!("The lantern burns for {hour} hours.\n").into_bytes()).collect();
    let upload = async |desk: &Desk, parity: usize| {
        for text in texts.iter().skip(parity).step_by(2) {
            assert_eq!(desk.upload("lantern.md", text).await, None);
            desk.ingest.take_up(0).await.unwrap();
        }
    };
    tokio::join!(upload(&one, 0), upload(&two, 1));
    for desk in [&one, &two] {
        desk.ingest.take_up(0).await.unwrap();
    }
    let current = one.text("lantern.md").await;
    for desk in [&one, &two] {
        assert_eq!((best(desk).await, desk.leaves().await), (Some(current.trim_end().to_owned()), 1));
    }
    one.close().await;
    two.close().await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_where_it_lies() {
    let Some(schema) = Schema::make().await else { return };
    let (one, two) = (node(&schema, "one").await, node(&schema, "two").await);
    one.storage.beat_process("one", "now", Duration::from_secs(20)).await.unwrap();
    let submitted = one.submit("lantern.md", OLD).await.unwrap();
    let claim = async || {
        two.storage.claim("two:now:0", Work::Documents, SystemClock.now(), Duration::from_secs(30)).await.unwrap()
    };
    assert_eq!(claim().await, None, "the file is not there");
    one.start().await;
    assert_eq!(one.ended(&submitted).await.error_code, None);
    one.close().await;
    // Of a node that does not come back nothing is left waiting for ever.
    let gone = node(&schema, "gone").await;
    gone.storage.beat_process("gone", "now", Duration::from_secs(20)).await.unwrap();
    gone.submit("compass.md", OTHER).await.unwrap();
    assert_eq!(claim().await, None);
    gone.tamper("update processes set lease_until = lease_until - 60 * 60 * 1000 where id = 'gone'").await;
    assert_eq!(claim().await, None, "it has not been away for an hour");
    gone.tamper("update processes set lease_until = lease_until - 60 * 1000 where id = 'gone'").await;
    let (job, _) = claim().await.expect("it waited for long enough");
    assert_eq!(job.filename, "compass.md");
    for desk in [two, gone] {
        desk.close().await;
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_lies_with_another_node_is_not_missed() {
    let Some(schema) = Schema::make().await else { return };
    let (one, two) = (node(&schema, "one").await, node(&schema, "two").await);
    for (desk, node) in [(&one, "one"), (&two, "two")] {
        desk.storage.beat_process(node, "now", Duration::from_secs(60 * 60)).await.unwrap();
        desk.start().await;
    }
    assert_eq!(one.upload("lantern.md", OLD).await, None);
    assert_eq!(two.upload("compass.md", OTHER).await, None);
    for desk in [&one, &two] {
        desk.ingest.take_up(0).await.unwrap();
        let found = desk.ingest.audit().await.unwrap();
        assert_eq!(found, Findings { elsewhere: 1, indexed: 2, stored: 2, ..Findings::default() });
    }

    // One's own is missed, by who took it in.
    std::fs::remove_file(two.file(&two.current("compass.md").await.blob)).unwrap();
    let (of_one, of_two) = (one.ingest.audit().await.unwrap(), two.ingest.audit().await.unwrap());
    let names = |found: &Findings| found.without_file.iter().map(|each| each.filename.clone()).collect::<Vec<_>>();
    assert_eq!((names(&of_one), of_one.elsewhere), (vec![], 1));
    assert_eq!((names(&of_two), of_two.elsewhere), (vec!["compass.md".to_owned()], 1));

    // What does not fit together is read again where the file is.
    two.tamper("delete from chunks where level = 3 and body like '%lantern%'").await;
    let found = two.ingest.audit().await.unwrap();
    let unsound: Vec<&str> = found.unsound.iter().map(|each| each.filename.as_str()).collect();
    assert_eq!(unsound, ["lantern.md"]);
    for job in two.ingest.mend(&found).await.unwrap() {
        assert_eq!(two.ended_job(job).await.error_code, None);
    }
    let warnings = async |name| one.current(name).await.warnings.into_iter().map(|each| each.code).collect::<Vec<_>>();
    assert_eq!((warnings("lantern.md").await, warnings("compass.md").await), (vec![], vec!["file_missing".to_owned()]));
    assert_eq!(best(&one).await.as_deref(), Some("The lantern burns for nine hours."));

    // A copy that two also has, and that is damaged, is no loss.
    assert_eq!(two.upload("lantern.md", OLD).await, None, "it has not changed, and is kept here too");
    let blob = one.current("lantern.md").await.blob;
    std::fs::write(two.file(&blob), "other bytes").unwrap();
    let found = two.ingest.audit().await.unwrap();
    assert_eq!(found.damaged_files, [(blob.clone(), vec![])]);
    two.ingest.mend(&found).await.unwrap();
    assert!(!two.file(&blob).exists() && one.file(&blob).exists());
    assert_eq!(warnings("lantern.md").await, [""; 0]);
    for desk in [one, two] {
        desk.close().await;
    }
    schema.remove().await;
}
