//! Evidence as text for a model, and back: the knowledge tool's result and the material of a resumed question.
//!
//! The format is fixed, so that the built-in model reads exactly what retrieval wrote:
//!
//! ```text
//! Assumption: assuming that you mean Aurora X1
//! Edition in force: 2025
//! Contradiction: the sources differ; give each with its source and say that they differ
//! Per value: Aurora X1 [1][3] | Borealis Z9 [2]
//! Chosen: Basic | Premium
//! Part: how long is it [1]
//! Edition in force: 2025
//! Not in the documents: how much does it weigh
//!
//! [1] aurora.md (Page 2):
//! Section: Warranty > Duration
//! About: Aurora X1 · 2025
//! Table header: | Part | Months |
//! The battery is covered for 24 months.
//!
//! [2] borealis.md:
//! …
//!
//! Question: How long is the warranty?
//! ```
//!
//! Guidance behind a `Part` is that part's. Each guidance line, `(Page …)`, `Section`, `About`, `Table header` and the closing `Question` stand only where there
//! is something to say. A line of a passage's text that could be taken for one of the format's own (spaces, then `[n]`
//! or one of the passage keys) is written with one more space in front; reading takes it off again, so texts survive
//! unchanged but for the white space around them.

use super::{Evidence, Guidance, Part, Passage, ValueGroup};

const ASSUMPTION: &str = "Assumption: ";
const EDITION: &str = "Edition in force: ";
const CONTRADICTION: &str = "Contradiction: ";
const PER_VALUE: &str = "Per value: ";
const PART: &str = "Part: ";
const UNANSWERED: &str = "Not in the documents: ";
const CHOSEN: &str = "Chosen: ";
const SECTION: &str = "Section: ";
const ABOUT: &str = "About: ";
const HEADER: &str = "Table header: ";
const QUESTION: &str = "Question: ";
const PAGE: &str = " (Page ";

/// A passage as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedPassage {
    /// Its number; the first one's is 1, or more where an earlier search of the turn has found passages too.
    pub marker: u32,
    /// The document's name.
    pub filename: String,
    /// Page label.
    pub page: Option<String>,
    /// Heading path, " > " between.
    pub section: Option<String>,
    /// Subject, edition and place of the document, " · " between.
    pub about: Option<String>,
    /// Header row of its table.
    pub header: Option<String>,
    /// The text.
    pub text: String,
}

/// What [`render_evidence`] wrote, read back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedEvidence {
    /// The resolved question; empty if there was none.
    pub question: String,
    /// What the answer has to mind.
    pub guidance: Guidance,
    /// In the order of the markers.
    pub passages: Vec<ParsedPassage>,
}

impl ParsedEvidence {
    /// What a part of the question is answered from; none where no passage answers it.
    #[must_use]
    pub fn of_part(&self, part: &Part) -> Option<Self> {
        let is_own = |passage: &&ParsedPassage| part.markers.contains(&passage.marker);
        let passages: Vec<ParsedPassage> = self.passages.iter().filter(is_own).cloned().collect();
        (!passages.is_empty()).then(|| Self {
            question: part.question.clone(),
            guidance: part.guidance.clone(),
            passages,
        })
    }

    /// The marker of the passage at this place.
    #[must_use]
    pub fn marker(&self, place: usize) -> u32 {
        self.passages.get(place).map_or(0, |passage| passage.marker)
    }
}

/// Writes numbered passages with their guidance, in the format of this module.
#[must_use]
pub fn render_evidence(evidence: &Evidence) -> String {
    let mut out = String::new();
    push_guidance(&mut out, &evidence.guidance);
    for (index, passage) in evidence.passages.iter().enumerate() {
        if !out.is_empty() {
            out.push('\n');
        }
        push_passage(&mut out, evidence.before + index + 1, passage);
    }
    if !evidence.question.trim().is_empty() {
        out.push('\n');
        push_line(&mut out, QUESTION, &evidence.question);
    }
    out.truncate(out.trim_end().len());
    out
}

fn push_guidance(out: &mut String, guidance: &Guidance) {
    if let Some(assumption) = &guidance.assumption {
        push_line(out, ASSUMPTION, assumption);
    }
    if let Some(edition) = &guidance.edition {
        push_line(out, EDITION, edition);
    }
    if guidance.contradiction {
        push_line(out, CONTRADICTION, "the sources differ; give each with its source and say that they differ");
    }
    if !guidance.per_value.is_empty() {
        let groups: Vec<String> = guidance.per_value.iter().map(|group| marked(&group.value, &group.markers)).collect();
        push_line(out, PER_VALUE, &groups.join(" | "));
    }
    for group in &guidance.chosen {
        // As in values: the separator is kept out.
        let values: Vec<String> = group.iter().map(|value| value.replace('|', "/")).collect();
        push_line(out, CHOSEN, &values.join(" | "));
    }
    for part in &guidance.parts {
        if part.markers.is_empty() {
            push_line(out, UNANSWERED, &part.question);
        } else {
            push_line(out, PART, &marked(&part.question, &part.markers));
            push_guidance(out, &part.guidance);
        }
    }
}

/// Reads what [`render_evidence`] wrote; `None` when the text holds no numbered passage.
#[must_use]
pub fn parse_evidence(text: &str) -> Option<ParsedEvidence> {
    let mut parsed = ParsedEvidence::default();
    let mut body: Vec<&str> = Vec::new();
    for line in text.lines() {
        let expected = parsed.passages.last().map(|passage| passage.marker + 1);
        if let Some((marker, filename, page)) = heading(line, expected) {
            close(&mut parsed, &mut body);
            parsed.passages.push(ParsedPassage { marker, filename, page, ..ParsedPassage::default() });
            continue;
        }
        if let Some(question) = line.strip_prefix(QUESTION) {
            close(&mut parsed, &mut body);
            parsed.question = question.to_owned();
            continue;
        }
        let Some(passage) = parsed.passages.last_mut() else {
            read_guidance(&mut parsed.guidance, line);
            continue;
        };
        if let Some(section) = line.strip_prefix(SECTION) {
            passage.section = Some(section.to_owned());
        } else if let Some(about) = line.strip_prefix(ABOUT) {
            passage.about = Some(about.to_owned());
        } else if let Some(header) = line.strip_prefix(HEADER) {
            passage.header = Some(header.to_owned());
        } else {
            body.push(if looks_like_format(line) { line.strip_prefix(' ').unwrap_or(line) } else { line });
        }
    }
    close(&mut parsed, &mut body);
    (!parsed.passages.is_empty()).then_some(parsed)
}

fn push_passage(out: &mut String, marker: usize, passage: &Passage) {
    out.push_str(&format!("[{marker}] {}", one_line(&passage.filename)));
    if let Some(page) = &passage.page_number {
        out.push_str(&format!("{PAGE}{})", one_line(page)));
    }
    out.push_str(":\n");
    if let Some(section) = &passage.section {
        push_line(out, SECTION, section);
    }
    let about: Vec<&str> = [&passage.facets.subject, &passage.facets.edition, &passage.facets.place]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !about.is_empty() {
        push_line(out, ABOUT, &about.join(" · "));
    }
    if let Some(header) = &passage.header {
        push_line(out, HEADER, header);
    }
    for line in passage.text.trim().lines() {
        if looks_like_format(line) {
            out.push(' ');
        }
        out.push_str(line);
        out.push('\n');
    }
}

fn push_line(out: &mut String, key: &str, value: &str) {
    out.push_str(key);
    out.push_str(&one_line(value));
    out.push('\n');
}

/// Line breaks would end the format's own lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn marked(value: &str, markers: &[u32]) -> String {
    let markers: String = markers.iter().map(|marker| format!("[{marker}]")).collect();
    // The separator is kept out of values, so that the line can be split again.
    format!("{} {markers}", value.replace('|', "/")).trim_end().to_owned()
}

fn read_guidance(guidance: &mut Guidance, line: &str) {
    if let Some(part) = line.strip_prefix(PART) {
        let ValueGroup { value, markers } = read_group(part);
        guidance.parts.push(Part { question: value, markers, guidance: Guidance::default() });
        return;
    }
    if let Some(part) = line.strip_prefix(UNANSWERED) {
        guidance.parts.push(Part { question: part.to_owned(), markers: Vec::new(), guidance: Guidance::default() });
        return;
    }
    let guidance = match guidance.parts.last_mut() {
        Some(part) => &mut part.guidance,
        None => guidance,
    };
    if let Some(assumption) = line.strip_prefix(ASSUMPTION) {
        guidance.assumption = Some(assumption.to_owned());
    } else if let Some(edition) = line.strip_prefix(EDITION) {
        guidance.edition = Some(edition.to_owned());
    } else if line.starts_with(CONTRADICTION) {
        guidance.contradiction = true;
    } else if let Some(groups) = line.strip_prefix(PER_VALUE) {
        guidance.per_value = groups.split(" | ").map(read_group).collect();
    } else if let Some(group) = line.strip_prefix(CHOSEN) {
        guidance.chosen.push(group.split(" | ").map(str::to_owned).collect());
    }
}

fn read_group(text: &str) -> ValueGroup {
    let mut value = text.trim();
    let mut markers = Vec::new();
    while let Some((head, number)) = value.strip_suffix(']').and_then(|head| head.rsplit_once('[')) {
        let Ok(marker) = number.parse() else { break };
        markers.insert(0, marker);
        value = head.trim_end();
    }
    ValueGroup { value: value.to_owned(), markers }
}

/// The heading of a passage: number, file name and page. The first passage may have any number, further ones count on.
fn heading(line: &str, expected: Option<u32>) -> Option<(u32, String, Option<String>)> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let marker = number.parse().ok().filter(|marker| expected.is_none_or(|expected| *marker == expected))?;
    let rest = rest.strip_suffix(':')?;
    if let Some((filename, page)) = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(PAGE)) {
        return Some((marker, filename.to_owned(), Some(page.to_owned())));
    }
    Some((marker, rest.to_owned(), None))
}

fn looks_like_format(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    if [SECTION, ABOUT, HEADER, QUESTION].iter().any(|key| line.starts_with(key)) {
        return true;
    }
    let Some((number, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) else { return false };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn close(parsed: &mut ParsedEvidence, body: &mut Vec<&str>) {
    if let Some(passage) = parsed.passages.last_mut()
        && !body.is_empty()
    {
        body.join("\n").trim_end().clone_into(&mut passage.text);
    }
    body.clear();
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::passage, *};

    #[test]
    fn everything_survives_the_round_trip() {
        let mut first =
            passage("a: b (Page 9).md", "One.\n[2] looks like a passage:\n  [3] too\nSection: mine\n\nTwo.");
        first.page_number = Some("2".into());
        first.section = Some("Warranty > Duration".into());
        first.header = Some("| a | b |".into());
        first.facets.subject = Some("Aurora X1".into());
        first.facets.edition = Some("2025".into());
        let second = passage("手册.md", "保修期为两年。");
        let guidance = Guidance {
            assumption: Some("assuming that you mean Aurora X1".into()),
            edition: Some("2025".into()),
            contradiction: true,
            per_value: vec![
                ValueGroup { value: "Aurora X1".into(), markers: vec![1] },
                ValueGroup { value: "北方 Z9".into(), markers: vec![2] },
            ],
            chosen: vec![vec!["Basic".into(), "Premium".into()], vec!["2024".into()]],
            parts: vec![
                Part {
                    question: "how much is it".into(),
                    markers: vec![1, 2],
                    guidance: Guidance { chosen: vec![vec!["Pro".into()]], ..Guidance::default() },
                },
                Part { question: "how much does it weigh".into(), markers: Vec::new(), guidance: Guidance::default() },
                Part { question: "who made it".into(), markers: vec![2], guidance: Guidance::default() },
            ],
        };
        let evidence = Evidence {
            passages: vec![first.clone(), second.clone()],
            guidance: guidance.clone(),
            question: "How long\nis it?".into(),
            ..Evidence::default()
        };
        let parsed = parse_evidence(&render_evidence(&evidence)).unwrap();
        let expected = ParsedEvidence {
            question: "How long is it?".into(),
            guidance,
            passages: vec![
                ParsedPassage {
                    marker: 1,
                    filename: first.filename,
                    page: Some("2".into()),
                    section: first.section,
                    about: Some("Aurora X1 · 2025".into()),
                    header: first.header,
                    text: first.text,
                },
                ParsedPassage { marker: 2, filename: second.filename, text: second.text, ..ParsedPassage::default() },
            ],
        };
        assert_eq!(parsed, expected);
    }

    #[test]
    fn passages_of_a_further_search_count_on() {
        let evidence = Evidence {
            passages: vec![passage("a.md", "One."), passage("b.md", "[1] is no heading:")],
            guidance: Guidance {
                per_value: vec![ValueGroup { value: "A".into(), markers: vec![1, 2] }],
                ..Guidance::default()
            },
            ..Evidence::default()
        };
        let text = render_evidence(&evidence.after(8));
        assert_eq!(text, "Per value: A [9][10]\n\n[9] a.md:\nOne.\n\n[10] b.md:\n [1] is no heading:");
        let parsed = parse_evidence(&text).unwrap();
        assert_eq!(parsed.passages.iter().map(|passage| passage.marker).collect::<Vec<_>>(), [9, 10]);
    }

    #[test]
    fn searches_of_a_turn_stand_in_the_order_of_their_markers() {
        let search = |name: &str, before| {
            Evidence { passages: vec![passage(name, "x"), passage(name, "y")], ..Evidence::default() }.after(before)
        };
        let mut all = Evidence::default();
        for evidence in [search("second", 2), search("first", 0), search("third", 4)] {
            all.extend(evidence);
        }
        let names: Vec<&str> = all.passages.iter().map(|passage| passage.filename.as_str()).collect();
        assert_eq!(names, ["first", "first", "second", "second", "third", "third"]);
    }

    #[test]
    fn without_guidance_it_starts_with_the_first_passage() {
        let mut only = passage("aurora.md", "Two years.");
        only.page_number = Some("3".into());
        let evidence = Evidence { passages: vec![only], ..Evidence::default() };
        assert_eq!(render_evidence(&evidence), "[1] aurora.md (Page 3):\nTwo years.");
    }

    #[test]
    fn a_text_without_passages_is_no_evidence() {
        assert_eq!(parse_evidence("NO_KNOWLEDGE: nothing found"), None);
        assert_eq!(parse_evidence(""), None);
    }
}
