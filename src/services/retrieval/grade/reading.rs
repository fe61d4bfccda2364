//! A leaf, read once: its sentences, what stands above it, and its quantities. All that judges it looks here.

use std::ops::Range;

use crate::{
    domain::evidence::Passage,
    text::{
        lang::{Lang, detect},
        quantities::{Quantity, quantities},
        sentences::{is_row, sentences},
    },
};

use super::lexicon::Vocabulary;

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
    /// Words of headings, title, file name, subject and table header.
    pub above: Vocabulary,
    /// Words of the innermost heading.
    pub heading: Vocabulary,
    /// Numbers, dates and amounts, in order.
    pub quantities: Vec<Quantity>,
    /// Its language.
    pub lang: Lang,
}

impl Reading {
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
