//! What stands behind a marker: the sentences of the passage that say it, verbatim, with their place.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use sha2::{Digest, Sha256};

use super::filter::markers;
use crate::{
    domain::{chat::Citation, evidence::Passage},
    text::{
        cut,
        sentences::{is_row, sentences},
        terms::{Kind, analyse},
    },
};

/// Most neighbouring sentences of a quote: of one for a single statement, and of one that several lean on.
const MAX_SENTENCES: usize = 3;
const MAX_SENTENCES_OF_SEVERAL: usize = 12;
/// Most characters of a quote.
const MAX_CHARS: usize = 600;
/// Most characters of a quote whose statements lie apart: it reaches from the first to the last of them.
const MAX_CHARS_APART: usize = 1_500;
/// What a passage must hold of a statement for the quote to reach there.
const HELD: f32 = 0.5;
/// What each further sentence must add to the supported share to be quoted too.
const SENTENCE_COST: f32 = 0.06;
/// How much more a number counts than a word: a quote without the answer's number supports nothing.
const NUMBER_WEIGHT: f32 = 4.0;

/// The citations of a finished answer, by marker; each marker once. Markers beyond the passages are left out.
///
/// The quote is the window of neighbouring sentences of the passage that holds most of what the marker stands behind: at
/// most three for one statement. Where the same marker stands behind several, behind a quotation or behind the head of a
/// list, it reaches from the first to the last sentence that holds one. Where they share no word (another language), it is
/// the passage's first sentence of prose.
#[must_use]
pub fn citations(text: &str, passages: &[Passage]) -> Vec<Citation> {
    let mut claims: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let markers = markers(text);
    let masked = masked(text, &markers);
    let sentences = sentences(&masked);
    for (at, (place, n)) in markers.iter().enumerate() {
        let said = claims.entry(*n).or_default();
        match quotation(&masked, place) {
            Some(quotation) => {
                said.extend(self::sentences(quotation).into_iter().filter_map(|range| quotation.get(range)))
            }
            None => said.push(claim(&masked, &sentences, place)),
        }
        let next = markers.get(at + 1).map_or(masked.len(), |(next, _)| next.start);
        said.extend(items(masked.get(place.end..next).unwrap_or_default()));
    }
    claims
        .into_iter()
        .filter_map(|(n, claim)| {
            let index = usize::try_from(n).ok()?.checked_sub(1)?;
            Some(citation(n, &claim, passages.get(index)?))
        })
        .collect()
}

fn citation(marker: u32, claims: &[&str], passage: &Passage) -> Citation {
    let most = if claims.len() > 1 { MAX_SENTENCES_OF_SEVERAL } else { MAX_SENTENCES };
    let (range, longest) = match apart(claims, &passage.text) {
        Some(range) => (range, MAX_CHARS_APART),
        None => (best_window(claims, &passage.text, most).1, MAX_CHARS),
    };
    let before = passage.text.get(..range.start).unwrap_or_default();
    let quote = cut(passage.text.get(range).unwrap_or_default(), longest).trim_end();
    let start = passage.start + chars(before);
    Citation {
        marker,
        document_id: passage.document_id,
        version: passage.version,
        filename: passage.filename.clone(),
        page: page(passage, start),
        start,
        end: start + chars(quote),
        quote: quote.to_owned(),
        quote_sha256: hex::encode(Sha256::digest(quote.as_bytes())),
        removed: false,
    }
}

/// The page on which the character at `start` stands.
fn page(passage: &Passage, start: i64) -> Option<String> {
    let begun = passage.pages.iter().rfind(|page| i64::try_from(page.start).is_ok_and(|begin| begin <= start));
    begun.map(|page| page.label.clone()).or_else(|| passage.page_number.clone())
}

fn chars(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

/// `text` with spaces in place of its markers, every byte where it was.
fn masked(text: &str, markers: &[(Range<usize>, u32)]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for (place, _) in markers {
        masked.push_str(text.get(from..place.start).unwrap_or_default());
        masked.extend(std::iter::repeat_n(' ', place.len()));
        from = place.end;
    }
    masked.push_str(text.get(from..).unwrap_or_default());
    masked
}

/// The sentence that a marker stands in or behind; at the beginning of a line, the one that follows.
fn claim<'t>(masked: &'t str, sentences: &[Range<usize>], place: &Range<usize>) -> &'t str {
    let line_start = masked.get(..place.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let before = sentences.iter().rposition(|sentence| sentence.start < place.start);
    let after = sentences.iter().find(|sentence| sentence.start >= place.start);
    let chosen = match (before, after) {
        (Some(before), _) if sentences[before].end > line_start => Some(whole(masked, sentences, before)),
        (_, Some(after)) if !masked.get(place.end..after.start).unwrap_or_default().contains('\n') => {
            Some(after.clone())
        }
        (before, after) => before.map(|at| sentences[at].clone()).or_else(|| after.cloned()),
    };
    chosen.and_then(|range| masked.get(range)).unwrap_or_default()
}

/// The sentence at `last` with the clauses before it that end in a semicolon: together they are one statement, as where
/// a table's row is told.
fn whole(masked: &str, sentences: &[Range<usize>], last: usize) -> Range<usize> {
    let is_open = |sentence: &Range<usize>| {
        masked.get(sentence.clone()).is_some_and(|text| text.trim_end().ends_with([';', '；']))
    };
    let first = sentences[..last].iter().rposition(|sentence| !is_open(sentence)).map_or(0, |at| at + 1);
    sentences[first].start..sentences[last].end
}

/// What stands in quotation marks right before a marker: all of it leans on that.
fn quotation<'t>(masked: &'t str, place: &Range<usize>) -> Option<&'t str> {
    let before = masked.get(..place.start)?.trim_end();
    let close = before.chars().next_back()?;
    let open = match close {
        '”' => '“',
        '」' => '「',
        '"' => '"',
        _ => return None,
    };
    let inside = before.get(..before.len() - close.len_utf8())?;
    inside.rfind(open).and_then(|at| inside.get(at + open.len_utf8()..))
}

/// The stretch of `passage` from the first to the last of what holds `claims`, where that is longer than one window and
/// not too long.
fn apart(claims: &[&str], passage: &str) -> Option<Range<usize>> {
    if claims.len() < 2 {
        return None;
    }
    let windows = claims.iter().map(|claim| best_window(&[claim], passage, MAX_SENTENCES));
    let held: Vec<Range<usize>> =
        windows.filter(|(share, range)| *share >= HELD && !range.is_empty()).map(|(_, range)| range).collect();
    let start = held.iter().map(|range| range.start).min()?;
    let end = held.iter().map(|range| range.end).max()?;
    let text = passage.get(start..end)?;
    (text.chars().count() <= MAX_CHARS_APART).then_some(start..end)
}

/// The items of a list that `after`, the text behind a marker, begins with: they lean on the marker at its head.
fn items(after: &str) -> impl Iterator<Item = &str> {
    let mut lines = after.split('\n');
    let is_at_line_end = lines.next().is_some_and(|rest| !rest.contains(char::is_alphanumeric));
    let is_item = |line: &&str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        ["- ", "* ", "• ", ". ", ") ", "、"].iter().any(|mark| line.starts_with(mark))
    };
    lines.filter(|line| !line.trim().is_empty()).take_while(is_item).filter(move |_| is_at_line_end)
}

/// The at most `most` neighbouring sentences of `passage` that hold most of `claims`, each counting alike, as bytes; and
/// how much of each they hold, less what each further sentence costs.
fn best_window(claims: &[&str], passage: &str, most: usize) -> (f32, Range<usize>) {
    let sentences = sentences(passage);
    let terms: Vec<HashSet<String>> = sentences
        .iter()
        .map(|range| {
            analyse(passage.get(range.clone()).unwrap_or_default()).into_iter().map(|term| term.text).collect()
        })
        .collect();
    let claims: Vec<HashMap<String, f32>> = claims.iter().map(|claim| weights(claim, &terms)).collect();
    let mut best: Option<(f32, Range<usize>)> = None;
    for first in 0..sentences.len() {
        for last in first..sentences.len().min(first + most) {
            let range = sentences[first].start..sentences[last].end;
            if last > first && passage.get(range.clone()).unwrap_or_default().chars().count() > MAX_CHARS {
                break;
            }
            let held: f32 = claims.iter().map(|claim| share(claim, &terms[first..=last])).sum();
            #[expect(clippy::cast_precision_loss, reason = "there are few")]
            let score = held / claims.len().max(1) as f32 - SENTENCE_COST * (last - first) as f32;
            if held > 0.0 && best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, range));
            }
        }
    }
    let prose = || sentences.iter().find(|range| is_prose(passage.get((*range).clone()).unwrap_or_default()));
    best.unwrap_or_else(|| (0.0, prose().or_else(|| sentences.first()).cloned().unwrap_or_default()))
}

/// Which share of a claim's weight these sentences hold.
fn share(claim: &HashMap<String, f32>, sentences: &[HashSet<String>]) -> f32 {
    let is_held = |term: &String| sentences.iter().any(|held| held.contains(term));
    let held: f32 = claim.iter().filter(|(term, _)| is_held(term)).map(|(_, weight)| weight).sum();
    held / claim.values().sum::<f32>().max(f32::EPSILON)
}

fn is_prose(sentence: &str) -> bool {
    !sentence.starts_with('#') && !is_row(sentence) && sentence.ends_with(|c: char| !c.is_alphanumeric())
}

/// The terms of the claim with what each is worth: the fewer sentences hold it, the more.
fn weights(claim: &str, sentences: &[HashSet<String>]) -> HashMap<String, f32> {
    let mut weights = HashMap::new();
    for term in analyse(claim) {
        let holding = sentences.iter().filter(|held| held.contains(&term.text)).count();
        let kind = match term.kind {
            Kind::Word if term.text.bytes().any(|b| b.is_ascii_digit()) => NUMBER_WEIGHT,
            Kind::Word => 1.0,
            Kind::Part => 0.5,
            Kind::Pair => 0.25,
        };
        #[expect(clippy::cast_precision_loss, reason = "a passage has few sentences")]
        let weight = kind / (holding.max(1) as f32).sqrt();
        weights.insert(term.text, weight);
    }
    weights
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{evidence::fixture, extract::PageMark};

    /// A passage that begins at character `start` of its version's text.
    fn passage(start: i64, text: &str) -> Passage {
        Passage {
            page_number: Some("2".into()),
            version: 3,
            start,
            end: start + chars(text),
            ..fixture::passage("aurora.md", text)
        }
    }

    fn quotes(text: &str, passages: &[Passage]) -> Vec<(u32, String)> {
        citations(text, passages).into_iter().map(|citation| (citation.marker, citation.quote)).collect()
    }

    #[test]
    fn a_quote_is_on_the_page_where_it_begins() {
        let pages = [("iii", 130), ("iv", 160)].map(|(label, start)| PageMark { label: label.into(), start });
        let text = "The case is made of steel.\n\nThe warranty lasts 24 months.\n\nThe battery lasts 12 hours.";
        let manual = Passage { pages: pages.into(), ..passage(102, text) };
        let page = |claim: &str| citations(claim, std::slice::from_ref(&manual)).remove(0).page.unwrap();
        assert_eq!(page("The case is made of steel [1]."), "2");
        assert_eq!(page("The warranty lasts 24 months [1]."), "iii");
        assert_eq!(page("The battery lasts 12 hours [1]."), "iv");
    }

    #[test]
    fn the_sentence_that_says_it() {
        let manual = passage(
            100,
            "# Warranty\n\nThe Aurora X1 is made in Lyon. The warranty lasts 24 months. The battery is covered for 12 months.",
        );
        let found = citations("The warranty lasts 24 months [1].", std::slice::from_ref(&manual));
        let quote = "The warranty lasts 24 months.";
        let start = 100 + 43;
        assert_eq!(
            found,
            [Citation {
                marker: 1,
                document_id: manual.document_id,
                version: 3,
                filename: "aurora.md".into(),
                page: Some("2".into()),
                start,
                end: start + 29,
                quote: quote.into(),
                quote_sha256: hex::encode(Sha256::digest(quote.as_bytes())),
                removed: false,
            }]
        );
    }

    #[test]
    fn statements_that_lie_apart_stand_in_one_quote() {
        let between = "Unopened filters may be kept for later. The box should be dry. ".repeat(8);
        let text = format!("Returns take 30 days. {between}The refund takes 3 working days. Nothing else is said.");
        let rules = [passage(0, &text)];
        let reached = format!("Returns take 30 days. {between}The refund takes 3 working days.");
        for answer in [
            "Returns take 30 days. [1] The refund takes 3 working days. [1]",
            "The document says: “Returns take 30 days. The refund takes 3 working days.” [1]",
            "文档的原文是：“Returns take 30 days. The refund takes 3 working days.”[1]",
        ] {
            assert_eq!(quotes(answer, &rules), [(1, reached.clone())], "{answer}");
        }
        let far = passage(0, &text.replace(&between, &between.repeat(3)));
        let quote = &quotes("Returns take 30 days. [1] The refund takes 3 working days. [1]", &[far])[0].1;
        assert!(quote.chars().count() <= MAX_CHARS_APART && !quote.is_empty());
    }

    #[test]
    fn each_marker_once_by_number_and_none_beyond_the_passages() {
        let passages = [passage(0, "保修期为两年。电池保修一年。"), passage(0, "Returns take 30 days. Nothing else.")];
        assert_eq!(
            quotes("退货需要 30 天。[2] 电池只保一年[1]，整机保修两年。[1][7][0]", &passages),
            [(1, "保修期为两年。电池保修一年。".into()), (2, "Returns take 30 days.".into())]
        );
    }

    #[test]
    fn what_several_statements_lean_on_is_quoted_whole() {
        let manual = passage(
            0,
            "# K2\n\nWe give a warranty of 3 years on the K2. Keep the receipt. It is made in Trieste. It weighs 7 kg.\n\n\
             The warranty does not cover limescale. Call us first.",
        );
        let said = "We give a warranty of 3 years on the K2 [1]. The warranty does not cover limescale. [1]";
        let quote = quotes(said, std::slice::from_ref(&manual)).remove(0).1;
        assert!(quote.starts_with("We give") && quote.ends_with("limescale."), "{quote}");
    }

    #[test]
    fn a_list_leans_on_the_marker_at_its_head() {
        let tiers = passage(
            0,
            "## 会员等级\n- 银卡会员：享受9.5折。\n- 金卡会员：享受9折。\n- 钻石会员：享受8.5折。\n\n热线每天开放。",
        );
        let said =
            "会员等级 [1]\n\n- 银卡会员：享受9.5折。\n- 金卡会员：享受9折。\n- 钻石会员：享受8.5折。\n\n热线见手册。";
        let quote = quotes(said, std::slice::from_ref(&tiers)).remove(0).1;
        assert!(quote.contains("银卡会员") && quote.contains("8.5折") && !quote.contains("热线"), "{quote}");
    }

    #[test]
    fn markers_before_their_sentence_in_rows_and_in_code() {
        let passages = [passage(0, "Basic | 10 €\nPro | 25 €"), passage(0, "One thing. Another thing costs 7 coins.")];
        assert_eq!(
            quotes("[2] The other costs 7 coins.\n- Pro: 25 € [1]\n`a[1]`", &passages),
            [(1, "Pro | 25 €".into()), (2, "Another thing costs 7 coins.".into())]
        );
        assert_eq!(quotes("`a[1]`\n```\nb[2]\n```\n", &passages), []);
    }

    #[test]
    fn a_row_told_in_clauses_is_quoted_as_its_row() {
        let prices = passage(
            0,
            "Plan | Price | Response\nBasic | 4.90 EUR | 5 working days\nPlus | 8.90 EUR | 3 working days\nPremium | 14.90 EUR | 1 working day",
        );
        assert_eq!(
            quotes("Premium – Price: 14.90 EUR; Response: 1 working day. [1]", std::slice::from_ref(&prices)),
            [(1, "Premium | 14.90 EUR | 1 working day".into())]
        );
    }

    #[test]
    fn another_language_falls_back_to_numbers_then_to_prose() {
        let manual = passage(0, "# Manual\nWelcome to it. The warranty lasts 24 months.");
        assert_eq!(
            quotes("保修期为 24 个月[1]。", std::slice::from_ref(&manual))[0].1,
            "The warranty lasts 24 months."
        );
        assert_eq!(quotes("可以退货[1]。", std::slice::from_ref(&manual))[0].1, "Welcome to it.");
    }

    #[test]
    fn a_quote_is_bounded_and_an_empty_passage_gives_an_empty_one() {
        let long = passage(5, &"长".repeat(2000));
        let found = citations("长长[1]", &[long, passage(9, "")]);
        assert_eq!((found[0].start, found[0].end), (5, 605));
        let found = citations("x [1]", &[passage(9, "")]);
        assert_eq!((found[0].start, found[0].end, found[0].quote.as_str()), (9, 9, ""));
    }

    #[test]
    fn a_quote_is_cut_at_any_length_of_wide_characters() {
        for letter in ["长", "𠀀", "👩\u{200d}👧", "e\u{301}"] {
            for count in (1..=3).chain(195..=205).chain(296..=304).chain(595..=605) {
                let text = letter.repeat(count);
                let quote = citations(&format!("{letter}[1]"), &[passage(0, &text)]).remove(0);
                assert!(text.starts_with(&quote.quote) && quote.end == chars(&quote.quote), "{letter} × {count}");
                assert!(quote.quote.len().is_multiple_of(letter.len()), "no letter is torn apart");
            }
        }
    }

    proptest! {
        #[test]
        fn every_quote_stands_where_it_says(
            text in "(The |warranty |[0-9]{1,2} |保修|两年|。|\\. |\n|x\\[1\\]|\\[[0-9]\\]|`){0,30}",
            bodies in proptest::collection::vec("(The |warranty |[0-9]{1,2} |保修|两年|。|\\. |\n|é |🙂){0,30}", 0..4),
        ) {
            let lead = 7;
            let passages: Vec<Passage> = bodies.iter().map(|body| passage(lead, body)).collect();
            let found = citations(&text, &passages);
            for citation in &found {
                let body = &bodies[citation.marker as usize - 1];
                let slice: String = body
                    .chars()
                    .skip(usize::try_from(citation.start - lead).unwrap())
                    .take(usize::try_from(citation.end - citation.start).unwrap())
                    .collect();
                prop_assert_eq!(&slice, &citation.quote);
                prop_assert_eq!(&citation.quote_sha256, &hex::encode(Sha256::digest(slice.as_bytes())));
            }
            let numbers: Vec<u32> = found.iter().map(|citation| citation.marker).collect();
            prop_assert!(numbers.is_sorted_by(|a, b| a < b));
        }
    }
}
