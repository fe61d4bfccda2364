//! What else a reply may be: a refusal, a question of its own, the missing piece.

use std::{collections::BTreeSet, sync::LazyLock};

use strsim::osa_distance;

use super::{
    choose::strips,
    clauses::clauses,
    labels::{squashed, units},
    ordinal::places,
    said::{Phrases, Said, Token},
};
use crate::{
    domain::hitl::{Facet, Question},
    text::{
        fold,
        question::Question as Read,
        reply_words as table,
        terms::{Kind, analyse},
        words::is_han,
    },
};

static DECLINES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DECLINES));
static BARE_DECLINES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::BARE_DECLINES));
static LEADING_QUESTION: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::LEADING_QUESTION));
static QUESTION: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::QUESTION));
static REQUESTS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::REQUESTS));
static VERBS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::VERBS));
static PLACES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::PLACES));
static DATES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DATE_WORDS));
static DATE_SLOT: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DATE_SLOT));
static PLACE_SLOT: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::PLACE_SLOT));
static AMOUNT_SLOT: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::AMOUNT_SLOT));
static ALL: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::ALL));
static NEGATORS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::NEGATORS));
static PUZZLED: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::PUZZLED));
static REMARK_BEGINS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::REMARK_BEGINS));
static DESCRIBES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DESCRIBES));
static DESCRIBED: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::DESCRIBED));
static REMARK_ENDS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::REMARK_ENDS));
static ASKS_ON: LazyLock<Phrases> = LazyLock::new(|| Phrases::new("what about|how about"));
static POINTS_BACK: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(table::POINTS_BACK));
/// Content terms that say nothing beside a name.
static FILLER: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let words = [table::FILLER, table::LEADING, table::TRAILING, table::CONNECTORS, table::PUZZLED];
    words.iter().flat_map(|table| table.split('|')).flat_map(content).collect()
});
/// Words of politeness around a refusal.
static AROUND: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "ok|okay|oh|well|actually|please|thanks|thank you|then|just|sorry|it's fine|it's ok|let's|so|ah|hmm|for now|now|\
         anyway|那|那就|嗯|哦|好吧|好的|唉|还是|吧|谢谢|多谢|啊|呀|啦|就|先|我|不好意思|抱歉|了",
    )
});

/// Longest completion of a slot: words, Chinese characters.
const SLOT_WORDS: usize = 6;
const SLOT_HAN: usize = 12;
/// Longest description of a named option, in tokens.
const DESCRIPTION: usize = 12;
/// Most content words of a completion whose type cannot be checked.
const LOOSE_SLOT_TERMS: usize = 3;
/// Most digits of a number that can be meant as a place.
const LONGEST_PLACE: usize = 3;
/// More options than any list has.
const LONGEST_LIST: usize = 99;
/// Shortest word in which a typing error is forgiven, in letters.
const TYPO: usize = 5;

/// Whether a reply declines, and the byte of the folded text at which something else follows.
pub(super) enum Decline {
    Whole,
    /// The number of tokens that decline.
    First(usize),
}

/// Whether it declines. What is declined may be named: "never mind the warranty, how heavy is it?".
pub(super) fn decline(said: &Said, known: &Known) -> Option<Decline> {
    let declined = refusal(said)?;
    let Decline::First(taken) = declined else { return Some(declined) };
    let rest = &said.tokens[taken..];
    if rest.first().is_none_or(|next| next.after_break) {
        return Some(declined);
    }
    let end = rest.iter().skip(1).position(|token| token.after_break).map(|at| at + 1);
    let object = Said::new(said.between(taken, end.map_or(said.tokens.len(), |end| taken + end)));
    let is_object = known.strange(&object).is_empty() && own_question(&object, known).is_none();
    Some(match end {
        _ if !is_object => declined,
        Some(end) => Decline::First(taken + end),
        None => Decline::Whole,
    })
}

/// What stands behind a refusal, by its first token: "算了，第二个吧" has changed its mind.
pub(super) fn behind_refusal(said: &Said) -> Option<usize> {
    match refusal(said)? {
        Decline::First(tokens) => Some(tokens),
        Decline::Whole => None,
    }
}

fn refusal(said: &Said) -> Option<Decline> {
    let tokens = &said.tokens;
    let mut from = 0;
    while let Some(taken) = AROUND.at_start(&tokens[from..]) {
        // "好了" or "那" alone decline nothing; a refusal has to follow.
        if DECLINES.at_start(&tokens[from..]).is_some_and(|longer| longer > taken) {
            break;
        }
        from += taken;
    }
    let begins = DECLINES.at_start(&tokens[from..]);
    let bare = BARE_DECLINES.at_start(&tokens[from..]).filter(|taken| {
        tokens.get(from + taken).is_none_or(|next| next.after_break) || is_only_around(&tokens[from + taken..])
    });
    let taken = begins.max(bare)?;
    let mut end = from + taken;
    loop {
        if let Some(more) = AROUND.at_start(&tokens[end..]) {
            end += more;
        } else if let Some(more) = DECLINES.at_start(&tokens[end..]) {
            end += more;
        } else {
            break;
        }
    }
    if end >= tokens.len() {
        return Some(Decline::Whole);
    }
    // A bare "no" before something else only turns the page; the rest says what is meant.
    Some(Decline::First(from + taken))
}

fn is_only_around(tokens: &[Token]) -> bool {
    let mut from = 0;
    while let Some(taken) = AROUND.at_start(&tokens[from..]) {
        from += taken;
    }
    from == tokens.len()
}

/// Why a reply is a question of its own.
pub(super) fn own_question(said: &Said, known: &Known) -> Option<&'static str> {
    let tokens = &said.tokens;
    let is_long = tokens.len() >= 3 && (tokens.len() >= 5 || !tokens.iter().all(Token::is_han));
    if said.folded.contains('?') && is_long {
        return Some("question mark");
    }
    if QUESTION.stand_in(tokens) {
        return Some("question word");
    }
    for clause in clauses(tokens) {
        let clause = without_lead(clause);
        if clause.len() > 1 && LEADING_QUESTION.at_start(clause).is_some() {
            return Some("question word");
        }
        if clause.len() > 1 && REQUESTS.at_start(clause).is_some() {
            return Some("request");
        }
    }
    let terms = content(&said.folded);
    let strange = terms.iter().filter(|term| !known.holds(term)).count();
    (VERBS.stand_in(tokens) && terms.len() >= 2 && (terms.len() - strange) * 2 < terms.len())
        .then_some("a sentence about something else")
}

/// Whether a reply says nothing that could be meant: no words at all, those of politeness or puzzlement ("hmm", "what?",
/// 你猜), or a place that a list of this many options does not have ("3" of two). It is asked what [`super::choose`] does
/// not understand.
pub(super) fn says_nothing(said: &Said, options: usize) -> bool {
    clauses(&said.tokens).into_iter().all(|clause| {
        strips(clause).any(|rest| rest.is_empty() || PUZZLED.is(rest) || options > 0 && counts_to_nothing(rest))
    })
}

/// A number, a letter, a place in a longer list, or all of another number of things.
fn counts_to_nothing(tokens: &[Token]) -> bool {
    let is_mark = |token: &Token| {
        let is_letter = token.text.len() == 1 && token.text.bytes().all(|b| b.is_ascii_lowercase());
        is_letter || token.is_number() && token.text.len() <= LONGEST_PLACE
    };
    let without_no = NEGATORS.at_start(tokens).map_or(tokens, |taken| &tokens[taken..]);
    tokens.iter().all(is_mark) || places(without_no, LONGEST_LIST).is_some() || ALL.is(without_no)
}

/// Whether a question behind an option's name is about that option.
pub(super) fn points_back(said: &Said) -> bool {
    POINTS_BACK.stand_in(&said.tokens)
}

/// Whether it takes a question up for something else: "what about the battery", 电池呢.
pub(super) fn asks_on(said: &Said) -> bool {
    ASKS_ON.at_start(&said.tokens).is_some() || said.tokens.last().is_some_and(|last| last.text == "呢")
}

/// Whether what stands behind an option's name only remarks on it ("the white one", "I bought it in May"): a bare noun
/// ("price") is what is asked of it.
pub(super) fn is_remark(said: &Said) -> bool {
    let remarks = REMARK_BEGINS.at_start(&said.tokens).is_some() || REMARK_ENDS.at_end(&said.tokens).is_some();
    remarks && Read::read(&said.folded).dimension.is_none()
}

/// Whether it describes what was named, and says nothing of its own: "the one for the office", 办公室那台.
pub(super) fn is_description(said: &Said) -> bool {
    let is_asking = said.folded.contains('?') || QUESTION.stand_in(&said.tokens);
    let begins = DESCRIBES.at_start(&said.tokens).is_some();
    let ends = DESCRIBED.at_end(&said.tokens).is_some() && !VERBS.stand_in(&said.tokens);
    let is_short = said.tokens.len() <= DESCRIPTION;
    is_short && (begins || ends) && !is_asking && Read::read(&said.folded).dimension.is_none()
}

/// How many of the tokens from `from` on only lead to what follows: "also", 另外.
pub(super) fn lead(said: &Said, from: usize) -> usize {
    let rest = said.tokens.get(from..).unwrap_or_default();
    let clause = rest.iter().skip(1).position(|token| token.after_break).map_or(rest, |at| &rest[..=at]);
    clause.len() - without_lead(clause).len()
}

/// Greetings and joints before the first word that matters.
fn without_lead(tokens: &[Token]) -> &[Token] {
    static LEAD: LazyLock<Phrases> = LazyLock::new(|| {
        Phrases::new(
            "and|so|then|ok|okay|hi|hello|hey|please|also|but|well|now|actually|那|那么|请|请问|嗯|哦|另外|还有|然后|好的|不过",
        )
    });
    let mut rest = tokens;
    while let Some(taken) = LEAD.at_start(rest) {
        // 请问 is a lead and a request: the request counts.
        if REQUESTS.at_start(rest).is_some() {
            break;
        }
        rest = &rest[taken..];
    }
    rest
}

/// The content terms that the question and its options account for.
#[derive(Debug)]
pub(super) struct Known {
    terms: BTreeSet<String>,
    /// All of it, folded.
    text: String,
}

impl Known {
    pub(super) fn new(question: &Question) -> Self {
        let mut text = question.original_question.clone();
        for option in &question.options {
            for part in [&option.label, &option.filter.value].into_iter().chain(&option.aliases) {
                text.push('\n');
                text.push_str(part);
            }
        }
        for slot in &question.missing_slots {
            text.push('\n');
            text.push_str(slot);
        }
        Self { terms: content(&text), text: fold(&text) }
    }

    fn holds(&self, term: &str) -> bool {
        self.terms.contains(term)
    }

    /// The content terms of a reply that neither the question nor an option accounts for, nor are filler. Chinese is cut
    /// differently beside other words, so that a part of a known word is known, and the other way round.
    pub(super) fn strange(&self, said: &Said) -> BTreeSet<String> {
        let is_known = |term: &String| {
            let is_related = |known: &String| {
                if term.contains(is_han) {
                    known.chars().nth(1).is_some() && known.contains(is_han) && term.contains(known.as_str())
                } else {
                    let is_word = term.len() >= TYPO && term.chars().all(char::is_alphabetic);
                    is_word && osa_distance(term, known) <= 1
                }
            };
            self.holds(term)
                || FILLER.contains(term)
                || term.contains(is_han) && self.text.contains(term.as_str())
                || self.terms.iter().any(is_related)
        };
        content(&said.folded).into_iter().filter(|term| !is_known(term)).collect()
    }

    /// Share of the reply's content that is known; 0 when it has none.
    pub(super) fn share(&self, said: &Said) -> f32 {
        let terms = content(&said.folded);
        let known = terms.iter().filter(|term| self.holds(term)).count();
        #[expect(clippy::cast_precision_loss, reason = "a reply has few words")]
        let share = known as f32 / terms.len().max(1) as f32;
        share
    }
}

fn content(text: &str) -> BTreeSet<String> {
    analyse(text).into_iter().filter(|term| term.kind == Kind::Word).map(|term| term.text).collect()
}

/// Whether the reply asks the first question again, with an option's name in it and nothing else.
pub(super) fn restates(said: &Said, question: &Question, names: &str) -> bool {
    let asked = content(&question.original_question);
    let names = content(names);
    let now: BTreeSet<String> = content(&said.folded).difference(&names).cloned().collect();
    let asked_before = Said::new(&question.original_question);
    let words = |said: &Said| -> BTreeSet<String> {
        let is_asking = |unit: &String| {
            table::QUESTION.split('|').chain(table::LEADING_QUESTION.split('|')).any(|word| word == unit)
        };
        units(&said.tokens).into_iter().filter(is_asking).collect()
    };
    !asked.is_empty() && now == asked.difference(&names).cloned().collect() && words(said) == words(&asked_before)
}

/// Why a reply completes what is missing.
pub(super) fn slot(said: &Said, original: &str, question: &Question) -> Option<&'static str> {
    let tokens = &said.tokens;
    let han = tokens.iter().filter(|token| token.is_han()).count();
    if tokens.is_empty() || tokens.len() - han > SLOT_WORDS || han > SLOT_HAN || said.ends_asking() {
        return None;
    }
    if !question.options.is_empty() && is_bare(said) {
        return None;
    }
    let slots = Said::new(&question.missing_slots.join(" "));
    let is_of = |facet: Facet| question.options.iter().any(|option| option.filter.facet == facet);
    let (dates, places) = (DATE_SLOT.stand_in(&slots.tokens), PLACE_SLOT.stand_in(&slots.tokens));
    if (dates || is_of(Facet::Period) || is_of(Facet::Edition)) && is_date(said) {
        return Some("a date for the slot");
    }
    if (places || is_of(Facet::Place)) && PLACES.stand_in(tokens) {
        return Some("a place for the slot");
    }
    if AMOUNT_SLOT.stand_in(&slots.tokens) && tokens.iter().any(|token| token.text.bytes().any(|b| b.is_ascii_digit()))
    {
        return Some("an amount for the slot");
    }
    // "It's the Willow" says no more than "the Willow".
    let bare = strips(tokens).last().filter(|_| question.is_full()).unwrap_or(tokens);
    if VERBS.stand_in(bare) {
        return None;
    }
    let is_named = original.split_whitespace().any(|word| {
        let has_digit = word.bytes().any(|b| b.is_ascii_digit());
        has_digit && word.contains(char::is_alphabetic)
    });
    if is_of(Facet::Subject) && is_named && tokens.len() <= 4 {
        return Some("a name for the slot");
    }
    let terms = content(&said.folded).len();
    // A full list may have left out what is meant.
    let is_short_of_some = question.options.is_empty() || question.is_full();
    let is_loose = is_short_of_some && !dates && (1..=LOOSE_SLOT_TERMS).contains(&terms);
    (is_loose && (!places || is_capitalised(original))).then_some("a short completion")
}

/// Whether a reply is no more than a mark, a number or a letter: none of the options, it completes nothing either.
pub(super) fn is_bare(said: &Said) -> bool {
    match said.tokens.as_slice() {
        [] => true,
        [only] => only.text.chars().count() <= 2,
        _ => false,
    }
}

/// Whether terms are codes, numbers or the like: another model's name, not another subject.
pub(super) fn are_codes(terms: &BTreeSet<String>) -> bool {
    terms.iter().all(|term| term.bytes().any(|b| b.is_ascii_digit()))
}

fn is_date(said: &Said) -> bool {
    let year = said
        .tokens
        .iter()
        .any(|token| token.is_number() && token.text.len() == 4 && ("1900"..="2199").contains(&token.text.as_str()));
    let numbered = said.tokens.windows(2).any(|pair| pair[0].is_number() && "年月日季".contains(pair[1].text.as_str()));
    year || numbered || DATES.stand_in(&said.tokens)
}

/// Latin: some word begins with a capital. Chinese has none; a few characters pass for a name.
fn is_capitalised(original: &str) -> bool {
    original.split_whitespace().any(|word| word.starts_with(char::is_uppercase))
        || original.chars().count() <= 6 && original.chars().any(crate::text::words::is_han)
}

/// What stands behind the first `tokens` tokens, as the user wrote it: the folded text is cut at the same word.
pub(super) fn rest_as_written(original: &str, said: &Said, tokens: usize) -> String {
    let rest = said.rest(tokens);
    // Folding changes offsets; the rest is the suffix of the original that folds to the same.
    let wanted = squashed(&Said::new(rest).tokens);
    let starts = original.char_indices().map(|(at, _)| at);
    let found = starts.rev().find(|&at| squashed(&Said::new(original.get(at..).unwrap_or_default()).tokens) == wanted);
    let text = found.and_then(|at| original.get(at..)).unwrap_or(rest);
    let text = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, ',' | '，' | '.' | '。' | ';' | '；' | '、' | '-' | '—' | '!' | '！')
    });
    if text.is_empty() { fold(original) } else { text.to_owned() }
}
