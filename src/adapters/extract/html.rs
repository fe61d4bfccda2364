//! HTML: its elements become structure; scripts, styles, navigation and what a browser would hide are left out.

use std::rc::Rc;

use markup5ever_rcdom::{Handle, NodeData};

use super::{
    build::Builder,
    grid::{Cell, Grid},
    nesting,
};
use crate::{
    domain::extract::BlockKind,
    text::clean::{clean, flow},
};

/// Elements whose text is not the document's.
const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "nav", "select", "button",
    "textarea", "math", "audio", "video",
];
/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "main",
    "p",
    "section",
    "summary",
];
/// Stands for a line break that the author wants kept, until the block is written.
const KEPT_BREAK: char = '\u{2028}';

/// Reads `source` into `builder`.
pub(super) fn read(source: &str, builder: &mut Builder) {
    let dom = nesting::parse(source);
    let mut reader = Reader::default();
    // A stack of our own: pages may nest deeper than a thread's stack is long.
    let mut todo = vec![Step::Enter(Rc::clone(&dom.document))];
    while let Some(step) = todo.pop() {
        match step {
            Step::Enter(node) => {
                if let Some(name) = reader.enter(&node, builder) {
                    todo.push(Step::Leave(name));
                    todo.extend(node.children.borrow().iter().rev().map(|child| Step::Enter(Rc::clone(child))));
                }
            }
            Step::Leave(name) => reader.leave(&name, builder),
        }
    }
    reader.flush(builder);
    let title = if reader.top_headings.len() == 1 { reader.top_headings.pop() } else { None };
    if let Some(title) = title.or(reader.title) {
        builder.title(&title);
    }
}

enum Step {
    Enter(Handle),
    Leave(String),
}

/// An open table; tables inside its cells are read as text of the cell.
struct Table {
    grid: Grid,
    row: Vec<Cell>,
    /// Whether every cell of the row so far is a heading cell.
    heads: bool,
}

/// Where the reader is.
#[derive(Default)]
struct Reader {
    text: String,
    heading: Option<u8>,
    pre: usize,
    lists: Vec<Option<u64>>,
    mark: Option<String>,
    tables: Vec<Table>,
    in_title: bool,
    title: Option<String>,
    top_headings: Vec<String>,
}

impl Reader {
    /// Meets a node. Gives the element's name if its children are to be read.
    fn enter(&mut self, node: &Handle, builder: &mut Builder) -> Option<String> {
        let (name, attrs) = match &node.data {
            NodeData::Text { contents } => {
                let contents = contents.borrow();
                if self.pre > 0 {
                    self.text.push_str(&contents);
                } else if self.in_title {
                    self.title.get_or_insert_default().push_str(&contents);
                } else {
                    self.text.push_str(&contents);
                }
                return None;
            }
            NodeData::Document => return Some(String::new()),
            NodeData::Element { name, attrs, .. } => (name.local.to_string(), attrs.borrow()),
            _ => return None,
        };
        let attr = |wanted: &str| attrs.iter().find(|a| &*a.name.local == wanted).map(|a| a.value.to_string());
        if SKIPPED.contains(&name.as_str()) || attr("hidden").is_some() || attr("role").as_deref() == Some("navigation")
        {
            return None;
        }
        if attr("style").is_some_and(|style| {
            let style: String = style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
            style.contains("display:none") || style.contains("visibility:hidden")
        }) {
            return None;
        }
        match name.as_str() {
            "html" => {
                if let Some(lang) = attr("lang") {
                    builder.lang(&lang);
                }
            }
            "title" => self.in_title = true,
            "br" => self.text.push(KEPT_BREAK),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(builder);
                self.heading = name.as_bytes().get(1).map(|digit| digit - b'0');
            }
            "pre" => {
                self.block(builder);
                self.pre += 1;
            }
            "ul" | "menu" | "ol" => {
                self.block(builder);
                let first = attr("start").and_then(|start| start.parse().ok()).unwrap_or(1);
                self.lists.push((name == "ol").then_some(first));
            }
            "li" => {
                self.block(builder);
                self.mark = Some(match self.lists.last_mut() {
                    Some(Some(no)) => {
                        let mark = format!("{no}. ");
                        *no = no.saturating_add(1);
                        mark
                    }
                    _ => "- ".into(),
                });
            }
            "table" => {
                self.block(builder);
                self.tables.push(Table { grid: Grid::default(), row: Vec::new(), heads: true });
            }
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    table.row.clear();
                    table.heads = true;
                }
            }
            "td" | "th" if self.tables.len() == 1 => {
                self.text.clear();
                let span = |which: &str| attr(which).and_then(|n| n.parse().ok()).unwrap_or(1);
                if let Some(table) = self.tables.last_mut() {
                    table.heads &= name == "th";
                    table.row.push(Cell { text: String::new(), rows: span("rowspan"), columns: span("colspan") });
                }
            }
            "td" | "th" => self.text.push(' '),
            _ if BLOCKS.contains(&name.as_str()) => self.block(builder),
            _ => {}
        }
        Some(name)
    }

    /// Leaves an element.
    fn leave(&mut self, name: &str, builder: &mut Builder) {
        match name {
            "title" => self.in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                if name == "h1" {
                    self.top_headings.push(flow(&clean(&self.text), false));
                }
                self.block(builder);
                self.heading = None;
            }
            "pre" => {
                self.block(builder);
                self.pre = self.pre.saturating_sub(1);
            }
            "ul" | "menu" | "ol" => {
                self.block(builder);
                self.lists.pop();
            }
            "li" => {
                self.block(builder);
                self.mark = None;
            }
            "caption" if self.tables.len() == 1 => {
                builder.prose(BlockKind::Paragraph, &std::mem::take(&mut self.text));
            }
            "td" | "th" if self.tables.len() == 1 => {
                let text = std::mem::take(&mut self.text);
                if let Some(cell) = self.tables.last_mut().and_then(|table| table.row.last_mut()) {
                    cell.text = text;
                }
            }
            "td" | "th" => self.text.push_str("; "),
            "tr" if self.tables.len() == 1 => {
                if let Some(table) = self.tables.last_mut() {
                    let row = std::mem::take(&mut table.row);
                    let heads = table.heads && !row.is_empty();
                    table.grid.row(row, heads);
                }
            }
            "table" => {
                let table = self.tables.pop();
                if self.tables.is_empty()
                    && let Some(table) = table
                {
                    self.text.clear();
                    table.grid.emit(builder);
                }
            }
            _ if BLOCKS.contains(&name) => self.block(builder),
            _ => {}
        }
    }

    /// A new line begins: the block at work is written, or, inside a cell, a space stands for it.
    fn block(&mut self, builder: &mut Builder) {
        if self.tables.is_empty() {
            self.flush(builder);
        } else {
            self.text.push(' ');
        }
    }

    fn flush(&mut self, builder: &mut Builder) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        if self.pre > 0 {
            return builder.push(BlockKind::Code, &text.replace(KEPT_BREAK, "\n"));
        }
        let kind = match self.heading {
            Some(level) => BlockKind::Heading(level),
            None if self.lists.is_empty() => BlockKind::Paragraph,
            None => BlockKind::ListItem,
        };
        let lines: Vec<String> =
            text.split(KEPT_BREAK).map(|line| flow(&clean(line), false)).filter(|line| !line.is_empty()).collect();
        let mark = if kind == BlockKind::ListItem { self.mark.take().unwrap_or_default() } else { String::new() };
        builder.push(kind, &format!("{mark}{}", lines.join("\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::extract::BlockKind::{Code, Heading, ListItem, Paragraph, TableHeader, TableRow};

    fn blocks(source: &str) -> (Vec<(BlockKind, String)>, Option<String>, Option<String>) {
        let mut builder = Builder::default();
        read(source, &mut builder);
        let out = builder.finish();
        let text: Vec<char> = out.text.chars().collect();
        (out.blocks.iter().map(|b| (b.kind, text[b.start..b.end].iter().collect())).collect(), out.title, out.lang)
    }

    #[test]
    fn elements_become_structure() {
        let (blocks, title, lang) = blocks(
            "<html lang=zh-CN><head><title>极光 X1 - 网站</title><style>p{}</style></head><body><nav><a>Home</a></nav>\
             <h1>极光 <b>X1</b></h1><p>保修期为<br>两年。<script>x()</script></p><p style='display: none'>ignore</p>\
             <ol><li>打开<ul><li>盖子</ul><li>关闭</ol>\
             <table><tr><th>Part<th>Years<tr><td>Battery<td><p>1</p><table><tr><td>in<td>ner</table></table>\
             <pre>a\n  b</pre>tail",
        );
        assert_eq!(title.as_deref(), Some("极光 X1"));
        assert_eq!(lang.as_deref(), Some("zh"));
        assert_eq!(
            blocks,
            [
                (Heading(1), "极光 X1".into()),
                (Paragraph, "保修期为\n两年。".into()),
                (ListItem, "1. 打开".into()),
                (ListItem, "- 盖子".into()),
                (ListItem, "2. 关闭".into()),
                (TableHeader, "Part | Years".into()),
                (TableRow, "Battery | 1 in; ner;".into()),
                (Code, "a\n  b".into()),
                (Paragraph, "tail".into()),
            ]
        );
    }

    #[test]
    fn a_caption_stands_before_its_table() {
        let source = "<table><caption>Prices\nof 2026</caption><tr><th>Lamp<th>Price<tr><td>X1<td>9</table>\
                      <table><tr><td>a<td><table><caption>inner</caption><tr><td>b</table></table>";
        assert_eq!(
            blocks(source).0,
            [
                (Paragraph, "Prices of 2026".into()),
                (TableHeader, "Lamp | Price".into()),
                (TableRow, "X1 | 9".into()),
                (TableRow, "a | inner b;".into()),
            ]
        );
    }

    #[test]
    fn what_nests_without_end_is_read_all_the_same() {
        for (open, close) in
            [("<div>", "</div>"), ("<b>", "</b>"), ("<b><p>", ""), ("<ul><li>", ""), ("<svg>", "</svg>")]
        {
            let source = format!("{}deep{}<p>behind</p>", open.repeat(100_000), close.repeat(100_000));
            let read: Vec<String> = blocks(&source).0.into_iter().map(|(_, text)| text).collect();
            let text = read.concat();
            assert!(text.ends_with("behind") && (open == "<svg>" || text.contains("deep")), "{open}: {text}");
        }
        let table = "<table><tr><td>".repeat(20_000);
        assert!(blocks(&format!("{table}deep")).0.iter().any(|(_, text)| text.contains("deep")));
    }

    #[test]
    fn tags_that_are_passed_over_close_nothing_else() {
        let deep = |open: &str, close: &str| format!("{}{open}", "<div>".repeat(400)) + close;
        let source = format!(
            "<table><tr><td>{}<table><tr><td>in</td></tr></table>{}</td><td>next</td></tr></table><p>end",
            "<div>".repeat(400),
            "</div>".repeat(400)
        );
        let read: Vec<_> = blocks(&source).0;
        assert_eq!(read, [(TableRow, "in | next".into()), (Paragraph, "end".into())]);
        let script = deep("<script>if (a</b) x()</script>shown", "");
        assert_eq!(blocks(&script).0, [(Paragraph, "shown".into())]);
    }
}
