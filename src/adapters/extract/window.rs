//! Long plain texts are read part by part, so that no process ever holds one whole.

use std::{
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
};

use crate::domain::extract::FileType;

/// So much of the beginning tells whether a byte is a character's beginning wherever it looks like one.
const HEAD: usize = 4_096;

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    /// Where the next one begins; none after the last.
    pub(super) next: Option<u64>,
}

/// The part of a file of `length` bytes that begins at `from`: at most `size` bytes, cut where a paragraph ends. All that
/// is left where that is little more, or where type or encoding have no such places.
pub(super) fn window(
    file: &mut (impl Read + Seek),
    length: u64,
    kind: FileType,
    from: u64,
    size: u64,
) -> io::Result<Window> {
    let left = length.saturating_sub(from);
    let in_parts = matches!(kind, FileType::Text | FileType::Markdown) && left > size + size / 4;
    if !in_parts || !is_cuttable(file)? {
        return read(file, from..length).map(|bytes| Window { bytes, next: None });
    }
    let mut bytes = read(file, from..from + size)?;
    let cut = place(&bytes, kind == FileType::Markdown);
    bytes.truncate(cut);
    Ok(Window { next: Some(from + cut as u64), bytes })
}

fn read(file: &mut (impl Read + Seek), range: Range<u64>) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::new();
    file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a line feed is one byte: not in UTF-16 and UTF-32, which have zeros or a mark.
fn is_cuttable(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let head = read(file, 0..HEAD as u64)?;
    Ok(!head.contains(&0) && !head.starts_with(&[0xFF, 0xFE]) && !head.starts_with(&[0xFE, 0xFF]))
}

/// Where to cut: behind the last blank line (of Markdown: outside code); else behind the last line, the last space, the
/// last whole character.
fn place(bytes: &[u8], is_markdown: bool) -> usize {
    let (mut paragraph, mut line) = (None, None);
    let (mut start, mut in_code) = (0, false);
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let text = bytes[start..at].trim_ascii();
        in_code ^= is_markdown && (text.starts_with(b"```") || text.starts_with(b"~~~"));
        start = at + 1;
        line = Some(start);
        if text.is_empty() && !in_code && bytes.get(start).is_some_and(|next| !next.is_ascii_whitespace()) {
            paragraph = Some(start);
        }
    }
    let space = || bytes.iter().rposition(|byte| *byte == b' ').map(|at| at + 1);
    let whole = || bytes.iter().rposition(|byte| !matches!(byte, 0x80..=0xBF)).filter(|at| *at > 0);
    paragraph.or(line).or_else(space).or_else(whole).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// The parts of a file, as text.
    fn parts(text: &str, kind: FileType, size: u64) -> Vec<String> {
        let mut file = Cursor::new(text.as_bytes());
        let (mut from, mut parts) = (0, Vec::new());
        loop {
            let Window { bytes, next } = window(&mut file, text.len() as u64, kind, from, size).unwrap();
            parts.push(String::from_utf8(bytes).unwrap());
            match next {
                Some(next) => from = next,
                None => return parts,
            }
        }
    }

    #[test]
    fn parts_end_with_paragraphs() {
        let text = "One.\nTwo.\n\nThree.\n\n    four\n\nFive.\r\n\r\nSix.";
        assert_eq!(parts(text, FileType::Text, 20), ["One.\nTwo.\n\n", "Three.\n\n    four\n\n", "Five.\r\n\r\nSix."]);
        assert_eq!(parts(text, FileType::Text, 40), [text], "a little more is read at once");
        assert_eq!(parts(text, FileType::Csv, 10), [text], "rows need their header");
    }

    #[test]
    fn code_is_not_cut() {
        let text = "# A\n\n```\nx\n\ny\n```\n\nB.\n\nC.";
        assert_eq!(parts(text, FileType::Markdown, 18), ["# A\n\n", "```\nx\n\ny\n```\n\nB.\n\nC."]);
    }

    #[test]
    fn what_has_no_paragraphs_is_cut_at_lines_spaces_characters() {
        assert_eq!(parts("一\n二\n三\n四\n", FileType::Text, 8), ["一\n二\n", "三\n四\n"]);
        assert_eq!(parts("one two three four", FileType::Text, 8), ["one two ", "three four"]);
        assert_eq!(parts(&"保".repeat(7), FileType::Text, 8), ["保保", "保保", "保保保"]);
    }

    #[test]
    fn wide_encodings_are_read_whole() {
        let wide: Vec<u8> = "One.\n\nTwo.\n\n".repeat(9).encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = wide.len() as u64;
        let read = window(&mut Cursor::new(&wide), length, FileType::Text, 0, 20).unwrap();
        assert_eq!(read, Window { bytes: wide, next: None });
    }
}
