//! What disagrees is found and mended.

use askback::{
    domain::{index::Filter, knowledge::DocumentStore, upkeep::Upkeep},
    services::ingest::Findings,
};

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::store::Schema;

on_both_engines!(
    a_sound_shelf_has_no_findings,
    what_disagrees_is_mended,
    an_index_that_holds_other_leaves_is_told_again,
    a_document_without_its_file_is_told,
);

const TEXT: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";

async fn open(schema: Option<Schema>) -> Desk {
    let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
    desk.start().await;
    desk
}

async fn a_sound_shelf_has_no_findings(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.ingest.audit().await.unwrap(), Findings::default());
    assert_eq!(desk.upload("lantern.md", TEXT).await, None);
    assert_eq!(desk.upload("lantern.md", b"# Lantern\n\nIt burns.").await, None);
    assert_eq!(desk.upload("broken.pdf", b"no PDF").await.as_deref(), Some("malformed"));
    let sound = Findings { indexed: 1, stored: 1, ..Findings::default() };
    assert_eq!(desk.ingest.audit().await.unwrap(), sound);
    desk.close().await;
}

async fn what_disagrees_is_mended(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.upload("lantern.md", TEXT).await, None);
    assert_eq!(desk.upload("lamp.md", b"# Lamp\n\nThe lamp burns for ever.").await, None);
    assert_eq!(desk.upload("broken.pdf", b"no PDF").await.as_deref(), Some("malformed"));
    let orphan = "ab".repeat(32);
    std::fs::create_dir_all(desk.file(&orphan).parent().unwrap()).unwrap();
    std::fs::write(desk.file(&orphan), "nobody's").unwrap();
    desk.tamper("delete from chunks where body like '%nine hours%'").await;
    desk.tamper("update versions set state = 'staged' where state = 'purged'").await;

    let found = desk.ingest.audit().await.unwrap();
    assert_eq!((found.orphan_files.as_slice(), found.leftovers.len()), (std::slice::from_ref(&orphan), 1));
    let unsound: Vec<&str> = found.unsound.iter().map(|each| each.filename.as_str()).collect();
    assert_eq!((unsound, found.without_file.len()), (vec!["lantern.md"], 0));
    assert_eq!(desk.best("lantern nine hours").await, None, "hits without their text are dropped");

    let jobs = desk.ingest.mend(&found).await.unwrap();
    for job in jobs {
        assert_eq!(desk.ended_job(job).await.error_code, None);
    }
    let sound = Findings { indexed: 2, stored: 2, ..Findings::default() };
    assert_eq!(desk.ingest.audit().await.unwrap(), sound);
    assert!(!desk.file(&orphan).exists());
    assert_eq!(desk.best("lantern nine hours").await.unwrap().0, "lantern.md");
    desk.close().await;
}

async fn an_index_that_holds_other_leaves_is_told_again(schema: Option<Schema>) {
    let desk = open(schema).await;
    for name in ["lantern.md", "lamp.md", "torch.md"] {
        assert_eq!(desk.upload(name, format!("# {name}\n\nIt burns.").as_bytes()).await, None);
    }
    let sound = Findings { indexed: 3, stored: 3, ..Findings::default() };
    assert_eq!(desk.ingest.audit().await.unwrap(), sound);
    let version = desk.current("lantern.md").await;
    let of_lantern = Filter { documents: Some(vec![version.document]), ..Filter::default() };
    let held = desk.storage.segments(desk.profile(), version.id).await.unwrap();
    // One document is lost, another stands there twice, and one that was deleted is still found.
    desk.index().delete(&of_lantern).await.unwrap();
    let lamp = desk.current("lamp.md").await;
    let mut old = desk.storage.segments(desk.profile(), lamp.id).await.unwrap();
    for segment in &mut old {
        segment.version = version.id;
        segment.points.clone_from(&held[0].points);
    }
    desk.index().upsert(old).await.unwrap();
    let torch = desk.current("torch.md").await;
    let gone = desk.storage.segments(desk.profile(), torch.id).await.unwrap();
    desk.ingest.delete("torch.md", None).await.unwrap();
    desk.index().upsert(gone).await.unwrap();

    let found = desk.ingest.audit().await.unwrap();
    let mut names: Vec<&str> = found.misindexed.iter().map(|(document, _)| document.filename.as_str()).collect();
    names.sort_unstable();
    assert_eq!((names, found.stray.as_slice()), (vec!["lamp.md", "lantern.md"], &[torch.document][..]));
    assert_eq!((found.indexed, found.stored), (3, 2), "a count alone would not say which");
    assert_eq!(desk.ingest.mend(&found).await.unwrap(), [], "nothing has to be read again");
    let sound = Findings { indexed: 2, stored: 2, ..Findings::default() };
    assert_eq!(desk.ingest.audit().await.unwrap(), sound);
    desk.close().await;
}

async fn a_document_without_its_file_is_told(schema: Option<Schema>) {
    let desk = open(schema).await;
    assert_eq!(desk.upload("lantern.md", TEXT).await, None);
    std::fs::remove_file(desk.file(&desk.current("lantern.md").await.blob)).unwrap();
    let found = desk.ingest.audit().await.unwrap();
    let names: Vec<&str> = found.without_file.iter().map(|each| each.filename.as_str()).collect();
    assert_eq!(names, ["lantern.md"]);
    for _ in 0..2 {
        assert_eq!(desk.ingest.mend(&found).await.unwrap(), []);
    }
    let document = desk.storage.documents_named("lantern.md", None).await.unwrap().remove(0);
    let warnings: Vec<String> = document.current.unwrap().warnings.into_iter().map(|each| each.code).collect();
    assert_eq!(warnings, ["file_missing"], "once");
    assert!(desk.best("lantern burns").await.is_some(), "and it answers all the same");
    assert_eq!(desk.upload("lantern.md", TEXT).await, None);
    assert_eq!(desk.current("lantern.md").await.warnings, [], "the same bytes bring it back");
    assert_eq!(desk.ingest.audit().await.unwrap().without_file, []);
    desk.close().await;
}
