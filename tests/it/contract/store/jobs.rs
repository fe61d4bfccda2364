//! The queue.

use std::time::Duration;

use askback::{
    adapters::storage::{Options, Storage},
    domain::{
        chat::ChatStore,
        error::StoreError,
        id::JobId,
        job::{Fence, Job, JobFailure, JobKind, JobQueue, JobReport, JobState, JobStep, Retried, Work},
        knowledge::{DocumentStore, Published, Upload, VersionState},
        memory::MemoryStore,
        time::Clock,
    },
};

use super::{documents::upload, on_both_engines, someone};
use crate::support::store::{TestClock, TestStore};

pub(super) const LEASE: Duration = Duration::from_secs(30);

on_both_engines!(
    a_job_is_claimed_by_one_worker,
    a_lease_that_ran_out_is_claimed_again,
    progress_is_stored_and_fenced,
    a_restarted_node_frees_its_jobs,
    a_deletion_runs_through_the_queue,
    the_end_of_a_job_is_told_to_its_user,
    jobs_are_listed_newest_first,
    a_stalled_worker_is_fenced_before_anyone_else_comes,
    a_job_is_cancelled_at_every_stage,
    a_failed_job_is_tried_again,
    every_failure_of_a_job_is_told,
    one_reindexing_is_under_way_and_has_a_worker_of_its_own,
    a_reindexing_that_waits_is_done_by_who_asked_last,
);

async fn queue(test: &TestStore, name: &str) -> JobId {
    let upload = upload(test, name, name);
    test.store.submit(&upload).await.unwrap();
    upload.job
}

async fn claim(test: &TestStore) -> Option<(Job, Fence)> {
    test.store.claim("node:worker", Work::Documents, test.now(), LEASE).await.unwrap()
}

/// The lease of a worker that says no more runs out: on Postgres by the server's time, which no test can move.
pub(super) async fn lapse(test: &TestStore, fence: Fence) {
    test.store.beat(fence, &JobReport::default(), test.now(), Duration::ZERO).await.unwrap();
}

async fn a_job_is_claimed_by_one_worker(test: &mut TestStore) {
    assert_eq!(test.store.busy().await, Ok(false));
    let mut ids = vec![queue(test, "a").await, queue(test, "b").await];
    assert_eq!(test.store.busy().await, Ok(true));
    let claims = futures::future::join_all((0..6).map(|_| claim(test))).await;
    let mut claimed: Vec<JobId> = claims.into_iter().flatten().map(|(job, _)| job.id).collect();
    // A worker that finds a row locked may go home empty; nobody gets what another has.
    while let Some((job, _)) = claim(test).await {
        claimed.push(job.id);
    }
    claimed.sort();
    ids.sort();
    assert_eq!(claimed, ids);
}

async fn a_lease_that_ran_out_is_claimed_again(test: &mut TestStore) {
    let id = queue(test, "a").await;
    let (_, first) = claim(test).await.unwrap();
    assert_eq!(first, Fence { job: id, token: 1 });
    assert_eq!(claim(test).await, None, "it is the worker's");
    lapse(test, first).await;
    let (job, second) = claim(test).await.unwrap();
    assert_eq!((second.token, job.attempts, job.state), (2, 2, JobState::Running));
    let late = test.store.complete(first, &JobReport::default(), test.now()).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
}

async fn progress_is_stored_and_fenced(test: &mut TestStore) {
    let id = queue(test, "a").await;
    let (_, fence) = claim(test).await.unwrap();
    let report = JobReport {
        current_step: "parse".into(),
        message: "第 3 页".into(),
        steps: vec![JobStep {
            key: "parse".into(),
            label: "Parse".into(),
            percent: 40,
            status: JobState::Running,
            message: "…".into(),
        }],
        total: 10,
        processed: 4,
    };
    assert_eq!(test.store.beat(fence, &report, test.now(), LEASE).await, Ok(false));
    assert_eq!(test.store.job(id).await.unwrap().report, report);
    let stranger = Fence { token: 9, ..fence };
    let fenced = test.store.beat(stranger, &JobReport::default(), test.now(), LEASE).await;
    assert!(matches!(fenced, Err(StoreError::Conflict(_))), "{fenced:?}");
    assert_eq!(test.store.job(id).await.unwrap().report, report);
}

async fn a_restarted_node_frees_its_jobs(test: &mut TestStore) {
    queue(test, "a").await;
    claim(test).await.unwrap();
    assert_eq!(test.store.release("node2:", test.now()).await, Ok(0));
    assert_eq!(claim(test).await, None);
    assert_eq!(test.store.release("node:", test.now()).await, Ok(1));
    assert!(claim(test).await.is_some());
}

async fn a_deletion_runs_through_the_queue(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let document = super::documents::publish_text(test, &upload(test, "手册.pdf", "v1"), "Two years.").await;
    let id = test.id();
    test.store.enqueue_delete(id, eva, document, "手册.pdf", test.now()).await.unwrap();
    let (job, fence) = claim(test).await.unwrap();
    let deletion = Job {
        id,
        kind: JobKind::Delete,
        document: Some(document),
        version: None,
        profile: None,
        user: Some(eva),
        filename: "手册.pdf".into(),
        blob: None,
        state: JobState::Running,
        report: JobReport::default(),
        attempts: 1,
        error_code: None,
        error: None,
        created_at: test.now(),
        updated_at: test.now(),
    };
    assert_eq!(job, deletion);
    test.store.complete(fence, &JobReport::default(), test.now()).await.unwrap();
    assert_eq!(test.store.job(id).await.unwrap().state, JobState::Completed);
    assert_eq!(test.store.busy().await, Ok(false));
    assert_eq!(test.store.job(test.id()).await, Err(StoreError::NotFound));
}

async fn the_end_of_a_job_is_told_to_its_user(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for name in ["good.pdf", "bad.pdf", "gone.pdf"] {
        test.store.submit(&Upload { user: Some(eva), ..upload(test, name, name) }).await.unwrap();
    }
    // Nobody is told of what nobody uploaded, and the uploader may be gone.
    test.store.submit(&Upload { user: Some(test.id()), ..upload(test, "stray", "stray") }).await.unwrap();
    while let Some((job, fence)) = claim(test).await {
        let report = JobReport::default();
        if job.filename == "bad.pdf" {
            let failure = JobFailure::Final { code: "malformed".into(), message: "damaged".into() };
            test.store.fail(fence, &failure, &report, test.now()).await.unwrap();
        } else if job.filename == "gone.pdf" {
            test.store.fail(fence, &JobFailure::Retry(LEASE), &report, test.now()).await.unwrap();
        } else {
            test.store.complete(fence, &report, test.now()).await.unwrap();
        }
    }
    let mut told: Vec<_> = test.store.untold(eva, test.id(), 10).await.unwrap();
    told.sort_by(|one, other| one.kind.cmp(&other.kind));
    let [done, failed] = &told[..] else { panic!("{told:?}") };
    assert_eq!((done.kind.as_str(), done.detail.as_deref()), ("job_completed", None));
    assert!(done.title.contains("good.pdf"), "{}", done.title);
    assert_eq!((failed.kind.as_str(), failed.detail.as_deref()), ("job_failed", Some("damaged")));
    assert!(failed.title.contains("bad.pdf"), "{}", failed.title);
}

async fn jobs_are_listed_newest_first(test: &mut TestStore) {
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(queue(test, name).await);
        test.clock.forward(LEASE);
    }
    ids.reverse();
    let first = test.store.jobs(JobKind::Ingest, None, 2).await.unwrap();
    let rest = test.store.jobs(JobKind::Ingest, Some((first[1].created_at, first[1].id)), 2).await.unwrap();
    let listed: Vec<JobId> = first.iter().chain(&rest).map(|job| job.id).collect();
    assert_eq!(listed, ids);
    assert_eq!(test.store.jobs(JobKind::Delete, None, 2).await, Ok(Vec::new()));
}

async fn a_stalled_worker_is_fenced_before_anyone_else_comes(test: &mut TestStore) {
    let upload = upload(test, "a", "a");
    test.store.submit(&upload).await.unwrap();
    let (job, fence) = claim(test).await.unwrap();
    lapse(test, fence).await;
    let (report, now) = (JobReport::default(), test.now());
    let failure = JobFailure::Final { code: "malformed".into(), message: "damaged".into() };
    for refused in [
        test.store.beat(fence, &report, now, LEASE).await.map(|_| ()),
        test.store.publish(fence, upload.version, 0, &report, now).await.map(|_| ()),
        test.store.complete(fence, &report, now).await,
        test.store.fail(fence, &failure, &report, now).await,
        test.store.fail(fence, &JobFailure::Retry(LEASE), &report, now).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(test.store.job(job.id).await.unwrap(), job, "nothing changed");
    assert_eq!(test.store.document(job.document.unwrap()).await.unwrap().current_no, None);
    let (again, _) = claim(test).await.unwrap();
    assert_eq!((again.id, again.attempts), (job.id, 2));
}

async fn a_job_is_cancelled_at_every_stage(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let document = super::documents::publish_text(test, &upload(test, "a", "v1"), "Two years.").await;
    let cancelled = |job: &Job| (job.state, job.error_code.clone()) == (JobState::Failed, Some("cancelled".into()));

    // While it waits, and while it waits for another attempt.
    let waiting = Upload { user: Some(eva), ..upload(test, "a", "v2") };
    test.store.submit(&waiting).await.unwrap();
    let job = test.store.cancel(waiting.job, JobKind::Ingest, test.now()).await.unwrap();
    assert!(cancelled(&job), "{job:?}");
    assert_eq!(test.store.untold(eva, test.id(), 9).await.unwrap().len(), 1);
    assert_eq!(test.store.cancel(waiting.job, JobKind::Ingest, test.now()).await, Ok(job), "once more changes nothing");
    assert_eq!(claim(test).await, None);

    // While it runs: its worker is told, and publishing comes too late.
    let running = upload(test, "a", "v3");
    test.store.submit(&running).await.unwrap();
    let (_, fence) = claim(test).await.unwrap();
    assert_eq!(test.store.cancel(running.job, JobKind::Ingest, test.now()).await.unwrap().state, JobState::Running);
    assert_eq!(test.store.beat(fence, &JobReport::default(), test.now(), LEASE).await, Ok(true));
    let published = test.store.publish(fence, running.version, 0, &JobReport::default(), test.now()).await;
    assert_eq!(published, Ok(Published::Cancelled));
    assert!(cancelled(&test.store.job(running.job).await.unwrap()));

    // While its worker is dead.
    let orphaned = upload(test, "a", "v4");
    test.store.submit(&orphaned).await.unwrap();
    let (_, fence) = claim(test).await.unwrap();
    lapse(test, fence).await;
    assert!(cancelled(&test.store.cancel(orphaned.job, JobKind::Ingest, test.now()).await.unwrap()));
    assert_eq!(claim(test).await, None);

    for no in 2..=4 {
        assert_eq!(test.store.version(document, no).await.unwrap().state, VersionState::Purged);
    }
    assert_eq!(test.store.document(document).await.unwrap().current_no, Some(1), "the old version answers");
    let deletion = test.id();
    test.store.enqueue_delete(deletion, eva, document, "a", test.now()).await.unwrap();
    assert_eq!(test.store.cancel(deletion, JobKind::Ingest, test.now()).await, Err(StoreError::NotFound));
    assert_eq!(test.store.cancel(test.id(), JobKind::Ingest, test.now()).await, Err(StoreError::NotFound));
}

async fn every_failure_of_a_job_is_told(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let upload = Upload { user: Some(eva), ..upload(test, "a.pdf", "v1") };
    test.store.submit(&upload).await.unwrap();
    let mut told = Vec::new();
    for message in ["first", "second"] {
        let (_, fence) = claim(test).await.unwrap();
        let failure = JobFailure::Final { code: "malformed".into(), message: message.into() };
        test.store.fail(fence, &failure, &JobReport::default(), test.now()).await.unwrap();
        let untold = test.store.untold(eva, test.id(), 10).await.unwrap();
        let [event] = &untold[..] else { panic!("{untold:?}") };
        assert_eq!((event.kind.as_str(), event.detail.as_deref()), ("job_failed", Some(message)));
        told.push(event.id);
        test.clock.forward(LEASE);
        assert!(matches!(test.store.retry(upload.job, test.now()).await, Ok(Retried::Queued(_))));
    }
    assert_ne!(told[0], told[1], "a turn that tells of the first does not tell of the second");
}

async fn a_failed_job_is_tried_again(test: &mut TestStore) {
    let upload = upload(test, "a", "v1");
    test.store.submit(&upload).await.unwrap();
    assert_eq!(test.store.retry(upload.job, test.now()).await, Ok(Retried::NotFailed));
    let (job, fence) = claim(test).await.unwrap();
    let failure = JobFailure::Final { code: "attempts_exhausted".into(), message: "given up".into() };
    test.store.fail(fence, &failure, &JobReport::default(), test.now()).await.unwrap();
    let Retried::Queued(queued) = test.store.retry(upload.job, test.now()).await.unwrap() else { panic!() };
    assert_eq!((queued.state, queued.attempts, queued.error_code), (JobState::Pending, 0, None));
    let (again, fence) = claim(test).await.unwrap();
    assert_eq!((again.id, again.attempts, &again.blob), (upload.job, 1, &Some(upload.blob.clone())));
    let published = test.store.publish(fence, upload.version, 0, &JobReport::default(), test.now()).await;
    assert_eq!(published, Ok(Published::Current { replaced: None }));
    assert_eq!(test.store.retry(upload.job, test.now()).await, Ok(Retried::NotFailed));

    let gone = super::documents::upload(test, "b", "v2");
    test.store.submit(&gone).await.unwrap();
    test.store.cancel(gone.job, JobKind::Ingest, test.now()).await.unwrap();
    let document = test.store.job(gone.job).await.unwrap().document.unwrap();
    test.store.delete_document(document, test.now()).await.unwrap();
    assert_eq!(test.store.retry(gone.job, test.now()).await, Ok(Retried::FileGone));
    assert_eq!(test.store.job(gone.job).await.unwrap().state, JobState::Failed, "and the job stays as it was");
    assert_ne!(job.document, Some(document));
}

async fn one_reindexing_is_under_way_and_has_a_worker_of_its_own(test: &mut TestStore) {
    let (eva, wanted) = (someone(test, "eva").await, test.id());
    let start = async || test.store.enqueue_reindex(test.id(), Some(eva), "node", wanted, test.now()).await.unwrap();
    let (first, again) = tokio::join!(start(), start());
    assert_eq!((first, start().await), (again, first), "the one that is under way");
    let upload = queue(test, "a.txt").await;
    let claim_of = async |work, owner: &'static str| {
        let claimed = test.store.claim(owner, work, test.now(), LEASE).await.unwrap();
        claimed.map(|(job, fence)| (job.id, fence))
    };
    let (documents, reindexing) = (Work::Documents, Work::Reindexing(wanted));
    assert_eq!(claim_of(documents, "node:1").await.map(|(id, _)| id), Some(upload), "uploads do not wait for it");
    assert_eq!(claim_of(documents, "node:1").await, None);
    // The node may be another one that is configured alike; while this one lives it is this one's.
    test.store.beat_process("node", "boot", LEASE).await.unwrap();
    assert_eq!(claim_of(reindexing, "other:1").await, None);
    let (id, fence) = claim_of(reindexing, "node:0").await.unwrap();
    assert_eq!((id, start().await), (first, first));

    assert_eq!(test.store.cancel(first, JobKind::Ingest, test.now()).await, Err(StoreError::NotFound));
    assert_eq!(test.store.cancel(first, JobKind::Reindex, test.now()).await.unwrap().state, JobState::Running);
    assert_eq!(test.store.beat(fence, &JobReport::default(), test.now(), LEASE).await, Ok(true));
    let failure = JobFailure::Final { code: "cancelled".into(), message: "cancelled".into() };
    test.store.fail(fence, &failure, &JobReport::default(), test.now()).await.unwrap();
    let told = test.store.untold(eva, test.id(), 10).await.unwrap();
    assert_eq!(told.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["job_failed"]);
    assert_eq!(test.store.retry(first, test.now()).await, Err(StoreError::NotFound));
    assert_ne!(start().await, first, "the next one is another");
}

async fn a_reindexing_that_waits_is_done_by_who_asked_last(test: &mut TestStore) {
    let (old, new) = (test.id(), test.id());
    let ask = async |node: &'static str, profile| {
        test.store.enqueue_reindex(test.id(), None, node, profile, test.now()).await.unwrap()
    };
    let claim = async |owner: &'static str, profile| {
        let claimed = test.store.claim(owner, Work::Reindexing(profile), test.now(), LEASE).await.unwrap();
        claimed.map(|(job, fence)| (job.id, job.profile, fence))
    };
    // Asked for at a node that then comes back with another embedder: it is not the one to do it.
    let waiting = ask("one", old).await;
    assert_eq!((claim("one:0", new).await, claim("two:0", new).await), (None, None), "no node lives, and none may");
    for node in ["one", "two"] {
        test.store.beat_process(node, "boot", LEASE).await.unwrap();
    }
    assert_eq!(ask("two", new).await, waiting);
    assert_eq!(claim("one:0", old).await, None, "it is not wanted any more");
    assert_eq!(claim("one:0", new).await, None, "it is another's who lives");
    let (id, profile, fence) = claim("two:0", new).await.unwrap();
    assert_eq!((id, profile), (waiting, Some(new)));

    // Nobody takes it away from who works at it, everybody from who is silent past the lease.
    assert_eq!(ask("one", old).await, waiting);
    assert_eq!(test.store.job(waiting).await.unwrap().profile, Some(new));
    assert_eq!(test.store.beat(fence, &JobReport::default(), test.now(), LEASE).await, Ok(false));
    lapse(test, fence).await;
    assert_eq!(ask("one", old).await, waiting);
    let (_, profile, again) = claim("one:0", old).await.unwrap();
    assert_eq!((profile, again.token), (Some(old), fence.token + 1));
    let late = test.store.beat(fence, &JobReport::default(), test.now(), LEASE).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
    assert_eq!(test.store.job(waiting).await.unwrap().attempts, 1, "who asks anew has all attempts before them");
}

/// The queue as two processes see it whose clocks are an hour apart.
async fn jobs_go_by_the_database(is_first_ahead: bool) {
    let Some(test) = TestStore::postgres().await else { return };
    let clock = TestClock::new();
    if is_first_ahead { &test.clock } else { &clock }.forward(Duration::from_secs(60 * 60));
    let there = Storage::open(Options { engine: test.engine.clone(), clock: clock.clone() }).await.unwrap();
    let here = async || claim(&test).await.map(|(job, fence)| (job.filename, fence));
    let claim_there = async || {
        let claimed = there.claim("there:0", Work::Documents, clock.now(), LEASE).await.unwrap();
        claimed.map(|(job, fence)| (job.filename, fence))
    };
    let (report, name) = (JobReport::default(), "a".to_owned());

    // What one queues the other takes at once, and keeps while it lives.
    queue(&test, "a").await;
    let (_, first) = claim_there().await.unwrap();
    assert_eq!(here().await, None);
    assert_eq!(there.beat(first, &report, clock.now(), LEASE).await, Ok(false));
    assert_eq!(here().await, None);
    // It dies: its lease has run out, whatever its clock says.
    there.beat(first, &report, clock.now(), Duration::ZERO).await.unwrap();
    let (_, second) = here().await.unwrap();
    let late = there.complete(first, &report, clock.now()).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
    assert_eq!(there.cancel(second.job, JobKind::Ingest, clock.now()).await.unwrap().state, JobState::Running);
    assert_eq!(test.store.beat(second, &report, test.now(), LEASE).await, Ok(true), "who lives is told");

    // A wait is as long for both.
    test.store.fail(second, &JobFailure::Retry(LEASE), &report, test.now()).await.unwrap();
    assert_eq!((claim_there().await, here().await), (None, None));
    queue(&test, "b").await;
    let (_, third) = here().await.unwrap();
    test.store.fail(third, &JobFailure::Retry(Duration::ZERO), &report, test.now()).await.unwrap();
    assert_eq!(claim_there().await.map(|(name, fence)| (name, fence.token)), Some(("b".into(), 2)));
    assert_eq!(there.job(second.job).await.unwrap().filename, name);
    there.close().await;
    test.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_behind_keeps_its_jobs_while_it_lives() {
    jobs_go_by_the_database(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_ahead_loses_its_jobs_when_it_dies() {
    jobs_go_by_the_database(true).await;
}
