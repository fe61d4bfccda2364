//! Cuts a text into three levels of chunks: by structure first, then at sentence ends of both scripts.
//!
//! The text becomes *atoms* (a heading, a table row, a sentence …), atoms become leaves, neighbouring leaves a block,
//! neighbouring blocks a section. So every parent holds its children, and overlaps are made afterwards, by letting a
//! chunk begin some whole atoms earlier.

mod atoms;
mod pack;

use std::ops::Range;

use crate::domain::{
    extract::Extracted,
    id::{ChunkId, Id, VersionId},
    knowledge::{Chunk, Level},
};

use atoms::{Atom, Outline, Source};

/// How large the chunks of a level are, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// A chunk of less is closed only where its section ends.
    pub least: usize,
    /// A chunk grows past this only by what cannot be cut.
    pub most: usize,
    /// At most so much of its predecessor is repeated.
    pub overlap: usize,
}

/// Sizes of the three levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Level 1.
    pub section: Size,
    /// Level 2.
    pub block: Size,
    /// Level 3.
    pub leaf: Size,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            section: Size { least: 2_000, most: 4_000, overlap: 400 },
            block: Size { least: 1_000, most: 2_000, overlap: 200 },
            leaf: Size { least: 600, most: 900, overlap: 100 },
        }
    }
}

/// How much of a version stands before a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Before {
    /// Characters of its text.
    pub chars: usize,
    /// Chunks of level 1.
    pub sections: usize,
    /// Chunks of level 2.
    pub blocks: usize,
    /// Chunks of level 3.
    pub leaves: usize,
}

impl Before {
    const fn of(&self, level: Level) -> usize {
        match level {
            Level::Section => self.sections,
            Level::Block => self.blocks,
            Level::Leaf => self.leaves,
        }
    }

    /// Counts a part: its chunks, and the characters of its text.
    pub fn add(&mut self, chunks: &[Chunk], chars: usize) {
        self.chars += chars;
        for chunk in chunks {
            match chunk.level {
                Level::Section => self.sections += 1,
                Level::Block => self.blocks += 1,
                Level::Leaf => self.leaves += 1,
            }
        }
    }
}

/// The chunks of a version, or of a part of it that stands behind so much. Level 1 first, each level in the order of the text. Deterministic. Every character that is
/// not white space lies in a leaf, every leaf in its parent, and no leaf reaches over the border of a top-level section.
#[must_use]
pub fn chunks(version: VersionId, extracted: &Extracted, shape: &Shape, before: &Before) -> Vec<Chunk> {
    let source = Source::new(&extracted.text);
    let outline = Outline::read(extracted);
    let atoms = atoms::split(&source, extracted, &outline, shape);
    let leaves = pack::leaves(&atoms, &outline, &shape.leaf);
    let blocks = pack::group(&leaves, &atoms, &outline, &shape.block);
    let sections = pack::group(&blocks, &atoms, &outline, &shape.section);
    let writer = Writer { version, before, source: &source, extracted, outline: &outline, atoms: &atoms };
    let mut chunks = Vec::new();
    writer.write(Level::Section, &sections, None, &shape.section, &mut chunks);
    writer.write(Level::Block, &blocks, Some((Level::Section, &sections)), &shape.block, &mut chunks);
    writer.write(Level::Leaf, &leaves, Some((Level::Block, &blocks)), &shape.leaf, &mut chunks);
    chunks
}

struct Writer<'a> {
    version: VersionId,
    before: &'a Before,
    source: &'a Source<'a>,
    extracted: &'a Extracted,
    outline: &'a Outline,
    atoms: &'a [Atom],
}

impl Writer<'_> {
    /// Writes the chunks of one level. Ranges are of atoms.
    fn write(
        &self,
        level: Level,
        ranges: &[Range<usize>],
        parents: Option<(Level, &[Range<usize>])>,
        size: &Size,
        into: &mut Vec<Chunk>,
    ) {
        let mut parent = 0;
        for (no, range) in ranges.iter().enumerate() {
            let above = parents.map(|(above, ranges)| {
                while ranges.get(parent).is_some_and(|held| held.end <= range.start) {
                    parent += 1;
                }
                self.id(above, parent)
            });
            let first = pack::with_overlap(range, self.atoms, size.overlap);
            let (start, end) = (self.atoms[first].start, self.atoms[range.end - 1].end);
            into.push(Chunk {
                id: self.id(level, no),
                version: self.version,
                level,
                no: number(self.before.of(level) + no),
                parent: above,
                page: self.page(start),
                start: number(self.before.chars + start),
                end: number(self.before.chars + end),
                section: self.outline.common_path(&self.atoms[range.clone()]),
                header: self.header(range),
                body: self.source.slice(start..end).to_owned(),
            });
        }
    }

    fn id(&self, level: Level, no: usize) -> ChunkId {
        Id::derived(self.version, &format!("{}/{}", u8::from(level), self.before.of(level) + no))
    }

    fn page(&self, start: usize) -> Option<String> {
        let pages = &self.extracted.pages;
        let after = pages.partition_point(|page| page.start <= start);
        after.checked_sub(1).and_then(|at| pages.get(at)).map(|page| page.label.clone())
    }

    /// The header of the first table that has rows in the chunk.
    fn header(&self, range: &Range<usize>) -> Option<String> {
        let header = self.atoms[range.clone()].iter().find_map(|atom| atom.header.clone())?;
        let text = self.source.slice(header).trim();
        Some(crate::text::cut(text, 600).to_owned())
    }
}

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
