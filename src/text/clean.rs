//! Makes text fit to be stored: NFC, without characters that cannot be seen, and with lines joined into paragraphs.

use unicode_normalization::{UnicodeNormalization, is_nfc};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Whether `c` has no place in stored text: control (but tab and line feed), zero-width, bidi and tag characters,
/// private use, noncharacters and the marks of embedded objects. They hide words from search, or words from readers.
#[must_use]
pub fn is_unwanted(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\n' && c != '\t';
    }
    match c {
        // Visible signs that stand before numbers in Arabic, Syriac and Kaithi, though their category is "format".
        '\u{0600}'..='\u{0605}'
        | '\u{06DD}'
        | '\u{070F}'
        | '\u{0890}'..='\u{0891}'
        | '\u{08E2}'
        | '\u{110BD}'
        | '\u{110CD}' => false,
        // Variation selectors choose a glyph, never a meaning; U+FFFC stands for an object that is not there.
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' | '\u{FFFC}' | '\u{FDD0}'..='\u{FDEF}' => true,
        // CJK is most of what is not ASCII here: answer it without a table.
        '\u{4E00}'..='\u{9FFF}' => false,
        _ => {
            u32::from(c) & 0xFFFE == 0xFFFE
                || matches!(
                    c.general_category(),
                    GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
                )
        }
    }
}

/// `text` in NFC without unwanted characters; all line ends become `\n`, all other white space but tabs a space.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    kept.push('\n');
                }
            }
            '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => kept.push('\n'),
            _ if is_unwanted(c) => {}
            _ if c.is_whitespace() && c != '\n' && c != '\t' => kept.push(if c == '\u{3000}' { c } else { ' ' }),
            _ => kept.push(c),
        }
    }
    if is_nfc(&kept) { kept } else { kept.nfc().collect() }
}

/// A letter or mark of a script that is written without spaces between words: no space belongs where two lines of it
/// meet.
#[must_use]
pub const fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{2E80}'..='\u{2FDF}' | '\u{3001}'..='\u{30FF}' | '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF01}'..='\u{FF0F}'
        | '\u{FF1A}'..='\u{FF20}' | '\u{FF3B}'..='\u{FF40}' | '\u{FF5B}'..='\u{FF65}' | '\u{20000}'..='\u{3FFFF}')
}

/// Joins the lines of one paragraph and squeezes its white space. Lines meet with a space, or with none between two
/// characters of a spaceless script. `hyphens`: a word that a line end cut ("exam-" + "ple") is made whole.
#[must_use]
pub fn flow(text: &str, hyphens: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n') {
        for (no, word) in line.split_whitespace().enumerate() {
            if let (Some(last), Some(next)) = (out.chars().next_back(), word.chars().next()) {
                let cut = if hyphens { cut_word(&out, word) } else { None };
                match cut {
                    Some(true) => {}
                    Some(false) => {
                        out.pop();
                    }
                    None if no == 0 && is_spaceless(last) && is_spaceless(next) => {}
                    None => out.push(' '),
                }
            }
            out.push_str(word);
        }
    }
    out
}

/// Beginnings of compounds that keep their hyphen.
const COMPOUNDS: &[&str] = &[
    "all", "anti", "co", "cross", "ex", "full", "half", "high", "long", "low", "multi", "non", "one", "part", "post",
    "pre", "real", "self", "semi", "short", "single", "three", "two", "well",
];

/// Whether `before` ends in a hyphen that only a line end put there: small letters before and after it, and no list of
/// compounds ("pre- and post-"). `Some(true)` where the hyphen belongs to the word all the same.
fn cut_word(before: &str, next: &str) -> Option<bool> {
    let stem = before.strip_suffix(['-', '\u{2010}'])?;
    let start = stem.rfind(|c: char| !c.is_alphabetic()).map_or(0, |at| at + 1);
    let stem = stem.get(start..).unwrap_or_default();
    let whole = stem.chars().count() >= 2 && stem.chars().next_back().is_some_and(char::is_lowercase);
    if !whole || !next.starts_with(char::is_lowercase) || matches!(next, "and" | "or" | "to" | "und" | "oder") {
        return None;
    }
    Some(COMPOUNDS.contains(&stem.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn removes_what_cannot_be_seen() {
        assert_eq!(clean("a\u{0}b\u{200B}c\u{202E}d\u{E000}e\u{FEFF}f\u{AD}g\u{E0041}h\u{1B}"), "abcdefgh");
        assert_eq!(clean("保\u{200D}修\u{FE0F}期"), "保修期");
    }

    #[test]
    fn composes_and_keeps_lines() {
        assert_eq!(clean("e\u{301}\r\nx\ry\u{2028}z\u{A0}\t!"), "é\nx\ny\nz \t!");
        assert_eq!(clean("e\u{200B}\u{301}"), "é", "what stood between a letter and its accent is gone first");
    }

    #[test]
    fn lines_flow_in_both_scripts() {
        assert_eq!(flow("The war-\nranty lasts\n  two years.", true), "The warranty lasts two years.");
        assert_eq!(flow("X1-\nPro", true), "X1- Pro");
        assert_eq!(flow("保修期为\n两年。\n适用于 X1\n型号", true), "保修期为两年。适用于 X1 型号");
        assert_eq!(flow("well-\nknown exam- ple", true), "well-known example");
        assert_eq!(flow("pre- and post-\nsale", true), "pre- and post-sale");
        assert_eq!(flow("well-\nknown", false), "well- known");
    }

    proptest! {
        #[test]
        fn clean_is_idempotent(text in any::<String>()) {
            let once = clean(&text);
            prop_assert!(!once.chars().any(is_unwanted));
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn pieces_joined_by_a_line_feed_stay_clean(a in any::<String>(), b in any::<String>()) {
            let joined = format!("{}\n{}", clean(&a), clean(&b));
            prop_assert_eq!(clean(&joined), joined);
        }
    }
}
