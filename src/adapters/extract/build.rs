//! Puts a file's text together block by block, so that every offset is true for the final text.

use crate::{
    domain::{
        extract::{Block, BlockKind, Extracted, PageMark},
        knowledge::Warning,
    },
    text::clean::{clean, flow},
};

/// Most declarations of a file, and the longest one in characters.
const MOST_CLAIMS: usize = 40;
const LONGEST_CLAIM: usize = 300;

/// Collects blocks into an [`Extracted`]. Each block is cleaned before it is counted; a line feed between blocks never
/// composes with its neighbours, so the whole stays NFC.
#[derive(Debug, Default)]
pub(super) struct Builder {
    out: Extracted,
    chars: usize,
    last: Option<BlockKind>,
    page: Option<String>,
    /// The text begins with the name of a part.
    is_headed_by_part: bool,
}

impl Builder {
    /// What follows stands on the page of this label. A page that gets no text leaves no mark.
    pub(super) fn page(&mut self, label: impl Into<String>) {
        self.page = Some(label.into());
    }

    /// Adds a block, its lines kept. Blank text adds nothing.
    pub(super) fn push(&mut self, kind: BlockKind, text: &str) {
        let text = clean(text);
        let text = if kind == BlockKind::Code { text.trim_end().trim_start_matches('\n') } else { text.trim() };
        if text.trim().is_empty() {
            return;
        }
        let gap = match self.last {
            None => "",
            Some(last) if self.page.is_none() && joined(last, kind) => "\n",
            Some(_) => "\n\n",
        };
        self.out.text.push_str(gap);
        self.chars += gap.len();
        let start = self.chars;
        self.out.text.push_str(text);
        self.chars += text.chars().count();
        if let Some(label) = self.page.take() {
            self.out.pages.push(PageMark { label, start });
        }
        self.out.blocks.push(Block { kind, start, end: self.chars });
        self.last = Some(kind);
    }

    /// Adds a heading that names a part of the file, as a sheet's name does, and not the file.
    pub(super) fn part(&mut self, name: &str) {
        self.is_headed_by_part |= self.out.blocks.is_empty();
        self.push(BlockKind::Heading(1), name);
    }

    /// Adds a block of prose, its lines joined.
    pub(super) fn prose(&mut self, kind: BlockKind, text: &str) {
        self.push(kind, &flow(&clean(text), false));
    }

    /// The title that the file gives itself; blank ones and later ones are dropped.
    pub(super) fn title(&mut self, title: &str) {
        let title = flow(&clean(title), false);
        if self.out.title.is_none() && !title.is_empty() && title.chars().count() <= 300 {
            self.out.title = Some(title);
        }
    }

    /// The language that the file declares, as its first subtag.
    pub(super) fn lang(&mut self, tag: &str) {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().trim().to_ascii_lowercase();
        if (2..=3).contains(&primary.len()) && primary.bytes().all(|b| b.is_ascii_lowercase()) {
            self.out.lang = Some(primary);
        }
    }

    /// Something that the file declares about itself beside its text.
    pub(super) fn declare(&mut self, key: &str, value: &str) {
        let (key, value) = (flow(&clean(key), false), flow(&clean(value), false));
        let fits = !key.is_empty() && !value.is_empty() && key.chars().count() + value.chars().count() <= LONGEST_CLAIM;
        if fits && self.out.declared.len() < MOST_CLAIMS {
            self.out.declared.push((key, value));
        }
    }

    /// Something that readers should know, once per code.
    pub(super) fn warn(&mut self, code: &str, message: impl Into<String>) {
        if !self.out.warnings.iter().any(|warning| warning.code == code) {
            self.out.warnings.push(Warning { code: code.into(), message: message.into() });
        }
    }

    /// What was collected. Without a title of its own, the first block gives one if it is a heading of the whole.
    pub(super) fn finish(mut self) -> Extracted {
        if self.out.title.is_none()
            && !self.is_headed_by_part
            && let Some(Block { kind: BlockKind::Heading(_), start: 0, end }) = self.out.blocks.first()
        {
            let title: String = self.out.text.chars().take(*end).collect();
            self.title(&title);
        }
        self.out
    }
}

/// Whether the two belong to one list or table.
const fn joined(last: BlockKind, next: BlockKind) -> bool {
    matches!(
        (last, next),
        (BlockKind::ListItem, BlockKind::ListItem)
            | (BlockKind::TableHeader | BlockKind::TableRow, BlockKind::TableRow)
            | (BlockKind::TableHeader, BlockKind::TableHeader)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_does_not_name_the_whole() {
        let mut builder = Builder::default();
        builder.part("Sheet1");
        builder.push(BlockKind::Heading(1), "Prices");
        assert_eq!(builder.finish().title, None);
        let mut builder = Builder::default();
        builder.push(BlockKind::Heading(1), "Prices");
        builder.part("Sheet1");
        assert_eq!(builder.finish().title.as_deref(), Some("Prices"));
    }

    #[test]
    fn offsets_are_true_for_the_cleaned_text() {
        let mut builder = Builder::default();
        builder.page("1");
        builder.push(BlockKind::Heading(1), "保修\u{200B}期");
        builder.prose(BlockKind::Paragraph, "e\u{301}t\ne");
        builder.page("2");
        builder.push(BlockKind::Paragraph, " \u{0} ");
        builder.page("3");
        builder.push(BlockKind::ListItem, "- a");
        builder.push(BlockKind::ListItem, "- b");
        let out = builder.finish();
        assert_eq!(out.text, "保修期\n\nét e\n\n- a\n- b");
        let parts: Vec<String> =
            out.blocks.iter().map(|b| out.text.chars().skip(b.start).take(b.end - b.start).collect()).collect();
        assert_eq!(parts, ["保修期", "ét e", "- a", "- b"]);
        assert_eq!(
            out.pages,
            [PageMark { label: "1".into(), start: 0 }, PageMark { label: "3".into(), start: 11 }],
            "the empty page left no mark"
        );
        assert_eq!(out.title.as_deref(), Some("保修期"));
    }
}
