//! Atoms into leaves, leaves into blocks, blocks into sections. A chunk is a range of atoms.

use std::ops::Range;

use super::{
    Size,
    atoms::{Atom, Outline},
};
use crate::domain::extract::BlockKind;

/// Cuts the atoms into leaves. A heading begins a leaf: short leaves under headings of their own are found better, and
/// told apart better, than long ones under several.
pub(super) fn leaves(atoms: &[Atom], outline: &Outline, size: &Size) -> Vec<Range<usize>> {
    let mut leaves = Vec::new();
    for run in runs(atoms, outline) {
        pack(run, atoms, size, &mut leaves);
    }
    leaves
}

/// Parts the atoms where a section begins. A heading without text of its own stays with its first subsection.
fn runs(atoms: &[Atom], outline: &Outline) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for part in atoms.chunk_by(|a, b| a.section == b.section) {
        let start = runs.last().map_or(0, |run| run.end);
        let end = start + part.len();
        let leads = |run: &&mut Range<usize>| {
            let above = outline.section(atoms[run.end - 1].section);
            let here = outline.section(part[0].section);
            let bare = atoms[run.start..run.end].iter().all(is_heading);
            let title = above.top == 0 || above.top == here.top;
            bare && here.level > above.level && title
        };
        match runs.last_mut().filter(leads) {
            Some(run) => run.end = end,
            None => runs.push(start..end),
        }
    }
    runs
}

const fn is_heading(atom: &Atom) -> bool {
    matches!(atom.kind, BlockKind::Heading(_))
}

const fn is_table(atom: &Atom) -> bool {
    matches!(atom.kind, BlockKind::TableHeader | BlockKind::TableRow)
}

/// Packs one run into leaves.
fn pack(run: Range<usize>, atoms: &[Atom], size: &Size, leaves: &mut Vec<Range<usize>>) {
    let first_leaf = leaves.len();
    let mut start = run.start;
    for at in run.clone() {
        if at > start && must_cut(&atoms[start..at], &atoms[at], size) {
            leaves.push(start..at);
            start = at;
        }
    }
    let tail = start..run.end;
    match leaves.get_mut(first_leaf..).and_then(<[Range<usize>]>::last_mut) {
        Some(last) if joins(last, &tail, atoms, size) => last.end = tail.end,
        _ => leaves.push(tail),
    }
}

/// Whether `next` must not join `held`, which is not empty.
fn must_cut(held: &[Atom], next: &Atom, size: &Size) -> bool {
    let (Some(first), Some(last)) = (held.first(), held.last()) else { return false };
    if held.iter().all(is_heading) {
        return false;
    }
    let length = last.end - first.start;
    if next.end - first.start > size.most {
        return true;
    }
    let in_table = is_table(last);
    // Two tables in one leaf would leave open which header a row belongs to.
    if next.kind == BlockKind::TableHeader && in_table && last.kind == BlockKind::TableRow {
        return true;
    }
    if in_table != is_table(next) && length * 2 >= size.least {
        return true;
    }
    length >= size.least && last.closes
}

/// Whether the short end of a run joins the leaf before it.
fn joins(last: &Range<usize>, tail: &Range<usize>, atoms: &[Atom], size: &Size) -> bool {
    let (Some(before), Some(end)) = (atoms.get(last.end - 1), atoms.get(tail.end - 1)) else { return false };
    let rest = end.end - atoms[tail.start].start;
    rest * 3 < size.least
        && end.end - atoms[last.start].start <= size.most + size.least / 3
        && is_table(before) == is_table(&atoms[tail.start])
        && atoms[tail.start].kind != BlockKind::TableHeader
}

/// Joins neighbouring chunks until they are long enough; the border of a top-level section is preferred to length.
pub(super) fn group(parts: &[Range<usize>], atoms: &[Atom], outline: &Outline, size: &Size) -> Vec<Range<usize>> {
    let length = |range: &Range<usize>| atoms[range.end - 1].end - atoms[range.start].start;
    let top = |at: usize| outline.section(atoms[at].section).top;
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    for part in parts {
        let Some(held) = open.take() else {
            open = Some(part.clone());
            continue;
        };
        let grown = held.start..part.end;
        let border = top(held.end - 1) != top(part.start) && length(&held) * 2 >= size.least;
        let full = length(&held) >= size.least;
        let large = length(&grown) > size.most && length(&held) * 2 >= size.least;
        if border || full || large {
            groups.push(held);
            open = Some(part.clone());
        } else {
            open = Some(grown);
        }
    }
    if let Some(rest) = open {
        match groups.last_mut() {
            Some(last)
                if length(&rest) * 2 < size.least
                    && top(last.end - 1) == top(rest.start)
                    && length(&(last.start..rest.end)) <= size.most + size.least / 2 =>
            {
                last.end = rest.end;
            }
            _ => groups.push(rest),
        }
    }
    groups
}

/// The atom with which a chunk begins once it repeats the end of its predecessor: whole sentences of the same section,
/// at most `overlap` characters. Tables and code repeat nothing: their header or context stands beside them.
pub(super) fn with_overlap(range: &Range<usize>, atoms: &[Atom], overlap: usize) -> usize {
    let own = &atoms[range.start];
    let prose = |atom: &Atom| matches!(atom.kind, BlockKind::Paragraph | BlockKind::ListItem);
    let mut first = range.start;
    while prose(own)
        && let Some(before) = first.checked_sub(1)
        && prose(&atoms[before])
        && atoms[before].section == own.section
        && own.start - atoms[before].start <= overlap
    {
        first = before;
    }
    first
}
