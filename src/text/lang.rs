//! Which language a text is in, as far as askback treats languages differently.

use std::collections::HashSet;

use super::{
    fold,
    words::{is_han, words},
};

/// A language that askback has rules for, or any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lang {
    /// English, and what else is written in Latin letters.
    En,
    /// Chinese.
    Zh,
    /// Another script, or no letters at all.
    Other,
}

impl Lang {
    /// `en`, `zh`; none for others.
    #[must_use]
    pub const fn code(self) -> Option<&'static str> {
        match self {
            Self::En => Some("en"),
            Self::Zh => Some("zh"),
            Self::Other => None,
        }
    }
}

/// The language of most of `text`. A Han character weighs as much as a Latin word, so that "X1 Pro 的保修期多久" is
/// Chinese; kana and hangul make a text neither.
#[must_use]
pub fn detect(text: &str) -> Lang {
    let (mut han, mut latin, mut other) = (0_usize, 0_usize, 0_usize);
    let mut in_word = false;
    for c in text.chars() {
        let starts_word = c.is_alphabetic() && !in_word;
        in_word = c.is_alphabetic() && !is_han(c);
        match c {
            c if is_han(c) => han += 1,
            '\u{3040}'..='\u{30ff}' | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => other += 1,
            c if is_latin(c) => latin += usize::from(starts_word),
            _ => other += usize::from(starts_word),
        }
    }
    if other > 0 && other * 4 >= han + latin {
        Lang::Other
    } else if han > 0 && han >= latin {
        Lang::Zh
    } else if latin > 0 {
        Lang::En
    } else {
        Lang::Other
    }
}

/// The language of `reply` to a question in the language of `asked`. A reply of nothing but numbers and words of `names`,
/// the things that were offered, has none of its own.
#[must_use]
pub fn of_reply<'n>(reply: &str, names: impl IntoIterator<Item = &'n str>, asked: &str) -> Lang {
    let names: HashSet<String> = names.into_iter().flat_map(spelled).collect();
    let own: Vec<String> = spelled(reply).filter(|word| !names.contains(word)).collect();
    match detect(&own.join(" ")) {
        Lang::Other => detect(asked),
        lang => lang,
    }
}

fn spelled(text: &str) -> impl Iterator<Item = String> {
    let folded = fold(text);
    let spelled: Vec<String> = words(&folded).into_iter().map(|word| word.text.to_owned()).collect();
    spelled.into_iter()
}

const fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

#[cfg(test)]
mod tests {
    use super::{Lang, detect, of_reply};

    #[test]
    fn a_name_that_was_offered_has_no_language() {
        let of = |reply: &str, asked: &str| of_reply(reply, ["Aurora X1", "晨星 B7"], asked);
        for reply in ["2", "aurora", "Aurora X1", "晨星B7", "x1", ""] {
            assert_eq!(of(reply, "保修期多久？"), Lang::Zh, "{reply}");
            assert_eq!(of(reply, "How long is the warranty?"), Lang::En, "{reply}");
        }
        assert_eq!(of("the Aurora please", "保修期多久？"), Lang::En);
        assert_eq!(of("第二个", "How long is the warranty?"), Lang::Zh);
    }

    #[test]
    fn both_languages_and_neither() {
        assert_eq!(detect("How long is the warranty?"), Lang::En);
        assert_eq!(detect("保修期多久？"), Lang::Zh);
        assert_eq!(detect("X1 Pro 的保修期多久"), Lang::Zh);
        assert_eq!(detect("What does 保修 mean in this contract?"), Lang::En);
        assert_eq!(detect("保証期間はどのくらいですか"), Lang::Other);
        assert_eq!(detect("Сколько длится гарантия?"), Lang::Other);
        assert_eq!(detect("2024-05-01"), Lang::Other);
        assert_eq!(detect(""), Lang::Other);
    }
}
