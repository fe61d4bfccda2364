//! Pure functions on text in English and Chinese. A leaf: imports nothing of the crate, does no I/O.
//!
//! The dictionaries (word segmentation, Traditional to Simplified) are built once, on first use, and stay for the life
//! of the process.

pub mod clean;
pub mod common;
pub mod dimensions;
pub mod facets;
pub mod fold;
pub mod generic;
pub mod lang;
pub mod negation;
pub mod parts;
pub mod pointing;
pub mod quantities;
pub mod question;
pub mod reply_words;
pub mod search;
pub mod sentences;
pub mod synonyms;
pub mod terms;
pub mod vocabulary;
mod wants;
pub mod words;

use unicode_segmentation::UnicodeSegmentation;

pub use fold::fold;

/// The longest beginning of `text` with at most `max_chars` Unicode scalar values that ends between graphemes: no
/// accent is torn off its letter, no emoji is halved.
#[must_use]
pub fn cut(text: &str, max_chars: usize) -> &str {
    if text.len() <= max_chars {
        return text;
    }
    let mut chars = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        chars += grapheme.chars().count();
        if chars > max_chars {
            return text.get(..start).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::cut;

    proptest! {
        /// Characters of three and four bytes, accents and joined emoji.
        #[test]
        fn a_cut_is_a_beginning_within_the_length(text in "[a保\u{301}\u{200d}👩𠀀🇨한]{0,40}") {
            let chars = text.chars().count();
            for most in 0..=chars + 1 {
                let kept = cut(&text, most);
                prop_assert!(text.starts_with(kept) && kept.chars().count() <= most);
            }
            prop_assert_eq!(cut(&text, chars), text.as_str());
        }
    }

    #[test]
    fn cuts_between_graphemes() {
        assert_eq!(cut("保修期", 2), "保修");
        assert_eq!(cut("保修期", 3), "保修期");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("e\u{301}a", 1), "");
        assert_eq!(cut("xe\u{301}a", 2), "x");
        assert_eq!(cut("👩‍👩‍👧x", 4), "");
    }
}
