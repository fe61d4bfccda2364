//! What of a question the evidence does not hold.

use crate::text::{generic::weight, question::Content};

use super::{
    case::Case,
    support::{Support, near},
};

/// How near a word of a text has to be in meaning to say the same.
const MEANS: f32 = 0.5;

/// The question's own words, generic ones aside, that the best window of a leaf and what stands above it do not hold. In
/// another language hardly a word can be told.
pub(crate) fn lacks(case: &Case, best: &Support) -> Vec<String> {
    if best.crosses {
        return Vec::new();
    }
    let texts = [&best.words, &case.readings[best.leaf].above];
    let is_held = |word: &Content| texts.iter().any(|text| near(text, word, &case.kin, text.holds(word)) >= MEANS);
    let own = case.question.content.iter().filter(|word| !word.is_borrowed && weight(&word.text) >= 1.0);
    own.filter(|word| !is_held(word)).map(|word| word.text.clone()).collect()
}
