//! A passage in pieces that can be quoted: sentences, list items, table rows with their header.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::wording::says;
use crate::{
    domain::evidence::ParsedPassage,
    text::{
        fold,
        quantities::quantities,
        sentences::{is_row, sentences},
        words::is_han,
    },
};

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sentence,
    Item,
    /// An item with a number: a step.
    Step,
    Row,
}

/// A piece that can be quoted by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Place of its passage.
    pub(super) passage: usize,
    pub(super) kind: Kind,
    /// Without list marks; a row as "label – column: value; …".
    pub(super) text: String,
    /// Of a row: its cells, folded.
    pub(super) cells: Vec<String>,
    /// The heading above it inside the passage.
    pub(super) heading: String,
    /// Pieces of one paragraph, list or table have the same number.
    pub(super) block: usize,
}

impl Unit {
    /// Whether a row has this folded name as a cell, alone or listed with others, or an item before its colon.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let is_listed = |text: &str| text.split([',', '，', '、', '/', ';', '；', '&']).any(|one| one.trim() == name);
        match self.kind {
            Kind::Row => self.cells.iter().any(|cell| cell == name || is_listed(cell)),
            _ => self.lead().is_some_and(|lead| lead == name || is_listed(&lead)),
        }
    }

    /// Whether this folded name stands in what a row or an item is called, and not only in the names of columns.
    pub(super) fn names_in(&self, name: &str) -> bool {
        match self.kind {
            Kind::Row => self.cells.iter().any(|cell| says(cell, name)),
            _ => self.lead().is_some_and(|lead| says(&lead, name)),
        }
    }

    /// What stands before an item's colon, folded.
    fn lead(&self) -> Option<String> {
        let (lead, _) = self.text.split_once([':', '：']).filter(|_| self.kind != Kind::Sentence)?;
        Some(fold(lead).trim_matches(['*', ' ']).to_owned())
    }
}

/// Longest line of text that introduces a list.
const MAX_INTRO: usize = 300;

/// Longest line that may be a heading without a mark; Chinese says the same in a third of it.
const LONGEST_HEADING: usize = 80;

static ITEM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*(?:[-*•·●▪]\s+|[–—]\s+)").ok());
static STEP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\d{1,2}[.)、．]\s*(?:\D|$)|[（(]\d{1,2}[）)]\s*|[①-⑳]\s*|[一二三四五六七八九十]{1,3}、\s*|(?i:step \d{1,2}\s*[:.])\s*|第[一二三四五六七八九十]步\s*[:：，,]?\s*)").ok()
});
static MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\s*\[\d{1,3}\]").ok());

/// The pieces of all passages, in order.
pub(super) fn units(passages: &[ParsedPassage]) -> Vec<Unit> {
    let mut reader = Reader::default();
    for (index, passage) in passages.iter().enumerate() {
        reader.passage(index, passage);
    }
    reader.units
}

/// The places of the units of one block.
pub(super) fn block_of(units: &[Unit], at: usize) -> Range<usize> {
    let Some(unit) = units.get(at) else { return at..at };
    let start = units[..at].iter().rposition(|other| other.block != unit.block).map_or(0, |before| before + 1);
    let end = units[at..].iter().position(|other| other.block != unit.block).map_or(units.len(), |after| at + after);
    start..end
}

/// The sentence that introduces the list or table at `block`: right before it, in the same passage, ending in a colon.
pub(super) fn intro_of(units: &[Unit], block: &Range<usize>) -> Option<usize> {
    let before = block.start.checked_sub(1)?;
    let (intro, first) = (units.get(before)?, units.get(block.start)?);
    let is_intro = intro.kind == Kind::Sentence
        && intro.passage == first.passage
        && intro.text.ends_with([':', '：'])
        && intro.text.chars().count() <= MAX_INTRO;
    is_intro.then_some(before)
}

#[derive(Default)]
struct Reader {
    units: Vec<Unit>,
    passage: usize,
    heading: String,
    block: usize,
    /// Lines of the paragraph that is being read.
    paragraph: String,
    /// Cells of the header of the table that is being read.
    header: Option<Vec<String>>,
    last: Option<Kind>,
}

impl Reader {
    fn passage(&mut self, index: usize, passage: &ParsedPassage) {
        self.passage = index;
        self.heading.clear();
        self.last = None;
        self.header = passage.header.as_deref().map(cells);
        self.block += 1;
        let lines: Vec<&str> = passage.text.lines().collect();
        let mut in_code = false;
        for (at, line) in lines.iter().enumerate() {
            let trimmed = line.trim();
            if trimmed.starts_with("```") {
                in_code = !in_code;
                self.close();
                continue;
            }
            if in_code {
                self.push(Kind::Sentence, trimmed);
            } else if trimmed.is_empty() {
                self.end_paragraph();
            } else if let Some(title) = heading(trimmed).or_else(|| plain_heading(&lines, at)) {
                self.close();
                self.header = None;
                title.clone_into(&mut self.heading);
            } else if is_row(line) {
                self.row(trimmed, lines.get(at + 1).copied().unwrap_or_default());
            } else if let Some(kind) = item_kind(line) {
                self.item(kind, line);
            } else if matches!(self.last, Some(Kind::Item | Kind::Step)) && line.starts_with("  ") {
                // The next line of an item.
                if let Some(unit) = self.units.last_mut() {
                    unit.text.push(' ');
                    unit.text.push_str(trimmed);
                }
            } else {
                if !self.paragraph.is_empty() {
                    self.paragraph.push('\n');
                } else if self.last.is_some_and(|kind| kind != Kind::Sentence) {
                    self.close();
                }
                self.paragraph.push_str(trimmed);
            }
        }
        self.close();
    }

    fn end_paragraph(&mut self) {
        if self.paragraph.is_empty() {
            return;
        }
        self.block += 1;
        let paragraph = std::mem::take(&mut self.paragraph);
        for range in sentences(&paragraph) {
            self.push(Kind::Sentence, paragraph.get(range).unwrap_or_default());
        }
        self.block += 1;
    }

    /// Ends whatever is being read.
    fn close(&mut self) {
        self.end_paragraph();
        self.block += 1;
        self.last = None;
    }

    fn item(&mut self, kind: Kind, line: &str) {
        self.end_paragraph();
        if self.last != Some(kind) {
            self.block += 1;
        }
        self.push(kind, without_mark(kind, line));
    }

    fn row(&mut self, line: &str, next: &str) {
        self.end_paragraph();
        if is_rule(line) {
            return;
        }
        let row = cells(line);
        if self.last != Some(Kind::Row) {
            self.block += 1;
            let begins = is_rule(next)
                || (self.header.is_none() && is_row(next) && !line.contains(|c: char| c.is_ascii_digit()));
            self.last = Some(Kind::Row);
            if begins || self.header.as_ref() == Some(&row) {
                self.header = Some(row);
                return;
            }
        }
        let text = row_text(&row, self.header.as_deref().unwrap_or_default());
        let before = self.units.len();
        self.push(Kind::Row, &text);
        if let Some(unit) = self.units.get_mut(before) {
            let spaced = |cell: &String| fold(cell).split_whitespace().collect::<Vec<_>>().join(" ");
            unit.cells = row.iter().map(|cell| spaced(cell).trim_matches(['*', ' ']).to_owned()).collect();
        }
    }

    fn push(&mut self, kind: Kind, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Numbers in brackets would be read as this answer's sources.
        let text = match MARKER.as_ref() {
            Some(marker) => marker.replace_all(&text, "").into_owned(),
            None => text,
        };
        self.last = Some(kind);
        if text.chars().any(char::is_alphanumeric) {
            self.units.push(Unit {
                passage: self.passage,
                kind,
                text,
                cells: Vec::new(),
                heading: self.heading.clone(),
                block: self.block,
            });
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
}

/// A short line alone between blank ones that ends like no sentence, or as a question, with text behind it: stored texts
/// keep headings without marks, and a question that stands alone heads its answer.
fn plain_heading<'l>(lines: &[&'l str], at: usize) -> Option<&'l str> {
    let line = lines.get(at)?.trim();
    let is_alone = at.checked_sub(1).is_none_or(|before| lines[before].trim().is_empty())
        && lines.get(at + 1).is_some_and(|next| next.trim().is_empty())
        && lines[at + 1..].iter().any(|next| !next.trim().is_empty());
    let longest = if line.chars().any(is_han) { LONGEST_HEADING / 3 } else { LONGEST_HEADING };
    let is_short = line.chars().count() <= longest;
    let is_sentence = line.ends_with(|c: char| ".!:;,。！：；，…".contains(c));
    (is_alone && is_short && !is_sentence && !says_value(line) && !is_row(line) && item_kind(line).is_none())
        .then_some(line)
}

/// "Annual leave: 28 days" says something by itself.
fn says_value(line: &str) -> bool {
    line.split_once([':', '：']).is_some_and(|(label, value)| !label.trim().is_empty() && !quantities(value).is_empty())
}

fn item_kind(line: &str) -> Option<Kind> {
    let is = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(line));
    if is(&ITEM) {
        Some(Kind::Item)
    } else if is(&STEP) {
        Some(Kind::Step)
    } else {
        None
    }
}

fn without_mark(kind: Kind, line: &str) -> &str {
    let line = line.trim();
    match kind {
        Kind::Item => line.trim_start_matches(['-', '*', '•', '·', '●', '▪', '–', '—']).trim_start(),
        _ => line
            .trim_start_matches(|c: char| c.is_ascii_digit() || "（(）).、．①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳".contains(c))
            .trim_start(),
    }
}

/// The line between a Markdown table's header and its rows.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// The cells of a row, written `a | b` or `| a | b |`. Of one that only begins with a bar the first cell is blank.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let inner = row.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
    inner.unwrap_or(row).split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn row_text(row: &[String], header: &[String]) -> String {
    let Some((label, values)) = row.split_first() else { return String::new() };
    let named: Vec<String> = values
        .iter()
        .enumerate()
        .filter(|(_, value)| !value.is_empty())
        .map(|(at, value)| match header.get(at + 1).filter(|name| !name.is_empty()) {
            Some(name) => format!("{name}: {value}"),
            None => value.clone(),
        })
        .collect();
    if label.is_empty() {
        return named.join("; ");
    }
    if named.is_empty() { label.clone() } else { format!("{label} – {}", named.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, header: Option<&str>) -> Vec<(Kind, String, usize)> {
        let passage =
            ParsedPassage { text: text.into(), header: header.map(str::to_owned), ..ParsedPassage::default() };
        let units = units(&[passage]);
        let first = units.first().map_or(0, |unit| unit.block);
        units.into_iter().map(|unit| (unit.kind, unit.text, unit.block - first)).collect()
    }

    #[test]
    fn sentences_lists_and_tables() {
        let text = "# Care\nIt is easy. Do it often[3]:\n\n- wipe\n- rinse\n  well\n\n1. Open.\n2. Close.\n\n| Part | Months |\n|---|---|\n| Filter | 6 |\n| Brush | 12 |\nDone.";
        let units = read(text, None);
        let kinds: Vec<(Kind, &str)> = units.iter().map(|(kind, text, _)| (*kind, text.as_str())).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Sentence, "It is easy."),
                (Kind::Sentence, "Do it often:"),
                (Kind::Item, "wipe"),
                (Kind::Item, "rinse well"),
                (Kind::Step, "Open."),
                (Kind::Step, "Close."),
                (Kind::Row, "Filter – Months: 6"),
                (Kind::Row, "Brush – Months: 12"),
                (Kind::Sentence, "Done."),
            ]
        );
        let blocks: Vec<usize> = units.iter().map(|unit| unit.2).collect();
        assert!(blocks[0] == blocks[1] && blocks[2] == blocks[3] && blocks[4] == blocks[5] && blocks[6] == blocks[7]);
        assert!(blocks[1] != blocks[2] && blocks[3] != blocks[4] && blocks[5] != blocks[6] && blocks[7] != blocks[8]);
    }

    #[test]
    fn headings_without_marks_and_the_tables_under_them() {
        let text = "Refunds\n\nThe money comes back in 3 days.\n\n故障代码\n\n代码 | 含义\nF1 | 堵转\nF6 | 滤芯未安装\n\nA last line";
        let passage =
            ParsedPassage { text: text.into(), header: Some("部件 | 周期".into()), ..ParsedPassage::default() };
        let read: Vec<(String, String)> = units(&[passage]).into_iter().map(|unit| (unit.heading, unit.text)).collect();
        let pair = |heading: &str, text: &str| (heading.to_owned(), text.to_owned());
        assert_eq!(
            read,
            [
                pair("Refunds", "The money comes back in 3 days."),
                pair("故障代码", "F1 – 含义: 堵转"),
                pair("故障代码", "F6 – 含义: 滤芯未安装"),
                pair("故障代码", "A last line"),
            ]
        );
    }

    #[test]
    fn rows_take_the_passages_header() {
        let units = read("Basic | 10 €\nPro | 25 €", Some("Plan | Price"));
        assert_eq!(units[0].1, "Basic – Price: 10 €");
        assert_eq!(units[1].1, "Pro – Price: 25 €");
        let units = read("North | 10 | 20", Some("| 2023 | 2024"));
        assert_eq!(units[0].1, "North – 2023: 10; 2024: 20", "the corner is blank");
    }

    #[test]
    fn chinese_steps_and_numbers_that_are_none() {
        let units = read("步骤如下：\n1、打开盖子。\n2、取出滤网。\n\n3.5 公斤重。", None);
        let kinds: Vec<Kind> = units.iter().map(|unit| unit.0).collect();
        assert_eq!(kinds, [Kind::Sentence, Kind::Step, Kind::Step, Kind::Sentence]);
        assert_eq!(units[1].1, "打开盖子。");
    }
}
