//! Whether a sentence denies what it speaks of.

use super::fold;

/// "not", "不", "无法": turns a sentence round.
#[must_use]
pub fn is_negated(text: &str) -> bool {
    let folded = fold(text);
    let english = folded
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .any(|word| matches!(word, "not" | "no" | "never" | "cannot" | "without" | "nor") || word.ends_with("n't"));
    english || ["不", "无法", "没有", "禁止", "未", "非"].iter().any(|word| folded.contains(word))
}
