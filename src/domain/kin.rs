//! Words that mean nearly the same, across languages too: "guarantee" and "warranty", "battery" and 电池.

use std::collections::{HashMap, HashSet};

use super::index::Embedder;

/// How near in meaning words of a text are to words of a question, as far as they are near at all: question word → word
/// of the text → credit in 0 … 1.
pub type Kin = HashMap<String, HashMap<String, f32>>;

/// Most words of the text that are looked at.
const WORDS: usize = 4_000;
/// Cosine from which two words are kin, and the one from which they mean the same.
const KIN: f32 = 0.3;
/// The first of them across scripts, where words are less near throughout, and for words that share a character, which
/// makes them near by itself.
const KIN_ACROSS: f32 = 0.28;
const KIN_ALIKE: f32 = 0.6;
const SAME: f32 = 0.75;

/// The words of `there` that are near to words of `asked`, by an embedder that embeds single words quickly; none by any
/// other. A failing embedder finds none: exact words still count.
pub async fn kin(embedder: &dyn Embedder, asked: Vec<String>, there: HashSet<String>) -> Kin {
    if !embedder.embeds_words() || asked.is_empty() {
        return Kin::new();
    }
    let mut there: Vec<String> = there.into_iter().collect();
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
                (cosine >= least(&word, other) && *other != word).then(|| (other.clone(), credit(cosine)))
            })
            .collect();
        if !near.is_empty() {
            kin.insert(word, near);
        }
    }
    kin
}

/// From which cosine on two words are kin.
fn least(word: &str, other: &str) -> f32 {
    if word.is_ascii() != other.is_ascii() {
        KIN_ACROSS
    } else if !word.is_ascii() && word.chars().any(|c| other.contains(c)) {
        KIN_ALIKE
    } else {
        KIN
    }
}

/// From a quarter at [`KIN`] to nine tenths at [`SAME`]: never as good as the word itself.
fn credit(cosine: f32) -> f32 {
    let far = ((cosine - KIN) / (SAME - KIN)).clamp(0.0, 1.0);
    0.25 + 0.65 * far
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}
