//! Folding: one spelling for texts that a reader takes for the same.

use std::{borrow::Cow, sync::LazyLock};

use ferrous_opencc::{OpenCC, config::BuiltinConfig};
use unicode_normalization::UnicodeNormalization;

use super::words::is_han;

/// Traditional to Simplified, by phrase, so that 乾 becomes 干 in 乾燥 and stays in 乾坤. `None` cannot happen with the
/// table compiled in; were it to, Traditional text would stay as it is.
static SIMPLIFIED: LazyLock<Option<OpenCC>> = LazyLock::new(|| OpenCC::from_config(BuiltinConfig::T2s).ok());

/// `text` in NFKC (full-width becomes half-width, ² becomes 2), lower case, Simplified characters, straight
/// apostrophes. Offsets into the result are not offsets into `text`.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower: String = text.nfkc().flat_map(char::to_lowercase).map(straight).collect();
    match simplified(&lower) {
        Cow::Borrowed(_) => lower,
        Cow::Owned(simplified) => simplified,
    }
}

/// `text` with Traditional characters turned into Simplified ones.
#[must_use]
pub fn simplified(text: &str) -> Cow<'_, str> {
    match &*SIMPLIFIED {
        Some(table) if text.chars().any(is_han) => Cow::Owned(table.convert(text)),
        _ => Cow::Borrowed(text),
    }
}

/// Typographic apostrophes as the straight one, so that "company’s" is "company's".
const fn straight(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' => '\'',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn one_spelling() {
        assert_eq!(fold("ＡＢＣ１２３"), "abc123");
        assert_eq!(fold("保養維修期限為２年"), "保养维修期限为2年");
        assert_eq!(fold("The Company’s m²"), "the company's m2");
        assert_eq!(fold("ﬁle"), "file");
        assert_eq!(fold(""), "");
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for text in ["臺灣的乾燥機", "Straße Ⅳ ①", "X1-200 电池"] {
            let once = fold(text);
            assert_eq!(fold(&once), once);
        }
    }
}
