//! The options under their names: whole, in part, with a typing error, anywhere in a text.

use std::{collections::BTreeSet, ops::Range};

use strsim::osa_distance;

use super::{
    choose::{Offer, strips},
    said::{Said, Token},
};
use crate::text::{
    reply_words::NUMERALS,
    words::{is_stop, words},
};

/// Shortest name in which one typing error is forgiven: Latin letters, Chinese characters.
const TYPO_LATIN: usize = 4;
const TYPO_HAN: usize = 3;

impl Offer {
    /// The only option with exactly this name.
    pub(super) fn whole(&self, tokens: &[Token]) -> Option<usize> {
        let text = squashed(tokens);
        if text.is_empty() {
            return None;
        }
        only(self.names.iter().map(|names| names.iter().any(|name| squashed(&name.tokens) == text)))
    }

    /// The only option whose name, or a part of it, is this with one typing error. Where another option's whole name
    /// stands, there is no error.
    pub(super) fn mistyped(&self, tokens: &[Token]) -> Option<usize> {
        let held = self.held(tokens);
        strips(tokens)
            .find_map(|tokens| self.by_units(tokens, true).or_else(|| self.misspelt(tokens)))
            .filter(|option| held.iter().all(|held| held == option))
    }

    /// Whether the text is one option's whole name with a sign too many, and nearly another one's: 白金卡 beside 金卡
    /// and 铂金卡.
    pub(super) fn is_between_names(&self, tokens: &[Token]) -> bool {
        let held = self.held(tokens);
        !held.is_empty()
            && strips(tokens).find_map(|tokens| self.misspelt(tokens)).is_some_and(|near| !held.contains(&near))
    }

    /// The only option whose name, spelt with one error, is this.
    fn misspelt(&self, tokens: &[Token]) -> Option<usize> {
        let text = squashed(tokens);
        only(self.names.iter().map(|names| names.iter().any(|name| is_near(&text, &squashed(&name.tokens)))))
    }

    /// The only option whose names hold all that is said, words of the first question aside.
    pub(super) fn by_units(&self, tokens: &[Token], forgiving: bool) -> Option<usize> {
        let units = units(tokens);
        let fits = |name: &Said| {
            let mut telling = 0;
            for unit in &units {
                let exact = has_unit(name, unit);
                if exact || (forgiving && has_near_unit(name, unit)) {
                    telling += usize::from(is_telling(unit));
                } else if !is_stop(unit) && !has_unit(&self.asked, unit) {
                    return false;
                }
            }
            telling > 0
        };
        only(self.names.iter().map(|names| names.iter().any(fits)))
    }

    /// Units of an option's names that no other option has and the question does not hold.
    fn telling_units(&self, option: usize) -> Vec<String> {
        let others =
            || self.names.iter().enumerate().filter(|(index, _)| *index != option).flat_map(|(_, names)| names);
        let own = self.names[option].iter().flat_map(|name| units(&name.tokens));
        own.filter(|unit| {
            let is_long = unit.chars().count() >= 3 || unit.bytes().any(|b| b.is_ascii_digit()) && unit.len() > 1;
            let is_word = is_long || unit.chars().count() == 2 && !unit.is_ascii();
            is_word && !is_stop(unit) && !others().any(|name| has_unit(name, unit)) && !has_unit(&self.asked, unit)
        })
        .collect()
    }

    /// Options that are named anywhere in a longer text.
    pub(super) fn mentioned(&self, said: &Said) -> BTreeSet<usize> {
        let held = self.held(&said.tokens);
        let is_told = |option: usize| self.telling_units(option).iter().any(|unit| said_unit(said, unit));
        (0..self.len()).filter(|option| held.contains(option) || is_told(*option)).collect()
    }

    /// Options of which a whole name stands in the text, outside of a longer name: 铂金卡 holds no 金卡.
    pub(super) fn held(&self, tokens: &[Token]) -> BTreeSet<usize> {
        let runs: Vec<(usize, Range<usize>)> = self
            .names
            .iter()
            .enumerate()
            .flat_map(|(option, names)| {
                names.iter().flat_map(move |name| runs_of(tokens, &name.tokens)).map(move |run| (option, run))
            })
            .collect();
        let is_inside = |run: &Range<usize>| {
            runs.iter().any(|(_, other)| other.len() > run.len() && other.start <= run.start && run.end <= other.end)
        };
        runs.iter().filter(|(_, run)| !is_inside(run)).map(|(option, _)| *option).collect()
    }

    /// Whether an option's names hold this word.
    pub(super) fn has(&self, option: usize, unit: &str) -> bool {
        self.names[option].iter().any(|name| has_unit(name, unit))
    }

    /// Whether the text holds the whole name of an option.
    pub(super) fn is_named_in_full(&self, said: &Said) -> bool {
        !self.held(&said.tokens).is_empty()
    }

    /// Whether the text names, beside options, a code or a number that none of them has: "Borealis Z8" is not
    /// Borealis Z9.
    pub(super) fn is_other_model(&self, said: &Said) -> bool {
        let is_short = said.tokens.len() <= 3;
        units(&said.tokens).iter().any(|unit| {
            let has_digit = unit.bytes().any(|b| b.is_ascii_digit());
            let is_name = has_digit && (is_short || unit.contains(|c: char| c.is_ascii_alphabetic()));
            is_name && !self.names.iter().flatten().chain([&self.asked]).any(|name| has_unit(name, unit))
        })
    }
}

/// The place of the only `true`.
fn only(fits: impl Iterator<Item = bool>) -> Option<usize> {
    let mut found = fits.enumerate().filter_map(|(index, fits)| fits.then_some(index));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

pub(super) fn squashed(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect()
}

/// What is compared with names: Latin tokens, and the dictionary's words of Chinese runs.
pub(super) fn units(tokens: &[Token]) -> Vec<String> {
    let mut units = Vec::new();
    let mut run = String::new();
    let mut end = 0;
    for token in tokens {
        if !run.is_empty() && (!token.is_han() || token.start != end) {
            units.extend(words(&run).into_iter().map(|word| word.text.to_owned()));
            run.clear();
        }
        if token.is_han() {
            run.push_str(&token.text);
        } else {
            units.push(token.text.clone());
        }
        end = token.end;
    }
    units.extend(words(&run).into_iter().map(|word| word.text.to_owned()));
    units
}

/// Whether a unit can tell options apart by itself.
fn is_telling(unit: &str) -> bool {
    unit.is_ascii() || unit.chars().count() > 1
}

pub(super) fn has_unit(name: &Said, unit: &str) -> bool {
    if unit.is_ascii() {
        name.tokens.iter().any(|token| token.text == unit)
    } else {
        squashed(&name.tokens).contains(unit)
    }
}

/// Whether `name` holds the unit with one typing error. Numbers and codes are never forgiven.
fn has_near_unit(name: &Said, unit: &str) -> bool {
    let is_word = |text: &str| text.chars().all(char::is_alphabetic) && !text.starts_with(crate::text::words::is_han);
    is_word(unit)
        && !is_stop(unit)
        && name.tokens.iter().any(|token| {
            is_word(&token.text) && token.text.chars().count() >= TYPO_LATIN && osa_distance(&token.text, unit) <= 1
        })
}

fn is_near(text: &str, name: &str) -> bool {
    let (long, shortest) =
        (name.chars().count(), if name.contains(crate::text::words::is_han) { TYPO_HAN } else { TYPO_LATIN });
    long >= shortest
        && text.chars().count() + 1 >= shortest
        && osa_distance(text, name) <= 1
        && numerals(text) == numerals(name)
}

/// Digits and Chinese numerals: names that differ in one of them are different names.
fn numerals(text: &str) -> String {
    text.chars().filter(|c| c.is_numeric() || NUMERALS.contains(*c)).collect()
}

fn runs_of(tokens: &[Token], name: &[Token]) -> Vec<Range<usize>> {
    let starts = if name.is_empty() { 0..0 } else { 0..(tokens.len() + 1).saturating_sub(name.len()) };
    let is_run = |start: &usize| tokens[*start..].iter().zip(name).all(|(a, b)| a.text == b.text);
    starts.filter(is_run).map(|start| start..start + name.len()).collect()
}

fn said_unit(said: &Said, unit: &str) -> bool {
    if unit.is_ascii() {
        said.tokens.iter().any(|token| token.text == unit)
    } else {
        squashed(&said.tokens).contains(unit)
    }
}
