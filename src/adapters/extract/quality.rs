//! Whether a text looks like one: garbage is flagged, never indexed in silence.

use crate::domain::{
    extract::{BlockKind, Extracted},
    knowledge::Warning,
};

/// Looks at this many words of prose.
const WORDS: usize = 10_000;
/// Fewer words say nothing.
const LEAST: u32 = 40;
/// More than one word in so many is garbage: the text is flagged.
const ONE_IN: u32 = 12;

/// Flags a text of which much is no writing, as recognition of a bad scan leaves it.
pub(super) fn judge(extracted: &mut Extracted) {
    if is_noise(extracted) && !extracted.warnings.iter().any(|warning| warning.code == "low_quality_text") {
        extracted.warnings.push(Warning {
            code: "low_quality_text".into(),
            message: "Much of the text looks like garbage; it may be a bad scan or an unknown encoding.".into(),
        });
    }
}

fn is_noise(extracted: &Extracted) -> bool {
    let (mut all, mut odd) = (0_u32, 0_u32);
    let mut chars = extracted.text.chars();
    let mut at = 0;
    for block in &extracted.blocks {
        let body: String = chars.by_ref().skip(block.start - at).take(block.end - block.start).collect();
        at = block.end;
        if matches!(block.kind, BlockKind::Code | BlockKind::TableHeader | BlockKind::TableRow) {
            continue;
        }
        for word in body.split_whitespace() {
            all += 1;
            odd += u32::from(is_garbage(word));
        }
        if all as usize >= WORDS {
            break;
        }
    }
    all >= LEAST && odd * ONE_IN > all
}

/// A word that no one writes: signs among its letters, a small letter before a capital and again a small one, or one
/// small letter alone.
fn is_garbage(word: &str) -> bool {
    if word.contains(char::REPLACEMENT_CHARACTER) {
        return true;
    }
    if is_mojibake(word) {
        return true;
    }
    if word.contains("://") || word.contains('@') || !word.is_ascii() && !word.contains(['«', '»', '■', '¬', '¦', '¤'])
    {
        return false;
    }
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let mut chars = core.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return only.is_ascii_lowercase() && !matches!(only, 'a' | 'i' | 'e' | 'o' | 'x' | 'y' | 'u');
    }
    core.chars()
        .any(|c| matches!(c, '^' | '*' | '»' | '«' | '|' | '~' | '\\' | ';' | '!' | '?' | '■' | '¬' | '¦' | '¤'))
}

/// A word of another encoding read as Western European: accented letters in a row, or with signs between them, as no
/// language writes them ("Ã©tÃ©", "ä¿®", "ÐÞÆÚ").
fn is_mojibake(word: &str) -> bool {
    let core: Vec<char> = word.trim_matches(|c: char| !c.is_alphanumeric()).chars().collect();
    let accented = |c: &char| matches!(c, '\u{C0}'..='\u{FF}') && !matches!(c, '×' | '÷');
    let sign = |c: &char| matches!(c, '\u{A1}'..='\u{BF}' | '€' | '‚' | '„' | '†' | '‡' | '‰' | '™' | '˜' | 'ˆ');
    core.windows(2).any(|pair| accented(&pair[0]) && sign(&pair[1]))
        || core.windows(3).any(|run| run.iter().all(accented))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_told_from_names() {
        for word in ["s*r;tiiR", "n»Bfl.", "t", "ex\u{FFFD}mple", "Ã©tÃ©", "ä¿®æ", "ÐÞÆÚ", "â€œx"] {
            assert!(is_garbage(word), "{word}");
        }
        for word in [
            "don't",
            "X1-Pro",
            "https://a.example/?a=b;c",
            "a",
            "iPhone",
            "(see",
            "C++",
            "保修期",
            "naïve",
            "e.g.",
            "été",
            "Größe",
            "(été»",
            "Æsir",
            "30°C",
            "«déjà»",
        ] {
            assert!(!is_garbage(word), "{word}");
        }
    }
}
