//! How well a leaf supports an answer: its best window of one to three sentences (or one row of a table), described by a
//! few numbers, and one score from them.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    domain::{evidence::Passage, id::DocumentId},
    text::{
        dimensions, fold,
        lang::{Lang, detect},
        quantities::{Kind, Quantity},
        question::{Content, Question, Wants},
        vocabulary::Vocabulary,
    },
};

use super::{
    lexicon::{Kin, Weighted},
    reading::{Reading, Sentence},
    weights,
};

/// What is left of the score of a leaf in another language that lacks the kind of answer.
const LACKS_KIND: f32 = 0.6;

/// The same where the kind is all that a follow-up asks for: "how much?" after a question about something else of it.
const LACKS_KIND_ALONE: f32 = 0.3;

fn asks_kind_alone(question: &Question) -> bool {
    !question.content.is_empty() && question.content.iter().all(|word| word.is_borrowed)
}

/// What the score is made of. All but `lexical` and `dense` describe the best window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Features {
    /// Share of the question's weight in window, headings, title and table header.
    pub cover: f32,
    /// The same for words that name no facet value, in window and innermost heading alone.
    pub focus: f32,
    /// 1: the window holds an answer of the wanted kind; 0: it does not; ½: the kind cannot be told by form.
    pub kind: f32,
    /// 1: a code, number or date of the question is nowhere in leaf, headings or title.
    pub missing: f32,
    /// Share of the question's names (by weight) that is nowhere in leaf, headings or title.
    pub nameless: f32,
    /// Cosine of leaf and question; 0 where there is none.
    pub dense: f32,
    /// The index's lexical share for the leaf.
    pub lexical: f32,
    /// Share of the question's weight in the whole leaf beyond the window: a thing spread over a passage.
    pub spread: f32,
    /// The largest share of the question's weight that one word carries which neither leaf nor headings hold, or mean.
    pub gap: f32,
}

/// A leaf with what it says to the question.
#[derive(Debug, Clone)]
pub(crate) struct Support {
    /// Place in the pool.
    pub leaf: usize,
    /// The best window, in bytes of the leaf's text.
    pub window: Range<usize>,
    /// Its words.
    pub words: Vocabulary,
    /// Its quantities of the wanted kinds, nearest to the question's words first.
    pub answers: Vec<Quantity>,
    /// Whether the leaf is in another language than the question.
    pub crosses: bool,
    /// See [`Features`].
    pub features: Features,
    /// 0 … 1: how likely the leaf answers.
    pub score: f32,
}

/// How well each document is supported by the best of its leaves. Leaves beyond the pool are left out.
pub(crate) fn best_of_documents(pool: &[Passage], supports: &[Support]) -> BTreeMap<DocumentId, f32> {
    let mut best: BTreeMap<DocumentId, f32> = BTreeMap::new();
    for support in supports {
        let Some(passage) = pool.get(support.leaf) else { continue };
        let slot = best.entry(passage.document_id).or_default();
        *slot = slot.max(support.score);
    }
    best
}

/// Everything that is the same for all leaves of a pool.
pub(crate) struct Frame<'a> {
    /// The question, read.
    pub question: &'a Question,
    /// Its words with their weights.
    pub weighted: &'a [Weighted],
    /// Words near in meaning.
    pub kin: &'a Kin,
    /// The question names several things that documents are about: no document has to hold all of their names.
    pub names_several: bool,
}

/// How far a text holds each word of the question.
struct Held {
    /// The word itself.
    itself: Vec<f32>,
    /// The word or the nearest in meaning.
    near: Vec<f32>,
}

impl Held {
    fn by(words: &Vocabulary, frame: &Frame<'_>) -> Self {
        let itself: Vec<f32> = frame.weighted.iter().map(|weighted| words.holds(&weighted.word)).collect();
        let near = frame
            .weighted
            .iter()
            .zip(&itself)
            .map(|(weighted, there)| near(words, &weighted.word, frame.kin, *there))
            .collect();
        Self { itself, near }
    }

    /// What any of `parts` holds.
    fn any<'h>(parts: impl Iterator<Item = &'h Self> + Clone, word: usize) -> (f32, f32) {
        let best = |of: fn(&Self) -> &Vec<f32>| parts.clone().map(|part| of(part)[word]).fold(0.0, f32::max);
        (best(|held| &held.itself), best(|held| &held.near))
    }
}

/// How far `words` meet a word that they hold by `there`, counting the nearest in meaning.
pub(crate) fn near(words: &Vocabulary, word: &Content, kin: &Kin, there: f32) -> f32 {
    // What a dimension is called is known: nothing else is near to it.
    if there >= 1.0 || word.is_code || dimensions::of(&word.text).is_some() {
        return there;
    }
    kin.get(&word.text).map_or(there, |near| words.nearest(near).max(there))
}

/// Judges one leaf.
pub(crate) fn support(frame: &Frame<'_>, leaf: usize, passage: &Passage, reading: &Reading) -> Support {
    let text = &passage.text;
    let crosses =
        frame.question.lang != reading.lang && frame.question.lang != Lang::Other && reading.lang != Lang::Other;
    let translated = if crosses { without_names(frame, reading) } else { None };
    let frame = &Frame { weighted: translated.as_deref().unwrap_or(frame.weighted), ..*frame };
    let above = Held::by(&reading.above, frame);
    let heading = Held::by(&reading.heading, frame);
    let parts = &reading.sentences;
    let held: Vec<Held> = parts.iter().map(|part| Held::by(&part.words, frame)).collect();

    let mut best: Option<(f32, Range<usize>, Features)> = None;
    for first in 0..parts.len() {
        let longest = if parts[first].is_row { 1 } else { 3 };
        for last in first..parts.len().min(first + longest) {
            if last > first && parts[last].is_row {
                break;
            }
            let window = parts[first].range.start..parts[last].range.end;
            let shares = shares(frame, &held[first..=last], &above, &heading);
            let kind = kind(frame.question, slice(text, &window), reading.quantities_in(&window));
            #[expect(clippy::cast_precision_loss, reason = "at most three sentences")]
            let length = (last - first) as f32;
            let value = 2.0 * shares.focus + shares.cover + 0.5 * kind - 0.06 * length;
            if best.as_ref().is_none_or(|(known, ..)| *known < value) {
                best = Some((value, first..last + 1, Features { kind, ..shares }));
            }
        }
    }
    let (_, mut chosen, mut features) = best.unwrap_or_default();
    // A heading, or a sentence that only leads in, says what the next ones say.
    let furthest = parts.len().min(chosen.end + MOST_LED);
    while chosen.end < furthest && adds_nothing(frame, parts.get(chosen.clone()).unwrap_or_default()) {
        chosen.end += 1;
    }
    let window = match (parts.get(chosen.start), chosen.end.checked_sub(1).and_then(|last| parts.get(last))) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => 0..text.len(),
    };
    complete(frame, passage, reading, &held, &above, &mut features);
    let score = if crosses { weights::across(&features) } else { weights::within(&features) };
    // Across languages little else tells a near miss: where a quantity is asked for, one has to be there.
    let score = if crosses && features.kind == 0.0 { score * LACKS_KIND } else { score };
    let score = if features.kind == 0.0 && asks_kind_alone(frame.question) { score * LACKS_KIND_ALONE } else { score };
    // "What documents do you have?" is near to everything.
    let score = if crosses && frame.weighted.iter().all(Weighted::is_generic) { score * LACKS_KIND } else { score };
    let words = Vocabulary::of_all(parts.get(chosen).unwrap_or_default().iter().map(|part| &part.words));
    let answers = answers(frame, text, &window, reading);
    Support { leaf, words, window, answers, crosses, features, score }
}

/// How many sentences a heading may be followed by in its window.
const MOST_LED: usize = 3;

/// Whether sentences hold hardly a word that the question does not.
fn adds_nothing(frame: &Frame<'_>, sentences: &[Sentence]) -> bool {
    let asked = |term: &str| frame.question.content.iter().any(|word| word.term == term);
    let new = sentences.iter().flat_map(|sentence| sentence.words.terms()).filter(|term| !asked(term));
    !sentences.iter().any(|sentence| sentence.is_row) && new.count() < 2
}

/// The question's words without names that are spelled otherwise in the leaf's script, where a code that the leaf holds
/// says which thing is meant: "the Chenxing B7" is 晨星 B7. None where nothing is to be left out.
fn without_names(frame: &Frame<'_>, reading: &Reading) -> Option<Vec<Weighted>> {
    let holds_code = |one: &Weighted| one.word.is_code && reading.above.has_term(&one.word.term);
    let is_lost = |one: &Weighted| one.word.is_name && !one.word.is_code && reading.above.holds(&one.word) < 0.5;
    if !frame.weighted.iter().any(holds_code) || !frame.weighted.iter().any(is_lost) {
        return None;
    }
    Some(frame.weighted.iter().filter(|one| !is_lost(one)).cloned().collect())
}

fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

/// `cover` and `focus` of a window.
fn shares(frame: &Frame<'_>, window: &[Held], above: &Held, heading: &Held) -> Features {
    let (mut all, mut covered, mut focus_all, mut focused) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for (word, weighted) in frame.weighted.iter().enumerate() {
        let (_, inside) = Held::any(window.iter(), word);
        let above = above.near[word];
        if frame.names_several && weighted.is_facet && inside.max(above) < 0.5 {
            continue;
        }
        all += weighted.weight;
        covered += weighted.weight * inside.max(above);
        if !weighted.is_facet {
            focus_all += weighted.weight;
            focused += weighted.weight * inside.max(0.9 * heading.near[word]);
        }
    }
    Features { cover: share(covered, all), focus: share(focused, focus_all), ..Features::default() }
}

fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Words that give a reason.
const CAUSES: [&str; 12] =
    ["because", "due to", "since", "therefore", "so that", "owing", "result", "reason", "因为", "由于", "因此", "导致"];

/// Whether `window` holds an answer of the kind that `question` wants, as far as its form tells.
fn kind<'q>(question: &Question, window: &str, mut quantities: impl Iterator<Item = &'q Quantity>) -> f32 {
    let kinds = question.wants.quantities();
    if !kinds.is_empty() {
        let fits = quantities.any(|quantity| kinds.contains(&quantity.kind) && question.is_measured_by(quantity));
        return if fits { 1.0 } else { 0.0 };
    }
    match question.wants {
        Wants::Reason => {
            let folded = window.to_lowercase();
            if CAUSES.iter().any(|cause| folded.contains(cause)) { 1.0 } else { 0.25 }
        }
        // Only scripts with capitals show their names.
        Wants::Person | Wants::Place if detect(window) == Lang::En => {
            if says_other_name(question, window) {
                1.0
            } else {
                0.0
            }
        }
        _ => 0.5,
    }
}

/// Whether `window` holds a name, inside a sentence, that the question does not say.
fn says_other_name(question: &Question, window: &str) -> bool {
    let mut begins = true;
    for word in window.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = !begins && bare.chars().count() >= 2 && bare.starts_with(char::is_uppercase);
        if is_name && !question.folded.contains(&fold(bare)) {
            return true;
        }
        begins = word.ends_with(['.', '?', '!', ':', '|']);
    }
    false
}

fn complete(
    frame: &Frame<'_>,
    passage: &Passage,
    reading: &Reading,
    held: &[Held],
    above: &Held,
    features: &mut Features,
) {
    let (mut all, mut spread, mut names, mut unnamed) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    let mut heaviest_gap = 0.0_f32;
    for (word, weighted) in frame.weighted.iter().enumerate() {
        let (there, near) = Held::any(held.iter().chain([above]), word);
        if frame.names_several && weighted.is_facet && there < 0.5 {
            continue;
        }
        all += weighted.weight;
        spread += weighted.weight * near;
        heaviest_gap = heaviest_gap.max(weighted.weight * (1.0 - near));
        if weighted.word.is_borrowed {
            continue;
        }
        if weighted.word.is_name || weighted.word.is_code {
            names += weighted.weight;
            unnamed += weighted.weight * (1.0 - there);
        }
        let numeral = weighted.word.text.bytes().any(|byte| byte.is_ascii_digit());
        if (weighted.word.is_code || numeral)
            && there < 0.5
            && !says_quantity(frame.question, reading, &weighted.word.text)
        {
            features.missing = 1.0;
        }
    }
    features.spread = share(spread, all) - features.cover;
    features.gap = share(heaviest_gap, all);
    features.nameless = share(unnamed, names);
    features.dense = passage.dense_score.unwrap_or(0.0);
    features.lexical = passage.lexical_score.unwrap_or(0.0);
}

/// Whether a numeral of the question stands in the leaf in another spelling ("24 months" for "two years"), or inside a
/// stretch of values ("10 to 20 years" for "12 years").
fn says_quantity(question: &Question, reading: &Reading, numeral: &str) -> bool {
    let meant: Vec<&Quantity> = question
        .quantities
        .iter()
        .filter(|quantity| quantity.key.contains(numeral) || quantity.kind != Kind::Number)
        .collect();
    if meant.is_empty() {
        return false;
    }
    meant.iter().any(|quantity| {
        reading.quantities.iter().any(|other| other.key.starts_with(quantity.key.as_str()))
            // "More than ten days" tells of seven days too: that they are not meant.
            || reading.bounds.iter().any(|bounds| bounds.hold(quantity).is_some())
    })
}

/// The quantities of the wanted kinds inside the window, nearest to a word of the question first.
fn answers(frame: &Frame<'_>, text: &str, window: &Range<usize>, reading: &Reading) -> Vec<Quantity> {
    let kinds = frame.question.wants.quantities();
    let lower = text.to_lowercase();
    // Lower-casing may move bytes in rare scripts; then nearness is not used.
    let places: Vec<usize> = if lower.len() == text.len() {
        frame
            .weighted
            .iter()
            .filter(|weighted| !weighted.is_facet)
            .flat_map(|weighted| {
                let stem: String = weighted.word.text.chars().take(6).collect();
                lower.match_indices(stem.as_str()).map(|(at, _)| at).collect::<Vec<_>>()
            })
            .filter(|at| window.contains(at))
            .collect()
    } else {
        Vec::new()
    };
    let mut inside: Vec<(usize, Quantity)> = reading
        .quantities_in(window)
        .filter(|quantity| kinds.contains(&quantity.kind) && frame.question.is_measured_by(quantity))
        .map(|quantity| {
            let near =
                places.iter().map(|at| at.abs_diff(quantity.start)).min().unwrap_or(quantity.start - window.start);
            (near, quantity.clone())
        })
        .collect();
    inside.sort_by_key(|(near, quantity)| (*near, quantity.start));
    inside.into_iter().map(|(_, quantity)| quantity).collect()
}
