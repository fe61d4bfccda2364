//! Words that mean nearly the same, across languages too: "guarantee" and "warranty", "battery" and 电池.

use std::collections::{HashMap, HashSet};

use crate::{domain::index::Embedder, text::question::Question};

use super::{lexicon::Kin, reading::Reading};

/// Most words of the passages that are looked at.
const WORDS: usize = 4_000;
/// Cosine from which two words are kin, and the one from which they mean the same.
const KIN: f32 = 0.3;
const SAME: f32 = 0.75;

/// The words of `pool` that are near in meaning to words of `question`, by an embedder that embeds single words quickly. A failing
/// embedder finds none: exact words still count.
pub(crate) async fn kin(embedder: &dyn Embedder, question: &Question, pool: &[Reading]) -> Kin {
    if !embedder.embeds_words() {
        return Kin::new();
    }
    let asked: Vec<String> =
        question.content.iter().filter(|word| !word.is_code).map(|word| word.text.clone()).collect();
    let there: HashSet<&String> = pool.iter().flat_map(Reading::surfaces).collect();
    let mut there: Vec<String> = there.into_iter().cloned().collect();
    there.sort_unstable();
    there.truncate(WORDS);
    let (Ok(asked_vectors), Ok(vectors)) = (embedder.passages(&asked).await, embedder.passages(&there).await) else {
        tracing::debug!("words could not be embedded; only exact ones count");
        return Kin::new();
    };
    let mut kin = Kin::new();
    for (word, vector) in asked.into_iter().zip(asked_vectors) {
        let Some(vector) = vector else { continue };
        let near: HashMap<String, f32> = there
            .iter()
            .zip(&vectors)
            .filter_map(|(other, other_vector)| {
                let cosine = dot(&vector, other_vector.as_ref()?);
                (cosine >= KIN && *other != word).then(|| (other.clone(), credit(cosine)))
            })
            .collect();
        if !near.is_empty() {
            kin.insert(word, near);
        }
    }
    kin
}

/// From a quarter at [`KIN`] to nine tenths at [`SAME`]: never as good as the word itself.
fn credit(cosine: f32) -> f32 {
    let far = ((cosine - KIN) / (SAME - KIN)).clamp(0.0, 1.0);
    0.25 + 0.65 * far
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}
