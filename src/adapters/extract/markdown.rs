//! Markdown: what its marks mean becomes structure, the text stays without them.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{
    build::Builder,
    grid::{Cell, Grid},
};
use crate::{
    domain::extract::BlockKind,
    text::clean::{clean, flow},
};

/// Stands for a line break that the author wants kept, until the block is written.
const KEPT_BREAK: char = '\u{2028}';

/// Reads `source` into `builder`.
pub(super) fn read(source: &str, builder: &mut Builder) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut reader = Reader {
        builder,
        text: String::new(),
        kind: BlockKind::Paragraph,
        lists: Vec::new(),
        mark: None,
        table: None,
        cells: Vec::new(),
        link: None,
    };
    for event in Parser::new_ext(source, options) {
        reader.event(event);
    }
    reader.flush();
}

/// Where the reader is.
struct Reader<'b> {
    builder: &'b mut Builder,
    /// Text of the block at work.
    text: String,
    /// What it will be.
    kind: BlockKind,
    /// Next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    /// The mark that the next text of a list item or a footnote begins with.
    mark: Option<String>,
    table: Option<Grid>,
    cells: Vec<Cell>,
    /// Target of the open link, if it says more than its text.
    link: Option<String>,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text.push_str(&text);
            }
            Event::InlineHtml(html) | Event::Html(html) => self.html(&html),
            Event::FootnoteReference(name) => {
                self.text.push_str(" [");
                self.text.push_str(&name);
                self.text.push(']');
            }
            Event::SoftBreak => self.text.push('\n'),
            Event::HardBreak => self.text.push(KEPT_BREAK),
            Event::Rule => self.flush(),
            Event::TaskListMarker(done) => self.text.push_str(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.open(BlockKind::Heading(level as u8)),
            Tag::Paragraph | Tag::HtmlBlock | Tag::BlockQuote(_) | Tag::DefinitionList => {
                self.open(BlockKind::Paragraph);
            }
            Tag::CodeBlock(_) => self.open(BlockKind::Code),
            Tag::MetadataBlock(_) => self.open(BlockKind::Paragraph),
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.open(BlockKind::ListItem);
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(no)) => {
                        *no += 1;
                        format!("{}. ", *no - 1)
                    }
                    _ => "- ".into(),
                });
            }
            Tag::FootnoteDefinition(name) => {
                self.flush();
                self.mark = Some(format!("[{name}] "));
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Grid::default());
            }
            Tag::TableHead | Tag::TableRow => self.cells.clear(),
            Tag::TableCell => self.text.clear(),
            Tag::Link { dest_url, .. } => {
                self.link = (dest_url.starts_with("http") || dest_url.starts_with("mailto:")).then(|| dest_url.into());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::TableCell => self.cells.push(Cell::plain(std::mem::take(&mut self.text))),
            TagEnd::TableHead => self.end_row(true),
            TagEnd::TableRow => self.end_row(false),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.emit(self.builder);
                }
            }
            TagEnd::MetadataBlock(_) => self.metadata(),
            TagEnd::Link => {
                if let Some(target) = self.link.take()
                    && !self.text.ends_with(target.trim_start_matches("mailto:"))
                {
                    self.text.push_str(" (");
                    self.text.push_str(&target);
                    self.text.push(')');
                }
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Heading(_)
            | TagEnd::Paragraph
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Item
            | TagEnd::BlockQuote(_) => self.flush(),
            TagEnd::FootnoteDefinition => {
                self.flush();
                self.mark = None;
            }
            _ => {}
        }
    }

    fn end_row(&mut self, header: bool) {
        let cells = std::mem::take(&mut self.cells);
        if let Some(table) = &mut self.table {
            table.row(cells, header);
        }
    }

    /// Begins a block. A paragraph inside a list item stays part of the list.
    fn open(&mut self, kind: BlockKind) {
        self.flush();
        let in_item = kind == BlockKind::Paragraph && !self.lists.is_empty();
        self.kind = if in_item { BlockKind::ListItem } else { kind };
    }

    /// Writes the block at work.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let kind = std::mem::replace(
            &mut self.kind,
            if self.lists.is_empty() { BlockKind::Paragraph } else { BlockKind::ListItem },
        );
        if text.trim().is_empty() {
            return;
        }
        if kind == BlockKind::Code {
            return self.builder.push(kind, &text);
        }
        let lines: Vec<String> = text.split(KEPT_BREAK).map(|line| flow(&clean(line), false)).collect();
        let is_marked = matches!(kind, BlockKind::ListItem | BlockKind::Paragraph);
        let mark = if is_marked { self.mark.take().unwrap_or_default() } else { String::new() };
        self.builder.push(kind, &format!("{mark}{}", lines.join("\n")));
    }

    /// Front matter is about the text, not part of it. Lists and nested values are passed over.
    fn metadata(&mut self) {
        let text = std::mem::take(&mut self.text);
        for line in text.lines() {
            let Some((key, value)) = line.split_once([':', '=']) else { continue };
            if key.starts_with(|c: char| c.is_whitespace() || "-#".contains(c)) {
                continue;
            }
            let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            match key.trim().to_ascii_lowercase().as_str() {
                "title" => self.builder.title(value),
                "lang" | "language" => self.builder.lang(value),
                key => self.builder.declare(key, value),
            }
        }
    }

    /// Raw HTML inside Markdown: its text without tags and comments.
    fn html(&mut self, html: &str) {
        let mut rest = html;
        while let Some(open) = rest.find('<') {
            self.text.push_str(&rest[..open]);
            let tag = &rest[open..];
            let close =
                if tag.starts_with("<!--") { tag.find("-->").map(|at| at + 3) } else { tag.find('>').map(|at| at + 1) };
            let Some(close) = close else { return };
            let name = tag[1..close].trim_start_matches('/');
            let breaks = ["br", "p", "div", "tr", "li"].iter().any(|block| {
                name.strip_prefix(block).is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
            });
            if breaks {
                self.text.push(KEPT_BREAK);
            }
            rest = &tag[close..];
        }
        self.text.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::extract::BlockKind::{Code, Heading, ListItem, Paragraph, TableHeader, TableRow};

    fn blocks(source: &str) -> (Vec<(BlockKind, String)>, Option<String>) {
        let mut builder = Builder::default();
        read(source, &mut builder);
        let out = builder.finish();
        let text: Vec<char> = out.text.chars().collect();
        (out.blocks.iter().map(|b| (b.kind, text[b.start..b.end].iter().collect())).collect(), out.title)
    }

    #[test]
    fn marks_become_structure() {
        let (blocks, title) = blocks(
            "# Aurora *X1*\n\nThe **warranty** lasts\ntwo [years](https://a.example/w).\n\n1. open\n   - the `lid`\n2. close\n\n\
             | Part | Years |\n|---|---|\n| Battery | 1 |\n\n```sh\n  run  it\n\nnow\n```\n",
        );
        assert_eq!(title.as_deref(), Some("Aurora X1"));
        assert_eq!(
            blocks,
            [
                (Heading(1), "Aurora X1".into()),
                (Paragraph, "The warranty lasts two years (https://a.example/w).".into()),
                (ListItem, "1. open".into()),
                (ListItem, "- the lid".into()),
                (ListItem, "2. close".into()),
                (TableHeader, "Part | Years".into()),
                (TableRow, "Battery | 1".into()),
                (Code, "  run  it\n\nnow".into()),
            ]
        );
    }

    #[test]
    fn front_matter_names_the_document() {
        let mut builder = Builder::default();
        let matter = "title: \"休假政策\"\nversion: 2024 # of the text\ntags:\n  - a: b\nlang: zh-CN";
        read(&format!("---\n{matter}\n---\n\n正文第一行\n第二行\n"), &mut builder);
        let out = builder.finish();
        assert_eq!((out.title.as_deref(), out.lang.as_deref()), (Some("休假政策"), Some("zh")));
        assert_eq!(out.declared, [("version".to_owned(), "2024".to_owned())]);
        assert_eq!(out.text, "正文第一行第二行");
    }

    #[test]
    fn raw_html_loses_its_tags() {
        assert_eq!(
            blocks("one<br>two <!-- not this --> three\n\n<div>\nfour\n</div>\n").0,
            [(Paragraph, "one\ntwo three".into()), (Paragraph, "four".into())]
        );
    }

    #[test]
    fn a_footnote_stands_behind_its_mark() {
        let source = "Nine hours[^1].\n\n[^1]: Without wind.\n\n    In summer.\n\nThe end.\n";
        assert_eq!(
            blocks(source).0,
            [
                (Paragraph, "Nine hours [1].".into()),
                (Paragraph, "[1] Without wind.".into()),
                (Paragraph, "In summer.".into()),
                (Paragraph, "The end.".into()),
            ]
        );
    }

    #[test]
    fn loose_list_items_keep_their_paragraphs() {
        assert_eq!(
            blocks("- first\n\n  more\n\n- second\n").0,
            [(ListItem, "- first".into()), (ListItem, "more".into()), (ListItem, "- second".into())]
        );
    }
}
