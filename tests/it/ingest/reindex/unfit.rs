//! An embedder whose vectors are not what it promised.

use std::sync::{Arc, Mutex};

use askback::{
    adapters::embed::builtin::Builtin,
    domain::{error::EngineError, index::Embedder, job::JobState},
};
use async_trait::async_trait;

use super::{LANTERN, QUESTION, answer, asked, assert_done, builtin, changed, setup};
use crate::{
    ingest::desk::{Desk, on_both_engines},
    support::store::Schema,
};

on_both_engines!(vectors_that_do_not_fit_are_refused, vectors_that_do_not_fit_end_a_reindexing);

/// How vectors are made wrong.
type Spoil = fn(&mut Vec<Option<Vec<f32>>>);

/// The built-in model under another name, while it is told to with vectors that are none of it.
struct Wrong {
    inner: Builtin,
    spoil: Mutex<Option<Spoil>>,
}

impl Wrong {
    fn new() -> Arc<Self> {
        Arc::new(Self { inner: Builtin::load().unwrap(), spoil: Mutex::default() })
    }

    fn says(&self, spoil: Option<Spoil>) {
        *self.spoil.lock().unwrap() = spoil;
    }

    fn spoilt(&self, mut vectors: Vec<Option<Vec<f32>>>) -> Vec<Option<Vec<f32>>> {
        if let Some(spoil) = *self.spoil.lock().unwrap() {
            spoil(&mut vectors);
        }
        vectors
    }
}

#[async_trait]
impl Embedder for Wrong {
    fn name(&self) -> &str {
        "wrong@1"
    }
    fn dims(&self) -> usize {
        self.inner.dims()
    }
    fn weight(&self) -> f32 {
        self.inner.weight()
    }
    fn embeds_words(&self) -> bool {
        false
    }
    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        Ok(self.spoilt(self.inner.passages(texts).await?))
    }
    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(self.spoilt(vec![self.inner.query(text).await?]).pop().flatten())
    }
}

/// What a server says that has another model behind the name it is asked for, or a broken one.
const WRONG: [Spoil; 4] = [
    |vectors| vectors.iter_mut().flatten().for_each(|vector| vector.truncate(100)),
    |vectors| vectors.iter_mut().flatten().for_each(|vector| vector[7] = f32::NAN),
    |vectors| vectors.iter_mut().flatten().for_each(|vector| vector[7] = f32::INFINITY),
    Vec::clear,
];

async fn vectors_that_do_not_fit_are_refused(schema: Option<Schema>) {
    let wrong = Wrong::new();
    let desk = Desk::closed(setup(&schema, wrong.clone(), None)).await;
    desk.start().await;
    assert_eq!(desk.upload("lantern.md", LANTERN).await, None);
    for (no, say) in WRONG.into_iter().enumerate() {
        let before = desk.rows().await;
        wrong.says(Some(say));
        let submitted = desk.submit("lantern.md", b"# Lantern\n\nThe lantern burns for ever.\n").await.unwrap();
        let job = desk.ended(&submitted).await;
        assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("index_rejected")), "{no}");
        let old = Some("Lantern\n\nThe lantern burns for nine hours.");
        assert_eq!((answer(&desk).await.as_deref(), desk.rows().await[..3] == before[..3]), (old, true), "{no}");
        // No vector at all is what a question without a direction has.
        let is_degraded = no < 3;
        assert_eq!(asked(&desk, "lantern burn").await, (is_degraded, None, vec![false]), "{no}: words alone");
        wrong.says(None);
        assert_eq!(asked(&desk, "lantern burn").await, (false, Some(256), vec![true]), "{no}");
        desk.ingest.retry(job.id).await.unwrap();
        assert_eq!(desk.ended_job(job.id).await.error_code, None, "{no}");
        assert_eq!(answer(&desk).await.as_deref(), Some("Lantern\n\nThe lantern burns for ever."), "{no}");
        assert_eq!(desk.upload("lantern.md", LANTERN).await, None);
    }
    desk.close().await;
}

async fn vectors_that_do_not_fit_end_a_reindexing(schema: Option<Schema>) {
    let wrong = Wrong::new();
    let desk = changed(&schema, wrong.clone(), Some(builtin())).await;
    for (no, say) in WRONG.into_iter().enumerate() {
        wrong.says(Some(say));
        let job = desk.reindex().await;
        assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("index_rejected")), "{no}");
        assert_eq!(asked(&desk, QUESTION).await, (false, Some(256), vec![true; 2]), "the old ones answer");
        assert_eq!(desk.rows().await[2], ("segments", 2), "{no}");
        assert!(desk.ingest.reindex_is_due());
    }
    wrong.says(None);
    assert_done(&desk, &desk.reindex().await, 2).await;
    desk.close().await;
}
