//! User names: what they may be, and when two of them are the same.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use super::AuthError;

const MAX_CHARS: usize = 64;

/// Refuses names of users that cannot be shown or that would pass for another one.
pub(super) fn check(name: &str) -> Result<(), AuthError> {
    check_field("username", name)
}

/// The same for names of groups.
pub(super) fn check_group(name: &str) -> Result<(), AuthError> {
    check_field("name", name)
}

/// The same for names of keys.
pub(super) fn check_key(name: &str) -> Result<(), AuthError> {
    check_field("name", name)
}

fn check_field(field: &'static str, name: &str) -> Result<(), AuthError> {
    let invalid = |message| Err(AuthError::InvalidField { field, message });
    if name.is_empty() || name.chars().nth(MAX_CHARS).is_some() {
        return invalid("must have 1 to 64 characters");
    }
    if name.trim() != name {
        return invalid("must not begin or end with white space");
    }
    if name.chars().any(is_invisible) {
        return invalid("must not hold control characters or invisible ones");
    }
    Ok(())
}

/// The folded name, unique among accounts: NFKC and lower case. Too long a name folds to an empty one, which no account
/// has.
pub(super) fn key(name: &str) -> String {
    if name.chars().nth(MAX_CHARS).is_some() {
        return String::new();
    }
    // Lower-casing can undo the normal form ("İ"), hence once more.
    name.nfkc().flat_map(char::to_lowercase).collect::<String>().nfkc().collect()
}

/// Control characters, and format characters such as zero-width joiners and direction overrides.
fn is_invisible(character: char) -> bool {
    matches!(
        character.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_read_the_same_are_the_same() {
        assert_eq!(key("Ａｌｉｃｅ"), key("alice"));
        assert_eq!(key("ÉLAN"), key("e\u{301}lan"));
        assert_eq!(key("王小明"), "王小明");
        assert_ne!(key("alice"), key("alicia"));
    }

    #[test]
    fn bounds() {
        for good in ["a", "王小明", "O'Brien", "a b", &"x".repeat(64), &"字".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", " a", "a\t", "a\0b", "a\u{200b}b", "a\u{202e}b", "a\nb", &"x".repeat(65)] {
            assert!(matches!(check(bad), Err(AuthError::InvalidField { field: "username", .. })), "{bad:?}");
        }
    }
}
