//! Another embedder is configured with documents indexed: the old vectors answer until the new ones are there, and no
//! question meets two kinds.

mod unfit;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    adapters::embed::builtin::Builtin,
    domain::{
        chat::ChatStore,
        error::EngineError,
        index::{Embedder, Filter},
        job::{Job, JobKind, JobState},
        profile::ProfileStore,
        upkeep::Upkeep,
    },
    services::ingest::{Findings, IngestError},
};
use async_trait::async_trait;

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::{faults::Fault, store::Schema};

on_both_engines!(
    the_old_vectors_answer_until_the_new_ones_are_there,
    without_the_old_embedder_words_alone_answer,
    without_documents_nothing_has_to_be_made_anew,
    documents_come_change_and_go_meanwhile,
    who_dies_is_gone_on_with_where_it_was,
    a_configuration_that_comes_back_fills_what_it_lacks,
    an_embedder_that_fails_leaves_the_old_vectors_answering,
    a_cancelled_one_leaves_the_old_vectors_answering,
    a_damaged_document_is_read_again_and_does_not_keep_the_others,
    what_the_index_does_not_take_it_is_offered_again,
    no_question_meets_two_embedders,
);

const LANTERN: &[u8] = b"# Lantern\n\nThe lantern burns for nine hours.\n";
const KETTLE: &[u8] = b"# Kettle\n\nThe kettle boils in three minutes.\n";
const COMPASS: &[u8] = b"# Compass\n\nThe compass points north.\n";
const QUESTION: &str = "How long does the lantern burn?";

/// The built-in model under another name, with other vectors; counts the texts that it is given.
struct Other {
    inner: Builtin,
    name: &'static str,
    /// So many values of the built-in model's, last ones first.
    dims: usize,
    texts: Mutex<Vec<String>>,
}

impl Other {
    fn new(name: &'static str, dims: usize) -> Arc<Self> {
        Arc::new(Self { inner: Builtin::load().unwrap(), name, dims, texts: Mutex::default() })
    }

    fn turned(&self, vector: &[f32]) -> Vec<f32> {
        let taken: Vec<f32> = vector.iter().rev().take(self.dims).copied().collect();
        let length = taken.iter().map(|value| value * value).sum::<f32>().sqrt();
        taken.into_iter().map(|value| value / length).collect()
    }
}

#[async_trait]
impl Embedder for Other {
    fn name(&self) -> &str {
        self.name
    }
    fn dims(&self) -> usize {
        self.dims
    }
    fn weight(&self) -> f32 {
        self.inner.weight()
    }
    fn embeds_words(&self) -> bool {
        false
    }
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        self.texts.lock().unwrap().extend_from_slice(texts);
        let vectors = self.inner.passages(texts).await?;
        Ok(vectors.into_iter().map(|vector| vector.map(|vector| self.turned(&vector))).collect())
    }
    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(self.inner.query(text).await?.map(|vector| self.turned(&vector)))
    }
}

fn builtin() -> Arc<dyn Embedder> {
    Arc::new(Builtin::load().unwrap())
}

fn setup(schema: &Option<Schema>, embedder: Arc<dyn Embedder>, former: Option<Arc<dyn Embedder>>) -> Setup {
    Setup { schema: schema.clone(), embedder, former, ..Setup::default() }
}

/// Two documents with the built-in embedder's vectors, and a process in which `embedder` is configured.
async fn changed(schema: &Option<Schema>, embedder: Arc<dyn Embedder>, former: Option<Arc<dyn Embedder>>) -> Desk {
    let desk = Desk::closed(setup(schema, builtin(), None)).await;
    desk.start().await;
    for (name, text) in [("lantern.md", LANTERN), ("kettle.md", KETTLE)] {
        assert_eq!(desk.upload(name, text).await, None);
    }
    desk.restarted(setup(schema, embedder, former)).await
}

/// What a question finds: how many values its vector has, and of each leaf whether its vector was compared.
async fn asked(desk: &Desk, question: &str) -> (bool, Option<usize>, Vec<bool>) {
    let found = desk.candidates(question).await;
    let compared = found.hits.iter().map(|hit| hit.dense.is_some()).collect();
    (found.degraded, found.vector.map(|vector| vector.len()), compared)
}

async fn answer(desk: &Desk) -> Option<String> {
    desk.best("lantern burn").await.map(|(_, text)| text)
}

/// All documents are indexed as configured, nothing of another embedder is left, and all parts fit together.
async fn assert_done(desk: &Desk, job: &Job, documents: i64) {
    assert_eq!((job.state, job.error.as_deref()), (JobState::Completed, None));
    assert_eq!((job.report.processed, job.report.total), (documents, documents));
    // A look that began before the end may have been written down after it.
    desk.ingest.survey().await.unwrap();
    assert!(!desk.ingest.reindex_is_due());
    desk.ingest.collect().await.unwrap();
    assert_eq!(desk.rows().await[2], ("segments", documents), "the old ones are collected");
    let leaves = u64::try_from(documents).unwrap();
    assert_eq!(desk.ingest.audit().await.unwrap(), Findings { indexed: leaves, stored: leaves, ..Findings::default() });
}

async fn the_old_vectors_answer_until_the_new_ones_are_there(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), Some(builtin())).await;
    assert!(desk.ingest.reindex_is_due());
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 2]));
    assert_eq!(desk.upload("compass.md", COMPASS).await, None);
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 3]), "a new one is found by them too");
    assert_eq!(desk.rows().await[2], ("segments", 4), "and has the new ones already");

    let job = desk.reindex().await;
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(64), vec![true; 3]));
    assert_eq!(answer(&desk).await.as_deref(), Some("Lantern\n\nThe lantern burns for nine hours."));
    assert_done(&desk, &job, 3).await;
    let again = desk.reindex().await;
    assert_ne!(again.id, job.id);
    assert_done(&desk, &again, 3).await;

    let desk = desk.restarted(setup(&schema, Other::new("short@1", 64), None)).await;
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(64), vec![true; 3]), "after a restart too");
    desk.close().await;
}

async fn without_the_old_embedder_words_alone_answer(schema: Option<Schema>) {
    // Another length, and the same one: only the names tell those apart.
    for (no, dims) in [(1, 64), (2, 256)] {
        let desk = changed(&schema, Other::new("other@1", dims), None).await;
        assert!(desk.ingest.reindex_is_due());
        assert_eq!(asked(&desk, "lantern burn").await, (true, None, vec![false]));
        assert_eq!(desk.upload("compass.md", COMPASS).await, None);
        assert_eq!(asked(&desk, "compass north").await, (true, None, vec![false]), "a new one by its words");
        assert_eq!(desk.index().count(&Filter::default()).await.unwrap(), 3);
        let desk = desk.restarted(setup(&schema, Other::new("other@1", dims), None)).await;
        assert_eq!(asked(&desk, "compass north").await, (true, None, vec![false]), "after a restart too");

        let job = desk.reindex().await;
        assert_eq!(asked(&desk, QUESTION).await, (false, Some(dims), vec![true; 3]));
        assert_done(&desk, &job, 3).await;
        for name in ["lantern.md", "kettle.md", "compass.md"] {
            desk.ingest.delete(name, None).await.unwrap();
        }
        assert_eq!(desk.rows().await[2], ("segments", 0), "{no}");
        desk.close().await;
    }
}

async fn without_documents_nothing_has_to_be_made_anew(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), None).await;
    for name in ["lantern.md", "kettle.md"] {
        desk.ingest.delete(name, None).await.unwrap();
    }
    assert!(desk.ingest.reindex_is_due());
    let desk = desk.restarted(setup(&schema, Other::new("short@1", 64), None)).await;
    assert!(!desk.ingest.reindex_is_due());
    assert_eq!(desk.upload("lantern.md", LANTERN).await, None);
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(64), vec![true]));
    desk.close().await;
}

async fn documents_come_change_and_go_meanwhile(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), Some(builtin())).await;
    assert_eq!(desk.upload("torch.md", b"# Torch\n\nThe torch burns bright.\n").await, None);
    let held = desk.faults.hold("passages", 1);
    let job = desk.ingest.submit_reindex(None).await.unwrap();
    held.reached().await;
    assert_eq!(desk.upload("compass.md", COMPASS).await, None);
    assert_eq!(desk.upload("lantern.md", b"# Lantern\n\nThe lantern burns for ever.\n").await, None);
    desk.ingest.delete("kettle.md", None).await.unwrap();
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 3]));
    held.let_go();
    let job = desk.ended_job(job.id).await;
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(64), vec![true; 3]));
    assert_eq!(answer(&desk).await.as_deref(), Some("Lantern\n\nThe lantern burns for ever."));
    assert_eq!((job.state, job.error.as_deref()), (JobState::Completed, None));
    desk.ingest.collect().await.unwrap();
    assert_eq!(desk.rows().await[2], ("segments", 3));
    assert_eq!(desk.ingest.audit().await.unwrap(), Findings { indexed: 3, stored: 3, ..Findings::default() });
    desk.close().await;
}

/// A file of so many leaves.
fn long(count: usize) -> String {
    (0..count).map(|no| format!("# Part {no}\n\n{}\n\n", format!("Lantern {no} burns. ").repeat(30))).collect()
}

async fn who_dies_is_gone_on_with_where_it_was(schema: Option<Schema>) {
    const LEAVES: usize = 520;
    let desk = changed(&schema, builtin(), None).await;
    desk.ingest.delete("kettle.md", None).await.unwrap();
    assert_eq!(desk.upload("lantern.md", long(LEAVES).as_bytes()).await, None);
    let other = Other::new("short@1", 64);
    let desk = desk.restarted(setup(&schema, other.clone(), Some(builtin()))).await;
    // The first segment is there, the second is not.
    let held = desk.faults.hold("passages", 9);
    let job = desk.ingest.submit_reindex(None).await.unwrap();
    held.reached().await;
    let desk = desk.restarted(setup(&schema, other.clone(), Some(builtin()))).await;
    let ended = desk.ended_job(job.id).await;
    assert_eq!((ended.state, ended.attempts), (JobState::Completed, 2), "the next start goes on by itself");
    assert_eq!((ended.report.processed, ended.report.total), (520, 520));
    let mut texts = other.texts.lock().unwrap().clone();
    assert_eq!(texts.len(), LEAVES, "none is embedded twice");
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), LEAVES);
    let (degraded, values, compared) = asked(&desk, "Lantern 519 burns").await;
    assert_eq!((degraded, values, compared), (false, Some(64), vec![true; 50]));
    assert_eq!(desk.ingest.audit().await.unwrap(), Findings { indexed: 520, stored: 520, ..Findings::default() });
    desk.close().await;
}

async fn a_configuration_that_comes_back_fills_what_it_lacks(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), None).await;
    assert_eq!(desk.upload("compass.md", COMPASS).await, None);
    let desk = desk.restarted(setup(&schema, builtin(), None)).await;
    let (degraded, values, mut compared) = asked(&desk, "Where does the compass point?").await;
    compared.sort_unstable();
    assert_eq!((degraded, values, compared), (false, Some(256), vec![false, true, true]), "only its words are there");
    desk.ingest.survey().await.unwrap();
    assert!(desk.ingest.reindex_is_due());
    let job = desk.reindex().await;
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 3]));
    assert_done(&desk, &job, 3).await;
    desk.close().await;
}

async fn an_embedder_that_fails_leaves_the_old_vectors_answering(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), Some(builtin())).await;
    desk.faults.always("passages", Fault::Fail);
    let failed = desk.reindex().await;
    assert_eq!((failed.state, failed.error_code.as_deref()), (JobState::Failed, Some("attempts_exhausted")));
    assert!(failed.error.unwrap().ends_with("go on with: askback reindex"));
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 2]));
    desk.faults.heal("passages");
    let job = desk.reindex().await;
    assert_done(&desk, &job, 2).await;
    desk.close().await;
}

async fn a_cancelled_one_leaves_the_old_vectors_answering(schema: Option<Schema>) {
    let other = Other::new("short@1", 64);
    let desk = changed(&schema, other.clone(), Some(builtin())).await;
    let held = desk.faults.hold("passages", 2);
    let job = desk.ingest.submit_reindex(None).await.unwrap();
    held.reached().await;
    desk.ingest.cancel_reindex(job.id).await.unwrap();
    let job = desk.ended_job(job.id).await;
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("cancelled")));
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 2]));
    assert!(desk.ingest.reindex_is_due());
    assert_done(&desk, &desk.reindex().await, 2).await;
    assert_eq!(other.texts.lock().unwrap().len(), 2, "what was made stays made");
    desk.close().await;
}

async fn a_damaged_document_is_read_again_and_does_not_keep_the_others(schema: Option<Schema>) {
    let desk = changed(&schema, Other::new("short@1", 64), None).await;
    desk.tamper("delete from chunks where level = 3 and body like '%kettle%'").await;
    let held = desk.faults.hold("extract", 1);
    let job = desk.reindex().await;
    assert_eq!(job.state, JobState::Completed);
    assert_eq!(job.report.message, "1 damaged documents are read again from their files");
    assert!(desk.ingest.reindex_is_due());
    let lantern = desk.candidates(QUESTION).await;
    assert_eq!((lantern.degraded, lantern.hits[0].dense.is_some()), (false, true));

    held.reached().await;
    held.let_go();
    let reading = desk.ingest.jobs(JobKind::Ingest, None, 1).await.unwrap().remove(0);
    assert_eq!((reading.filename.as_str(), desk.ended_job(reading.id).await.error_code), ("kettle.md", None));
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(64), vec![true; 2]));
    desk.ingest.survey().await.unwrap();
    assert!(!desk.ingest.reindex_is_due(), "what is read again has the configured vectors");
    desk.close().await;
}

/// It is current in SQL by then, and nothing else would offer it again.
async fn what_the_index_does_not_take_it_is_offered_again(schema: Option<Schema>) {
    let desk = Desk::closed(setup(&schema, builtin(), None)).await;
    desk.start().await;
    let held = desk.faults.hold("publish", 1);
    let submitted = desk.submit("lantern.md", LANTERN).await.unwrap();
    held.reached().await;
    desk.tamper("create table kept as select version_id, no, body from segments").await;
    desk.tamper("update segments set body = substr(body, 1, 20)").await;
    held.let_go();
    assert_eq!(desk.ended(&submitted).await.error_code, None);
    desk.ingest.survey().await.unwrap();
    assert_eq!((desk.leaves().await, desk.ingest.reindex_is_due()), (0, true));
    desk.tamper(
        "update segments set body = (select k.body from kept k where k.version_id = segments.version_id
                                                                 and k.no = segments.no)",
    )
    .await;
    desk.ingest.survey().await.unwrap();
    assert_eq!((desk.leaves().await, desk.ingest.reindex_is_due()), (1, false));
    assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true]));
    desk.close().await;
}

async fn no_question_meets_two_embedders(schema: Option<Schema>) {
    // Turned round, the values fit as little as can be; alone they are as near to each other as before.
    let desk = changed(&schema, Other::new("turned@1", 256), Some(builtin())).await;
    let near = async || {
        let found = desk.candidates(QUESTION).await;
        (found.degraded, found.hits.len(), (found.hits[0].dense.unwrap() * 50.0).round())
    };
    let before = near().await;
    let job = desk.ingest.submit_reindex(None).await.unwrap();
    let mut asked = 0;
    while !desk.ingest.job(job.id).await.unwrap().state.is_ended() || asked < 100 {
        assert_eq!(near().await, before);
        asked += 1;
    }
    assert_eq!(desk.ended_job(job.id).await.error, None);
    assert_eq!(near().await, before);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_nodes_search_the_new_vectors_too() {
    let Some(schema) = Schema::make().await else { return };
    let all = Some(schema.clone());
    let one = changed(&all, Other::new("short@1", 64), Some(builtin())).await;
    let node = Setup { node: "two", ..setup(&all, Other::new("short@1", 64), Some(builtin())) };
    let two = Desk::closed(node).await;
    assert_eq!(asked(&two, QUESTION).await, (false, Some(256), vec![true; 2]));
    let seen = two.storage.last_change().await.unwrap();

    let job = one.reindex().await;
    assert_done(&one, &job, 2).await;
    assert_eq!(one.upload("compass.md", COMPASS).await, None);
    assert_eq!(asked(&two, QUESTION).await, (false, Some(256), vec![true; 2]), "it goes on with what it has");
    two.ingest.take_up(seen).await.unwrap();
    assert_eq!(two.leaves().await, 3, "and takes up what is new, by its words");
    assert!(two.ingest.reindex_is_due());
    two.ingest.survey().await.unwrap();
    assert_eq!(asked(&two, QUESTION).await, (false, Some(64), vec![true; 3]));
    assert!(!two.ingest.reindex_is_due());
    for desk in [one, two] {
        desk.close().await;
    }
    schema.remove().await;
}

/// While nodes are configured one after the other, the last ones still make vectors of the former embedder.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_with_the_former_embedder_adds_is_found_and_made_anew() {
    let Some(schema) = Schema::make().await else { return };
    let all = Some(schema.clone());
    let new = changed(&all, Other::new("short@1", 64), Some(builtin())).await;
    let old = Desk::closed(Setup { node: "old", ..setup(&all, builtin(), None) }).await;
    // Each does its own: of a node that is not there the other one takes the jobs.
    for node in ["node", "old"] {
        old.storage.beat_process(node, "now", Duration::from_secs(3_600)).await.unwrap();
    }
    old.start().await;
    assert_done(&new, &new.reindex().await, 2).await;
    let seen = new.storage.last_change().await.unwrap();
    assert_eq!(old.upload("compass.md", COMPASS).await, None);
    new.ingest.take_up(seen).await.unwrap();
    let (degraded, values, mut compared) = asked(&new, "compass north").await;
    compared.sort_unstable();
    assert_eq!((degraded, values, compared), (false, Some(64), vec![false, true, true]));
    new.ingest.survey().await.unwrap();
    assert!(new.ingest.reindex_is_due());
    let job = new.reindex().await;
    assert_eq!(job.error, None);
    // Each node looks again and again what is current.
    new.ingest.survey().await.unwrap();
    assert_eq!(asked(&new, "compass north").await, (false, Some(64), vec![true; 3]));
    assert_eq!(new.storage.coverage(new.profile()).await.unwrap().lacking, 0);
    for desk in [new, old] {
        desk.close().await;
    }
    schema.remove().await;
}

/// While it waits, its node comes back with another embedder: for that one nothing is lacking.
#[tokio::test(flavor = "multi_thread")]
async fn a_reindexing_is_done_by_who_makes_its_vectors() {
    let Some(schema) = Schema::make().await else { return };
    let all = Some(schema.clone());
    let one = changed(&all, Other::new("short@1", 64), Some(builtin())).await;
    let held = one.faults.hold("passages", 1);
    let job = one.ingest.submit_reindex(None).await.unwrap();
    held.reached().await;
    let one = one.restarted(setup(&all, builtin(), None)).await;
    assert_eq!(one.ingest.submit_reindex(None).await.unwrap().id, job.id, "and asks for its own");
    assert_eq!(one.ended_job(job.id).await.error, None);
    assert_eq!(asked(&one, QUESTION).await, (false, Some(256), vec![true; 2]));

    let two = Desk::closed(Setup { node: "two", ..setup(&all, Other::new("short@1", 64), Some(builtin())) }).await;
    two.start().await;
    let held = two.faults.hold("passages", 1);
    let job = two.ingest.submit_reindex(None).await.unwrap();
    held.reached().await;
    let refused = one.ingest.submit_reindex(None).await;
    assert_eq!(refused, Err(IngestError::OtherReindex(job.id)), "two at a time would undo each other");
    held.let_go();
    assert_eq!(two.ended_job(job.id).await.error, None);
    assert_eq!(asked(&two, QUESTION).await, (false, Some(64), vec![true; 2]));
    for desk in [one, two] {
        desk.close().await;
    }
    schema.remove().await;
}
