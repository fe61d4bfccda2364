//! Whether a text looks like one: garbage is flagged, never indexed in silence.

use crate::domain::{extract::Extracted, knowledge::Warning};

/// Looks at this many characters.
const SAMPLE: usize = 50_000;

/// Flags a text of which much is no writing.
pub(super) fn judge(extracted: &mut Extracted) {
    if share_of_noise(&extracted.text) > 0.12
        && !extracted.warnings.iter().any(|warning| warning.code == "low_quality_text")
    {
        extracted.warnings.push(Warning {
            code: "low_quality_text".into(),
            message: "Much of the text looks like garbage; it may be a bad scan or an unknown encoding.".into(),
        });
    }
}

/// The share of words that no language has: with replacement characters, with letters between digits and signs, with
/// capitals inside, or of one sign.
fn share_of_noise(text: &str) -> f64 {
    let sample: String = text.chars().take(SAMPLE).collect();
    let (mut all, mut odd) = (0_u32, 0_u32);
    for word in sample.split_whitespace() {
        all += 1;
        odd += u32::from(is_noise(word));
    }
    if all < 3 {
        f64::from(sample.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count() as u32)
    } else {
        f64::from(odd) / f64::from(all)
    }
}

fn is_noise(word: &str) -> bool {
    word.contains(char::REPLACEMENT_CHARACTER)
}
