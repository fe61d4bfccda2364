//! How well each piece of the evidence answers the question.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    blocks::{Kind, Unit, units},
    terms::{Held, Texts, asked_terms},
};
use crate::{
    domain::{
        evidence::ParsedEvidence,
        index::Embedder,
        kin::{Kin, kin},
    },
    text::{
        fold,
        quantities::{Quantity, bounds, quantities},
        question::{Question, Wants},
        synonyms,
        words::is_han,
    },
};

/// What a term counts that stands only in the headings or the name of the document, or in the sentence before.
const IN_CONTEXT: f32 = 0.8;
const IN_PREVIOUS: f32 = 0.6;
/// The same for one that stands elsewhere in the passage: what a text is about is said once, at its beginning.
const IN_PASSAGE: f32 = 0.1;
/// What the kind of answer counts beside the words of the question.
const TYPE: f32 = 0.25;
/// What cosines of sentences count beside those of passages: they spread less.
const SENTENCE_COSINE: f32 = 2.0;
/// What a heading adds that says most of the question, and from which share of it on.
const HEADING: f32 = 0.3;
const HEADING_SHARE: f32 = 0.6;
/// What a piece gains that names a stretch of values with the question's in it ("10 to 20 years" for "12 years"), and
/// loses where the question's lies outside.
const IN_BOUNDS: f32 = 0.3;
const OUT_OF_BOUNDS: f32 = 0.5;
/// What a piece loses that only repeats words of the question.
const NOTHING_NEW: f32 = 0.3;
/// What the order of the passages counts.
const RANK: f32 = 0.15;
/// Most pieces that are compared by meaning.
const MAX_COMPARED: usize = 160;

/// The evidence in pieces, measured against the question.
pub(super) struct Material {
    pub(super) units: Vec<Unit>,
    pub(super) question: Question,
    texts: Texts,
    held: Held,
    text: String,
    cosines: Vec<f32>,
    cosine_weight: f32,
    type_weight: f32,
    about: Regard,
}

/// What the question already says, so that it is no answer.
struct Regard {
    quantities: HashSet<String>,
    words: HashSet<String>,
}

impl Material {
    /// `question` is what the passages were searched for, `asked` what was typed last.
    pub(super) fn new(evidence: &ParsedEvidence, question: &str, asked: &str) -> Self {
        let units = units(&evidence.passages);
        let own = Question::read(asked);
        let read = match question.strip_prefix(asked.trim()).filter(|rest| !rest.is_empty() && !asked.trim().is_empty())
        {
            Some(rest) => Question { folded: fold(question), ..own.clone().following(&Question::read(rest)) },
            None => Question::read(question),
        };
        // What kind of answer a follow-up wants is a guess, where only the turn before says it.
        let type_weight = if own.wants == Wants::Other
            && read.wants != Wants::Other
            && own.content.iter().any(|word| !word.is_code && !word.is_name)
        {
            0.3 * TYPE
        } else {
            TYPE
        };
        let about = Regard {
            quantities: read.quantities.iter().map(|quantity| quantity.key.clone()).collect(),
            words: read.folded.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect(),
        };
        let texts = Texts::read(evidence, &units, asked_terms(&read, asked));
        let held = texts.held(&Kin::new());
        let cosines = vec![0.0; units.len()];
        Self {
            units,
            question: read,
            texts,
            held,
            text: question.to_owned(),
            cosines,
            cosine_weight: 0.0,
            type_weight,
            about,
        }
    }

    /// Compares by meaning too: sentences, and words where the embedder takes single ones. Where it fails, words as they
    /// are written decide alone.
    pub(super) async fn compare(&mut self, embedder: &dyn Embedder) {
        let texts: Vec<String> = self.units.iter().take(MAX_COMPARED).map(|unit| unit.text.clone()).collect();
        if texts.is_empty() {
            return;
        }
        let Ok(Some(query)) = embedder.query(&self.text).await else { return };
        match embedder.passages(&texts).await {
            Ok(vectors) => {
                for (cosine, vector) in self.cosines.iter_mut().zip(vectors) {
                    *cosine = vector.map_or(0.0, |vector| vector.iter().zip(&query).map(|(a, b)| a * b).sum());
                }
                self.cosine_weight = embedder.weight() * SENTENCE_COSINE;
            }
            Err(error) => tracing::warn!(%error, "sentences are compared by words alone"),
        }
        let (asked, there) = (self.texts.asked_words(), self.texts.surfaces());
        let mut near = kin(embedder, asked.clone(), there.clone()).await;
        synonyms::add(&mut near, &asked, there.iter());
        self.held = self.texts.held(&near);
    }

    /// Pieces of the passages that `allowed` lets through, best first, with their scores.
    pub(super) fn ranked(&self, allowed: impl Fn(usize) -> bool) -> Vec<(usize, f32)> {
        let mut ranked: Vec<(usize, f32)> = (0..self.units.len())
            .filter(|&at| allowed(self.units[at].passage))
            .map(|at| (at, self.score(at)))
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// Share of the question's weight that a list is about: what its introduction, its headings or at least half of its
    /// items hold.
    pub(super) fn list_coverage(&self, intro: Option<usize>, items: Range<usize>) -> f32 {
        let passage = self.units[items.start].passage;
        self.held.sum(|term| {
            let led = intro.map_or(0.0, |at| self.held.in_unit(at, term));
            let mut each: Vec<f32> = items.clone().map(|at| self.held.in_unit(at, term)).collect();
            each.sort_unstable_by(f32::total_cmp);
            // What the better half holds.
            let half = each.get(items.len() / 2).copied().unwrap_or_default();
            led.max(half)
                .max(IN_CONTEXT * self.held.in_context(items.start, term))
                .max(IN_PASSAGE * self.held.in_passage(passage, term))
        })
    }

    /// Share of the question's weight that a piece and its headings hold.
    pub(super) fn coverage(&self, at: usize) -> f32 {
        self.held.sum(|term| self.held.in_unit(at, term).max(self.held.in_context(at, term)))
    }

    /// What the heading above a piece adds, where it says most of the question.
    pub(super) fn heading(&self, at: usize) -> f32 {
        let share = self.held.sum(|term| self.held.in_heading(at, term));
        if share >= HEADING_SHARE { HEADING * share } else { 0.0 }
    }

    /// Whether a quantity is asked for, and not only by the turn before.
    pub(super) fn wants_quantity(&self) -> bool {
        !self.question.wants.quantities().is_empty() && self.type_weight >= TYPE
    }

    /// Whether meaning was compared, and not words alone.
    pub(super) fn is_compared(&self) -> bool {
        self.cosine_weight > 0.0
    }

    /// How near a piece is in meaning, 0 without an embedder.
    pub(super) fn cosine(&self, at: usize) -> f32 {
        self.cosines.get(at).copied().unwrap_or_default()
    }

    pub(super) fn score(&self, at: usize) -> f32 {
        let unit = &self.units[at];
        let previous = at.checked_sub(1).filter(|&before| self.units[before].block == unit.block);
        let covered = self.held.sum(|term| {
            let before = previous.map_or(0.0, |before| self.held.in_unit(before, term));
            self.held
                .in_unit(at, term)
                .max(IN_CONTEXT * self.held.in_context(at, term))
                .max(self.held.in_name(unit.passage, term))
                .max(IN_PREVIOUS * before)
                .max(IN_PASSAGE * self.held.in_passage(unit.passage, term))
        });
        #[expect(clippy::cast_precision_loss, reason = "there are few passages")]
        let rank = RANK / (unit.passage as f32 + 1.0);
        let fit = self.fit(unit);
        // "It burns for 1013 hours" repeats the question but for the one thing that it asks.
        let is_news = self.texts.new_terms(at) >= 2 || (fit >= 1.0 && !self.question.wants.quantities().is_empty());
        let says_nothing = if is_news { 0.0 } else { NOTHING_NEW };
        let asks = if unit.text.ends_with(['?', '？']) { 0.3 } else { 0.0 };
        let helps = self.type_weight * fit + bounded(self.inside(unit)) + self.cosine_weight * self.cosine(at) + rank;
        covered + helps + self.heading(at) - asks - says_nothing - shortness(&unit.text)
    }

    /// 1 where the piece names a stretch that holds a quantity of the question, −1 where all of that unit leave it out.
    pub(super) fn inside(&self, unit: &Unit) -> f32 {
        if self.question.quantities.is_empty() {
            return 0.0;
        }
        let stretches = bounds(&unit.text);
        let asked = &self.question.quantities;
        let mut held = stretches.iter().flat_map(|bounds| asked.iter().filter_map(|quantity| bounds.hold(quantity)));
        let Some(first) = held.next() else { return 0.0 };
        if first || held.any(|is_in| is_in) {
            return 1.0;
        }
        // "More than five days" is what a question with those very words is about.
        let is_named = quantities(&unit.text).iter().any(|found| self.about.quantities.contains(&found.key));
        if is_named { 0.0 } else { -1.0 }
    }

    /// Whether the piece names quantities of a unit that the question names, and none of them is the question's.
    pub(super) fn says_other_quantity(&self, unit: &Unit) -> bool {
        let (found, asked) = (quantities(&unit.text), &self.question.quantities);
        let is_of_unit = |found: &&Quantity| asked.iter().any(|asked| asked.is_of_unit_of(found));
        let of_unit: Vec<&Quantity> = found.iter().filter(is_of_unit).collect();
        let is_asked = |found: &&Quantity| asked.iter().any(|asked| asked.key == found.key);
        !of_unit.is_empty() && !of_unit.iter().any(is_asked) && self.inside(unit) <= 0.0
    }

    /// Whether the piece holds the kind of thing that is asked for, 0 … 1.
    pub(super) fn fit(&self, unit: &Unit) -> f32 {
        let folded = fold(&unit.text);
        let wants = self.question.wants;
        let kinds = wants.quantities();
        if !kinds.is_empty() {
            let fits = quantities(&unit.text).iter().any(|found| {
                kinds.contains(&found.kind)
                    && !self.about.quantities.contains(&found.key)
                    && self.question.is_measured_by(found)
            });
            let is_rate = !matches(&ASKS_RATE, &self.question.folded) || matches(&RATE, &folded);
            return if fits && is_rate { 1.0 } else { 0.0 };
        }
        let matches = |pattern| if matches(pattern, &folded) { 1.0 } else { 0.0 };
        match wants {
            Wants::Person | Wants::Place => self.new_name(unit),
            Wants::YesNo => matches(&VERDICT),
            Wants::Reason => matches(&REASON),
            Wants::Procedure if unit.kind == Kind::Step => 1.0,
            Wants::Procedure => 0.5 * matches(&MEANS),
            Wants::List if unit.kind != Kind::Sentence => 0.6,
            Wants::List => 0.6 * matches(&ENUMERATION),
            _ => matches(&DEFINITION) * 0.5,
        }
    }

    /// A name that the question does not hold; in Chinese nothing marks one.
    fn new_name(&self, unit: &Unit) -> f32 {
        if unit.text.chars().any(is_han) {
            return 0.5;
        }
        let mut words = unit.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).skip(1);
        let has_name =
            words.any(|word| word.starts_with(char::is_uppercase) && !self.about.words.contains(&word.to_lowercase()));
        if has_name { 1.0 } else { 0.0 }
    }
}

fn matches(pattern: &LazyLock<Option<Regex>>, folded: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(folded))
}

const fn bounded(inside: f32) -> f32 {
    inside * if inside < 0.0 { OUT_OF_BOUNDS } else { IN_BOUNDS }
}

/// Asks how often, and says how often.
static ASKS_RATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bhow (often|frequently)\b|多久.{1,8}一次|周期|频率").ok());
static RATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(every|each|per|once|twice|daily|weekly|monthly|yearly|annually|a (day|week|month|year))\b|每|一次")
        .ok()
});

static VERDICT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(not|no|never|can|cannot|may|must|only|always|without|allowed|required|yes)\b|不|可以|可|能|无|禁止|必须|均|需|允许").ok()
});
static REASON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(because|due to|owing to|since|so that|as a result|caused?|causes|therefore|in order to|reasons?)\b|由于|因为|因此|导致|原因|为了|所以|以便|使得").ok()
});
static MEANS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(by|using|use|first|then|press|open|click|select|choose|enter|go to|follow)\b|通过|使用|首先|然后|点击|选择|打开|按下|进入|请").ok()
});
static ENUMERATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(include|includes|including|such as|are|consists? of)\b|,.*,|、|包括|包含|分别|如下|等").ok()
});
static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[^,;.]{1,60}?\b(is|are|was|were|refers? to|means)\b|^[^，。；]{1,24}?(是|指|为|即|叫做|称为)").ok()
});

/// Fragments say little.
fn shortness(text: &str) -> f32 {
    let chars = text.chars().count();
    let shortest = if text.chars().any(is_han) { 6 } else { 16 };
    if chars < shortest { 0.15 } else { 0.0 }
}
