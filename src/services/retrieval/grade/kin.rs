//! Words of the passages that mean nearly what words of the question mean.

use crate::{
    domain::{
        index::Embedder,
        kin::{Kin, kin as near},
    },
    text::{generic::is_generic, question::Question},
};

use super::reading::Reading;

/// The words of `pool` that are near in meaning to words of `question`.
pub(crate) async fn kin(embedder: &dyn Embedder, question: &Question, pool: &[Reading]) -> Kin {
    if !embedder.embeds_words() {
        return Kin::new();
    }
    let asked = question
        .content
        .iter()
        .filter(|word| !word.is_code && !is_generic(&word.text))
        .map(|word| word.text.clone())
        .collect();
    near(embedder, asked, pool.iter().flat_map(Reading::surfaces).cloned().collect()).await
}
