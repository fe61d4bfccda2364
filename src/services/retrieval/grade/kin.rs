//! Words of the passages that mean nearly what words of the question mean.

use std::collections::HashSet;

use crate::{
    domain::{
        index::Embedder,
        kin::{Kin, kin as near},
    },
    text::{generic::is_generic, question::Question, synonyms},
};

use super::reading::Reading;

/// The words of `pool` that are near in meaning to words of `question`.
pub(crate) async fn kin(embedder: &dyn Embedder, question: &Question, pool: &[Reading]) -> Kin {
    let asked: Vec<String> = question
        .content
        .iter()
        .filter(|word| !word.is_code && !is_generic(&word.text))
        .map(|word| word.text.clone())
        .collect();
    let there: HashSet<String> = pool.iter().flat_map(Reading::surfaces).cloned().collect();
    let mut kin = Kin::new();
    if embedder.embeds_words() {
        kin = near(embedder, asked.clone(), there.clone()).await;
    }
    synonyms::add(&mut kin, &asked, there.iter());
    kin
}
