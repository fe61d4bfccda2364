//! Which of the offered options a reply names.

use std::{collections::BTreeSet, sync::LazyLock};

use super::{
    clauses::{clauses, correction, is_correction, split_at},
    labels::{has_unit, squashed, units},
    nouns::Nouns,
    numbered::Numbered,
    ordinal::{cardinal, places},
    said::{Phrases, Said, Token},
};
use crate::{
    domain::hitl::Record,
    text::{reply_words as table, words::is_stop},
};

static LEADING: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(&format!("{}|{}", table::LEADING, table::ACTS)));
static TRAILING: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::TRAILING));
static CONNECTORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::CONNECTORS));
static NEGATORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATORS));
static NEGATED_TAIL: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATED_TAIL));
static ALL: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::ALL));
static WHETHER: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::WHETHER));
static ORDERS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::ORDERS));
static UNDECIDED: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::UNDECIDED));
static OTHER: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::OTHER));
static DECLINES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DECLINES));
static NONE: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NONE));

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
    /// Not clear which: it is asked again.
    Unclear(&'static str),
}

/// The options of a question under all their names.
#[derive(Debug)]
pub(super) struct Offer {
    /// Per option its label, then its aliases.
    pub(super) names: Vec<Vec<Said>>,
    /// The question that was asked at first.
    pub(super) asked: Said,
    nouns: Nouns,
    /// Options that the question or an earlier answer names: "the other one" is the other of two.
    spoken_of: BTreeSet<usize>,
}

impl Offer {
    pub(super) fn new(record: &Record) -> Self {
        let question = &record.question;
        let names: Vec<Vec<Said>> = question
            .options
            .iter()
            .map(|option| std::iter::once(&option.label).chain(&option.aliases).map(|name| Said::new(name)).collect())
            .collect();
        let nouns = Nouns::new(question, &names);
        let mut offer =
            Self { names, asked: Said::new(&question.original_question), nouns, spoken_of: BTreeSet::new() };
        let answered = |filter| record.answers.iter().any(|answer| answer.filters.contains(filter));
        offer.spoken_of = offer.held(&offer.asked.tokens);
        offer.spoken_of.extend((0..offer.len()).filter(|place| answered(&question.options[*place].filter)));
        offer
    }

    /// The reply without the nouns of the list: "the second product" is "the second".
    pub(super) fn plain(&self, said: &Said) -> Said {
        self.nouns.dropped(said)
    }

    pub(super) const fn len(&self) -> usize {
        self.names.len()
    }

    /// What the whole reply picks; `None` when it says anything else.
    pub(super) fn pick(&self, said: &Said) -> Option<Pick> {
        if self.len() == 0 || said.tokens.is_empty() {
            return None;
        }
        if let Some(option) = strips(&said.tokens).find_map(|tokens| self.whole(tokens)) {
            return Some(Pick::Options([option].into(), "label"));
        }
        let said = &self.plain(said);
        if matches!(said.tokens.as_slice(), [only] if only.text == "i") {
            return Some(Pick::Options([0].into(), "ordinal"));
        }
        let clauses = clauses(&said.tokens);
        if !clauses.iter().any(|tokens| is_other(tokens))
            && let Some(pick) = self.sweeping(said).or_else(|| self.count(&said.tokens))
        {
            return Some(pick);
        }
        let orders = |tokens: &&[Token]| lead_strips(tokens).any(|rest| ORDERS.at_start(rest).is_some());
        if WHETHER.stand_in(&said.tokens) || clauses.iter().any(orders) {
            return None;
        }
        let numbered = |tokens: &[Token]| self.numbered(tokens, said);
        match numbered(&said.tokens) {
            Some(Numbered::Same(option)) => return Some(Pick::Options([option].into(), "number and label")),
            Some(Numbered::Different) => return Some(Pick::Unclear("number and label of different options")),
            None if clauses.iter().any(|tokens| numbered(tokens) == Some(Numbered::Different)) => {
                return Some(Pick::Unclear("number and label of different options"));
            }
            None => {}
        }
        self.by_clauses(&clauses, said)
    }

    /// What the clauses name, less what they rule out.
    fn by_clauses(&self, clauses: &[&[Token]], said: &Said) -> Option<Pick> {
        let everything = || (0..self.len()).collect::<BTreeSet<usize>>();
        let (mut named, mut excluded, mut reason) = (BTreeSet::new(), BTreeSet::new(), "label");
        // "Basic, no, Plus" takes Basic back.
        let mut corrects = false;
        for tokens in clauses.iter().copied() {
            if clauses.len() > 1 && is_aside(tokens) {
                corrects |= takes_back(tokens) && !(named.is_empty() && excluded.is_empty());
                continue;
            }
            if is_other(tokens) {
                let told = [&excluded, &named, &self.spoken_of].into_iter().find(|told| !told.is_empty());
                let Some(other) = told.and_then(|told| self.other_than(told)) else {
                    return Some(Pick::Unclear("the other of which"));
                };
                (named, reason) = ([other].into(), "the other one");
                continue;
            }
            let lead = correction(tokens).filter(|_| !named.is_empty());
            corrects |= lead.is_some();
            let tokens = &tokens[lead.unwrap_or(0)..];
            let Some((set, why)) = self.clause(tokens, said) else {
                return self.is_between_names(tokens).then_some(Pick::Unclear("between two labels"));
            };
            reason = why;
            match set {
                Named::These(set) if corrects => (named, corrects) = (set, false),
                Named::These(set) => named.extend(set),
                Named::NotThese(set) => excluded.extend(set),
            }
        }
        if corrects && clauses.last().is_some_and(|last| is_bare_no(last)) {
            return Some(Pick::Unclear("taken back"));
        }
        if named.is_empty() && excluded.is_empty() {
            let is_undecided = clauses.iter().any(|tokens| strips(tokens).any(|rest| UNDECIDED.is(rest)));
            return is_undecided.then(|| Pick::Options(everything(), "undecided"));
        }
        let from = if named.is_empty() { everything() } else { named };
        let left: BTreeSet<usize> = from.difference(&excluded).copied().collect();
        Some(if left.is_empty() { Pick::NoneOf { rest: String::new() } } else { Pick::Options(left, reason) })
    }

    /// The other of two.
    fn other_than(&self, told: &BTreeSet<usize>) -> Option<usize> {
        let one = told.first().filter(|_| self.len() == 2 && told.len() == 1)?;
        Some(1 - one)
    }

    /// "Two of them" are all of two and none in particular of three; "2 of 3" is the second.
    fn count(&self, tokens: &[Token]) -> Option<Pick> {
        strips(tokens).find_map(|tokens| {
            let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
            let (number, of) = match words.as_slice() {
                ["all" | "any" | "everything", "but", number] => (cardinal(number)?, 0),
                [number, "of", "them" | "these" | "those"] => (cardinal(number)?, 0),
                [number, "of", of] => (cardinal(number)?, cardinal(of)?),
                _ => return None,
            };
            Some(match number {
                _ if words.contains(&"but") => Pick::Unclear("all but one of them"),
                1.. if of == self.len() && number <= of => Pick::Options([number - 1].into(), "ordinal"),
                _ if of == 0 && number == self.len() => Pick::Options((0..number).collect(), "all"),
                _ => Pick::Unclear("a number of them"),
            })
        })
    }

    /// Options that a first sentence or clause picks all by itself, and how many tokens it has; something has to follow.
    pub(super) fn pick_first(&self, said: &Said) -> Option<(BTreeSet<usize>, usize)> {
        let opens = |at: usize| said.folded.get(..said.tokens[at].start).is_some_and(|head| head.ends_with('('));
        let breaks = (1..said.tokens.len()).filter(|at| said.tokens[*at].after_break || opens(*at));
        breaks.take(MAX_LEAD).find_map(|at| {
            let head = said.folded.get(..said.tokens[at].start)?;
            match self.pick(&Said::new(head)) {
                Some(Pick::Options(places, _)) => Some((places, at)),
                _ => None,
            }
        })
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
        let parts = split_at(tokens, &CONNECTORS, |name| self.whole(name).is_some());
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
        match self.numbered(tokens, said) {
            Some(Numbered::Same(option)) => return Some((one(option), "number and label")),
            Some(Numbered::Different) => return None,
            None => {}
        }
        // 金卡还是铂金卡 names two, though one name holds all of its words.
        if self.held(tokens).len() > 1 {
            return None;
        }
        if let Some(option) = strips(tokens).find_map(|tokens| self.by_units(tokens, false)) {
            return Some((one(option), "part of a label"));
        }
        self.mistyped(tokens).map(|option| (one(option), "label with a typing error"))
    }

    /// By place in the list.
    fn counted(&self, tokens: &[Token], said: &Said) -> Counted {
        if said.has_odd_symbols() {
            return Counted::Other;
        }
        if self.count(tokens).is_some() {
            return Counted::Unclear;
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
            "five" | "五" => 5,
            "six" | "六" => 6,
            "seven" | "七" => 7,
            "eight" | "八" => 8,
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
    let is_empty = |rest: &[Token]| rest.is_empty() || UNDECIDED.is(rest);
    !ends_in_letter && (takes_back(tokens) || strips(tokens).any(is_empty))
}

/// "No", "oh, sorry", 不对啊; "no thanks" declines.
fn takes_back(tokens: &[Token]) -> bool {
    is_correction(tokens) || !DECLINES.is(tokens) && strips(tokens).any(is_correction)
}

/// Takes back what was said, with nothing in its place: "Plus? No."
fn is_bare_no(tokens: &[Token]) -> bool {
    matches!(squashed(tokens).as_str(), "no" | "nope" | "nah" | "wrong" | "不" | "不对" | "不是" | "错了")
}

/// "The other one", 另一个.
fn is_other(tokens: &[Token]) -> bool {
    strips(tokens).any(|rest| OTHER.is(rest))
}

/// A tail that excludes even without a negator before it.
fn is_exclusion(tail: &[Token]) -> bool {
    let text = squashed(tail);
    text.contains('外')
        || text.starts_with('不')
        || text.ends_with("错了")
        || text == "isn'tit"
        || text == "excluded"
        || text == "apart"
        || text == "aside"
        || text == "isnotit"
}
