//! Plain text and source code.

use super::{build::Builder, headings};
use crate::{
    domain::extract::BlockKind,
    text::clean::{clean, flow},
};

/// Plain text: blank lines part paragraphs; lines that were wrapped by a machine are joined, others stay.
pub(super) fn read_plain(source: &str, builder: &mut Builder) {
    let source = clean(source);
    let lines: Vec<&str> = source.split('\n').collect();
    for group in lines.split(|line| line.trim().is_empty()) {
        paragraph(group, builder);
    }
}

fn paragraph(lines: &[&str], builder: &mut Builder) {
    match lines {
        [] => {}
        [line] => match headings::numbered(line) {
            Some(level) => builder.push(BlockKind::Heading(level), line),
            None => builder.push(BlockKind::Paragraph, line),
        },
        [title, rule] if is_rule(rule, '=') => builder.push(BlockKind::Heading(1), title),
        [title, rule] if is_rule(rule, '-') => builder.push(BlockKind::Heading(2), title),
        _ if wrapped(lines) => builder.push(BlockKind::Paragraph, &flow(&lines.join("\n"), true)),
        // One line is one paragraph, as Chinese texts are often written.
        _ if lines.iter().filter(|line| line.chars().count() >= 120).count() * 2 > lines.len() => {
            for line in lines {
                paragraph(&[line], builder);
            }
        }
        [first, rest @ ..] => match headings::numbered(first) {
            Some(level) => {
                builder.push(BlockKind::Heading(level), first);
                paragraph(rest, builder);
            }
            None => builder.push(BlockKind::Paragraph, &lines.join("\n")),
        },
    }
}

fn is_rule(line: &str, mark: char) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == mark)
}

/// Whether all lines but the last are about equally long, as a wrapping editor leaves them, and most do not end a
/// sentence.
fn wrapped(lines: &[&str]) -> bool {
    let Some((last, full)) = lines.split_last() else { return false };
    let widths: Vec<usize> = full.iter().map(|line| columns(line)).collect();
    let (Some(least), Some(most)) = (widths.iter().min(), widths.iter().max()) else { return false };
    let ended =
        full.iter().filter(|line| line.trim_end().ends_with(['.', '。', '!', '！', '?', '？', ':', '：'])).count();
    let marked = lines.iter().filter(|line| line.trim_start().starts_with(['-', '*', '•', '·', '|'])).count();
    *most <= 120
        && *least >= 40
        && *least * 10 >= *most * 6
        && columns(last) <= *most
        && ended * 2 <= full.len()
        && marked == 0
}

/// Width in a terminal: a wide character takes two columns.
fn columns(line: &str) -> usize {
    line.trim().chars().map(|c| if crate::text::clean::is_spaceless(c) { 2 } else { 1 }).sum()
}

/// Source code: a block per stretch that blank lines and a return to the margin part.
pub(super) fn read_code(source: &str, builder: &mut Builder) {
    let source = clean(source);
    let mut block = String::new();
    let mut blank = false;
    for line in source.split('\n') {
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '}' | ')' | ']' | '{'));
        if blank && at_margin && !block.is_empty() {
            builder.push(BlockKind::Code, &std::mem::take(&mut block));
        }
        blank = line.trim().is_empty();
        block.push_str(line);
        block.push('\n');
    }
    builder.push(BlockKind::Code, &block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::extract::BlockKind::{Code, Heading, Paragraph};

    fn blocks(read: impl FnOnce(&mut Builder)) -> Vec<(BlockKind, String)> {
        let mut builder = Builder::default();
        read(&mut builder);
        let out = builder.finish();
        let text: Vec<char> = out.text.chars().collect();
        out.blocks.iter().map(|b| (b.kind, text[b.start..b.end].iter().collect())).collect()
    }

    #[test]
    fn wrapped_lines_join_and_written_lines_stay() {
        let source = "Title\n=====\n\nThe warranty of this device lasts two years from the day on\n\
                      which it was bought, but the battery is war-\n\
                      ranted for one year only.\n\nName: Ada\nCity: Paris\n\n第一章 总则\n\n第一条是这样的。\n";
        assert_eq!(
            blocks(|b| read_plain(source, b)),
            [
                (Heading(1), "Title".into()),
                (
                    Paragraph,
                    "The warranty of this device lasts two years from the day on which it was bought, but the battery \
                     is warranted for one year only."
                        .into()
                ),
                (Paragraph, "Name: Ada\nCity: Paris".into()),
                (Heading(1), "第一章 总则".into()),
                (Paragraph, "第一条是这样的。".into()),
            ]
        );
    }

    #[test]
    fn code_parts_at_the_margin() {
        assert_eq!(
            blocks(|b| read_code("fn a() {\n    x();\n\n    y();\n}\n\nfn b() {}\n", b)),
            [(Code, "fn a() {\n    x();\n\n    y();\n}".into()), (Code, "fn b() {}".into())]
        );
    }
}
