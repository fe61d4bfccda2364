//! How well a leaf supports an answer: its best window of one to three sentences (or one row of a table), described by a
//! few numbers, and one score from them.

use std::{collections::HashSet, ops::Range};

use crate::{
    domain::evidence::Passage,
    text::{
        lang::{Lang, detect},
        quantities::{Kind, Quantity, quantities},
        question::{Question, Wants},
        sentences::{is_row, sentences},
    },
};

use super::{
    lexicon::{Kin, Vocabulary, Weighted},
    weights,
};

/// What is left of the score of a leaf in another language that lacks the kind of answer.
const LACKS_KIND: f32 = 0.6;

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

/// Judges one leaf.
pub(crate) fn support(frame: &Frame<'_>, leaf: usize, passage: &Passage) -> Support {
    let text = &passage.text;
    let context = context(passage);
    let whole = Vocabulary::read(text);
    let heading = Vocabulary::read(innermost(passage));
    let parts = sentences(text);
    let read: Vec<Vocabulary> = parts.iter().map(|range| Vocabulary::read(slice(text, range))).collect();
    let found = quantities(text);

    let mut best: Option<(f32, Range<usize>, Features)> = None;
    for first in 0..parts.len() {
        let row = is_row(slice(text, &parts[first]));
        for last in first..parts.len().min(first + if row { 1 } else { 3 }) {
            if last > first && is_row(slice(text, &parts[last])) {
                break;
            }
            let window = parts[first].start..parts[last].end;
            let features = describe(frame, &read[first..=last], &context, &heading, &window, text, &found);
            #[expect(clippy::cast_precision_loss, reason = "at most three sentences")]
            let length = (last - first) as f32;
            let value = 2.0 * features.focus + features.cover + 0.5 * features.kind - 0.06 * length;
            if best.as_ref().is_none_or(|(known, ..)| *known < value) {
                best = Some((value, window, features));
            }
        }
    }
    let (_, window, mut features) = best.unwrap_or((0.0, 0..text.len(), Features::default()));
    complete(frame, passage, &whole, &context, &mut features);
    let crosses = crosses(frame.question.lang, text);
    let score = if crosses { weights::across(&features) } else { weights::within(&features) };
    // Across languages little else tells a near miss: where a quantity is asked for, one has to be there.
    let score = if crosses && features.kind == 0.0 { score * LACKS_KIND } else { score };
    let answers = answers(frame, text, &window, &found);
    Support { leaf, words: Vocabulary::read(slice(text, &window)), window, answers, crosses, features, score }
}

fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

fn innermost(passage: &Passage) -> &str {
    passage.section.as_deref().and_then(|path| path.rsplit(" > ").next()).unwrap_or_default()
}

/// Headings, title, file name, subject and table header: what stands above a leaf.
fn context(passage: &Passage) -> Vocabulary {
    let mut above = String::new();
    for part in [
        passage.section.as_deref(),
        passage.header.as_deref(),
        passage.title.as_deref(),
        Some(passage.filename.as_str()),
        passage.facets.subject.as_deref(),
        passage.facets.place.as_deref(),
        passage.facets.edition.as_deref(),
    ]
    .into_iter()
    .flatten()
    {
        above.push_str(&part.replace(['_', '.'], " "));
        above.push('\n');
    }
    Vocabulary::read(&above)
}

fn describe(
    frame: &Frame<'_>,
    sentences: &[Vocabulary],
    context: &Vocabulary,
    heading: &Vocabulary,
    window: &Range<usize>,
    text: &str,
    found: &[Quantity],
) -> Features {
    let (mut all, mut covered, mut focus_all, mut focused) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for weighted in frame.weighted {
        let inside = sentences.iter().map(|sentence| sentence.holds_kin(&weighted.word, frame.kin)).fold(0.0, f32::max);
        let above = context.holds_kin(&weighted.word, frame.kin);
        if frame.names_several && weighted.is_facet && inside.max(above) < 0.5 {
            continue;
        }
        all += weighted.weight;
        covered += weighted.weight * inside.max(above);
        if !weighted.is_facet {
            focus_all += weighted.weight;
            focused += weighted.weight * inside.max(0.9 * heading.holds_kin(&weighted.word, frame.kin));
        }
    }
    Features {
        cover: share(covered, all),
        focus: share(focused, focus_all),
        kind: kind(frame.question.wants, window, text, found),
        ..Features::default()
    }
}

fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn kind(wants: Wants, window: &Range<usize>, text: &str, found: &[Quantity]) -> f32 {
    let kinds = wants.quantities();
    if !kinds.is_empty() {
        let there = found.iter().any(|quantity| {
            window.start <= quantity.start && quantity.end <= window.end && kinds.contains(&quantity.kind)
        });
        return if there { 1.0 } else { 0.0 };
    }
    const CAUSES: [&str; 12] = [
        "because",
        "due to",
        "since",
        "therefore",
        "so that",
        "owing",
        "result",
        "reason",
        "因为",
        "由于",
        "因此",
        "导致",
    ];
    if wants == Wants::Reason {
        let folded = slice(text, window).to_lowercase();
        return if CAUSES.iter().any(|cause| folded.contains(cause)) { 1.0 } else { 0.25 };
    }
    0.5
}

fn complete(frame: &Frame<'_>, passage: &Passage, whole: &Vocabulary, context: &Vocabulary, features: &mut Features) {
    let (mut all, mut spread, mut names, mut unnamed) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for weighted in frame.weighted {
        let there = whole.holds(&weighted.word).max(context.holds(&weighted.word));
        if frame.names_several && weighted.is_facet && there < 0.5 {
            continue;
        }
        all += weighted.weight;
        spread += weighted.weight
            * whole.holds_kin(&weighted.word, frame.kin).max(context.holds_kin(&weighted.word, frame.kin));
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
            && !says_quantity(frame.question, passage, &weighted.word.text)
        {
            features.missing = 1.0;
        }
    }
    features.spread = share(spread, all) - features.cover;
    features.nameless = share(unnamed, names);
    features.dense = passage.dense_score.unwrap_or(0.0);
    features.lexical = passage.lexical_score.unwrap_or(0.0);
}

/// Whether a numeral of the question stands in the leaf in another spelling ("24 months" for "two years").
fn says_quantity(question: &Question, passage: &Passage, numeral: &str) -> bool {
    let meant: Vec<&Quantity> = question
        .quantities
        .iter()
        .filter(|quantity| quantity.key.contains(numeral) || quantity.kind != Kind::Number)
        .collect();
    if meant.is_empty() {
        return false;
    }
    let there: HashSet<String> = quantities(&passage.text).into_iter().map(|quantity| quantity.key).collect();
    meant.iter().any(|quantity| there.iter().any(|key| key.starts_with(quantity.key.as_str())))
}

fn crosses(lang: Lang, text: &str) -> bool {
    let other = detect(text);
    lang != other && lang != Lang::Other && other != Lang::Other
}

/// The quantities of the wanted kinds inside the window, nearest to a word of the question first.
fn answers(frame: &Frame<'_>, text: &str, window: &Range<usize>, found: &[Quantity]) -> Vec<Quantity> {
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
    let mut inside: Vec<(usize, Quantity)> = found
        .iter()
        .filter(|quantity| window.start <= quantity.start && quantity.end <= window.end)
        .filter(|quantity| kinds.contains(&quantity.kind))
        .map(|quantity| {
            let near =
                places.iter().map(|at| at.abs_diff(quantity.start)).min().unwrap_or(quantity.start - window.start);
            (near, quantity.clone())
        })
        .collect();
    inside.sort_by_key(|(near, quantity)| (*near, quantity.start));
    inside.into_iter().map(|(_, quantity)| quantity).collect()
}
