//! The rows of a table that the user chose or that the question names. A name that stands inside a longer one of the same
//! table means its own row alone: 金卡 beside 铂金卡, "Pro" beside "Pro Max".

use std::{collections::HashSet, ops::Range};

use super::{
    blocks::{Kind, block_of},
    wording::{said, says},
    write::{MAX_ITEMS, Writer},
};
use crate::text::{fold, question::Content};

impl Writer<'_> {
    /// All rows or items, and no others, that are about what the user chose, where a table or list tells it apart.
    pub(super) fn chosen(&self, ranked: &[(usize, f32)]) -> Option<String> {
        let units = &self.material.units;
        let is_name = |value: &String| units.iter().any(|unit| unit.is_called(value));
        let with_name = |value: &String| {
            let value = fold(value);
            let is_name = is_name(&value);
            (value, is_name)
        };
        let groups: Vec<Vec<(String, bool)>> =
            self.evidence.guidance.chosen.iter().map(|group| group.iter().map(with_name).collect()).collect();
        let is_meant = |at: usize| {
            let text = fold(&units[at].text);
            // What is called something longer is another thing.
            let means = |(value, is_name): &(String, bool)| {
                says(&text, value) && (!is_name || units[at].is_called(value) || !units[at].names_in(value))
            };
            groups.iter().all(|group| group.iter().any(means))
        };
        let is_piece = |at: usize| units[at].kind != Kind::Sentence && is_meant(at);
        let &(best, _) = ranked.iter().find(|&&(at, _)| !groups.is_empty() && is_piece(at))?;
        let rows: Vec<String> =
            block_of(units, best).filter(|&at| is_meant(at)).take(MAX_ITEMS).map(|at| self.quoted(at)).collect();
        Some(match rows.as_slice() {
            [only] => only.clone(),
            rows => rows.iter().map(|row| format!("- {row}")).collect::<Vec<_>>().join("\n"),
        })
    }

    /// The rows of the table of `best` whose labels the question says whole; else the one row of whose label it says a word
    /// that no other label has as much of.
    pub(super) fn named_rows(&self, best: usize) -> Vec<usize> {
        let units = &self.material.units;
        let block = block_of(units, best);
        if units[best].kind != Kind::Row || block.len() < 2 {
            return Vec::new();
        }
        let question = &self.material.question;
        let label = |at: usize| units[at].cells.first().map(String::as_str).unwrap_or_default();
        // What an earlier turn named stands in brackets.
        let own = question.folded.split_once(" (").map_or(question.folded.as_str(), |(own, _)| own);
        let said_in = |text: &str| -> Vec<usize> {
            let said = said(text, block.clone().map(label));
            block.clone().filter(|&at| said.contains(label(at))).collect()
        };
        let whole = Some(said_in(own)).filter(|rows| !rows.is_empty()).unwrap_or_else(|| said_in(&question.folded));
        let distinct: HashSet<&str> = whole.iter().map(|&at| label(at)).collect();
        // Who names every row means every row; a lone row that has a namesake is not singled out.
        let is_choice = whole.len() < block.len() || whole.len() > 1;
        if !whole.is_empty() && distinct.len() == whole.len() && is_choice {
            return whole;
        }
        if let Some(rows) = self.fullest_rows(block.clone()) {
            return rows;
        }
        let said = |label: &str| {
            let inside = |word: &&Content| word.text.chars().count() >= 2 && says(label, &word.text);
            question.content.iter().filter(inside).map(|word| word.text.chars().count()).max().unwrap_or_default()
        };
        let lengths: Vec<(usize, usize)> = block.map(|at| (at, said(label(at)))).collect();
        let longest = lengths.iter().map(|(_, length)| *length).max().unwrap_or_default();
        let named: Vec<usize> =
            lengths.iter().filter(|(_, length)| *length > 0 && *length == longest).map(|(at, _)| *at).collect();
        if named.len() == 1 { named } else { Vec::new() }
    }

    /// The rows of `block` that hold every word of the question which any of its rows holds, where others lack some: the
    /// rows of that thing, in that place, of that year.
    fn fullest_rows(&self, block: Range<usize>) -> Option<Vec<usize>> {
        let units = &self.material.units;
        let all = block.len();
        let cells = |at: usize| units[at].cells.iter().map(String::as_str);
        let is_name = |cell: &&str| cell.chars().any(char::is_alphabetic);
        let named = said(&self.material.question.folded, block.clone().flat_map(cells).filter(is_name));
        let words: Vec<&str> = self.material.question.content.iter().map(|word| word.text.as_str()).collect();
        let held: Vec<(usize, Vec<bool>)> = block
            .map(|at| {
                let text = fold(&units[at].text);
                (at, words.iter().map(|word| says(&text, word)).collect())
            })
            .collect();
        let any: Vec<bool> = (0..words.len()).map(|word| held.iter().any(|(_, held)| held[word])).collect();
        let full: Vec<usize> = held.iter().filter(|(_, held)| *held == any).map(|(at, _)| *at).collect();
        // A word may stand inside a longer name: the rows of which the question says the most cells whole.
        let names = |at: usize| cells(at).filter(|cell| named.contains(cell)).count();
        let most = full.iter().map(|&at| names(at)).max()?;
        let fullest: Vec<usize> = full.into_iter().filter(|&at| names(at) == most).collect();
        (fullest.len() < all).then_some(fullest)
    }
}
