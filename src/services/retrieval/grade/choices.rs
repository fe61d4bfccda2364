//! The question to the user: options with stable ids, and prompts in both languages.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::{
    domain::{
        evidence::Route,
        hitl::{Choice, Facet, OptionFilter, Question},
        id::DocumentId,
    },
    text::{
        cut,
        lang::{Lang, detect},
    },
};

use super::super::facets::value_key;

/// Options of which the least has this share of the heaviest one's support are near equals.
const NEAR_EQUAL: f32 = 0.6;
/// Most options of a question.
pub(crate) const MOST: usize = Question::MOST_OPTIONS;
/// Most documents that an option stands for.
pub(crate) const DOCUMENTS: usize = 64;
/// Most characters of a label.
const LABEL: usize = 60;
/// Most characters of the original question that a record keeps, so that the record stays within its 8 KiB.
const QUESTION: usize = 800;

/// An option before it is one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// As people read it.
    pub label: String,
    /// Who carries it.
    pub documents: BTreeSet<DocumentId>,
    /// Leaves that support it.
    pub leaves: u32,
    /// Summed support: options are ordered by it.
    pub mass: f32,
    /// Told apart by it when two labels are equal.
    pub filename: String,
}

/// The word of a facet: part of option ids, so it never changes.
const fn word(facet: Facet) -> &'static str {
    match facet {
        Facet::Subject => "subject",
        Facet::Place => "place",
        Facet::Period => "period",
        Facet::Edition => "edition",
        Facet::Section => "section",
        Facet::Document => "document",
        Facet::Kind => "kind",
    }
}

/// The id of an option: the first 8 hex digits of SHA-256 over facet and folded value.
pub(crate) fn option_id(facet: Facet, value: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(word(facet).as_bytes());
    hash.update([b'\n']);
    hash.update(value_key(value).as_bytes());
    hex::encode(&hash.finalize()[..4])
}

/// Options out of candidates: those with evidence, heaviest first, at most [`MOST`].
pub(crate) fn options(facet: Facet, mut candidates: Vec<Candidate>) -> Vec<Choice> {
    candidates.retain(|candidate| candidate.leaves > 0 && !candidate.label.trim().is_empty());
    candidates.sort_by(|a, b| b.mass.total_cmp(&a.mass).then_with(|| a.label.cmp(&b.label)));
    candidates.truncate(MOST);
    // Near equals stand in the order of their labels: how a question is capitalised moves no option.
    let (most, least) = (candidates.first().map_or(0.0, |c| c.mass), candidates.last().map_or(0.0, |c| c.mass));
    if !matches!(facet, Facet::Kind | Facet::Period | Facet::Section) && least >= NEAR_EQUAL * most {
        candidates.sort_by_key(|candidate| value_key(&candidate.label));
    }
    let mut options: Vec<Choice> = Vec::new();
    for candidate in candidates {
        let mut label = short(&candidate.label);
        if options.iter().any(|known| value_key(&known.label) == value_key(&label)) {
            label = short(&format!("{} ({})", cut(&candidate.label, 30), candidate.filename));
        }
        let id = option_id(facet, &candidate.label);
        if options.iter().any(|known| known.id == id) {
            continue;
        }
        options.push(Choice {
            id,
            label,
            aliases: Vec::new(),
            evidence_count: candidate.leaves,
            filter: OptionFilter {
                facet,
                value: candidate.label,
                documents: candidate.documents.into_iter().take(DOCUMENTS).collect(),
            },
        });
    }
    options
}

fn short(label: &str) -> String {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.chars().count() <= LABEL {
        return label;
    }
    format!("{}…", cut(&label, LABEL - 1))
}

/// What is asked about, for the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot<'a> {
    /// The facet.
    pub facet: Facet,
    /// The documents are manuals or the like, so that subjects are products.
    pub is_product: bool,
    /// A name for the choices: a column's header, the noun that the user pointed at.
    pub name: Option<&'a str>,
}

/// The question for a slot.
pub(crate) fn question(
    lang: Lang,
    route: Route,
    slot: &Slot<'_>,
    options: Vec<Choice>,
    original: &str,
    rewrites: u32,
) -> Question {
    Question {
        route,
        prompt: prompt(lang, slot, !options.is_empty()),
        options,
        missing_slots: vec![slot_name(lang, slot)],
        original_question: cut(original.trim(), QUESTION).to_owned(),
        rewrite_count: rewrites,
        parts: Vec::new(),
    }
}

/// Says that the list is not all that there is: the name of another one is an answer too.
pub(crate) fn say_that_there_are_more(question: &mut Question, lang: Lang) {
    let lead = match lang {
        Lang::Zh => "以下只是其中一部分，也可以直接回复其他名称。",
        _ => "There are more than these; the name of another one will do too. ",
    };
    question.prompt.insert_str(0, lead);
}

/// Two questions as one: scope_select wins over clarify, prompts are joined, options united.
pub(crate) fn united(mut known: Question, next: Question) -> Question {
    if next.route == Route::ScopeSelect {
        known.route = Route::ScopeSelect;
    }
    if !known.prompt.contains(&next.prompt) {
        known.prompt = format!("{} {}", known.prompt, next.prompt);
    }
    for option in next.options {
        if let Some(same) = known.options.iter_mut().find(|same| same.id == option.id) {
            same.evidence_count += option.evidence_count;
            let further = option.filter.documents.iter().filter(|document| !same.filter.documents.contains(document));
            let further: Vec<DocumentId> =
                further.copied().take(DOCUMENTS.saturating_sub(same.filter.documents.len())).collect();
            same.filter.documents.extend(further);
        } else if known.options.len() < MOST {
            known.options.push(option);
        }
    }
    for slot in next.missing_slots {
        if !known.missing_slots.contains(&slot) {
            known.missing_slots.push(slot);
        }
    }
    known
}

/// The question in other words for whoever replied with nothing that could be meant: how many options there are and how
/// to name one. It asks for that too, and so is not the same question again.
pub(crate) fn plainer(question: &mut Question, lang: Lang) {
    let (how, slot) = match (lang, question.options.len()) {
        (Lang::Zh, 0) => ("请用几个字说明一下。".to_owned(), "补充说明"),
        (Lang::Zh, count) => (format!("一共有 {count} 个选项，请回复名称或序号。"), "名称或序号"),
        (_, 0) => ("A word or two will do. ".to_owned(), "a word or two"),
        (_, count) => (format!("There are {count} options; please reply with a name or a number. "), "name or number"),
    };
    question.prompt = format!("{how}{}", question.prompt);
    question.missing_slots.push(slot.to_owned());
}

fn prompt(lang: Lang, slot: &Slot<'_>, with_options: bool) -> String {
    let name = readable_name(lang, slot).filter(|name| name.chars().count() <= 30);
    if lang == Lang::Zh {
        return match (slot.facet, name) {
            (_, Some(name)) => format!("您指的是哪一个{name}？"),
            (Facet::Subject, None) if slot.is_product => "您指的是哪一款产品？".into(),
            (Facet::Place, None) => "您指的是哪个地区？".into(),
            (Facet::Period, None) => "您指的是哪个时期？".into(),
            (Facet::Edition, None) => "您指的是哪个版本？".into(),
            (Facet::Section, None) => "您指的是哪个部分？".into(),
            (Facet::Document, None) => "您指的是哪份文档？".into(),
            (Facet::Subject | Facet::Kind, None) if with_options => "您指的是以下哪一个？".into(),
            (Facet::Subject | Facet::Kind, None) => "您能说得更具体一些吗？".into(),
        };
    }
    match (slot.facet, name) {
        (_, Some(name)) => format!("Which {} do you mean?", lower(name)),
        (Facet::Subject, None) if slot.is_product => "Which product do you mean?".into(),
        (Facet::Place, None) => "Which place do you mean?".into(),
        (Facet::Period, None) => "Which period do you mean?".into(),
        (Facet::Edition, None) => "Which edition do you mean?".into(),
        (Facet::Section, None) => "Which part do you mean?".into(),
        (Facet::Document, None) => "Which document do you mean?".into(),
        (Facet::Subject | Facet::Kind, None) if with_options => "Which of these do you mean?".into(),
        (Facet::Subject | Facet::Kind, None) => "Could you say more precisely what you mean?".into(),
    }
}

/// The slot's own name, unless it is in another language than the user's: headers are in the documents' language.
fn readable_name<'a>(lang: Lang, slot: &Slot<'a>) -> Option<&'a str> {
    let name = slot.name.map(str::trim).filter(|name| !name.is_empty())?;
    // "SKU" is a word of every language.
    let is_code = name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_foreign = matches!((lang, detect(name)), (Lang::Zh, Lang::En) | (Lang::En, Lang::Zh));
    (is_code || !is_foreign).then_some(name)
}

/// What is missing, in the user's language.
fn slot_name(lang: Lang, slot: &Slot<'_>) -> String {
    if let Some(name) = readable_name(lang, slot) {
        return cut(name, LABEL).to_owned();
    }
    let zh = lang == Lang::Zh;
    match slot.facet {
        Facet::Subject if slot.is_product => {
            if zh {
                "产品"
            } else {
                "product"
            }
        }
        Facet::Subject => {
            if zh {
                "对象"
            } else {
                "subject"
            }
        }
        Facet::Place => {
            if zh {
                "地区"
            } else {
                "place"
            }
        }
        Facet::Period => {
            if zh {
                "时期"
            } else {
                "period"
            }
        }
        Facet::Edition => {
            if zh {
                "版本"
            } else {
                "edition"
            }
        }
        Facet::Section => {
            if zh {
                "部分"
            } else {
                "part"
            }
        }
        Facet::Document => {
            if zh {
                "文档"
            } else {
                "document"
            }
        }
        Facet::Kind => {
            if zh {
                "种类"
            } else {
                "kind"
            }
        }
    }
    .into()
}

/// "Care plan" as it stands inside a sentence; "HEPA filter" keeps its capitals.
fn lower(name: &str) -> String {
    let mut chars = name.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(name.chars().skip(1)).collect()
        }
        _ => name.to_owned(),
    }
}

/// Names a question within its chain of rounds: its core, what is missing, and its options whatever their order.
#[must_use]
pub fn fingerprint(question: &Question) -> String {
    let mut ids: Vec<&str> = question.options.iter().map(|option| option.id.as_str()).collect();
    ids.sort_unstable();
    let mut slots: Vec<String> = question.missing_slots.iter().map(|slot| value_key(slot)).collect();
    slots.sort();
    let mut hash = Sha256::new();
    for part in [value_key(&question.original_question), slots.join("\u{1f}"), ids.join("\u{1f}")] {
        hash.update(part.as_bytes());
        hash.update([0x1e]);
    }
    hex::encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        hitl::{Answer, Record},
        id::VersionId,
    };

    fn candidate(label: &str, mass: f32, leaves: u32) -> Candidate {
        let document = DocumentId::derived(VersionId::from_uuid(uuid::Uuid::nil()), label);
        Candidate { label: label.into(), documents: BTreeSet::from([document]), leaves, mass, filename: "f.md".into() }
    }

    #[test]
    fn ids_are_those_of_facet_and_folded_value() {
        assert_eq!(option_id(Facet::Subject, "Aurora X1"), option_id(Facet::Subject, "ａｕｒｏｒａ  x1"));
        assert_ne!(option_id(Facet::Subject, "2024"), option_id(Facet::Period, "2024"));
        assert_eq!(option_id(Facet::Subject, "Aurora X1").len(), 8);
        assert_eq!(option_id(Facet::Subject, "Aurora X1"), "40cd037f");
    }

    #[test]
    fn options_have_evidence_and_stand_by_weight() {
        let options =
            options(Facet::Subject, vec![candidate("A", 0.4, 1), candidate("B", 0.9, 2), candidate("C", 1.0, 0)]);
        let shown: Vec<(&str, u32)> = options.iter().map(|o| (o.label.as_str(), o.evidence_count)).collect();
        assert_eq!(shown, [("B", 2), ("A", 1)]);
    }

    #[test]
    fn labels_are_short() {
        let options = options(Facet::Document, vec![candidate(&"很长的标题".repeat(30), 1.0, 1)]);
        assert_eq!(options[0].label.chars().count(), 60);
    }

    #[test]
    fn a_record_of_the_largest_question_fits() {
        let candidates: Vec<Candidate> = (0..8)
            .map(|n| {
                let mut one = candidate(&format!("{n}{}", "标签".repeat(60)), 1.0, 9);
                one.documents = (0..2)
                    .map(|m| DocumentId::derived(VersionId::from_uuid(uuid::Uuid::nil()), &format!("{n}{m}")))
                    .collect();
                one.label = cut(&one.label, 60).to_owned();
                one
            })
            .collect();
        let slot = Slot { facet: Facet::Subject, is_product: true, name: None };
        let question =
            question(Lang::Zh, Route::ScopeSelect, &slot, options(Facet::Subject, candidates), &"问".repeat(32_000), 1);
        let record = Record {
            v: Record::VERSION,
            question,
            answers: Vec::<Answer>::new(),
            asked: Vec::new(),
            only: None,
            collections: Vec::new(),
            index_generation: 1,
        };
        assert!(serde_json::to_vec(&record).unwrap().len() <= 8 * 1024);
    }

    #[test]
    fn a_fingerprint_minds_options_but_not_their_order() {
        let slot = Slot { facet: Facet::Subject, is_product: true, name: None };
        let ask = |labels: [(&str, f32); 2]| {
            let candidates = labels.map(|(label, mass)| candidate(label, mass, 1)).to_vec();
            fingerprint(&question(
                Lang::En,
                Route::ScopeSelect,
                &slot,
                options(Facet::Subject, candidates),
                "How long?",
                0,
            ))
        };
        assert_eq!(ask([("A", 1.0), ("B", 2.0)]), ask([("B", 1.0), ("A", 2.0)]));
        assert_ne!(ask([("A", 1.0), ("B", 2.0)]), ask([("A", 1.0), ("C", 2.0)]));
    }

    #[test]
    fn prompts_of_both_languages() {
        let slot = Slot { facet: Facet::Subject, is_product: true, name: None };
        assert_eq!(prompt(Lang::En, &slot, true), "Which product do you mean?");
        assert_eq!(prompt(Lang::Zh, &slot, true), "您指的是哪一款产品？");
        let slot = Slot { facet: Facet::Kind, is_product: false, name: Some("Care plan") };
        assert_eq!(prompt(Lang::En, &slot, true), "Which care plan do you mean?");
    }

    #[test]
    fn headers_of_another_language_are_not_put_to_the_user() {
        let slot = |name| Slot { facet: Facet::Kind, is_product: false, name: Some(name) };
        let asked = |lang, name| (prompt(lang, &slot(name), true), slot_name(lang, &slot(name)));
        assert_eq!(asked(Lang::Zh, "Edition"), ("您指的是以下哪一个？".into(), "种类".into()));
        assert_eq!(asked(Lang::En, "车型"), ("Which of these do you mean?".into(), "kind".into()));
        assert_eq!(asked(Lang::Zh, "车型"), ("您指的是哪一个车型？".into(), "车型".into()));
        assert_eq!(asked(Lang::Zh, "SKU"), ("您指的是哪一个SKU？".into(), "SKU".into()));
    }
}
