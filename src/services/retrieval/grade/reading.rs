//! A leaf, read once: its sentences, what stands above it, and its quantities. All that judges it looks here.

use std::{collections::HashMap, ops::Range};

use crate::{
    domain::{evidence::Passage, id::DocumentId},
    text::{
        lang::{Lang, detect},
        quantities::{Bounds, Quantity, bounds, quantities},
        sentences::{is_row, sentences},
        vocabulary::Vocabulary,
    },
};

/// Among so many first sentences, the heading included, a document says what its subject is.
const OPENING: usize = 3;

/// A sentence, or a row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Sentence {
    /// Where it stands, in bytes of the leaf's text.
    pub range: Range<usize>,
    /// A row of a table.
    pub is_row: bool,
    /// Its words.
    pub words: Vocabulary,
}

/// A leaf, read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// In order.
    pub sentences: Vec<Sentence>,
    /// Words of headings, title, file name, subject and table header, and of the document's opening where it was found too.
    pub above: Vocabulary,
    /// Words of the innermost heading.
    pub heading: Vocabulary,
    /// Numbers, dates and amounts, in order.
    pub quantities: Vec<Quantity>,
    /// Stretches of values, in order.
    pub bounds: Vec<Bounds>,
    /// Its language.
    pub lang: Lang,
}

impl Reading {
    /// Reads the leaves of a pool. "The K1 is an electric kettle" is said once, at the beginning of its manual, and holds
    /// for every leaf of it.
    pub(crate) fn all(pool: &[Passage]) -> Vec<Self> {
        let mut readings: Vec<Self> = pool.iter().map(Self::of).collect();
        let openings: HashMap<DocumentId, Vocabulary> = pool
            .iter()
            .zip(&readings)
            .filter(|(passage, _)| passage.start == 0)
            .map(|(passage, reading)| {
                let first = reading.sentences.iter().take(OPENING).filter(|sentence| {
                    !sentence.is_row && says_what_it_is(passage.text.get(sentence.range.clone()).unwrap_or_default())
                });
                (passage.document_id, Vocabulary::of_all(first.map(|sentence| &sentence.words)))
            })
            .collect();
        for (passage, reading) in pool.iter().zip(&mut readings) {
            if let Some(opening) = openings.get(&passage.document_id).filter(|_| passage.start > 0) {
                reading.above = Vocabulary::of_all([&reading.above, opening]);
            }
        }
        readings
    }

    /// Reads a leaf.
    pub(crate) fn of(passage: &Passage) -> Self {
        let text = &passage.text;
        let sentences = sentences(text)
            .into_iter()
            .map(|range| {
                let sentence = text.get(range.clone()).unwrap_or_default();
                Sentence { is_row: is_row(sentence), words: Vocabulary::read(sentence), range }
            })
            .collect();
        Self {
            sentences,
            above: Vocabulary::read(&above(passage)),
            heading: Vocabulary::read(innermost(passage)),
            quantities: quantities(text),
            bounds: bounds(text),
            lang: detect(text),
        }
    }

    /// All words as they are written.
    pub(crate) fn surfaces(&self) -> impl Iterator<Item = &String> {
        self.sentences.iter().map(|sentence| &sentence.words).chain([&self.above]).flat_map(Vocabulary::surfaces)
    }

    /// The quantities inside `window`.
    pub(crate) fn quantities_in(&self, window: &Range<usize>) -> impl Iterator<Item = &Quantity> {
        self.quantities.iter().filter(|quantity| window.start <= quantity.start && quantity.end <= window.end)
    }
}

/// "The K1 is an electric kettle", "清泉 K1 是一款电水壶": what such a sentence says of the subject holds throughout.
fn says_what_it_is(sentence: &str) -> bool {
    [" is a ", " is an ", " is the ", " are ", "是"].iter().any(|copula| sentence.contains(copula))
}

fn innermost(passage: &Passage) -> &str {
    passage.section.as_deref().and_then(|path| path.rsplit(" > ").next()).unwrap_or_default()
}

fn above(passage: &Passage) -> String {
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
    above
}
