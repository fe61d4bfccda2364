//! What chunks are made of: pieces that are cut no further.

use std::ops::Range;

use super::Shape;
use crate::{
    domain::extract::{Block, BlockKind, Extracted},
    text::{cut, sentences::sentences},
};

/// Longest title of a heading path, in characters.
const LONGEST_TITLE: usize = 120;

/// A text that is sliced by characters.
pub(super) struct Source<'a> {
    text: &'a str,
    /// Byte at which each character begins, and the end.
    bytes: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        Self { text, bytes }
    }

    /// Characters in all.
    fn len(&self) -> usize {
        self.bytes.len() - 1
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        let at = |char: usize| self.bytes.get(char).copied().unwrap_or(self.text.len());
        self.text.get(at(range.start)..at(range.end)).unwrap_or_default()
    }

    /// `range` without white space at its ends.
    fn trim(&self, range: Range<usize>) -> Range<usize> {
        let text = self.slice(range.clone());
        let before = text.chars().take_while(|c| c.is_whitespace()).count();
        let after = text.chars().rev().take_while(|c| c.is_whitespace()).count();
        range.start + before..(range.end.saturating_sub(after)).max(range.start + before)
    }
}

/// A piece of text in characters, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: BlockKind,
    /// Whether its block ends with it.
    pub(super) closes: bool,
    /// Its place in the outline.
    pub(super) section: usize,
    /// For a row: where the header of its table stands.
    pub(super) header: Option<Range<usize>>,
}

/// A heading and the text up to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// First character.
    start: usize,
    /// Titles from the outermost; the document's own title is left out.
    path: Vec<String>,
    /// Level of its heading; 0 before the first.
    pub(super) level: u8,
    /// Counts top-level sections.
    pub(super) top: usize,
}

/// The sections of a text, in order; never empty.
pub(super) struct Outline {
    sections: Vec<Section>,
}

impl Outline {
    pub(super) fn read(extracted: &Extracted) -> Self {
        let source = Source::new(&extracted.text);
        let headings: Vec<(u8, &Block)> = extracted
            .blocks
            .iter()
            .filter_map(|block| match block.kind {
                BlockKind::Heading(level) => Some((level, block)),
                _ => None,
            })
            .collect();
        let outermost = headings.iter().map(|(level, _)| *level).min().unwrap_or(1);
        let alone = headings.iter().filter(|(level, _)| *level == outermost).count() == 1;
        // One heading over all others is the document's title; top-level sections are those below it.
        let title = alone && headings.first().is_some_and(|(level, _)| *level == outermost);
        let top_level = match title {
            true => headings.iter().map(|(level, _)| *level).filter(|level| *level > outermost).min(),
            false => Some(outermost),
        };
        let mut sections = vec![Section { start: 0, path: Vec::new(), level: 0, top: 0 }];
        let mut open: Vec<(u8, String)> = Vec::new();
        let mut top = 0;
        for (no, (level, block)) in headings.iter().enumerate() {
            open.retain(|(above, _)| above < level);
            let name = source.slice(block.start..block.end).trim();
            let name = cut(name, LONGEST_TITLE).replace('\n', " ");
            if !(title && no == 0) {
                open.push((*level, name));
                top += usize::from(top_level.is_some_and(|top_level| *level <= top_level));
            }
            let path = open.iter().map(|(_, name)| name.clone()).collect();
            sections.push(Section { start: block.start, path, level: *level, top });
        }
        // The first heading may open the text.
        if sections.get(1).is_some_and(|section| section.start == 0) {
            sections.remove(0);
        }
        Self { sections }
    }

    pub(super) fn section(&self, no: usize) -> &Section {
        &self.sections[no]
    }

    fn at(&self, start: usize) -> usize {
        self.sections.partition_point(|section| section.start <= start).saturating_sub(1)
    }

    /// The path of titles over all of these atoms; of a heading that merely leads to the next one, the next one's.
    pub(super) fn common_path(&self, atoms: &[Atom]) -> Option<String> {
        let bodies = atoms.iter().filter(|atom| !matches!(atom.kind, BlockKind::Heading(_)));
        let mut paths: Vec<&[String]> = bodies.map(|atom| self.sections[atom.section].path.as_slice()).collect();
        if paths.is_empty() {
            paths = atoms.last().map(|atom| self.sections[atom.section].path.as_slice()).into_iter().collect();
        }
        let (first, rest) = paths.split_first()?;
        let common = rest.iter().fold(first.len(), |common, path| {
            first.iter().zip(path.iter()).take(common).take_while(|(a, b)| a == b).count()
        });
        (common > 0).then(|| first[..common].join(" > "))
    }
}

/// Cuts the text into atoms, in order, covering all that is not white space.
pub(super) fn split(source: &Source<'_>, extracted: &Extracted, outline: &Outline, shape: &Shape) -> Vec<Atom> {
    let whole = [Block { kind: BlockKind::Paragraph, start: 0, end: source.len() }];
    let blocks = if extracted.blocks.is_empty() { &whole[..] } else { &extracted.blocks };
    let mut atoms: Vec<Atom> = Vec::new();
    let mut header: Option<Range<usize>> = None;
    let mut last = None;
    for block in blocks {
        let range = source.trim(block.start.min(source.len())..block.end.min(source.len()));
        if range.is_empty() {
            continue;
        }
        header = match block.kind {
            // A header of several rows grows.
            BlockKind::TableHeader if last == Some(BlockKind::TableHeader) => {
                header.map(|header| header.start..range.end)
            }
            BlockKind::TableHeader => Some(range.clone()),
            BlockKind::TableRow if matches!(last, Some(BlockKind::TableHeader | BlockKind::TableRow)) => header,
            _ => None,
        };
        last = Some(block.kind);
        let section = outline.at(block.start);
        let pieces = pieces(source, range, block.kind, shape);
        let count = pieces.len();
        for (no, piece) in pieces.into_iter().enumerate() {
            atoms.push(Atom {
                start: piece.start,
                end: piece.end,
                kind: block.kind,
                closes: no + 1 == count,
                section,
                header: if block.kind == BlockKind::TableRow { header.clone() } else { None },
            });
        }
    }
    atoms
}

/// Cuts one block: prose at sentence ends, code at line ends once it is longer than a level 1 chunk, rows not at all;
/// whatever is still too long at spaces, or between characters.
fn pieces(source: &Source<'_>, range: Range<usize>, kind: BlockKind, shape: &Shape) -> Vec<Range<usize>> {
    let most = shape.leaf.most.max(1);
    let parts: Vec<Range<usize>> = match kind {
        BlockKind::Paragraph | BlockKind::ListItem if range.len() > most / 2 => by_sentence(source, range),
        BlockKind::Code if range.len() > shape.section.least => by_line(source, range),
        BlockKind::Code => return vec![range],
        _ => vec![range],
    };
    parts
        .into_iter()
        .flat_map(|part| if part.len() > most { by_length(source, part, most) } else { vec![part] })
        .collect()
}

fn by_sentence(source: &Source<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let text = source.slice(range.clone());
    let mut char_at = range.start;
    let mut byte_at = 0;
    let mut count = |to: usize| {
        char_at += text.get(byte_at..to).unwrap_or_default().chars().count();
        byte_at = to;
        char_at
    };
    sentences(text).into_iter().map(|sentence| count(sentence.start)..count(sentence.end)).collect()
}

fn by_line(source: &Source<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = range.start;
    for line in source.slice(range).split_inclusive('\n') {
        let end = start + line.chars().count();
        let kept = start..end - usize::from(line.ends_with('\n'));
        if !line.trim().is_empty() {
            lines.push(kept);
        }
        start = end;
    }
    lines
}

/// Cuts at the last space before `most`, else between graphemes; a grapheme longer than that is cut too.
fn by_length(source: &Source<'_>, range: Range<usize>, most: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut rest = range;
    while rest.len() > most {
        let window = source.slice(rest.start..rest.start + most);
        let fits = window.chars().count();
        let space = window
            .char_indices()
            .enumerate()
            .filter(|(no, (_, c))| no * 2 >= fits && (c.is_whitespace() || matches!(c, '，' | '、' | ',')))
            .last()
            .map(|(no, _)| no + 1);
        let grapheme = cut(source.slice(rest.start..rest.end.min(rest.start + most + 64)), most).chars().count();
        let length = space.unwrap_or(if grapheme == 0 { most } else { grapheme }).clamp(1, most);
        let piece = source.trim(rest.start..rest.start + length);
        if !piece.is_empty() {
            pieces.push(piece);
        }
        rest = source.trim(rest.start + length..rest.end);
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}
