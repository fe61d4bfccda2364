//! Sentences of both scripts.

use std::ops::Range;

use super::words::is_han;

/// Byte ranges of the sentences of `text`, in order, without surrounding white space. A line ends a sentence, unless
/// it is a wrapped one; a row of a table (`a | b`) is one sentence whatever its cells hold.
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in lines(text) {
        let body = text.get(line.clone()).unwrap_or_default();
        if !is_row(body) {
            for end in ends(body) {
                push(text, start..line.start + end, &mut found);
                start = line.start + end;
            }
        }
        push(text, start..line.end, &mut found);
        start = line.end;
    }
    found
}

/// Whether a line is a row of a table.
#[must_use]
pub fn is_row(line: &str) -> bool {
    line.contains(" | ")
        || (line.trim_start().starts_with('|') && line.trim_end().ends_with('|') && line.trim().len() > 1)
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (part.len() - part.trim_start().len());
    let end = range.start + part.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

/// Lines, wrapped ones joined: a break is soft when a long line without an end mark goes on in lower case.
fn lines(text: &str) -> Vec<Range<usize>> {
    const LONG: usize = 40;
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive('\n') {
        let end = start + piece.len();
        let soft = lines.last().is_some_and(|last| {
            let before = text.get(last.clone()).unwrap_or_default();
            before.len() >= LONG
                && piece.starts_with(char::is_lowercase)
                && before.trim_end_matches(['\r', '\n']).ends_with(|c: char| c.is_alphanumeric() || c == ',')
                && !is_row(before)
                && !is_row(piece)
        });
        match lines.last_mut() {
            Some(last) if soft => last.end = end,
            _ => lines.push(start..end),
        }
        start = end;
    }
    lines
}

/// Where sentences end inside a line, each one past its last byte, closing quotes and brackets included.
fn ends(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut open = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, mark)) = chars.next() {
        let is_end = match mark {
            '。' | '！' | '？' | '；' | '｡' => true,
            '!' | '?' => is_boundary(line, at + 1),
            '.' => is_boundary(line, at + 1) && is_full_stop(line, open, at),
            _ => false,
        };
        if !is_end {
            continue;
        }
        let mut end = at + mark.len_utf8();
        while let Some(&(next_at, next)) = chars.peek() {
            if !is_end_mark(next) && !is_closer(next) {
                break;
            }
            end = next_at + next.len_utf8();
            chars.next();
        }
        ends.push(end);
        open = end;
    }
    ends
}

const fn is_end_mark(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '；' | '｡' | '!' | '?' | '.' | '…')
}

const fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '」' | '』' | '）' | '】' | '》' | '〉')
}

/// Whether a Latin end mark before byte `at` can end a sentence: nothing, white space or Chinese follows, marks and
/// closers aside.
fn is_boundary(line: &str, at: usize) -> bool {
    let rest = line.get(at..).unwrap_or_default().trim_start_matches(|c| is_end_mark(c) || is_closer(c));
    rest.chars().next().is_none_or(|c| c.is_whitespace() || is_han(c))
}

/// Words that are written with a full stop and go on.
const ABBREVIATIONS: &str = " mr mrs ms dr prof rev gen sen rep gov capt lt col sgt hon st mt ft jr sr vs e.g i.e cf viz al \
    approx est no nos fig figs eq sec secs art arts ch chap vol vols ed eds pp p par para ref refs app dept univ inc ltd \
    corp co jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun tel ext max min avg ";

/// Whether the full stop at byte `at` ends the sentence that began at byte `open`: not after an abbreviation, an
/// initial or the number of a list item.
fn is_full_stop(line: &str, open: usize, at: usize) -> bool {
    let before = line.get(open..at).unwrap_or_default();
    let word =
        before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“' | '（')).next().unwrap_or("");
    let rest = line.get(at + 1..).unwrap_or_default().trim_start();
    if rest.is_empty() {
        return true;
    }
    if !word.is_empty() && before.trim_start() == word && is_item_number(word) {
        return false;
    }
    let lower = word.to_lowercase();
    if ABBREVIATIONS.split_whitespace().any(|known| known == lower) {
        return matches!(
            lower.as_str(),
            "no" | "p" | "min" | "max" | "co" | "inc" | "ltd" | "corp" | "art" | "fig" | "sec"
        ) && !rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.starts_with(char::is_uppercase);
    }
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    let acronym = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    !(initial || acronym && !rest.starts_with(char::is_uppercase) || rest.starts_with(char::is_lowercase))
}

fn is_item_number(word: &str) -> bool {
    word.len() <= 3 && (word.bytes().all(|b| b.is_ascii_digit()) || word.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::sentences;

    fn parts(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn both_scripts() {
        assert_eq!(parts("It lasts. Really? Yes!  Good"), ["It lasts.", "Really?", "Yes!", "Good"]);
        assert_eq!(
            parts("保修两年。“可以退吗？”可以；但要发票！"),
            ["保修两年。", "“可以退吗？”", "可以；", "但要发票！"]
        );
        assert_eq!(parts("See X1. 保修两年.好"), ["See X1.", "保修两年.", "好"]);
    }

    #[test]
    fn not_at_abbreviations_decimals_and_item_numbers() {
        assert_eq!(parts("Dr. Lee paid 3.5 USD, e.g. twice. Done."), ["Dr. Lee paid 3.5 USD, e.g. twice.", "Done."]);
        assert_eq!(parts("1. Open the lid. 2. Wait."), ["1. Open the lid.", "2. Wait."]);
        assert_eq!(parts("See No. 5 of J. Smith. Next"), ["See No. 5 of J. Smith.", "Next"]);
        assert_eq!(parts("Is it free? No. It costs."), ["Is it free?", "No.", "It costs."]);
        assert_eq!(parts("Wait... then go"), ["Wait...", "then go"]);
    }

    #[test]
    fn lines_and_rows() {
        assert_eq!(parts("# Title\nA line\r\n\nB"), ["# Title", "A line", "B"]);
        assert_eq!(parts("a. B | c! D | e\n| x | y. Z |"), ["a. B | c! D | e", "| x | y. Z |"]);
        assert_eq!(
            parts("This line was wrapped by whoever wrote the\nfile long ago. New"),
            ["This line was wrapped by whoever wrote the\nfile long ago.", "New"]
        );
    }

    #[test]
    fn nothing() {
        assert_eq!(parts(""), Vec::<&str>::new());
        assert_eq!(parts(" \n "), Vec::<&str>::new());
    }
}
