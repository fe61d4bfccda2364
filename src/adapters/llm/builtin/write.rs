//! The answer as text: the sentences that answer, each with its source, in the documents' words.

use std::collections::HashSet;

use super::{
    blocks::{Kind, block_of, intro_of},
    pick::Material,
    wording::{begins_with_pronoun, capitalised, facts, says_the_same},
};
use crate::{
    domain::evidence::{ParsedEvidence, ParsedPassage},
    text::{fold, lang::Lang, negation::is_negated, question::Wants},
};

/// Most items of a list, rows of a table.
pub(super) const MAX_ITEMS: usize = 20;
/// Most documents that a contradiction is shown from.
const MAX_SOURCES: usize = 4;
/// What a list is ahead by when a list is asked for.
const LIST_BONUS: f32 = 0.3;
/// A further sentence is given when it scores at least this share of the best; the second where one thing is asked.
const NEARLY_AS_GOOD: f32 = 0.78;
const AS_GOOD: f32 = 0.84;
/// A piece with a quantity of the wanted kind goes before the best one without when it scores at least this share of it.
const MEASURED: f32 = 0.75;
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

/// An answer that is being written.
pub(super) struct Writer<'a> {
    pub(super) evidence: &'a ParsedEvidence,
    pub(super) material: &'a Material,
    pub(super) lang: Lang,
}

impl Writer<'_> {
    pub(super) const fn in_lang(&self, en: &'static str, zh: &'static str) -> &'static str {
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
            let ranked = self.material.ranked(is_of);
            let line = match self.measured(&ranked).or_else(|| ranked.first().copied()) {
                Some((at, _)) => {
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
        let mut said: Vec<(HashSet<String>, bool)> = Vec::new();
        let mut files: Vec<&str> = Vec::new();
        let mut lines = Vec::new();
        for &(at, score) in &ranked {
            let unit = &self.material.units[at];
            let Some(passage) = self.evidence.passages.get(unit.passage) else { continue };
            if score < best * 0.5 || lines.len() == MAX_SOURCES || files.contains(&passage.filename.as_str()) {
                continue;
            }
            let facts = (facts(&unit.text), is_negated(&unit.text));
            if said.contains(&facts) {
                continue;
            }
            said.push(facts);
            files.push(&passage.filename);
            lines.push(format!("- {}{}{}", passage.filename, self.in_lang(": ", "："), self.quoted(at)));
        }
        (lines.len() > 1).then(|| {
            format!("{}\n\n{}", self.in_lang("The sources differ on this:", "资料的说法不一致："), lines.join("\n"))
        })
    }

    /// The sentences, list or rows that answer best.
    fn plain(&self, allowed: impl Fn(usize) -> bool) -> Option<String> {
        let ranked = self.of_chosen_sections(self.material.ranked(&allowed));
        if let Some(rows) = self.chosen(&ranked) {
            return Some(rows);
        }
        if let Some(list) = self.list(&ranked, ranked.first()?.1) {
            return Some(list);
        }
        let &(best, score) = ranked.first()?;
        // The rows that the question names speak for their table.
        let rows = self.named_rows(best);
        if !rows.is_empty() {
            return Some(rows.into_iter().map(|row| self.quoted(row)).collect::<Vec<_>>().join(self.in_lang(" ", "")));
        }
        if let Some(block) = self.alike(best, score) {
            return Some(self.whole_list(block));
        }
        let (best, score) = self.measured(&ranked).unwrap_or((best, score));
        let (mut chosen, left_out) = self.clauses(best);
        let (most, share) = match self.material.question.wants {
            Wants::Other | Wants::Reason | Wants::Procedure | Wants::List | Wants::YesNo => (3, NEARLY_AS_GOOD),
            _ => (2, AS_GOOD),
        };
        for &(at, other) in ranked.iter().filter(|(at, _)| !left_out.contains(at)) {
            if chosen.len() >= most || other < score * share {
                break;
            }
            if chosen.contains(&at) {
                continue;
            }
            let is_of_others = self.is_of_others(best, at);
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
            // What several documents say is a list.
            if text.starts_with("- ") { format!("{}\n\n{text}", lead.trim_end()) } else { format!("{lead}{text}") }
        } else {
            text
        })
    }

    /// The best piece that holds a quantity of the wanted kind, where one is wanted and it is not far behind.
    fn measured(&self, ranked: &[(usize, f32)]) -> Option<(usize, f32)> {
        let &(_, most) = ranked.first()?;
        let is_wanted = self.material.wants_quantity();
        let fits = |at: usize| self.material.fit(&self.material.units[at]) >= 1.0;
        ranked.iter().copied().find(|&(at, score)| is_wanted && score >= MEASURED * most && fits(at))
    }

    /// Whether a further piece says something of other things than the one asked about: of another stretch of values, of
    /// another quantity of the unit that the question names, or no quantity where the best one holds the wanted kind.
    fn is_of_others(&self, best: usize, at: usize) -> bool {
        let (material, unit) = (self.material, &self.material.units[at]);
        let fits = |at: usize| material.fit(&material.units[at]) >= 1.0;
        let is_measured = material.wants_quantity() && fits(best);
        material.inside(unit) < 0.0 || material.says_other_quantity(unit) || is_measured && !fits(at)
    }

    /// Pieces under the headings that the user chose, where there are such headings.
    fn of_chosen_sections(&self, mut ranked: Vec<(usize, f32)>) -> Vec<(usize, f32)> {
        for group in &self.evidence.guidance.chosen {
            let is_under = |at: usize| {
                let heading = fold(self.heading(at));
                group.iter().any(|value| fold(value) == heading)
            };
            let under: Vec<(usize, f32)> = ranked.iter().copied().filter(|&(at, _)| is_under(at)).collect();
            if !under.is_empty() {
                ranked = under;
            }
        }
        ranked
    }

    /// The innermost heading above a piece.
    fn heading(&self, at: usize) -> &str {
        let unit = &self.material.units[at];
        let section = self.evidence.passages.get(unit.passage).and_then(|passage| passage.section.as_deref());
        let innermost = section.and_then(|path| path.rsplit(" > ").next()).unwrap_or_default();
        if unit.heading.is_empty() { innermost } else { unit.heading.as_str() }
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
        let name = passage.map(|passage| passage.filename.as_str()).unwrap_or_default();
        let colon = self.in_lang(":", "：");
        let own = intro_of(units, &block)
            .map(|intro| units[intro].text.clone())
            .or_else(|| heading.map(|heading| format!("{heading}{colon}")));
        let lead = match (self.is_foreign(first), self.lang) {
            (false, _) => own.unwrap_or_else(|| format!("{name}{colon}")),
            (true, Lang::Zh) => format!("文档《{name}》的原文是：{}", own.unwrap_or_default()),
            (true, _) => format!("The document {name} says: {}", own.unwrap_or_default()),
        };
        let lead = lead.trim_end();
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
