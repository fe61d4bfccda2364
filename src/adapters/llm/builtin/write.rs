//! The answer as text: the sentences that answer, each with its source, in the documents' words.

use std::collections::HashSet;

use super::{
    blocks::{Kind, Unit, block_of, intro_of},
    pick::Material,
};
use crate::{
    domain::evidence::{ParsedEvidence, ParsedPassage},
    text::{
        fold,
        lang::{Lang, detect},
        quantities::quantities,
        question::{Content, Wants},
        terms::analyse,
        words::is_han,
    },
};

/// Most items of a list, rows of a table.
const MAX_ITEMS: usize = 20;
/// Most documents that a contradiction is shown from.
const MAX_SOURCES: usize = 4;
/// What a list is ahead by when a list is asked for.
const LIST_BONUS: f32 = 0.3;
/// A further sentence is given when it scores at least this share of the best; the second where one thing is asked.
const NEARLY_AS_GOOD: f32 = 0.78;
const AS_GOOD: f32 = 0.84;
/// Rows or items that score at least this share of the best one are meant alike.
const ALIKE: f32 = 0.93;
/// A whole list is given when it scores at least this share of the best sentence.
const LIST_SHARE: f32 = 0.85;
/// Under this share of the question's words, and this cosine, the passage does not say it directly.
const WEAK_COVERAGE: f32 = 0.15;
const WEAK_COSINE: f32 = 0.25;

/// The honest answer when nothing was found.
pub(super) const fn no_knowledge(lang: Lang) -> &'static str {
    match lang {
        Lang::Zh => "文档中没有找到这个问题的答案。",
        _ => "The documents do not contain an answer to this question.",
    }
}

/// The same of one part of a question.
pub(super) fn unanswered(part: &str, lang: Lang) -> String {
    match lang {
        Lang::Zh => format!("文档中没有找到“{part}”的答案。"),
        _ => format!("The documents do not say: “{part}”."),
    }
}

/// The honest answer when there is nothing to search with.
pub(super) const fn cannot_search(lang: Lang) -> &'static str {
    match lang {
        Lang::Zh => "我只能根据文档回答，而这个问题没有可用的文档。",
        _ => "I can only answer from documents, and there are none to search for this question.",
    }
}

/// Writes the answer.
pub(super) fn answer(evidence: &ParsedEvidence, material: &Material, lang: Lang) -> String {
    let writer = Writer { evidence, material, lang };
    let guidance = &evidence.guidance;
    if !guidance.per_value.is_empty()
        && let Some(text) = writer.per_value()
    {
        return writer.led(&text);
    }
    if guidance.contradiction
        && let Some(text) = writer.contradiction()
    {
        return writer.led(&text);
    }
    let allowed = writer.meant();
    writer
        .plain(|passage| allowed.contains(&passage))
        .map_or_else(|| no_knowledge(lang).to_owned(), |text| writer.led(&text))
}

struct Writer<'a> {
    evidence: &'a ParsedEvidence,
    material: &'a Material,
    lang: Lang,
}

impl Writer<'_> {
    const fn in_lang(&self, en: &'static str, zh: &'static str) -> &'static str {
        match self.lang {
            Lang::Zh => zh,
            _ => en,
        }
    }

    /// `text` behind what the reader must know first: the assumption, the edition.
    fn led(&self, text: &str) -> String {
        let guidance = &self.evidence.guidance;
        let mut leads = Vec::new();
        if let Some(assumption) = &guidance.assumption {
            leads.push(assumption.trim_end_matches(['.', '。', ':', '：', ',', '，']).to_owned());
        }
        if let Some(edition) = &guidance.edition {
            leads.push(match self.lang {
                Lang::Zh => format!("根据现行版本（{edition}）"),
                _ => format!("according to the edition in force ({edition})"),
            });
        }
        if leads.is_empty() {
            return text.to_owned();
        }
        let lead = capitalised(&leads.join(self.in_lang(", ", "，")));
        let separator = if text.starts_with(['-', '1']) || text.contains("\n- ") && text.starts_with("- ") {
            self.in_lang(":\n\n", "：\n\n")
        } else {
            self.in_lang(": ", "：")
        };
        format!("{lead}{separator}{text}")
    }

    /// The passages that the assumption or the edition is about; all when none is named.
    fn meant(&self) -> HashSet<usize> {
        let guidance = &self.evidence.guidance;
        let passages = &self.evidence.passages;
        let all: HashSet<usize> = (0..passages.len()).collect();
        let mut meant = all.clone();
        let mut narrow = |keep: &dyn Fn(&ParsedPassage) -> bool| {
            let kept: HashSet<usize> = meant.iter().copied().filter(|&at| keep(&passages[at])).collect();
            if !kept.is_empty() {
                meant = kept;
            }
        };
        if let Some(edition) = guidance.edition.as_deref().map(fold) {
            narrow(&|passage| {
                fold(passage.about.as_deref().unwrap_or_default()).contains(&edition)
                    || fold(&passage.filename).contains(&edition)
            });
        }
        if let Some(assumption) = guidance.assumption.as_deref().map(fold) {
            narrow(&|passage| {
                let about = passage.about.as_deref().unwrap_or_default();
                about.split(" · ").map(fold).any(|part| !part.is_empty() && assumption.contains(&part))
            });
        }
        meant
    }

    /// One line per value.
    fn per_value(&self) -> Option<String> {
        let mut lines = Vec::new();
        let mut found = false;
        for group in &self.evidence.guidance.per_value {
            let is_of = |passage: usize| group.markers.contains(&self.evidence.marker(passage));
            let line = match self.material.ranked(is_of).first() {
                Some(&(at, _)) => {
                    found = true;
                    self.quoted(at)
                }
                None => self.in_lang("the documents do not say.", "文档没有说明。").to_owned(),
            };
            lines.push(format!("- **{}**{}{line}", group.value, self.in_lang(": ", "：")));
        }
        found.then(|| lines.join("\n"))
    }

    /// The best sentence of each document, where they say different things.
    fn contradiction(&self) -> Option<String> {
        let ranked = self.material.ranked(|_| true);
        let best = ranked.first()?.1;
        let mut said: Vec<HashSet<String>> = Vec::new();
        let mut files: Vec<&str> = Vec::new();
        let mut lines = Vec::new();
        for &(at, score) in &ranked {
            let unit = &self.material.units[at];
            let Some(passage) = self.evidence.passages.get(unit.passage) else { continue };
            if score < best * 0.5 || lines.len() == MAX_SOURCES || files.contains(&passage.filename.as_str()) {
                continue;
            }
            let keys = facts(&unit.text);
            if said.contains(&keys) {
                continue;
            }
            said.push(keys);
            files.push(&passage.filename);
            lines.push(format!("- {}{}{}", passage.filename, self.in_lang(": ", "："), self.quoted(at)));
        }
        (lines.len() > 1).then(|| {
            format!("{}\n\n{}", self.in_lang("The sources differ on this:", "资料的说法不一致："), lines.join("\n"))
        })
    }

    /// The sentences, list or rows that answer best.
    fn plain(&self, allowed: impl Fn(usize) -> bool) -> Option<String> {
        let ranked = self.material.ranked(&allowed);
        if let Some(list) = self.list(&ranked, ranked.first()?.1) {
            return Some(list);
        }
        // The row that the question names speaks for its table.
        if let Some(row) = ranked.first().and_then(|&(at, _)| self.named_row(at)) {
            return Some(self.quoted(row));
        }
        let &(best, score) = ranked.first()?;
        if let Some(block) = self.alike(best, score) {
            return Some(self.whole_list(block));
        }
        let mut chosen = vec![best];
        let (most, share) = match self.material.question.wants {
            Wants::Other | Wants::Reason | Wants::Procedure | Wants::List | Wants::YesNo => (3, NEARLY_AS_GOOD),
            _ => (2, AS_GOOD),
        };
        for &(at, other) in ranked.iter().skip(1) {
            if chosen.len() == most || other < score * share {
                break;
            }
            // What is said of another stretch of values is said of other things than the one asked about.
            let is_of_others = self.material.inside(&self.material.units[at]) < 0.0;
            if !is_of_others
                && chosen
                    .iter()
                    .all(|&had| !says_the_same(&self.material.units[had].text, &self.material.units[at].text))
            {
                chosen.push(at);
            }
        }
        self.add_antecedents(&mut chosen);
        let text = self.told(&chosen, best);
        // Without vectors nothing is known about a sentence in another language.
        let is_judged = self.material.is_compared() || !self.is_foreign(&self.material.units[best]);
        let is_weak =
            is_judged && self.material.coverage(best) < WEAK_COVERAGE && self.material.cosine(best) < WEAK_COSINE;
        Some(if is_weak {
            let lead = self.in_lang(
                "The documents do not say it directly. The closest passage: ",
                "文档没有直接说明，最接近的内容是：",
            );
            format!("{lead}{text}")
        } else {
            text
        })
    }

    /// The row of the table of `best` whose label the question says, whole or by a word that no other label has as much of.
    fn named_row(&self, best: usize) -> Option<usize> {
        let units = &self.material.units;
        if units[best].kind != Kind::Row {
            return None;
        }
        let question = &self.material.question;
        let said = |label: &str| {
            let label = fold(label);
            if says(&question.folded, &label) {
                return 2 * label.chars().count();
            }
            let inside = |word: &&Content| word.text.chars().count() >= 2 && says(&label, &word.text);
            question.content.iter().filter(inside).map(|word| word.text.chars().count()).max().unwrap_or_default()
        };
        let block = block_of(units, best);
        let lengths: Vec<(usize, usize)> =
            block.map(|at| (at, units[at].text.split_once(" – ").map_or(0, |(label, _)| said(label)))).collect();
        let longest = lengths.iter().map(|(_, length)| *length).max().filter(|length| *length > 0)?;
        let mut named = lengths.iter().filter(|(_, length)| *length == longest);
        let &(row, _) = named.next()?;
        (lengths.len() > 1 && named.next().is_none()).then_some(row)
    }

    /// The list or table of which the question singles nothing out: most of it is as good as its best piece.
    fn alike(&self, best: usize, score: f32) -> Option<std::ops::Range<usize>> {
        let units = &self.material.units;
        if units[best].kind == Kind::Sentence {
            return None;
        }
        let block = block_of(units, best);
        let alike = block.clone().filter(|&at| self.material.score(at) >= score * ALIKE).count();
        (alike >= 2 && alike * 2 >= block.len()).then_some(block)
    }

    /// A sentence that begins with a pronoun needs the one before it.
    fn add_antecedents(&self, chosen: &mut Vec<usize>) {
        let units = &self.material.units;
        for at in chosen.clone() {
            let Some(before) = at.checked_sub(1) else { continue };
            if begins_with_pronoun(&units[at].text)
                && units[before].block == units[at].block
                && !chosen.contains(&before)
                && units[before].text.chars().count() <= 240
            {
                chosen.push(before);
            }
        }
    }

    /// Sentences in the order of their passages, the best one's first, each with its marker; a run in another language is
    /// one quote.
    fn told(&self, chosen: &[usize], best: usize) -> String {
        let units = &self.material.units;
        let first = units[best].passage;
        let mut order: Vec<usize> = chosen.to_vec();
        order.sort_by_key(|&at| (units[at].passage != first, at));
        let mut runs: Vec<String> = Vec::new();
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
                sentences = sentences.iter().map(|sentence| self.marked(sentence, passage)).collect();
            }
            let separator = if sentences.iter().any(|text| text.chars().any(is_han)) { "" } else { " " };
            let text = sentences.join(separator);
            runs.push(if is_foreign { self.foreign(&text, passage) } else { text });
            at = end;
        }
        runs.join(self.in_lang(" ", ""))
    }

    /// One piece with its marker.
    fn quoted(&self, at: usize) -> String {
        let unit = &self.material.units[at];
        let text = ended(&unit.text);
        if self.is_foreign(unit) { self.foreign(&text, unit.passage) } else { self.marked(&text, unit.passage) }
    }

    /// `text` and its source; Chinese takes no space between.
    fn marked(&self, text: &str, passage: usize) -> String {
        let space = if text.ends_with(|c: char| "。！？”」）".contains(c)) { "" } else { " " };
        format!("{text}{space}[{}]", self.evidence.marker(passage))
    }

    /// A quote in another language, behind a lead-in in the user's.
    fn foreign(&self, text: &str, passage: usize) -> String {
        let name = self.evidence.passages.get(passage).map_or("", |passage| passage.filename.as_str());
        match self.lang {
            Lang::Zh => format!("文档《{name}》的原文是：“{text}”[{}]", self.evidence.marker(passage)),
            _ => format!("The document {name} says: “{text}” [{}]", self.evidence.marker(passage)),
        }
    }

    fn is_foreign(&self, unit: &Unit) -> bool {
        matches!((self.lang, detect(&unit.text)), (Lang::Zh, Lang::En) | (Lang::En, Lang::Zh))
    }

    /// The whole list or table, where one is asked for and it scores well beside the best sentence.
    fn list(&self, ranked: &[(usize, f32)], best: f32) -> Option<String> {
        let wanted = match self.material.question.wants {
            Wants::List => &[Kind::Item, Kind::Step, Kind::Row][..],
            Wants::Procedure => &[Kind::Step][..],
            _ => return None,
        };
        let units = &self.material.units;
        // The best piece is part of one: steps and items are given whole.
        if let Some(&(at, _)) = ranked.first()
            && wanted.contains(&units[at].kind)
            && units[at].kind != Kind::Row
        {
            let block = block_of(units, at);
            if block.len() > 1 {
                return Some(self.whole_list(block));
            }
        }
        let mut candidates: Vec<(f32, std::ops::Range<usize>)> = Vec::new();
        for &(at, _) in ranked {
            if !wanted.contains(&units[at].kind) {
                continue;
            }
            let block = block_of(units, at);
            if block.len() < 2 || candidates.iter().any(|(_, known)| *known == block) {
                continue;
            }
            let intro = intro_of(units, &block);
            let nearest =
                intro.into_iter().chain(block.clone()).map(|at| self.material.cosine(at)).fold(0.0_f32, f32::max);
            let score = self.material.list_coverage(intro, block.clone())
                + LIST_BONUS
                + 0.5 * nearest
                + self.material.heading(block.start);
            candidates.push((score, block));
        }
        let (score, block) =
            candidates.into_iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.start.cmp(&a.1.start)))?;
        (score >= best * LIST_SHARE).then(|| self.whole_list(block))
    }

    fn whole_list(&self, block: std::ops::Range<usize>) -> String {
        let units = &self.material.units;
        let first = &units[block.start];
        let passage = self.evidence.passages.get(first.passage);
        let marker = format!("[{}]", self.evidence.marker(first.passage));
        let section = passage.and_then(|passage| passage.section.as_deref()).and_then(|path| path.rsplit(" > ").next());
        let heading = Some(first.heading.as_str()).filter(|heading| !heading.is_empty()).or(section);
        let lead = match intro_of(units, &block) {
            Some(intro) => units[intro].text.clone(),
            None => format!(
                "{}{}",
                heading.or_else(|| passage.map(|passage| passage.filename.as_str())).unwrap_or_default(),
                self.in_lang(":", "：")
            ),
        };
        let mut text = format!("{lead} {marker}\n");
        for (number, unit) in units[block.clone()].iter().take(MAX_ITEMS).enumerate() {
            text.push_str(&match unit.kind {
                Kind::Step => format!("\n{}. {}", number + 1, unit.text),
                _ => format!("\n- {}", unit.text),
            });
        }
        if block.len() > MAX_ITEMS {
            text.push_str(self.in_lang("\n- …", "\n- ……"));
        }
        text
    }
}

/// `text` with an end mark.
fn ended(text: &str) -> String {
    let text = text.trim_end_matches([';', '；', ',', '，', ':', '：', ' ']);
    let is_ended = text.ends_with(|c: char| {
        matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '"' | '”' | '」' | ')' | '）' | '…' | '*')
    });
    if is_ended {
        return text.to_owned();
    }
    format!("{text}{}", if text.chars().any(is_han) { "。" } else { "." })
}

/// Whether `text` holds `phrase` between word bounds.
fn says(text: &str, phrase: &str) -> bool {
    let is_bound = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_han(c));
    !phrase.is_empty()
        && text.match_indices(phrase).any(|(at, found)| {
            phrase.chars().all(is_han)
                || is_bound(text[..at].chars().next_back()) && is_bound(text[at + found.len()..].chars().next())
        })
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn begins_with_pronoun(text: &str) -> bool {
    let folded = fold(text);
    let first = folded.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(first, "it" | "they" | "this" | "these" | "he" | "she" | "its" | "their" | "his" | "her" | "such")
        || ["它", "他", "她", "该", "此", "这", "其"].iter().any(|word| folded.starts_with(word))
}

/// What a sentence states: its quantities, else its words.
fn facts(text: &str) -> HashSet<String> {
    let keys: HashSet<String> = quantities(text).into_iter().map(|quantity| quantity.key).collect();
    if keys.is_empty() { terms(text) } else { keys }
}

fn terms(text: &str) -> HashSet<String> {
    analyse(text).into_iter().map(|term| term.text).collect()
}

/// Whether two sentences share most of their words and all of their numbers.
fn says_the_same(a: &str, b: &str) -> bool {
    let (left, right) = (terms(a), terms(b));
    let shared = left.intersection(&right).count();
    let smaller = left.len().min(right.len()).max(1);
    shared * 10 >= smaller * 8 && facts(a) == facts(b)
}
