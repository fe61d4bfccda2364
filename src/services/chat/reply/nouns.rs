//! The nouns of the list: "the second product" is the second, 产品二 the second too.

use std::ops::Range;

use super::{
    ordinal::{CLASSIFIERS, cardinal, numeral, places},
    said::{Phrases, Said, Token},
};
use crate::{domain::hitl::Question, text::reply_words as table};

/// Most tokens of a prompt's noun: "care plan", 服务等级.
const LONGEST: usize = 6;
/// More options than any list has.
const LONGEST_LIST: usize = 99;

/// What the things on offer are called: the noun of the prompt, and general ones.
#[derive(Debug)]
pub(super) struct Nouns {
    all: Phrases,
    /// Those that no label holds: a number behind them is a place ("plan 2"), not a name ("version 2").
    bare: Phrases,
    /// The labels and aliases.
    names: Phrases,
}

impl Nouns {
    pub(super) fn new(question: &Question, names: &[Vec<Said>]) -> Self {
        let mut all: Vec<String> = table::NOUNS.split('|').map(str::to_owned).collect();
        all.extend(of_prompt(&question.prompt));
        all.extend(of_labels(names));
        let plurals: Vec<String> = all.iter().filter(|noun| noun.is_ascii()).map(|noun| plural(noun)).collect();
        all.extend(plurals);
        let is_bare = |noun: &&String| {
            let noun = Phrases::new(noun);
            !names.iter().flatten().any(|name| is_numbered(&noun, &name.tokens))
        };
        let bare: Vec<&str> = all.iter().filter(is_bare).map(String::as_str).collect();
        let labels: Vec<&str> = names.iter().flatten().map(|name| name.folded.as_str()).collect();
        Self {
            bare: Phrases::new(&bare.join("|")),
            all: Phrases::new(&all.join("|")),
            names: Phrases::new(&labels.join("|")),
        }
    }

    /// The reply without these nouns where they stand beside a place or a count.
    pub(super) fn dropped(&self, said: &Said) -> Said {
        let tokens = &said.tokens;
        let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            // What belongs to a label stays: the 卡 of 金卡.
            if let Some(taken) = self.names.at_start(&tokens[at..]) {
                kept.extend_from_slice(&tokens[at..at + taken]);
                at += taken;
                continue;
            }
            match self.all.at_start(&tokens[at..]) {
                Some(taken) if self.falls(&mut kept, tokens, at..at + taken) => at += taken,
                _ => {
                    kept.push(token.clone());
                    at += 1;
                }
            }
        }
        for at in 1..kept.len().saturating_sub(1) {
            // 两张都要 and 两个都要 are one phrase.
            let is_all = matches!(kept[at + 1].text.as_str(), "都" | "全");
            let is_count = numeral(&kept[at - 1].text).is_some() && (at < 2 || kept[at - 2].text != "第");
            if is_all && is_count && CLASSIFIERS.contains(&kept[at].text.as_str()) {
                kept[at].text = "个".into();
            }
        }
        Said { folded: said.folded.clone(), tokens: kept }
    }

    /// Whether the noun at `noun` says no more than what stands beside it; what is left of it is put into `kept`.
    fn falls(&self, kept: &mut Vec<Token>, tokens: &[Token], noun: Range<usize>) -> bool {
        let first = &tokens[noun.start];
        if !first.after_break && !kept.is_empty() {
            let falls = if first.is_han() { falls_behind_han(kept) } else { falls_behind(kept, first) };
            if falls {
                return true;
            }
        }
        // "the Plus plan", "plan Plus".
        let behind = &tokens[noun.end..];
        let is_beside_label = !first.after_break && self.names.at_end(kept).is_some()
            || behind.first().is_some_and(|next| !next.after_break) && self.names.at_start(behind).is_some();
        let is_bare = self.bare.at_start(&tokens[noun.start..]) == Some(noun.len());
        is_bare && (is_beside_label || is_place(behind, first.is_han()))
    }
}

/// Whether a name holds the noun with a number or letter behind it: "Version 2".
fn is_numbered(noun: &Phrases, name: &[Token]) -> bool {
    (0..name.len()).any(|at| {
        noun.at_start(&name[at..]).and_then(|taken| name.get(at + taken)).is_some_and(|next| {
            next.text.starts_with(|c: char| c.is_ascii_digit())
                || numeral(&next.text).is_some()
                || places(std::slice::from_ref(next), LONGEST_LIST).is_some()
        })
    })
}

fn falls_behind(kept: &mut Vec<Token>, noun: &Token) -> bool {
    let before = kept.len().checked_sub(2).map_or("", |at| kept[at].text.as_str()).to_owned();
    let Some(last) = kept.last_mut() else { return false };
    match last.text.as_str() {
        "both" | "all" | "each" | "any" | "either" | "neither" | "other" | "these" | "those" => true,
        "every" | "another" => {
            kept.push(Token { text: "one".into(), ..noun.clone() });
            true
        }
        "the" if matches!(before.as_str(), "all" | "both") => {
            kept.pop();
            true
        }
        "the" if before == "of" => {
            last.text = "them".into();
            true
        }
        word if cardinal(word).is_some() => {
            let is_joined = matches!(
                before.as_str(),
                "first" | "last" | "top" | "bottom" | "all" | "the" | "these" | "those" | "of" | "no" | "number"
            );
            if !is_joined {
                // "two products" counts them.
                kept.extend(["of", "them"].map(|word| Token { text: word.into(), ..noun.clone() }));
            }
            true
        }
        word => word.len() > 2 && !last.is_number() && places(std::slice::from_ref(last), LONGEST_LIST).is_some(),
    }
}

fn falls_behind_han(kept: &[Token]) -> bool {
    let text: Vec<&str> = kept.iter().map(|token| token.text.as_str()).collect();
    match text.as_slice() {
        [.., "所", "有"] | [.., "全", "部"] | [.., "所", "有", "的"] | [.., "全", "部", "的"] | [.., "每" | "两"] => {
            true
        }
        [.., "第", number] => numeral(number).is_some(),
        [.., number, measure] if CLASSIFIERS.contains(measure) => {
            numeral(number).is_some() || matches!(*number, "一" | "后" | "那" | "这" | "每" | "几") || is_letter(number)
        }
        [.., last] => is_letter(last),
        [] => false,
    }
}

fn is_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [b'a'..=b'h'])
}

/// Whether a number or letter of the list comes next: "product 2", "item no. 2", 产品二.
fn is_place(next: &[Token], is_han: bool) -> bool {
    let next = match next {
        [sign, rest @ ..] if !sign.after_break && matches!(sign.text.as_str(), "number" | "no" | "nr") => rest,
        all => all,
    };
    let Some(mark) = next.first().filter(|mark| !mark.after_break) else { return false };
    let ends = next.get(1).is_none_or(|after| {
        after.after_break || !after.is_han() || "号吧的呢了啊和与或跟及都、".contains(after.text.as_str())
    });
    if mark.is_han() {
        return is_han && ends && numeral(&mark.text).is_some();
    }
    let is_mark = is_letter(&mark.text) || places(std::slice::from_ref(mark), LONGEST_LIST).is_some();
    // An article names no place: "product a friend bought".
    is_mark && ends && (mark.text != "a" || next.len() == 1)
}

/// "care plan" of "Which care plan do you mean?", with its last word; 产品 of 您指的是哪一款产品？
fn of_prompt(prompt: &str) -> Vec<String> {
    let said = Said::new(prompt);
    let tokens = &said.tokens;
    let Some(at) = tokens.iter().position(|token| matches!(token.text.as_str(), "which" | "what" | "哪")) else {
        return Vec::new();
    };
    let is_han = tokens[at].is_han();
    let mut rest = &tokens[at + 1..];
    if is_han {
        let skipped = rest.iter().take(2).take_while(|token| {
            matches!(token.text.as_str(), "一" | "几" | "些") || CLASSIFIERS.contains(&token.text.as_str())
        });
        rest = &rest[skipped.count()..];
    }
    let ends = |token: &Token| token.after_break || table::PROMPT_ENDS.split('|').any(|end| end == token.text);
    let noun: Vec<&str> =
        rest.iter().take_while(|token| !ends(token)).take(LONGEST).map(|token| token.text.as_str()).collect();
    let Some(last) = noun.last() else { return Vec::new() };
    let whole = noun.join(if is_han { "" } else { " " });
    // "Last year" is a time of its own.
    if table::DATE_SLOT.split('|').any(|time| time == *last || time == whole) {
        return Vec::new();
    }
    if is_han { vec![whole] } else { vec![whole.clone(), (*last).to_owned()] }
}

/// What all labels end with: 卡 of 银卡 and 金卡.
fn of_labels(names: &[Vec<Said>]) -> Option<String> {
    let last = |names: &Vec<Said>| names.first()?.tokens.last().map(|token| token.text.clone());
    let ends: Vec<String> = names.iter().filter_map(last).collect();
    let end = ends.first().filter(|end| ends.len() > 1 && ends.iter().all(|other| other == *end))?;
    let is_noun = end.chars().all(char::is_alphabetic) && (!end.is_ascii() || end.len() > 2);
    is_noun.then(|| end.clone())
}

fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noun_of_a_prompt() {
        for (prompt, expected) in [
            ("Which care plan do you mean?", vec!["care plan", "plan"]),
            ("Which product do you mean?", vec!["product", "product"]),
            ("Which of these do you mean?", vec![]),
            ("Which year do you mean?", vec![]),
            ("您指的是哪一款产品？", vec!["产品"]),
            ("您指的是哪个服务等级？", vec!["服务等级"]),
            ("您指的是以下哪一个？", vec![]),
            ("Aurora or Borealis?", vec![]),
        ] {
            assert_eq!(of_prompt(prompt), expected, "{prompt}");
        }
        assert_eq!(["policy", "box", "survey", "plan"].map(plural), ["policies", "boxes", "surveys", "plans"]);
    }
}
