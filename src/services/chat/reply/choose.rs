//! Which of the offered options a reply names.

use std::{collections::BTreeSet, sync::LazyLock};

use strsim::osa_distance;

use super::{
    clauses::{clauses, split_at},
    ordinal::places,
    said::{Phrases, Said, Token},
};
use crate::{
    domain::hitl::Question,
    text::{
        reply_words as table,
        words::{is_stop, words},
    },
};

static LEADING: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::LEADING));
static TRAILING: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::TRAILING));
static CONNECTORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::CONNECTORS));
static NEGATORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATORS));
static NEGATED_TAIL: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATED_TAIL));
static ALL: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::ALL));
static WHETHER: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::WHETHER));
static ORDERS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::ORDERS));
static UNDECIDED: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::UNDECIDED));
static NONE: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NONE));

/// Shortest name in which one typing error is forgiven: Latin letters, Chinese characters.
const TYPO_LATIN: usize = 4;
const TYPO_HAN: usize = 3;
/// Most ends of clauses at which a reply may turn from an option to something else.
const MAX_LEAD: usize = 4;

/// What a reply picks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pick {
    /// These options, by place from 0.
    Options(BTreeSet<usize>, &'static str),
    /// None of them; what else is said.
    NoneOf {
        /// May be empty.
        rest: String,
    },
}

/// The options of a question under all their names.
#[derive(Debug)]
pub(super) struct Offer {
    /// Per option its label, then its aliases.
    names: Vec<Vec<Said>>,
    /// The question that was asked at first.
    asked: Said,
}

impl Offer {
    pub(super) fn new(question: &Question) -> Self {
        let names = question
            .options
            .iter()
            .map(|option| std::iter::once(&option.label).chain(&option.aliases).map(|name| Said::new(name)).collect())
            .collect();
        Self { names, asked: Said::new(&question.original_question) }
    }

    const fn len(&self) -> usize {
        self.names.len()
    }

    /// What the whole reply picks; `None` when it says anything else or is not clear.
    pub(super) fn pick(&self, said: &Said) -> Option<Pick> {
        let k = self.len();
        if k == 0 || said.tokens.is_empty() {
            return None;
        }
        if let Some(option) = self.whole(&said.tokens) {
            return Some(Pick::Options([option].into(), "label"));
        }
        if let Some(pick) = self.sweeping(said) {
            return Some(pick);
        }
        let clauses = clauses(&said.tokens);
        let orders = |tokens: &&[Token]| lead_strips(tokens).any(|rest| ORDERS.at_start(rest).is_some());
        if WHETHER.stand_in(&said.tokens) || clauses.iter().any(orders) {
            return None;
        }
        let (mut named, mut excluded, mut reason) = (BTreeSet::new(), BTreeSet::new(), "label");
        for tokens in &clauses {
            if clauses.len() > 1 && is_aside(tokens) {
                continue;
            }
            let (set, why) = self.clause(tokens, said)?;
            reason = why;
            match set {
                Named::These(set) => named.extend(set),
                Named::NotThese(set) => excluded.extend(set),
            }
        }
        if named.is_empty() && excluded.is_empty() {
            let is_undecided = clauses.iter().any(|tokens| strips(tokens).any(|rest| UNDECIDED.is(rest)));
            return is_undecided.then(|| Pick::Options((0..k).collect(), "undecided"));
        }
        let from = if named.is_empty() { (0..k).collect() } else { named };
        let left: BTreeSet<usize> = from.difference(&excluded).copied().collect();
        Some(if left.is_empty() { Pick::NoneOf { rest: String::new() } } else { Pick::Options(left, reason) })
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

    /// Options that are named anywhere in a longer text.
    pub(super) fn mentioned(&self, said: &Said) -> BTreeSet<usize> {
        (0..self.len())
            .filter(|&option| {
                self.names[option].iter().any(|name| holds_run(&said.tokens, &name.tokens))
                    || self.telling_units(option).iter().any(|unit| said_unit(said, unit))
            })
            .collect()
    }

    /// Options that a first sentence or clause picks all by itself, and how many tokens it has; something has to follow.
    pub(super) fn pick_first(&self, said: &Said) -> Option<(BTreeSet<usize>, usize)> {
        let breaks = (1..said.tokens.len()).filter(|at| said.tokens[*at].after_break);
        breaks.take(MAX_LEAD).find_map(|at| {
            let head = said.folded.get(..said.tokens[at].start)?;
            match self.pick(&Said::new(head)) {
                Some(Pick::Options(places, _)) => Some((places, at)),
                _ => None,
            }
        })
    }

    /// Whether the text holds the whole name of an option.
    pub(super) fn is_named_in_full(&self, said: &Said) -> bool {
        self.names.iter().flatten().any(|name| holds_run(&said.tokens, &name.tokens))
    }

    /// "All", "none of these", "I don't know".
    fn sweeping(&self, said: &Said) -> Option<Pick> {
        let k = self.len();
        let everything = || (0..k).collect::<BTreeSet<usize>>();
        for tokens in strips(&said.tokens) {
            if ALL.is(tokens) && counts_to(tokens, k) {
                return Some(Pick::Options(everything(), "all"));
            }
            if NONE.is(tokens) && counts_to(tokens, k) {
                return Some(Pick::NoneOf { rest: String::new() });
            }
            if UNDECIDED.is(tokens) {
                return Some(Pick::Options(everything(), "undecided"));
            }
        }
        let first = clauses(&said.tokens).into_iter().next()?;
        let has_more = first.len() < said.tokens.len();
        let is_none = has_more && strips(first).any(|tokens| NONE.is(tokens) && counts_to(tokens, k));
        is_none.then(|| Pick::NoneOf { rest: said.rest(first.len()).to_owned() })
    }

    /// One clause: options named, or options ruled out.
    fn clause(&self, tokens: &[Token], said: &Said) -> Option<(Named, &'static str)> {
        if let Some(option) = strips(tokens).find_map(|tokens| self.whole(tokens)) {
            return Some((Named::These([option].into()), "label"));
        }
        if let Some(set) = self.ruled_out(tokens, said) {
            return Some((Named::NotThese(set), "negation"));
        }
        self.named(tokens, said).map(|(set, reason)| (Named::These(set), reason))
    }

    fn ruled_out(&self, tokens: &[Token], said: &Said) -> Option<BTreeSet<usize>> {
        for from in lead_strips(tokens) {
            let (mut rest, mut is_negated) = (from, false);
            if let Some(taken) = NEGATORS.at_start(rest).filter(|taken| *taken > 1 || is_word(rest)) {
                (rest, is_negated) = (&rest[taken..], true);
            }
            if let Some(taken) = NEGATED_TAIL.at_end(rest)
                && (is_negated || is_exclusion(&rest[rest.len() - taken..]))
            {
                (rest, is_negated) = (&rest[..rest.len() - taken], true);
            }
            if is_negated
                && !rest.is_empty()
                && let Some((set, _)) = self.named(rest, said)
            {
                return Some(set);
            }
        }
        None
    }

    /// One option or several, joined or side by side.
    fn named(&self, tokens: &[Token], said: &Said) -> Option<(BTreeSet<usize>, &'static str)> {
        self.letters(tokens)
            .or_else(|| self.joined(tokens, said))
            .or_else(|| self.part(tokens, said))
            .or_else(|| self.side_by_side(tokens, said))
    }

    /// "a b", "AC": letters of the list in its order, side by side or in one word that means nothing else.
    fn letters(&self, tokens: &[Token]) -> Option<(BTreeSet<usize>, &'static str)> {
        strips(tokens).find_map(|tokens| {
            let text = squashed(tokens);
            let is_name =
                is_stop(&text) || self.names.iter().flatten().chain([&self.asked]).any(|name| has_unit(name, &text));
            let is_spelt = matches!(tokens, [_]) && !is_name || tokens.iter().all(|token| token.text.len() == 1);
            let place = |byte: u8| byte.checked_sub(b'a').map(usize::from).filter(|place| *place < self.len());
            let places: Vec<usize> = text.bytes().map(place).collect::<Option<_>>()?;
            (is_spelt && places.len() > 1 && places.is_sorted_by(|one, next| one < next))
                .then(|| (places.into_iter().collect(), "ordinal"))
        })
    }

    fn joined(&self, tokens: &[Token], said: &Said) -> Option<(BTreeSet<usize>, &'static str)> {
        let parts = split_at(tokens, &CONNECTORS);
        if parts.len() < 2 {
            return None;
        }
        let (mut all, mut reason) = (BTreeSet::new(), "label");
        for part in parts {
            let (set, why) = self.part(part, said)?;
            all.extend(set);
            reason = why;
        }
        Some((all, reason))
    }

    fn side_by_side(&self, tokens: &[Token], said: &Said) -> Option<(BTreeSet<usize>, &'static str)> {
        let mut all = BTreeSet::new();
        for token in strips(tokens).last().unwrap_or_default() {
            let one = std::slice::from_ref(token);
            match self.counted(one, said) {
                Counted::Places(set) => all.extend(set),
                Counted::Unclear => return None,
                Counted::Other => all.extend([self.by_units(one, false)?]),
            }
        }
        (all.len() > 1).then_some((all, "several"))
    }

    /// One option, or a place or range in the list.
    fn part(&self, tokens: &[Token], said: &Said) -> Option<(BTreeSet<usize>, &'static str)> {
        let one = |option: usize| BTreeSet::from([option]);
        if let Some(option) = strips(tokens).find_map(|tokens| self.whole(tokens)) {
            return Some((one(option), "label"));
        }
        if strips(tokens).any(|tokens| ALL.is(tokens) && counts_to(tokens, self.len())) {
            return Some(((0..self.len()).collect(), "all"));
        }
        match self.counted(tokens, said) {
            Counted::Places(set) => return Some((set, "ordinal")),
            Counted::Unclear => return None,
            Counted::Other => {}
        }
        if let Some(option) = strips(tokens).find_map(|tokens| self.by_units(tokens, false)) {
            return Some((one(option), "part of a label"));
        }
        let typed = strips(tokens).find_map(|tokens| self.by_units(tokens, true).or_else(|| self.misspelt(tokens)));
        typed.map(|option| (one(option), "label with a typing error"))
    }

    /// By place in the list.
    fn counted(&self, tokens: &[Token], said: &Said) -> Counted {
        if said.has_odd_symbols() {
            return Counted::Other;
        }
        for stripped in strips(tokens) {
            // "the one", "that one" point at something else than the list.
            if matches!(stripped, [only] if only.text == "one") && tokens.iter().any(|token| is_pointing(&token.text)) {
                continue;
            }
            let Some(set) = places(stripped, self.len()) else { continue };
            // A number may also stand in one label alone: "2" before "Version 2" and "Version 1" is not clear.
            let is_clear = match (stripped, self.by_units(stripped, false)) {
                ([_], Some(option)) => set.len() == 1 && set.contains(&option),
                _ => true,
            };
            return if is_clear { Counted::Places(set) } else { Counted::Unclear };
        }
        Counted::Other
    }

    /// The only option with exactly this name.
    fn whole(&self, tokens: &[Token]) -> Option<usize> {
        let text = squashed(tokens);
        if text.is_empty() {
            return None;
        }
        only(self.names.iter().map(|names| names.iter().any(|name| squashed(&name.tokens) == text)))
    }

    /// The only option whose name, spelt with one error, is this.
    fn misspelt(&self, tokens: &[Token]) -> Option<usize> {
        let text = squashed(tokens);
        only(self.names.iter().map(|names| names.iter().any(|name| is_near(&text, &squashed(&name.tokens)))))
    }

    /// The only option whose names hold all that is said, words of the first question aside.
    fn by_units(&self, tokens: &[Token], forgiving: bool) -> Option<usize> {
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
}

/// Whether something in a longer text is ruled out, which only a short reply says clearly.
pub(super) fn is_negated(tokens: &[Token]) -> bool {
    NEGATORS.stand_in(tokens)
}

/// What a text says as a place in the list.
enum Counted {
    Places(BTreeSet<usize>),
    /// A number that is one option's place and stands in another one's label.
    Unclear,
    Other,
}

enum Named {
    These(BTreeSet<usize>),
    NotThese(BTreeSet<usize>),
}

/// The place of the only `true`.
fn only(fits: impl Iterator<Item = bool>) -> Option<usize> {
    let mut found = fits.enumerate().filter_map(|(index, fits)| fits.then_some(index));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// `tokens` with fewer and fewer carrier words around them, the whole first.
pub(super) fn strips(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    lead_strips(tokens).flat_map(|rest| {
        std::iter::successors(Some(rest), |rest| TRAILING.at_end(rest).map(|taken| &rest[..rest.len() - taken]))
    })
}

fn lead_strips(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    std::iter::successors(Some(tokens), |rest| LEADING.at_start(rest).map(|taken| &rest[taken..]))
}

/// Whether a phrase that names a number ("both", 三个都要) names that of the options.
fn counts_to(tokens: &[Token], k: usize) -> bool {
    tokens.iter().all(|token| {
        let count = match token.text.as_str() {
            "both" | "either" | "neither" | "two" | "两" | "二" => 2,
            "three" | "三" => 3,
            "four" | "四" => 4,
            "five" => 5,
            "six" => 6,
            "seven" => 7,
            "eight" => 8,
            _ => return true,
        };
        count == k
    })
}

fn is_pointing(word: &str) -> bool {
    matches!(
        word,
        "the" | "this" | "that" | "which" | "other" | "same" | "good" | "best" | "new" | "old" | "any" | "no"
    )
}

/// Whether the first token is a word by itself: 除 is one in 除第一个, not in 除湿机.
fn is_word(tokens: &[Token]) -> bool {
    tokens.first().zip(units(tokens).first()).is_some_and(|(token, unit)| token.text == *unit)
}

/// A clause that only leads to another: "ok", "no", "not sure". An article ends none: "a, b" names letters.
fn is_aside(tokens: &[Token]) -> bool {
    let ends_in_letter = tokens.last().is_some_and(|last| last.text == "a");
    let is_bare_no = matches!(tokens, [one] if one.text == "no" || one.text == "不");
    !ends_in_letter && (is_bare_no || strips(tokens).any(|rest| rest.is_empty() || UNDECIDED.is(rest)))
}

/// A tail that excludes even without a negator before it.
fn is_exclusion(tail: &[Token]) -> bool {
    let text = squashed(tail);
    text.contains('外')
        || text.starts_with('不')
        || text == "isn'tit"
        || text == "excluded"
        || text == "apart"
        || text == "aside"
        || text == "isnotit"
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

fn has_unit(name: &Said, unit: &str) -> bool {
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
    text.chars().filter(|c| c.is_numeric() || "一二三四五六七八九十两".contains(*c)).collect()
}

fn holds_run(tokens: &[Token], name: &[Token]) -> bool {
    !name.is_empty() && tokens.windows(name.len()).any(|window| window.iter().zip(name).all(|(a, b)| a.text == b.text))
}

fn said_unit(said: &Said, unit: &str) -> bool {
    if unit.is_ascii() {
        said.tokens.iter().any(|token| token.text == unit)
    } else {
        squashed(&said.tokens).contains(unit)
    }
}
