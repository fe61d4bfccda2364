//! A number of the list and a label side by side: "1 Aurora X1", "Premium (3)", 第二个（金卡）.

use super::{
    choose::{Offer, strips},
    clauses::are_joined,
    labels::units,
    ordinal::{is_cardinal_word, places},
    said::{Said, Token},
};

/// What a number and a label beside it name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbered {
    /// Both the same option.
    Same(usize),
    /// Two different ones.
    Different,
}

impl Offer {
    /// Reads `tokens` as a number and a label; `None` when they are anything else.
    pub(super) fn numbered(&self, tokens: &[Token], said: &Said) -> Option<Numbered> {
        if said.has_odd_symbols() {
            return None;
        }
        (1..tokens.len()).find_map(|at| {
            let (head, tail) = tokens.split_at(at);
            let gap = said.folded.get(head.last()?.end..tail.first()?.start)?;
            // The mark of "2、金卡".
            let tail = if tail.len() > 1 && tail[0].text == "、" { &tail[1..] } else { tail };
            if gap.contains([',', ';', '!', '?', '。']) || are_joined(head, tail) {
                return None;
            }
            // "a Borealis" has an article, "a) Borealis" a letter.
            let is_article = matches!(head, [.., last] if last.text == "a") && !gap.contains([')', '.', ':', ']']);
            let is_behind = gap.ends_with(['(', '[', '#']);
            let before = || if is_article { None } else { self.pair(tokens, head, tail) };
            let behind = || if is_behind { self.pair(tokens, tail, head) } else { None };
            before().or_else(behind)
        })
    }

    fn pair(&self, tokens: &[Token], mark: &[Token], label: &[Token]) -> Option<Numbered> {
        let stripped = strips(mark).find(|mark| places(mark, self.len()).is_some())?;
        let places: Vec<usize> = places(stripped, self.len())?.into_iter().collect();
        let &[place] = places.as_slice() else { return None };
        let whole = strips(label).find_map(|label| self.whole(label));
        let option = whole.or_else(|| strips(label).find_map(|label| self.by_units(label, false)))?;
        // The number may belong to the name: "2 pump" is Pump 2.
        let is_own = || {
            self.by_units(tokens, false).is_some_and(|option| units(stripped).iter().all(|unit| self.has(option, unit)))
        };
        if whole.is_none() && is_own() {
            return None;
        }
        // "one Borealis" counts it.
        if matches!(stripped, [only] if is_cardinal_word(&only.text)) && mark[0].start < label[0].start {
            return (stripped[0].text == "one").then_some(Numbered::Same(option));
        }
        Some(if option == place { Numbered::Same(option) } else { Numbered::Different })
    }
}
