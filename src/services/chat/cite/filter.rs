//! Lets only markers through that point at a passage, and leaves what only looks like one as it is.
//!
//! A number in brackets is no marker inside code, right behind a word (`rows[0]`, of languages that part words by spaces:
//! in the others markers stand there), above [`MAX_MARKER`], or in a list with 0 (`[0, 10]`). Behind a word it is one all
//! the same when a passage has its number.

use std::ops::{Range, RangeInclusive};

use crate::text::words::is_han;

/// Longest text between brackets that can still be a marker (`【12†a file name】`).
const MAX_INSIDE: usize = 48;
/// A number above this in brackets is a year or a document's number, and text.
const MAX_MARKER: u32 = 999;
/// Most markers that one bracket (`[1-9]`) stands for.
const MAX_RANGE: u32 = 20;

/// Rewrites a streamed answer so that every marker in it points at one of `known` passages.
///
/// It works character by character, so any cut of the stream gives the same text; it holds back at most
/// `MAX_INSIDE` characters and the spaces before them. Code spans and fenced code are left alone.
#[derive(Debug, Clone)]
pub struct MarkerFilter {
    known: u32,
    /// Spaces that are written before the next character, unless that begins a marker that is dropped.
    spaces: String,
    /// An open bracket and what follows it, while it may still be a marker.
    open: String,
    /// What was written last is a word, or brackets behind one.
    after_word: bool,
    /// Whether the open bracket stands right behind a word.
    is_subscript: bool,
    /// Markers since the last other text: a repetition says nothing.
    group: Vec<u32>,
    /// A marker at the beginning of a line was dropped: the spaces behind it go too.
    skip_spaces: bool,
    at_line_start: bool,
    /// What was written since an open bracket could be a marker, were it closed now: nothing may be dropped without a
    /// trace, or `[[9]1]` would become one.
    bracketed: Bracketed,
    code: Code,
}

/// What was written since an open bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracketed {
    /// Nothing that can become a marker.
    No,
    /// Numbers, as in `[1, 2`.
    Numbers,
    /// Numbers and a name, as in `【1†a file`: whatever follows is part of the name.
    Named,
}

impl Bracketed {
    /// The same after `c`.
    const fn after(self, c: char) -> Self {
        match (self, c) {
            (_, '[' | '【') => Self::Numbers,
            (Self::Numbers, '†') => Self::Named,
            (Self::Numbers, c) if may_stand_inside(c) => Self::Numbers,
            (Self::Named, '\n' | '`' | ']' | '】') | (Self::No | Self::Numbers, _) => Self::No,
            (Self::Named, _) => Self::Named,
        }
    }
}

/// Where a character stands with respect to Markdown code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// Outside.
    None,
    /// Inside a run of `mark`s that opens code; whether it began the line.
    Opening { mark: char, ticks: usize, line_start: bool },
    /// Inside a span that a run of `ticks` backticks closes, after `run` of them. A span also ends with its line, so that one
    /// stray backtick does not switch the filter off.
    Span { ticks: usize, run: usize },
    /// Inside a fence that a line of `ticks` marks or more closes; `run` of them since the line began, `None` after
    /// anything else.
    Fence { mark: char, ticks: usize, run: Option<usize> },
}

impl MarkerFilter {
    /// A filter for an answer from this many passages.
    #[must_use]
    pub fn new(known: usize) -> Self {
        Self {
            known: u32::try_from(known).unwrap_or(u32::MAX),
            spaces: String::new(),
            open: String::new(),
            after_word: false,
            is_subscript: false,
            group: Vec::new(),
            skip_spaces: false,
            at_line_start: true,
            bracketed: Bracketed::No,
            code: Code::None,
        }
    }

    /// Takes the next piece; gives what can be shown of the text so far.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.take(c, &mut out);
        }
        out
    }

    /// The rest, at the end of the answer. The filter is then ready for another answer.
    pub fn finish(&mut self) -> String {
        let mut out = std::mem::take(&mut self.spaces);
        out.push_str(&self.open);
        *self = Self::new(usize::try_from(self.known).unwrap_or(usize::MAX));
        out
    }

    fn take(&mut self, c: char, out: &mut String) {
        if self.code != Code::None {
            self.code = self.code.after(c);
            if self.code != Code::None {
                self.at_line_start = c == '\n';
                out.push(c);
                return;
            }
        }
        if !self.open.is_empty() {
            if matches!(c, ']' | '】') {
                return self.close(c, out);
            }
            let may_go_on = may_stand_inside(c) || (self.open.contains('†') && !matches!(c, '\n' | '[' | '【' | '`'));
            if may_go_on && self.open.chars().count() < MAX_INSIDE {
                self.open.push(c);
                return;
            }
            self.release(out);
        }
        match c {
            '[' | '【' => {
                // Nobody indexes with the other kind of brackets.
                self.is_subscript = c == '[' && self.after_word && self.spaces.is_empty();
                self.open.push(c);
            }
            ' ' | '\u{3000}' if self.skip_spaces => {}
            ' ' => self.spaces.push(c),
            c => {
                let code = Code::opened_by(c, self.at_line_start);
                self.write(c, out);
                self.code = code;
            }
        }
    }

    /// The bracket turned out to be text.
    fn release(&mut self, out: &mut String) {
        let open = std::mem::take(&mut self.open);
        for c in open.chars() {
            self.write(c, out);
        }
    }

    fn write(&mut self, c: char, out: &mut String) {
        out.push_str(&self.spaces);
        self.spaces.clear();
        self.group.clear();
        self.skip_spaces = false;
        self.after_word = is_word(c);
        self.at_line_start = c == '\n' || (self.at_line_start && c.is_whitespace());
        self.bracketed = self.bracketed.after(c);
        out.push(c);
    }

    fn close(&mut self, bracket: char, out: &mut String) {
        let known = self.known;
        let is_known = |n: &u32| (1..=known).contains(n);
        let marked = numbers(&self.open).filter(|numbers| !self.is_subscript || numbers.iter().all(is_known));
        let Some(numbers) = marked else {
            self.release(out);
            self.write(bracket, out);
            self.after_word = self.is_subscript && bracket == ']';
            return;
        };
        self.open.clear();
        self.after_word = false;
        let fresh: Vec<u32> = numbers.into_iter().filter(|n| is_known(n) && !self.group.contains(n)).collect();
        if fresh.is_empty() {
            match self.bracketed {
                Bracketed::No => {}
                Bracketed::Numbers => return self.write('…', out),
                // A name would take the dots in; it ends before a bracket.
                Bracketed::Named => return "[…]".chars().for_each(|c| self.write(c, out)),
            }
            // The spaces before it go with it: "two years [9]." becomes "two years.".
            self.spaces.clear();
            self.skip_spaces = self.at_line_start;
            return;
        }
        out.push_str(&self.spaces);
        self.spaces.clear();
        for n in fresh {
            if !self.group.contains(&n) {
                self.group.push(n);
                out.push_str(&format!("[{n}]"));
            }
        }
        self.at_line_start = false;
        self.skip_spaces = false;
        self.bracketed = Bracketed::No;
    }
}

/// A whole answer through a [`MarkerFilter`].
#[must_use]
pub fn clean(text: &str, known: usize) -> String {
    let mut filter = MarkerFilter::new(known);
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
    out
}

/// The markers of `text` with the bytes at which they stand, in order, code left out.
pub(super) fn markers(text: &str) -> Vec<(Range<usize>, u32)> {
    let mut found = Vec::new();
    let mut code = Code::None;
    let mut line_start = true;
    for (at, c) in text.char_indices() {
        code = code.after(c);
        if code == Code::None {
            code = Code::opened_by(c, line_start);
            if c == '['
                && let Some((inside, _)) = text.get(at + 1..).and_then(|rest| rest.split_once(']'))
                && inside.bytes().all(|b| b.is_ascii_digit())
                && let Ok(n) = inside.parse::<u32>()
                && n <= MAX_MARKER
            {
                found.push((at..at + inside.len() + 2, n));
            }
        }
        line_start = c == '\n' || (line_start && c.is_whitespace());
    }
    found
}

/// Whether `c` can stand between the brackets of a marker.
const fn may_stand_inside(c: char) -> bool {
    matches!(c, '0'..='9' | ' ' | ',' | '，' | '、' | ';' | '-' | '–' | '†')
}

/// What stands in brackets as numbers; `None` when it is no marker. `open` begins with the bracket.
fn numbers(open: &str) -> Option<Vec<u32>> {
    let inside = open.strip_prefix(['[', '【'])?;
    let inside = inside.split_once('†').map_or(inside, |(numbers, _)| numbers);
    let mut all = Vec::new();
    for part in inside.split([',', '，', '、', ';']) {
        all.extend(range(part.trim())?);
    }
    // Passages are counted from 1: this list is an interval, or of something else.
    (all.len() == 1 || !all.contains(&0)).then_some(all)
}

/// Whether `c` belongs to a word that would be parted from a marker by a space, if by nothing else. Scripts without
/// spaces between words are none of these: in them a marker stands right behind a word.
fn is_word(c: char) -> bool {
    let is_spaceless = is_han(c)
        || matches!(c, '\u{3040}'..='\u{30ff}' | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    c == '_' || (c.is_alphanumeric() && !is_spaceless)
}

fn range(part: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&n| n <= MAX_MARKER);
    let Some((from, to)) = part.split_once(['-', '–']) else {
        let n = number(part)?;
        return Some(n..=n);
    };
    let (from, to) = (number(from)?, number(to)?);
    (from <= to && to - from < MAX_RANGE).then_some(from..=to)
}

impl Code {
    /// What `c` opens outside of code: backticks anywhere, tildes only a fence.
    const fn opened_by(c: char, line_start: bool) -> Self {
        match c {
            '`' | '~' if c == '`' || line_start => Self::Opening { mark: c, ticks: 1, line_start },
            _ => Self::None,
        }
    }

    /// The place after `c`, which is not the first character of a run outside of code.
    const fn after(self, c: char) -> Self {
        match self {
            Self::None => Self::None,
            Self::Opening { mark, ticks, line_start } => match c {
                _ if c == mark => Self::Opening { mark, ticks: ticks + 1, line_start },
                '\n' if ticks >= 3 && line_start => Self::Fence { mark, ticks, run: Some(0) },
                _ if ticks >= 3 && line_start => Self::Fence { mark, ticks, run: None },
                '\n' => Self::None,
                _ if mark == '~' => Self::None,
                _ => Self::Span { ticks, run: 0 },
            },
            Self::Span { ticks, run } => match c {
                '`' => Self::Span { ticks, run: run + 1 },
                '\n' => Self::None,
                _ if run == ticks => Self::None,
                _ => Self::Span { ticks, run: 0 },
            },
            Self::Fence { mark, ticks, run } => match (c, run) {
                (_, Some(run)) if c == mark => Self::Fence { mark, ticks, run: Some(run + 1) },
                ('\n', Some(run)) if run >= ticks => Self::None,
                ('\n', _) => Self::Fence { mark, ticks, run: Some(0) },
                (' ', Some(run)) => Self::Fence { mark, ticks, run: Some(run) },
                _ => Self::Fence { mark, ticks, run: None },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markers_that_point_nowhere_go_with_their_space() {
        for (text, expected) in [
            ("Two years [1].", "Two years [1]."),
            ("Two years [4].", "Two years."),
            ("保修两年[4]，两年[1]。", "保修两年，两年[1]。"),
            ("arr[0] and a_b[9] and grid[0][7] stay", "arr[0] and a_b[9] and grid[0][7] stay"),
            ("x[1,9] y[0-3] z[1, 2]", "x[1,9] y[0-3] z[1][2]"),
            ("two years[1][9] and two years【9†a】", "two years[1] and two years"),
            ("between [0, 10] and [0-3]", "between [0, 10] and [0-3]"),
            ("a [9][8] [7]b", "ab"),
            ("Two years [4] and more", "Two years and more"),
            ("[9] First.", "First."),
            ("a [0] b", "a b"),
            ("[1][1] [1] x [1]", "[1] x [1]"),
            ("[1][2][1]", "[1][2]"),
            ("保修两年【1】。", "保修两年[1]。"),
            ("保修两年【1†说明书】【7】。", "保修两年[1]。"),
            ("both [1, 2] and [1、3] and [2，9]", "both [1][2] and [1][3] and [2]"),
            ("all [1-3] and [2–2]", "all [1][2][3] and [2]"),
            ("backwards [3-1] stays", "backwards [3-1] stays"),
            ("[[9]1] and [1 [9]]", "[…1] and [1 …]"),
            ("京政发[2024]15号", "京政发[2024]15号"),
            ("[link](x) [a1] [] [ ] [1", "[link](x) [a1] [] [ ] [1"),
            ("open [1 [2] [[3]]", "open [1 [2] [[3]]"),
            ("use `a[9]` [9] now", "use `a[9]` now"),
            ("``x ` [9]`` [9]!", "``x ` [9]``!"),
            ("one ` tick [9]\nnext [9] line", "one ` tick [9]\nnext line"),
            ("```\nx[9] = 1\n```\n[9] end [1]", "```\nx[9] = 1\n```\nend [1]"),
            ("```rust\nx[9]\n", "```rust\nx[9]\n"),
            ("~~~\n [9]\n~~~\n[9] end ~~~ [9]", "~~~\n [9]\n~~~\nend ~~~"),
            ("~one [9]", "~one"),
            ("trailing space [9] ", "trailing space "),
            ("", ""),
        ] {
            assert_eq!(clean(text, 3), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_known_when_there_are_no_passages() {
        assert_eq!(clean("a [1] b【2】", 0), "a b");
    }

    #[test]
    fn only_a_possible_marker_is_held_back() {
        let mut filter = MarkerFilter::new(2);
        assert_eq!(filter.push("Two years "), "Two years");
        assert_eq!(filter.push("["), "");
        assert_eq!(filter.push("1"), "");
        assert_eq!(filter.push("] and"), " [1] and");
        assert_eq!(filter.push(" [1"), "");
        assert_eq!(filter.finish(), " [1");
        assert_eq!(filter.push("[2]"), "[2]");
    }

    #[test]
    fn what_is_dropped_inside_a_bracket_leaves_no_marker_behind() {
        assert_eq!(clean("[[9]1]", 1), "[…1]");
        for text in ["[0†[4]】", "[0†a [4]】", "【1†a [4] b [5]]"] {
            let once = clean(text, 0);
            assert_eq!(clean(&once, 0), once, "{text}");
            assert!(once.contains("[…]"), "{once}");
        }
    }

    /// Whether the bracket at `at` stands behind a word, or behind brackets that do.
    fn is_behind_a_word(text: &str, at: usize) -> bool {
        text[..at].ends_with(|c: char| is_word(c) || c == ']')
    }

    proptest! {
        #[test]
        fn any_cut_of_the_stream_gives_the_same_text(
            text in "([a-c \n`.,\\-†]|\\[|\\]|【|】|[0-9]|中){0,60}",
            cuts in proptest::collection::vec(0usize..60, 0..6),
            known in 0usize..5,
        ) {
            let whole = clean(&text, known);
            let points = |(place, n): &(Range<usize>, u32)| {
                (1..=known).contains(&(*n as usize)) || is_behind_a_word(&whole, place.start)
            };
            prop_assert!(markers(&whole).iter().all(points), "{}", whole);
            prop_assert_eq!(clean(&whole, known), whole.clone());
            let chars: Vec<char> = text.chars().collect();
            let mut bounds: Vec<usize> = cuts.into_iter().map(|cut| cut.min(chars.len())).collect();
            bounds.push(0);
            bounds.push(chars.len());
            bounds.sort_unstable();
            let mut filter = MarkerFilter::new(known);
            let mut pieces = String::new();
            for pair in bounds.windows(2) {
                pieces.push_str(&filter.push(&chars[pair[0]..pair[1]].iter().collect::<String>()));
            }
            pieces.push_str(&filter.finish());
            prop_assert_eq!(&pieces, &whole);
        }

        #[test]
        fn never_panics_and_no_marker_points_nowhere(text in "\\PC{0,80}", known in 0usize..3) {
            let out = clean(&text.replace('`', ""), known);
            for n in known + 1..1000 {
                let marker = format!("[{n}]");
                prop_assert!(out.match_indices(&marker).all(|(at, _)| is_behind_a_word(&out, at)), "{}", out);
            }
        }

        #[test]
        fn what_is_no_marker_is_left_as_it_is(
            pieces in proptest::collection::vec(
                "[a-zé]{1,5}\\[[0-9]{1,3}\\](\\[[0-9]\\])?|[a-z]{1,4}_[a-z]\\[[0-9], ?[0-9]{2,3}\\]|[a-z中 ]{0,6}\\[(20[0-9]{2}|[a-z]{1,3}|x| |0, [0-9]|[0-9]\\.5)\\](\\([a-z]\\))?|`[a-z \\[\\]0-9]{1,8}`|\n```\n[a-z \\[\\]0-9\n]{0,12}\n```\n|[a-z ,.中。]{0,8}",
                0..8,
            ),
        ) {
            let text = pieces.join("; ");
            prop_assert_eq!(clean(&text, 0), text);
        }
    }
}
