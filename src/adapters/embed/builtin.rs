//! The built-in embedder: a static bilingual model that travels inside the binary and needs no network, file or warm-up.
//!
//! A text's vector is the sum of the rows of its tokens, brought to unit length. The rows (94,003 × 256, eight bits with
//! one scale each, 24 MB) are read where they lie in the binary; only the vocabulary is unpacked, once, on first use.
//! The rows were distilled from USE-multilingual v3 (Apache-2.0): its outputs for single tokens, weighted by
//! probability, projected on the 256 main axes of sentence vectors, then moved half-way to the ridge solution that makes
//! the mean of rows match its vectors of English and Chinese sentences.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use safetensors::{Dtype, SafeTensors};
use tokio::sync::Semaphore;

use super::unigram::Unigram;
use crate::domain::{error::EngineError, index::Embedder};

const WEIGHTS: &[u8] = include_bytes!("../../../data/model/model.safetensors");
const TOKENIZER: &[u8] = include_bytes!("../../../data/model/tokenizer.json");

/// Length of every vector.
const DIMS: usize = 256;
/// How many calls work at once; each has one thread.
const WORKERS: usize = 2;

static MODEL: LazyLock<Result<Model, String>> = LazyLock::new(Model::read);

struct Model {
    vocabulary: Unigram,
    rows: &'static [i8],
    scales: Vec<f32>,
}

impl Model {
    fn read() -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(WEIGHTS).map_err(|error| error.to_string())?;
        let rows = tensors.tensor("embeddings").map_err(|error| error.to_string())?;
        let scales = tensors.tensor("scales").map_err(|error| error.to_string())?;
        let tokens = rows.shape().first().copied().unwrap_or(0);
        if rows.dtype() != Dtype::I8 || rows.shape() != [tokens, DIMS] || scales.shape() != [tokens] {
            return Err("the model's tensors have unexpected shapes".to_owned());
        }
        // The scales lie at an odd offset and are few, so they are copied; the rows need no alignment.
        let scales = scales.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok(Self { vocabulary: Unigram::parse(TOKENIZER)?, rows: bytemuck::cast_slice(rows.data()), scales })
    }

    fn embed(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0_f32; DIMS];
        let mut has_content = false;
        self.vocabulary.tokens(text, |token| {
            has_content |= self.vocabulary.is_content(token);
            let token = token as usize;
            let (Some(scale), Some(row)) = (self.scales.get(token), self.rows.get(token * DIMS..(token + 1) * DIMS))
            else {
                return;
            };
            for (sum, code) in sum.iter_mut().zip(row) {
                *sum += f32::from(*code) * scale;
            }
        });
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        (has_content && length > f32::EPSILON).then(|| {
            for value in &mut sum {
                *value /= length;
            }
            sum
        })
    }
}

/// The built-in model. Clones share it.
#[derive(Debug, Clone)]
pub struct Builtin {
    workers: Arc<Semaphore>,
}

impl Builtin {
    /// Unpacks the model, if that has not happened yet.
    ///
    /// # Errors
    /// `Rejected` if the model inside the binary is not one: the build is broken.
    pub fn load() -> Result<Self, EngineError> {
        model().map(|_| Self { workers: Arc::new(Semaphore::new(WORKERS)) })
    }

    /// The vector of a short text, at once: about 10 µs for a question. `None` where it has no direction.
    #[must_use]
    pub fn embed_now(&self, text: &str) -> Option<Vec<f32>> {
        model().ok().and_then(|model| model.embed(text))
    }

    async fn work<T: Send + 'static>(&self, job: impl FnOnce(&Model) -> T + Send + 'static) -> Result<T, EngineError> {
        let permit = Arc::clone(&self.workers)
            .acquire_owned()
            .await
            .map_err(|_| EngineError::Unavailable("the embedder is shut down".to_owned()))?;
        let work = tokio::task::spawn_blocking(move || {
            let result = model().map(job);
            drop(permit);
            result
        });
        work.await.map_err(|error| EngineError::Unavailable(format!("embedding stopped: {error}")))?
    }
}

fn model() -> Result<&'static Model, EngineError> {
    MODEL.as_ref().map_err(|error| EngineError::Rejected(format!("built-in embedding model: {error}")))
}

#[async_trait]
impl Embedder for Builtin {
    fn name(&self) -> &'static str {
        "static-bilingual-256@1"
    }

    fn dims(&self) -> usize {
        DIMS
    }

    fn weight(&self) -> f32 {
        0.5
    }

    fn embeds_words(&self) -> bool {
        true
    }

    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        let texts = texts.to_vec();
        self.work(move |model| texts.iter().map(|text| model.embed(text)).collect()).await
    }

    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        let text = text.to_owned();
        self.work(move |model| model.embed(&text)).await
    }
}
