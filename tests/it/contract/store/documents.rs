//! Documents: from upload to citation.

use std::time::Duration;

use askback::domain::{
    error::StoreError,
    extract::PageMark,
    id::{ChunkId, CollectionId, DocumentId, ProfileId, UserId, VersionId},
    index::{Point, Quantized, Segment, Sparse},
    job::{Fence, JobFailure, JobQueue, JobReport, JobState, Work},
    knowledge::{
        Access, Chunk, Collection, Document, DocumentStore, Emptied, Facets, Level, NewVersion, Page, Placed,
        Published, Readers, Submitted, Upload, Version, VersionState, Visibility, Warning,
    },
    profile::{Profile, ProfileStore},
    upkeep::Upkeep,
    user::{GroupChange, GroupId, UserStore},
};

use super::{
    jobs::{LEASE, lapse},
    on_both_engines, someone,
};
use crate::support::store::TestStore;

on_both_engines!(
    an_upload_becomes_visible_when_it_is_whole,
    the_same_bytes_again_change_nothing,
    a_second_upload_replaces_the_first,
    an_older_upload_that_ends_later_loses,
    old_bytes_are_a_change_while_a_newer_upload_runs,
    a_fenced_job_changes_nothing,
    a_retry_begins_anew,
    a_job_given_up_leaves_nothing,
    a_deleted_document_is_out_of_reach,
    what_can_be_read_is_present_or_has_a_successor,
    a_deletion_concerns_what_was_there,
    a_document_deleted_while_it_is_read_stays_deleted,
    readers_of_a_collection_are_enforced,
    a_collection_goes_when_nothing_is_in_it,
    a_group_reads_while_it_is_named_and_one_is_in_it,
    documents_are_listed_in_pages,
    many_chunks_are_staged_and_read_back,
);

/// An upload of these bytes under this name, in `default`.
pub(super) fn upload(test: &TestStore, filename: &str, bytes: &str) -> Upload {
    Upload {
        job: test.id(),
        user: None,
        collection: "default".into(),
        new_collection: test.id(),
        filename: filename.into(),
        new_document: test.id(),
        version: test.id(),
        blob: format!("{bytes:0>64}"),
        bytes: 10,
        node: None,
        media_type: "text/plain".into(),
        now: test.now(),
    }
}

/// Submits and claims it.
async fn start(test: &TestStore, upload: &Upload) -> (DocumentId, Fence) {
    let Submitted::Queued { document, .. } = test.store.submit(upload).await.unwrap() else {
        panic!("nothing to do");
    };
    let (job, fence) = test.store.claim("worker", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    assert_eq!((job.id, job.version, job.blob), (upload.job, Some(upload.version), Some(upload.blob.clone())));
    (document, fence)
}

fn described(upload: &Upload, text: &str) -> NewVersion {
    NewVersion {
        id: upload.version,
        media_type: "text/plain".into(),
        extractor: "text/1".into(),
        title: Some("Warranty 保修".into()),
        lang: Some("en".into()),
        facets: Facets { subject: Some("Aurora".into()), ..Facets::default() },
        warnings: vec![Warning { code: "w".into(), message: "m".into() }],
        chars: i64::try_from(text.chars().count()).unwrap(),
    }
}

/// A section with two leaves that share the text.
fn cut(version: VersionId, text: &str) -> Vec<Chunk> {
    let chars: Vec<char> = text.chars().collect();
    let chunk = |level: Level, no: usize, range: std::ops::Range<usize>, parent| Chunk {
        id: ChunkId::derived(version, &format!("{}/{no}", u8::from(level))),
        version,
        level,
        no: i64::try_from(no).unwrap(),
        parent,
        page: Some("iv".into()),
        start: i64::try_from(range.start).unwrap(),
        end: i64::try_from(range.end).unwrap(),
        section: Some("A > B".into()),
        header: Some("Product | Years".into()),
        body: chars[range].iter().collect(),
    };
    let section = chunk(Level::Section, 0, 0..chars.len(), None);
    let half = chars.len() / 2;
    vec![
        chunk(Level::Leaf, 0, 0..half, Some(section.id)),
        chunk(Level::Leaf, 1, half..chars.len(), Some(section.id)),
        section,
    ]
}

fn packed(document: DocumentId, collection: CollectionId, chunks: &[Chunk]) -> Segment {
    let points = chunks.iter().filter(|chunk| chunk.level == Level::Leaf).map(|leaf| Point {
        chunk: leaf.id,
        dense: Some(Quantized { scale: 0.5, codes: vec![-127, 0, 127] }),
        sparse: Sparse { terms: vec![1, u32::MAX], weights: vec![0.25, 2.0] },
    });
    Segment { collection, document, version: chunks[0].version, points: points.collect() }
}

/// The profile of what is staged.
pub(super) async fn profile(test: &TestStore) -> ProfileId {
    let three = Profile { embedder: "three@1".into(), dims: 3, analyser: "words@1".into() };
    test.store.open_profile(test.id(), &three, test.now()).await.unwrap()
}

async fn stage(test: &TestStore, upload: &Upload, document: DocumentId, fence: Fence, text: &str) -> Segment {
    let collections = test.store.collections(None, 100).await.unwrap();
    let collection = collections.into_iter().find(|each| each.name == upload.collection).unwrap().id;
    let version = upload.version;
    test.store.stage_version(fence, &described(upload, text)).await.unwrap();
    let half = text.chars().count() / 2;
    let page = |no: i64, start: usize, end: usize| Page {
        no,
        label: Some(no.to_string()),
        start: i64::try_from(start).unwrap(),
        end: i64::try_from(end).unwrap(),
        body: text.chars().skip(start).take(end - start).collect(),
    };
    let pages = [page(0, 0, half), page(1, half, text.chars().count())];
    test.store.stage_pages(fence, version, &pages).await.unwrap();
    let chunks = cut(version, text);
    test.store.stage_chunks(fence, version, &chunks).await.unwrap();
    let segment = packed(document, collection, &chunks);
    test.store.stage_segment(fence, profile(test).await, version, 0, &segment).await.unwrap();
    segment
}

async fn publish(test: &TestStore, upload: &Upload, fence: Fence) -> Result<Published, StoreError> {
    let report = JobReport { message: "done".into(), total: 2, processed: 2, ..JobReport::default() };
    test.store.publish(fence, upload.version, 2, &report, test.now()).await
}

/// All the way; gives the document.
pub(super) async fn publish_text(test: &TestStore, upload: &Upload, text: &str) -> DocumentId {
    let (document, fence) = start(test, upload).await;
    stage(test, upload, document, fence, text).await;
    publish(test, upload, fence).await.unwrap();
    document
}

async fn everyone(test: &TestStore) -> Access {
    test.store.readable(test.id(), None).await.unwrap()
}

fn bodies(placed: Vec<Placed>) -> Vec<String> {
    placed.into_iter().map(|placed| placed.chunk.body).collect()
}

async fn an_upload_becomes_visible_when_it_is_whole(test: &mut TestStore) {
    let text = "Two years. 两年保修。";
    let upload = upload(test, "手册.txt", "v1");
    let (document, fence) = start(test, &upload).await;
    let segment = stage(test, &upload, document, fence, text).await;
    let access = everyone(test).await;
    let ids: Vec<ChunkId> = cut(upload.version, text).iter().map(|chunk| chunk.id).collect();
    let [left, right, section] = ids[..] else { panic!() };
    assert_eq!(test.store.hydrate(&access, &ids).await, Ok(Vec::new()), "nothing staged is seen");
    assert_eq!(test.store.current_segments(profile(test).await, None, 9).await, Ok(Vec::new()));
    assert_eq!(test.store.text(&access, document, 1, 0, 9).await, Err(StoreError::NotFound));
    let waiting = test.store.document(document).await.unwrap();
    assert_eq!((waiting.current_no, waiting.job_state), (None, Some(JobState::Running)));

    assert_eq!(publish(test, &upload, fence).await, Ok(Published::Current { replaced: None }));
    let version = Version {
        id: upload.version,
        document,
        no: 1,
        blob: upload.blob.clone(),
        bytes: 10,
        media_type: "text/plain".into(),
        extractor: "text/1".into(),
        title: Some("Warranty 保修".into()),
        lang: Some("en".into()),
        facets: Facets { subject: Some("Aurora".into()), ..Facets::default() },
        warnings: vec![Warning { code: "w".into(), message: "m".into() }],
        state: VersionState::Current,
        chars: 16,
        chunk_count: 2,
        created_at: test.now(),
    };
    let collection = segment.collection;
    let whole = Document {
        id: document,
        collection,
        collection_name: "default".into(),
        filename: "手册.txt".into(),
        current_no: Some(1),
        current: Some(version.clone()),
        job_state: None,
        created_at: test.now(),
    };
    assert_eq!(test.store.document(document).await, Ok(whole.clone()));
    assert_eq!(test.store.documents_named("手册.txt", None).await, Ok(vec![whole.clone()]));
    assert_eq!(test.store.documents_named("手册.txt", Some("other")).await, Ok(Vec::new()));
    assert_eq!(test.store.documents(Some("default"), None, 9).await, Ok(vec![whole]));
    assert_eq!(test.store.version(document, 1).await, Ok(version));

    let placed = Placed {
        chunk: cut(upload.version, text).remove(1),
        document,
        collection,
        filename: "手册.txt".into(),
        version_no: 1,
        title: Some("Warranty 保修".into()),
        lang: Some("en".into()),
        facets: Facets { subject: Some("Aurora".into()), ..Facets::default() },
    };
    let hydrated = test.store.hydrate(&access, &[right, test.id(), left]).await.unwrap();
    assert_eq!((hydrated.len(), &hydrated[0], hydrated[1].chunk.id), (2, &placed, left), "in the order asked for");
    let second = PageMark { label: "1".into(), start: 8 };
    assert_eq!(test.store.pages_inside(&[left, section, right]).await, Ok(vec![(section, second)]));
    assert_eq!(bodies(test.store.children(&access, section).await.unwrap()), ["Two year", "s. 两年保修。"]);
    assert_eq!(test.store.child_counts(&[left, section]).await, Ok(vec![(left, 0), (section, 2)]));
    assert_eq!(test.store.current_segments(profile(test).await, None, 9).await, Ok(vec![(upload.version, 0, segment)]));
    assert_eq!(test.store.current_segments(profile(test).await, Some((upload.version, 0)), 9).await, Ok(Vec::new()));
    assert_eq!(test.store.text(&access, document, 1, 4, 13).await.as_deref(), Ok("years. 两年"));
    assert_eq!(test.store.text(&access, document, 1, 11, 999).await.as_deref(), Ok("两年保修。"));
    assert_eq!(test.store.text(&access, document, 1, 5, 5).await.as_deref(), Ok(""));
    assert_eq!(test.store.text(&access, document, 1, -3, 3).await.as_deref(), Ok("Two"));
    assert_eq!(test.store.job(upload.job).await.unwrap().state, JobState::Completed);
}

async fn the_same_bytes_again_change_nothing(test: &mut TestStore) {
    let first = upload(test, "a.txt", "v1");
    let document = publish_text(test, &first, "Two years.").await;
    let again = upload(test, "a.txt", "v1");
    let Submitted::Unchanged { job, document: same, version } = test.store.submit(&again).await.unwrap() else {
        panic!("queued");
    };
    assert_eq!((job, same, version.id), (again.job, document, first.version));
    let job = test.store.job(job).await.unwrap();
    assert_eq!((job.state, job.version), (JobState::Completed, Some(first.version)));
    assert_eq!(test.store.claim("worker", Work::Documents, test.now(), LEASE).await, Ok(None));
    // The same bytes in another collection are another document.
    let elsewhere = Upload { collection: "other".into(), ..upload(test, "a.txt", "v1") };
    assert!(matches!(test.store.submit(&elsewhere).await, Ok(Submitted::Queued { no: 1, .. })));
}

async fn a_second_upload_replaces_the_first(test: &mut TestStore) {
    let first = upload(test, "a.txt", "v1");
    let document = publish_text(test, &first, "Two years.").await;
    let second = upload(test, "a.txt", "v2");
    let (same, fence) = start(test, &second).await;
    assert_eq!(same, document);
    let segment = stage(test, &second, document, fence, "Three years.").await;
    let access = everyone(test).await;
    let old: Vec<ChunkId> = cut(first.version, "Two years.").iter().map(|chunk| chunk.id).collect();
    assert_eq!(bodies(test.store.hydrate(&access, &old).await.unwrap()).len(), 3, "the old one answers until then");
    assert_eq!(publish(test, &second, fence).await, Ok(Published::Current { replaced: Some(first.version) }));
    assert_eq!(test.store.hydrate(&access, &old).await, Ok(Vec::new()));
    assert_eq!(test.store.current_segments(profile(test).await, None, 9).await, Ok(vec![(second.version, 0, segment)]));
    assert_eq!(test.store.text(&access, document, 2, 0, 5).await.as_deref(), Ok("Three"));
    assert_eq!(test.store.text(&access, document, 1, 0, 3).await.as_deref(), Ok("Two"), "citations stay checkable");
    assert_eq!(test.store.version(document, 1).await.unwrap().state, VersionState::Retired);
    assert_eq!(test.store.document(document).await.unwrap().current_no, Some(2));
}

async fn an_older_upload_that_ends_later_loses(test: &mut TestStore) {
    let old = upload(test, "a.txt", "v1");
    let (document, slow) = start(test, &old).await;
    stage(test, &old, document, slow, "Two years.").await;
    let new = upload(test, "a.txt", "v2");
    publish_text(test, &new, "Three years.").await;
    assert_eq!(publish(test, &old, slow).await, Ok(Published::TooLate));
    assert_eq!(test.store.document(document).await.unwrap().current_no, Some(2));
    assert_eq!(test.store.version(document, 1).await.unwrap().state, VersionState::Purged);
    let access = everyone(test).await;
    assert_eq!(test.store.text(&access, document, 1, 0, 3).await, Err(StoreError::NotFound));
    assert_eq!(test.store.job(old.job).await.unwrap().state, JobState::Completed);
}

async fn old_bytes_are_a_change_while_a_newer_upload_runs(test: &mut TestStore) {
    publish_text(test, &upload(test, "a.txt", "v1"), "Two years.").await;
    test.store.submit(&upload(test, "a.txt", "v2")).await.unwrap();
    let back = test.store.submit(&upload(test, "a.txt", "v1")).await;
    assert!(matches!(back, Ok(Submitted::Queued { no: 3, .. })), "{back:?}");
}

async fn a_fenced_job_changes_nothing(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    let (document, old) = start(test, &upload).await;
    lapse(test, old).await;
    let (_, new) = test.store.claim("other", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    let chunks = cut(upload.version, "Two years.");
    let collection = test.store.document(document).await.unwrap().collection;
    let segment = packed(document, collection, &chunks);
    let version = upload.version;
    for refused in [
        test.store.stage_version(old, &described(&upload, "Two years.")).await,
        test.store.stage_chunks(old, version, &chunks).await,
        test.store.stage_segment(old, profile(test).await, version, 0, &segment).await,
        test.store.unstage(old, version).await,
        publish(test, &upload, old).await.map(|_| ()),
        test.store.fail(old, &JobFailure::Retry(LEASE), &JobReport::default(), test.now()).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    // A worker's fence is good for its own version only.
    let foreign = test.store.stage_chunks(new, test.id(), &chunks).await;
    assert!(matches!(foreign, Err(StoreError::Conflict(_))), "{foreign:?}");
    stage(test, &upload, document, new, "Two years.").await;
    assert_eq!(publish(test, &upload, new).await, Ok(Published::Current { replaced: None }));
}

async fn a_retry_begins_anew(test: &mut TestStore) {
    let (_, waits) = start(test, &upload(test, "b.txt", "v2")).await;
    test.store.fail(waits, &JobFailure::Retry(LEASE), &JobReport::default(), test.now()).await.unwrap();
    assert_eq!(test.store.claim("worker", Work::Documents, test.now(), LEASE).await, Ok(None), "not before its time");
    let upload = upload(test, "a.txt", "v1");
    let (document, fence) = start(test, &upload).await;
    stage(test, &upload, document, fence, "Two year").await;
    test.store.fail(fence, &JobFailure::Retry(Duration::ZERO), &JobReport::default(), test.now()).await.unwrap();
    let (job, fence) = test.store.claim("worker", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    assert_eq!(job.attempts, 2);
    test.store.unstage(fence, upload.version).await.unwrap();
    stage(test, &upload, document, fence, "Two years.").await;
    publish(test, &upload, fence).await.unwrap();
    let access = everyone(test).await;
    assert_eq!(test.store.text(&access, document, 1, 0, 99).await.as_deref(), Ok("Two years."));
}

async fn a_job_given_up_leaves_nothing(test: &mut TestStore) {
    let upload = upload(test, "a.pdf", "v1");
    let (document, fence) = start(test, &upload).await;
    stage(test, &upload, document, fence, "Two years.").await;
    let failure = JobFailure::Final { code: "malformed".into(), message: "damaged".into() };
    test.store.fail(fence, &failure, &JobReport::default(), test.now()).await.unwrap();
    let job = test.store.job(upload.job).await.unwrap();
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("malformed")));
    assert_eq!(test.store.version(document, 1).await.unwrap().state, VersionState::Purged);
    let shown = test.store.document(document).await.unwrap();
    assert_eq!((shown.current, shown.job_state), (None, Some(JobState::Failed)));
    let section = cut(upload.version, "Two years.").pop().unwrap().id;
    assert_eq!(test.store.child_counts(&[section]).await, Ok(vec![(section, 0)]));
}

async fn a_deleted_document_is_out_of_reach(test: &mut TestStore) {
    let first = upload(test, "a.txt", "v1");
    let document = publish_text(test, &first, "Two years.").await;
    assert_eq!(test.store.delete_document(document, test.now()).await, Ok(2));
    assert_eq!(test.store.delete_document(document, test.now()).await, Err(StoreError::NotFound));
    let access = everyone(test).await;
    let ids: Vec<ChunkId> = cut(first.version, "Two years.").iter().map(|chunk| chunk.id).collect();
    assert_eq!(test.store.hydrate(&access, &ids).await, Ok(Vec::new()));
    assert_eq!(test.store.current_segments(profile(test).await, None, 9).await, Ok(Vec::new()));
    assert_eq!(test.store.text(&access, document, 1, 0, 9).await, Err(StoreError::NotFound));
    assert_eq!(test.store.documents(None, None, 9).await, Ok(Vec::new()));
    assert_eq!(test.store.document(document).await, Err(StoreError::NotFound));
    let anew = upload(test, "a.txt", "v1");
    assert_ne!(publish_text(test, &anew, "Two years.").await, document);
}

async fn what_can_be_read_is_present_or_has_a_successor(test: &mut TestStore) {
    let first = upload(test, "a.txt", "v1");
    let document = publish_text(test, &first, "Two years.").await;
    let other = Upload { collection: "other".into(), ..upload(test, "a.txt", "v1") };
    let elsewhere = publish_text(test, &other, "Two years.").await;
    let kept = publish_text(test, &upload(test, "b.txt", "v2"), "Nothing.").await;
    let access = everyone(test).await;
    let asked = [document, kept, elsewhere, test.id()];
    test.store.delete_document(document, test.now()).await.unwrap();
    // What lives stands for itself.
    let live = [(kept, kept), (elsewhere, elsewhere)];
    let with = |pairs: &[(DocumentId, DocumentId)]| {
        let mut all = [pairs, live.as_slice()].concat();
        all.sort_unstable();
        Ok(all)
    };
    assert_eq!(test.store.present(&access, &asked).await, with(&[]), "nothing of its name in its collection");
    let second = publish_text(test, &upload(test, "a.txt", "v3"), "Three years.").await;
    assert_eq!(test.store.present(&access, &asked).await, with(&[(document, second)]));
    test.store.delete_document(second, test.now()).await.unwrap();
    let third = publish_text(test, &upload(test, "a.txt", "v4"), "Four years.").await;
    assert_eq!(test.store.present(&access, &asked).await, with(&[(document, third)]), "whichever it is now");
    let nothing = Access::default();
    assert_eq!(test.store.present(&nothing, &asked).await, Ok(Vec::new()), "for whoever may read it");
}

async fn a_deletion_concerns_what_was_there(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let old = upload(test, "a.txt", "v1");
    let document = publish_text(test, &old, "Two years.").await;
    let waiting = upload(test, "a.txt", "v2");
    let (_, waiting_fence) = start(test, &waiting).await;
    let deletion = test.id();
    test.store.enqueue_delete(deletion, eva, document, "a.txt", test.now()).await.unwrap();
    assert_eq!(test.store.documents_named("a.txt", None).await, Ok(Vec::new()), "it answers no more");
    let again = test.store.enqueue_delete(test.id(), eva, document, "a.txt", test.now()).await;
    assert_eq!(again, Err(StoreError::NotFound));
    let cancelled = test.store.beat(waiting_fence, &JobReport::default(), test.now(), LEASE).await;
    assert_eq!(cancelled, Ok(true), "an upload before it is gone too");
    stage(test, &waiting, document, waiting_fence, "Three years.").await;
    assert_eq!(publish(test, &waiting, waiting_fence).await, Ok(Published::Cancelled));

    // An upload after it is another document, whichever job is done first.
    test.clock.forward(Duration::from_millis(1));
    let first = upload(test, "a.txt", "v1");
    let Submitted::Queued { document: anew, no: 1, .. } = test.store.submit(&first).await.unwrap() else { panic!() };
    assert_ne!(anew, document);
    let (job, _) = test.store.claim("worker", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    assert_eq!(job.id, deletion);
    let (job, fence) = test.store.claim("worker", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    assert_eq!(job.id, first.job);
    stage(test, &first, anew, fence, "Four years.").await;
    assert_eq!(publish(test, &first, fence).await, Ok(Published::Current { replaced: None }));
    assert_eq!(test.store.purge_document(document).await, Ok(2));
    assert_eq!(test.store.purge_document(document).await, Ok(0));
    assert_eq!(test.store.purge_document(anew).await, Ok(0), "a live document is not touched");
    let access = everyone(test).await;
    assert_eq!(test.store.text(&access, anew, 1, 0, 4).await.as_deref(), Ok("Four"));
    assert_eq!(test.store.version(document, 1).await.unwrap().state, VersionState::Purged);
}

async fn a_document_deleted_while_it_is_read_stays_deleted(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    let (document, fence) = start(test, &upload).await;
    assert_eq!(test.store.delete_document(document, test.now()).await, Ok(0));
    let cancelled = test.store.beat(fence, &JobReport::default(), test.now(), LEASE).await;
    assert_eq!(cancelled, Ok(true), "its worker is told");
    stage(test, &upload, document, fence, "Two years.").await;
    assert_eq!(publish(test, &upload, fence).await, Ok(Published::Cancelled));
    assert_eq!(test.store.current_segments(profile(test).await, None, 9).await, Ok(Vec::new()));
    assert_eq!(test.store.version(document, 1).await.unwrap().state, VersionState::Purged);
}

async fn a_collection_goes_when_nothing_is_in_it(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    assert_eq!(test.store.delete_collection("default").await, Err(StoreError::NotFound));
    let first = upload(test, "a.txt", "v1");
    let document = publish_text(test, &first, "Two years.").await;
    assert_eq!(test.store.delete_collection("default").await, Ok(Emptied::NotEmpty));
    let waiting = upload(test, "a.txt", "v2");
    let (_, fence) = start(test, &waiting).await;
    test.store.enqueue_delete(test.id(), eva, document, "a.txt", test.now()).await.unwrap();
    assert_eq!(test.store.delete_collection("default").await, Ok(Emptied::NotEmpty), "an upload is at work");
    assert_eq!(publish(test, &waiting, fence).await, Ok(Published::Cancelled));
    assert_eq!(
        test.store.delete_collection("default").await,
        Ok(Emptied::NotEmpty),
        "the deletion is still to be done"
    );
    let (_, fence) = test.store.claim("worker", Work::Documents, test.now(), LEASE).await.unwrap().unwrap();
    test.store.purge_document(document).await.unwrap();
    test.store.complete(fence, &JobReport::default(), test.now()).await.unwrap();

    // Others keep theirs.
    let other = Upload { collection: "other".into(), ..upload(test, "a.txt", "v1") };
    let kept = publish_text(test, &other, "Two years.").await;
    assert_eq!(test.store.delete_collection("default").await, Ok(Emptied::Deleted));
    assert_eq!(test.store.collection("default").await, Err(StoreError::NotFound));
    let names: Vec<String> =
        test.store.collections(None, 100).await.unwrap().into_iter().map(|each| each.name).collect();
    assert_eq!(names, ["other"]);
    assert_eq!(test.store.document(kept).await.unwrap().collection_name, "other");
    assert_eq!(test.store.version(document, 1).await, Err(StoreError::NotFound), "nothing is left of what was in it");
    let dying = test.store.dying_blobs(test.now(), 9).await.unwrap();
    assert_eq!(dying, [format!("{:0>64}", "v2")], "its files go, but for one that others need");
}

async fn readers_of_a_collection_are_enforced(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let id = test.id();
    let listed = test.store.set_readers("秘密", id, &only(&[eva, eva], &[]), test.now()).await;
    let secret = Collection {
        id,
        name: "秘密".into(),
        visibility: Visibility::Listed,
        users: vec!["eva".into()],
        groups: Vec::new(),
        created_at: test.now(),
    };
    assert_eq!(listed, Ok(secret.clone()));
    assert_eq!(test.store.collections(None, 100).await, Ok(vec![secret.clone()]));
    let inside = Upload { collection: "秘密".into(), ..upload(test, "a.txt", "v1") };
    let document = publish_text(test, &inside, "Two years.").await;
    publish_text(test, &upload(test, "b.txt", "v2"), "Public.").await;
    let default = test.store.documents_named("b.txt", None).await.unwrap()[0].collection;

    let hers = test.store.readable(eva, None).await.unwrap();
    let mut both = vec![id, default];
    both.sort();
    assert_eq!(hers.collections, both);
    let his = test.store.readable(bob, None).await.unwrap();
    assert_eq!(his.collections, [default]);
    let named = ["秘密".to_owned(), "unknown".to_owned()];
    assert_eq!(test.store.readable(eva, Some(&named)).await.unwrap().collections, [id]);
    assert_eq!(test.store.readable(bob, Some(&named)).await, Ok(Access::default()));
    assert_eq!(test.store.readable(eva, Some(&[])).await, Ok(Access::default()));

    let chunks: Vec<ChunkId> = cut(inside.version, "Two years.").iter().map(|chunk| chunk.id).collect();
    assert_eq!(test.store.hydrate(&hers, &chunks).await.unwrap().len(), 3);
    assert_eq!(test.store.hydrate(&his, &chunks).await, Ok(Vec::new()));
    assert_eq!(test.store.children(&his, chunks[2]).await, Ok(Vec::new()));
    assert_eq!(test.store.text(&his, document, 1, 0, 9).await, Err(StoreError::NotFound));
    assert_eq!(test.store.text(&hers, document, 1, 0, 3).await.as_deref(), Ok("Two"));

    let opened = test.store.set_readers("秘密", test.id(), &Readers::Everyone, test.now()).await;
    assert_eq!(opened, Ok(Collection { visibility: Visibility::Everyone, users: Vec::new(), ..secret }));
    assert_eq!(test.store.readable(bob, None).await.unwrap().collections, both);
    let names: Vec<String> =
        test.store.collections(None, 100).await.unwrap().into_iter().map(|each| each.name).collect();
    assert_eq!(names, ["default", "秘密"]);
}

fn only(users: &[UserId], groups: &[GroupId]) -> Readers {
    Readers::Listed { users: users.to_vec(), groups: groups.to_vec() }
}

async fn a_group_reads_while_it_is_named_and_one_is_in_it(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let hr = test.store.add_group(test.id(), "hr", &[eva]).await.unwrap().id;
    let secret: CollectionId = test.id();
    let named = test.store.set_readers("secret", secret, &only(&[], &[hr]), test.now()).await.unwrap();
    assert_eq!((named.users, named.groups), (Vec::<String>::new(), vec!["hr".to_owned()]));
    let reads = async |user| test.store.readable(user, None).await.unwrap().collections == [secret];
    assert!(reads(eva).await && !reads(bob).await);

    let swap = GroupChange { add: vec![bob], remove: vec![eva], ..GroupChange::default() };
    test.store.change_group(hr, &swap).await.unwrap();
    assert!(!reads(eva).await && reads(bob).await);

    // A group of the same name is another one.
    test.store.delete_group(hr).await.unwrap();
    assert!(!reads(bob).await);
    let again = test.store.add_group(test.id(), "hr", &[bob]).await.unwrap().id;
    assert!(!reads(bob).await);
    assert_eq!(test.store.collections(None, 100).await.unwrap()[0].groups, Vec::<String>::new());
    test.store.set_readers("secret", secret, &only(&[eva], &[again]), test.now()).await.unwrap();
    assert!(reads(eva).await && reads(bob).await);
    test.store.set_readers("secret", secret, &only(&[], &[]), test.now()).await.unwrap();
    assert!(!reads(eva).await && !reads(bob).await, "nobody is not everyone");
}

async fn documents_are_listed_in_pages(test: &mut TestStore) {
    for name in ["a", "b", "c"] {
        test.store.submit(&upload(test, name, name)).await.unwrap();
        test.clock.forward(LEASE);
    }
    let first = test.store.documents(None, None, 2).await.unwrap();
    assert_eq!(first.iter().map(|each| each.filename.as_str()).collect::<Vec<_>>(), ["c", "b"]);
    let place = (first[1].created_at, first[1].id);
    let second = test.store.documents(None, Some(place), 2).await.unwrap();
    assert_eq!(second.iter().map(|each| each.filename.as_str()).collect::<Vec<_>>(), ["a"]);
}

async fn many_chunks_are_staged_and_read_back(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    let (_, fence) = start(test, &upload).await;
    let pattern = cut(upload.version, "保修 \"quoted\" \\ \u{1f600}").remove(0);
    let chunks: Vec<Chunk> = (0..600)
        .map(|no| Chunk {
            id: ChunkId::derived(upload.version, &format!("3/{no}")),
            no,
            parent: None,
            page: None,
            section: None,
            header: None,
            ..pattern.clone()
        })
        .collect();
    test.store.stage_chunks(fence, upload.version, &chunks).await.unwrap();
    publish(test, &upload, fence).await.unwrap();
    let access = everyone(test).await;
    let ids: Vec<ChunkId> = chunks.iter().rev().map(|chunk| chunk.id).collect();
    let read: Vec<Chunk> =
        test.store.hydrate(&access, &ids).await.unwrap().into_iter().rev().map(|placed| placed.chunk).collect();
    assert_eq!(read, chunks);
}
