//! Pieces of the documents as they stand in an answer: quoted, with their sources.

use std::collections::HashSet;

use super::{blocks::Unit, wording::ended, write::Writer};
use crate::text::{
    lang::{Lang, detect},
    words::is_han,
};

impl Writer<'_> {
    /// Sentences in the order of their passages, the best one's first, each with its marker; a run in another language is
    /// one quote. What several documents say is told of each by its name.
    pub(super) fn told(&self, chosen: &[usize], best: usize) -> String {
        let units = &self.material.units;
        let first = units[best].passage;
        let mut order: Vec<usize> = chosen.to_vec();
        order.sort_by_key(|&at| (units[at].passage != first, at));
        let mut runs: Vec<(&str, bool, String)> = Vec::new();
        let mut at = 0;
        while at < order.len() {
            let passage = units[order[at]].passage;
            let end = order[at..]
                .iter()
                .position(|&other| units[other].passage != passage)
                .map_or(order.len(), |len| at + len);
            let run = &order[at..end];
            let is_foreign = run.iter().any(|&unit| self.is_foreign(&units[unit]));
            let mut sentences: Vec<String> = run.iter().map(|&unit| ended(&units[unit].text)).collect();
            if !is_foreign {
                sentences = sentences
                    .iter()
                    .zip(run)
                    .map(|(sentence, &unit)| self.marked(sentence, passage, &[unit]))
                    .collect();
            }
            let separator = if sentences.iter().any(|text| text.chars().any(is_han)) { "" } else { " " };
            let text = sentences.join(separator);
            let text = if is_foreign { self.foreign(&text, passage, run) } else { text };
            runs.push((self.name_of(passage), is_foreign, text));
            at = end;
        }
        // A quote in another language names its document itself.
        let named: HashSet<&str> =
            runs.iter().filter(|(_, is_foreign, _)| !is_foreign).map(|(name, ..)| *name).collect();
        if named.len() < 2 {
            return runs.into_iter().map(|(.., text)| text).collect::<Vec<_>>().join(self.in_lang(" ", ""));
        }
        let colon = self.in_lang(": ", "：");
        let lines = runs.iter().map(
            |(name, is_foreign, text)| {
                if *is_foreign { format!("- {text}") } else { format!("- {name}{colon}{text}") }
            },
        );
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The name of a passage's document.
    pub(super) fn name_of(&self, passage: usize) -> &str {
        self.evidence.passages.get(passage).map_or("", |passage| passage.filename.as_str())
    }

    /// One piece with its marker.
    pub(super) fn quoted(&self, at: usize) -> String {
        let unit = &self.material.units[at];
        let text = ended(&unit.text);
        if self.is_foreign(unit) {
            self.foreign(&text, unit.passage, &[at])
        } else {
            self.marked(&text, unit.passage, &[at])
        }
    }

    /// The markers of a quote of these pieces: of its passage, and of those in other documents that say the same.
    pub(super) fn markers(&self, passage: usize, pieces: &[usize]) -> String {
        let units = &self.material.units;
        // One of several things compared is cited from its own document.
        let is_alone = pieces.len() == 1 && self.evidence.guidance.per_value.is_empty();
        let mut files = vec![self.name_of(passage)];
        let mut markers = format!("[{}]", self.evidence.marker(passage));
        for (at, unit) in units.iter().enumerate() {
            let is_same = |&piece: &usize| piece != at && units[piece].text == unit.text;
            if !files.contains(&self.name_of(unit.passage)) && is_alone && pieces.iter().all(is_same) {
                files.push(self.name_of(unit.passage));
                markers.push_str(&format!("[{}]", self.evidence.marker(unit.passage)));
            }
        }
        markers
    }

    /// `text` and its source; Chinese takes no space between.
    fn marked(&self, text: &str, passage: usize, pieces: &[usize]) -> String {
        let space = if text.ends_with(|c: char| "。！？”」）".contains(c)) { "" } else { " " };
        format!("{text}{space}{}", self.markers(passage, pieces))
    }

    /// A quote in another language, behind a lead-in in the user's.
    fn foreign(&self, text: &str, passage: usize, pieces: &[usize]) -> String {
        let name = self.name_of(passage);
        match self.lang {
            Lang::Zh => format!("文档《{name}》的原文是：“{text}”{}", self.markers(passage, pieces)),
            _ => format!("The document {name} says: “{text}” {}", self.markers(passage, pieces)),
        }
    }

    pub(super) fn is_foreign(&self, unit: &Unit) -> bool {
        matches!((self.lang, detect(&unit.text)), (Lang::Zh, Lang::En) | (Lang::En, Lang::Zh))
    }
}
