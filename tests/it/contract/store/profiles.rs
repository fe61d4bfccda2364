//! Profiles: the vectors of one embedder beside those of another.

use askback::domain::{
    error::StoreError,
    id::{ChunkId, ProfileId, VersionId},
    index::{Point, Quantized, Segment, Sparse},
    job::{Fence, JobKind, JobQueue, JobReport, JobState, Work},
    knowledge::DocumentStore,
    profile::{Adopted, Coverage, Lacking, Profile, ProfileStore},
    upkeep::Upkeep,
};

use super::{
    documents::{profile, publish_text, upload},
    jobs::{LEASE, lapse},
    on_both_engines,
};
use crate::support::store::{TestStore, rows};

on_both_engines!(
    a_profile_is_current_at_once_only_where_nothing_answers,
    what_a_profile_lacks_is_stood_for_by_words,
    vectors_of_the_same_embedder_stand_for_each_other,
    a_profile_is_built_beside_the_current_one,
    segments_that_are_no_beginning_are_cleared,
    a_version_that_answers_no_more_gets_no_segments,
    a_profile_is_adopted_once_nothing_lacks,
    a_fenced_or_cancelled_reindexing_changes_nothing,
);

/// What `profile` makes is of `three@1`, with three values.
async fn open(test: &TestStore, embedder: &str, dims: usize) -> ProfileId {
    let opened = Profile { embedder: embedder.into(), dims, analyser: "words@1".into() };
    test.store.open_profile(test.id(), &opened, test.now()).await.unwrap()
}

async fn current(test: &TestStore) -> ProfileId {
    test.store.current_profile().await.unwrap().id
}

/// A reindexing that has begun.
async fn begin(test: &TestStore) -> Fence {
    let wanted = test.id();
    test.store.enqueue_reindex(test.id(), None, "node", wanted, test.now()).await.unwrap();
    test.store.claim("node:0", Work::Reindexing(wanted), test.now(), LEASE).await.unwrap().unwrap().1
}

/// The only thing that is lacking.
async fn lacking(test: &TestStore, profile: ProfileId) -> Lacking {
    let mut found = test.store.lacking(profile, None, 9).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A segment with these leaves, of vectors with two values.
fn two(of: &Lacking, leaves: impl IntoIterator<Item = ChunkId>) -> Segment {
    let points = leaves.into_iter().map(|chunk| Point {
        chunk,
        dense: Some(Quantized { scale: 0.25, codes: vec![1, 2] }),
        sparse: Sparse { terms: vec![7], weights: vec![1.0] },
    });
    Segment { collection: of.collection, document: of.document, version: of.version, points: points.collect() }
}

async fn leaf_ids(test: &TestStore, version: VersionId) -> Vec<ChunkId> {
    test.store.leaves_from(version, 0, 9).await.unwrap().into_iter().map(|leaf| leaf.id).collect()
}

/// Lengths of the vectors of a version as they are read in a profile; none where there is none.
async fn lengths(test: &TestStore, profile: ProfileId, version: VersionId) -> Vec<Option<usize>> {
    let segments = test.store.segments(profile, version).await.unwrap();
    let loaded = test.store.current_segments(profile, None, 9).await.unwrap();
    let of_version = loaded.into_iter().filter(|(id, ..)| *id == version).map(|(.., segment)| segment);
    assert_eq!(segments, of_version.collect::<Vec<_>>(), "one by one, and at the start");
    let points = segments.iter().flat_map(|segment| &segment.points);
    points.map(|point| point.dense.as_ref().map(|dense| dense.codes.len())).collect()
}

async fn adopt(
    test: &TestStore,
    fence: Fence,
    profile: ProfileId,
    except: &[VersionId],
) -> Result<Adopted, StoreError> {
    test.store.adopt_profile(fence, profile, except, &JobReport::default(), test.now()).await
}

async fn a_profile_is_current_at_once_only_where_nothing_answers(test: &mut TestStore) {
    assert_eq!(test.store.current_profile().await, Err(StoreError::NotFound));
    let three = profile(test).await;
    let first = test.store.current_profile().await.unwrap();
    assert_eq!((first.id, first.profile.embedder.as_str(), first.profile.dims), (three, "three@1", 3));
    let two = open(test, "two@1", 2).await;
    assert_eq!(current(test).await, two, "nothing has to be made anew");
    assert_eq!((profile(test).await, current(test).await), (three, three), "a profile is known again");

    let document = publish_text(test, &upload(test, "a.txt", "v1"), "Two years.").await;
    let since = test.store.current_profile().await.unwrap().since;
    for (embedder, dims) in [("two@1", 2), ("two@1", 3), ("two@2", 2)] {
        open(test, embedder, dims).await;
    }
    let still = test.store.current_profile().await.unwrap();
    assert_eq!((still.id, still.since), (three, since), "the old vectors answer");
    test.store.delete_document(document, test.now()).await.unwrap();
    assert_eq!(open(test, "two@1", 2).await, two);
    assert_eq!(current(test).await, two, "nothing answers any more");
}

async fn what_a_profile_lacks_is_stood_for_by_words(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    publish_text(test, &upload, "Two years.").await;
    let (three, two) = (profile(test).await, open(test, "two@1", 2).await);
    assert_eq!(lengths(test, three, upload.version).await, [Some(3), Some(3)]);
    assert_eq!(lengths(test, two, upload.version).await, [None, None], "never vectors of another embedder");
    let words = &test.store.segments(two, upload.version).await.unwrap()[0].points[0].sparse;
    assert_eq!(words.terms, [1, u32::MAX]);
    assert!(test.store.leaves(two, upload.version).await.unwrap().is_some(), "and its parts fit together");
}

async fn vectors_of_the_same_embedder_stand_for_each_other(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    publish_text(test, &upload, "Two years.").await;
    let renamed = Profile { embedder: "three@1".into(), dims: 3, analyser: "words@2".into() };
    let other_words = test.store.open_profile(test.id(), &renamed, test.now()).await.unwrap();
    assert_eq!(lengths(test, other_words, upload.version).await, [Some(3), Some(3)]);
    assert_eq!(lacking(test, other_words).await.done, 0, "they are made anew all the same");
}

async fn a_profile_is_built_beside_the_current_one(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    publish_text(test, &upload, "Two years.").await;
    let (three, new) = (profile(test).await, open(test, "two@1", 2).await);
    let fence = begin(test).await;
    let wanted = lacking(test, new).await;
    assert_eq!((wanted.version, wanted.leaves, wanted.segments, wanted.done), (upload.version, 2, 0, 0));
    assert_eq!((wanted.filename.as_str(), wanted.title.as_deref()), ("a.txt", Some("Warranty 保修")));
    let none = Coverage { documents: 1, lacking: 1, leaves: 2, done: 0 };
    assert_eq!(test.store.coverage(new).await, Ok(none));
    let [first, second] = leaf_ids(test, upload.version).await[..] else { panic!() };
    assert_eq!(test.store.leaves_from(upload.version, 1, 9).await.unwrap()[0].id, second);

    assert_eq!(test.store.add_segment(fence, new, 0, &two(&wanted, [first])).await, Ok(true));
    let half = lacking(test, new).await;
    assert_eq!((half.segments, half.done, half.is_spoilt), (1, 1, false), "who comes next goes on there");
    assert_eq!(test.store.coverage(new).await, Ok(Coverage { done: 1, ..none }));
    assert_eq!(lengths(test, new, upload.version).await, [None, None], "half a version is not read");
    assert_eq!(test.store.add_segment(fence, new, 1, &two(&wanted, [second])).await, Ok(true));
    assert_eq!(test.store.lacking(new, None, 9).await, Ok(Vec::new()));
    assert_eq!(test.store.coverage(new).await, Ok(Coverage { lacking: 0, done: 2, ..none }));
    assert_eq!(lengths(test, new, upload.version).await, [Some(2), Some(2)]);
    assert_eq!(lengths(test, three, upload.version).await, [Some(3), Some(3)], "each reads its own");
    assert_eq!(current(test).await, three);
}

async fn segments_that_are_no_beginning_are_cleared(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    publish_text(test, &upload, "Two years.").await;
    let new = open(test, "two@1", 2).await;
    let fence = begin(test).await;
    let wanted = lacking(test, new).await;
    let leaves = leaf_ids(test, upload.version).await;
    test.store.add_segment(fence, new, 1, &two(&wanted, leaves[1..].to_vec())).await.unwrap();
    let spoilt = lacking(test, new).await;
    assert_eq!((spoilt.segments, spoilt.done, spoilt.is_spoilt), (0, 0, true));
    test.store.clear_segments(fence, new, upload.version).await.unwrap();
    assert_eq!(lacking(test, new).await, wanted);
    assert_eq!(lengths(test, profile(test).await, upload.version).await, [Some(3), Some(3)]);
}

async fn a_version_that_answers_no_more_gets_no_segments(test: &mut TestStore) {
    let old = upload(test, "a.txt", "v1");
    let document = publish_text(test, &old, "Two years.").await;
    let new = open(test, "two@1", 2).await;
    let fence = begin(test).await;
    let wanted = lacking(test, new).await;
    let leaves = leaf_ids(test, old.version).await;
    publish_text(test, &upload(test, "a.txt", "v2"), "Three years.").await;
    assert_eq!(test.store.add_segment(fence, new, 0, &two(&wanted, leaves)).await, Ok(false), "it was replaced");
    let wanted = lacking(test, new).await;
    let leaves = leaf_ids(test, wanted.version).await;
    test.store.delete_document(document, test.now()).await.unwrap();
    assert_eq!(test.store.add_segment(fence, new, 0, &two(&wanted, leaves)).await, Ok(false), "it was deleted");
    assert_eq!((test.store.lacking(new, None, 9).await, rows(&test.engine, "segments").await), (Ok(Vec::new()), 0));
}

async fn a_profile_is_adopted_once_nothing_lacks(test: &mut TestStore) {
    let uploads = [upload(test, "a.txt", "v1"), upload(test, "b.txt", "v2")];
    for upload in &uploads {
        publish_text(test, upload, "Two years.").await;
    }
    let (three, new) = (profile(test).await, open(test, "two@1", 2).await);
    let before = test.store.current_profile().await.unwrap();
    let fence = begin(test).await;
    assert_eq!(adopt(test, fence, new, &[]).await, Ok(Adopted::Lacking));
    assert_eq!(test.store.current_profile().await, Ok(before.clone()));
    let built = test.store.lacking(new, None, 1).await.unwrap().remove(0);
    let leaves = leaf_ids(test, built.version).await;
    test.store.add_segment(fence, new, 0, &two(&built, leaves)).await.unwrap();
    assert_eq!(adopt(test, fence, new, &[]).await, Ok(Adopted::Lacking), "one is still to come");
    let rest = lacking(test, new).await;
    assert_eq!(test.store.drop_retired(9).await, Ok(0), "nothing is retired yet");

    assert_eq!(adopt(test, fence, new, &[rest.version]).await, Ok(Adopted::Current), "unless it cannot be made");
    let after = test.store.current_profile().await.unwrap();
    assert_eq!((after.id, after.since > before.since), (new, true));
    assert_eq!(test.store.job(fence.job).await.unwrap().state, JobState::Completed);
    assert_eq!(test.store.drop_retired(9).await, Ok(1));
    assert_eq!(test.store.drop_retired(9).await, Ok(0), "the last segments of a version stay");
    assert_eq!(lengths(test, three, built.version).await, [None, None]);
    assert_eq!(lengths(test, new, rest.version).await, [None, None]);
    assert_eq!(lengths(test, three, rest.version).await, [Some(3), Some(3)]);

    // Back again: what is there is used, what is not is made.
    assert_eq!((profile(test).await, current(test).await), (three, new));
    let fence = begin(test).await;
    assert_eq!(lacking(test, three).await.version, built.version);
    assert_eq!(adopt(test, fence, three, &[built.version]).await, Ok(Adopted::Current));
    let again = test.store.current_profile().await.unwrap();
    assert_eq!((again.id, again.since > after.since), (three, true), "another number says that it is to be read again");
}

async fn a_fenced_or_cancelled_reindexing_changes_nothing(test: &mut TestStore) {
    let upload = upload(test, "a.txt", "v1");
    publish_text(test, &upload, "Two years.").await;
    let (three, new) = (profile(test).await, open(test, "two@1", 2).await);
    let old = begin(test).await;
    lapse(test, old).await;
    let wanted = lacking(test, new).await;
    let segment = two(&wanted, leaf_ids(test, upload.version).await);
    let fence = begin(test).await;
    assert_eq!((fence.job, fence.token), (old.job, old.token + 1), "the same job, claimed again");
    for refused in [
        test.store.add_segment(old, new, 0, &segment).await.map(|_| ()),
        test.store.clear_segments(old, three, upload.version).await,
        adopt(test, old, new, &[upload.version]).await.map(|_| ()),
    ] {
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    test.store.add_segment(fence, new, 0, &segment).await.unwrap();
    test.store.cancel(fence.job, JobKind::Reindex, test.now()).await.unwrap();
    assert_eq!(adopt(test, fence, new, &[]).await, Ok(Adopted::Cancelled));
    let job = test.store.job(fence.job).await.unwrap();
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("cancelled")));
    assert_eq!(current(test).await, three);
    assert_eq!(test.store.lacking(new, None, 9).await, Ok(Vec::new()), "what was made stays made");
}
