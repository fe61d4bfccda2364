//! A reply in pieces: folded tokens, and phrases found among them.

use crate::text::{fold, words::is_han};

/// A word of a reply, or one Chinese character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Folded.
    pub(super) text: String,
    /// Whether punctuation that ends a clause stands before it.
    pub(super) after_break: bool,
    /// First byte in the folded text.
    pub(super) start: usize,
    /// One past the last.
    pub(super) end: usize,
}

impl Token {
    pub(super) fn is_han(&self) -> bool {
        self.text.starts_with(is_han)
    }

    pub(super) fn is_number(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_digit())
    }
}

/// A text as this module reads it.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// See [`fold()`].
    pub(super) folded: String,
    pub(super) tokens: Vec<Token>,
}

impl Said {
    pub(super) fn new(text: &str) -> Self {
        let folded = fold(&spaced_marks(text));
        let tokens = tokens(&folded);
        Self { folded, tokens }
    }

    /// Whether a question mark ends it.
    pub(super) fn ends_asking(&self) -> bool {
        self.folded.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?').ends_with('?')
    }

    /// The folded text from token `from` on.
    pub(super) fn rest(&self, from: usize) -> &str {
        self.tokens.get(from).and_then(|token| self.folded.get(token.start..)).unwrap_or_default().trim()
    }

    /// The folded text from token `from` to before token `to`.
    pub(super) fn between(&self, from: usize, to: usize) -> &str {
        let start = self.tokens.get(from).map_or(self.folded.len(), |token| token.start);
        let end = self.tokens.get(to).map_or(self.folded.len(), |token| token.start);
        self.folded.get(start..end).unwrap_or_default().trim()
    }

    /// Symbols that make a number something other than a choice: "2%", "$2", "1/2", "-1", "12:30".
    pub(super) fn has_odd_symbols(&self) -> bool {
        let mut before = ' ';
        let mut chars = self.folded.chars().peekable();
        while let Some(c) = chars.next() {
            let after = chars.peek().copied().unwrap_or(' ');
            let is_odd = match c {
                '%' | '$' | '€' | '£' | '¥' | '/' | '⁄' | '=' | '<' | '>' | '^' | '*' | '@' | '°' | '~' | '|' => {
                    true
                }
                '-' | '−' | '–' => after.is_ascii_digit(),
                ':' => before.is_ascii_digit() && after.is_ascii_digit(),
                _ => false,
            };
            if is_odd {
                return true;
            }
            before = c;
        }
        false
    }
}

/// Circled and parenthesised numbers set apart, so that ①② does not fold to 12.
fn spaced_marks(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\u{2460}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{3220}'..='\u{3229}') {
            spaced.push(' ');
            // Dingbat digits have no compatibility form.
            let digit = match c {
                '\u{2776}'..='\u{277e}' => char::from_u32(u32::from(c) - 0x2776 + u32::from('1')),
                '\u{2780}'..='\u{2788}' => char::from_u32(u32::from(c) - 0x2780 + u32::from('1')),
                '\u{278a}'..='\u{2792}' => char::from_u32(u32::from(c) - 0x278a + u32::from('1')),
                _ => None,
            };
            spaced.push(digit.unwrap_or(c));
            spaced.push(' ');
        } else {
            spaced.push(c);
        }
    }
    spaced
}

fn tokens(folded: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut after_break = false;
    let mut open = false;
    let mut chars = folded.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let end = start + c.len_utf8();
        if is_han(c) {
            tokens.push(Token { text: c.into(), after_break, start, end });
            (after_break, open) = (false, false);
            continue;
        }
        if c.is_alphanumeric() || matches!(c, '&' | '+' | '、') {
            match tokens.last_mut() {
                Some(last) if open && c.is_alphanumeric() => {
                    last.text.push(c);
                    last.end = end;
                }
                _ => {
                    tokens.push(Token { text: c.into(), after_break, start, end });
                    after_break = false;
                }
            }
            open = c.is_alphanumeric();
            continue;
        }
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let inside =
            open && (c == '\'' && next.is_alphabetic() || c == '.' && next.is_ascii_digit() && ends_in_digit(&tokens));
        if inside {
            if let Some(last) = tokens.last_mut() {
                last.text.push(c);
                last.end = end;
            }
            continue;
        }
        open = false;
        let is_number_sign = c == '.' && tokens.last().is_some_and(|last| last.text == "no");
        after_break |= is_break(c, next) && !is_number_sign;
    }
    tokens
}

fn ends_in_digit(tokens: &[Token]) -> bool {
    tokens.last().is_some_and(|token| token.text.ends_with(|c: char| c.is_ascii_digit()))
}

fn is_break(c: char, next: char) -> bool {
    match c {
        ',' | ';' | '!' | '?' | '。' | '…' | '—' | '\n' => true,
        '.' | ':' | '-' | '–' => !next.is_alphanumeric(),
        _ => false,
    }
}

/// A table of phrases, each as its tokens, longest first.
#[derive(Debug)]
pub(super) struct Phrases(Vec<Vec<String>>);

impl Phrases {
    /// Reads a table of `text::reply_words`.
    pub(super) fn new(table: &str) -> Self {
        let mut phrases: Vec<Vec<String>> = table
            .split('|')
            .map(|phrase| tokens(phrase.trim()).into_iter().map(|token| token.text).collect())
            .filter(|phrase: &Vec<String>| !phrase.is_empty())
            .collect();
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        Self(phrases)
    }

    /// Whether `tokens` is one of them.
    pub(super) fn is(&self, tokens: &[Token]) -> bool {
        self.0.iter().any(|phrase| phrase.len() == tokens.len() && matches(phrase, tokens))
    }

    /// How many tokens the longest phrase takes at the beginning of `tokens`.
    pub(super) fn at_start(&self, tokens: &[Token]) -> Option<usize> {
        self.0.iter().find(|phrase| phrase.len() <= tokens.len() && matches(phrase, tokens)).map(Vec::len)
    }

    /// How many tokens the longest phrase takes at the end of `tokens`.
    pub(super) fn at_end(&self, tokens: &[Token]) -> Option<usize> {
        self.0
            .iter()
            .find(|phrase| tokens.len().checked_sub(phrase.len()).is_some_and(|from| matches(phrase, &tokens[from..])))
            .map(Vec::len)
    }

    /// Whether one stands anywhere in `tokens`.
    pub(super) fn stand_in(&self, tokens: &[Token]) -> bool {
        (0..tokens.len()).any(|from| self.at_start(&tokens[from..]).is_some())
    }
}

fn matches(phrase: &[String], tokens: &[Token]) -> bool {
    phrase.iter().zip(tokens).enumerate().all(|(index, (word, token))| {
        // A phrase does not reach across the end of a clause.
        *word == token.text && (index == 0 || !token.after_break)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        Said::new(text).tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn tokens_of_both_scripts() {
        assert_eq!(texts("I'd take the X1-200, v2.5"), ["i'd", "take", "the", "x1", "200", "v2.5"]);
        assert_eq!(texts("第2個X1的"), ["第", "2", "个", "x1", "的"]);
        assert_eq!(texts("①② ❸ ２"), ["1", "2", "3", "2"]);
        assert_eq!(texts("👍!?"), Vec::<String>::new());
    }

    #[test]
    fn phrases_stay_inside_a_clause() {
        let phrases = Phrases::new("never mind|算了|never");
        let said = Said::new("Never mind, go");
        assert_eq!(phrases.at_start(&said.tokens), Some(2));
        assert_eq!(phrases.at_start(&Said::new("never, mind").tokens), Some(1));
        assert!(phrases.is(&Said::new("算了！").tokens));
        assert_eq!(said.rest(2), "go");
    }
}
