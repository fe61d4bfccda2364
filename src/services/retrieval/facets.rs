//! What tells the candidates of a question apart: the values of each facet, whether a text names one of them, and which
//! edition of a text is in force.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    domain::{evidence::Passage, hitl::Facet, id::DocumentId},
    text::{
        fold,
        quantities::{Kind, quantities},
        words::{self, is_han, is_stop, words},
    },
};

/// The facets of whole documents, in the order in which people would ask for them.
pub(crate) const OF_DOCUMENTS: [Facet; 4] = [Facet::Subject, Facet::Place, Facet::Edition, Facet::Document];

/// A value of a facet with the documents that carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// As people read it.
    pub label: String,
    /// Its folded form: equal for spellings of one value.
    pub key: String,
    /// Who carries it.
    pub documents: BTreeSet<DocumentId>,
}

/// The values of `facet` among `passages`, in order of first appearance.
pub(crate) fn values(facet: Facet, passages: &[&Passage]) -> Vec<Value> {
    let subjects = if facet == Facet::Subject { subjects_by_title(passages) } else { BTreeMap::new() };
    let mut values: Vec<Value> = Vec::new();
    for passage in passages {
        let label = match facet {
            Facet::Subject => passage.facets.subject.clone().or_else(|| subjects.get(&passage.document_id).cloned()),
            Facet::Edition => passage.facets.edition.clone(),
            Facet::Place => passage.facets.place.clone(),
            Facet::Document => Some(document_label(passage)),
            Facet::Period | Facet::Section | Facet::Kind => None,
        };
        let Some(label) = label.filter(|label| !label.trim().is_empty() && !is_opaque(label)) else { continue };
        let key = value_key(&label);
        match values.iter_mut().find(|value| value.key == key) {
            Some(value) => {
                value.documents.insert(passage.document_id);
            }
            None => values.push(Value { label, key, documents: BTreeSet::from([passage.document_id]) }),
        }
    }
    values
}

/// Labels without the words that all of them end with: "Aurora X1 Robot" and "Borealis Z9 Robot" are told apart by
/// "Aurora X1" and "Borealis Z9". Unchanged where nothing would be left or two would become equal.
pub(crate) fn shortest(labels: &[String]) -> Vec<String> {
    let split: Vec<Vec<words::Word<'_>>> = labels.iter().map(|label| words(label)).collect();
    let shortest = split.iter().map(Vec::len).min().unwrap_or_default();
    let common = (0..shortest)
        .take_while(|back| {
            let mut ends = split.iter().map(|words| fold(words[words.len() - 1 - back].text));
            ends.next().is_some_and(|first| ends.all(|other| other == first))
        })
        .count();
    if common == 0 || common >= shortest || labels.len() < 2 {
        return labels.to_vec();
    }
    let cut: Vec<String> = labels
        .iter()
        .zip(&split)
        .map(|(label, words)| {
            let end = words[words.len() - common].start;
            label.get(..end).unwrap_or(label).trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')').to_owned()
        })
        .collect();
    let distinct: BTreeSet<String> = cut.iter().map(|label| value_key(label)).collect();
    if distinct.len() == labels.len() && cut.iter().all(|label| !label.is_empty()) { cut } else { labels.to_vec() }
}

/// The key of a value: folded, spaces squeezed.
pub(crate) fn value_key(label: &str) -> String {
    fold(label).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a document is called in an option: its title, else its file name without the ending.
pub(crate) fn document_label(passage: &Passage) -> String {
    if let Some(title) = passage.title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
        return title.to_owned();
    }
    stem(&passage.filename).to_owned()
}

/// Whether a label is a machine's: ids and hashes tell people nothing.
pub(crate) fn is_opaque(label: &str) -> bool {
    label.split(|c: char| !c.is_alphanumeric()).filter(|word| word.is_ascii()).any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let letters = word.len() - digits;
        // "a07p0" changes between letters and digits three times, "X1" once.
        let changes =
            word.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
        digits >= 5 || changes >= 3 || digits >= 3 && letters >= 3 && word.len() >= 8
    })
}

fn stem(filename: &str) -> &str {
    match filename.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= 5 => stem,
        _ => filename,
    }
}

/// Where ingestion found no subject: the run of title words in which a document differs from the others, given that the
/// titles share something. Years and words of document kinds are no subjects.
fn subjects_by_title(passages: &[&Passage]) -> BTreeMap<DocumentId, String> {
    let mut titles: BTreeMap<DocumentId, Vec<(String, String)>> = BTreeMap::new();
    for passage in passages {
        titles.entry(passage.document_id).or_insert_with(|| title_words(&document_label(passage)));
    }
    titles.retain(|_, words| !words.iter().any(|(text, _)| is_opaque(text)));
    if titles.len() < 2 {
        return BTreeMap::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for words in titles.values() {
        let distinct: BTreeSet<&str> = words.iter().map(|(_, key)| key.as_str()).collect();
        for key in distinct {
            *counts.entry(key).or_default() += 1;
        }
    }
    let shared = |key: &str| counts.get(key).is_some_and(|count| *count * 5 >= titles.len() * 3 && *count > 1);
    titles
        .iter()
        .filter(|(_, words)| words.iter().any(|(_, key)| shared(key)))
        .filter_map(|(document, words)| {
            let run: Vec<&str> = words
                .iter()
                .filter(|(_, key)| !shared(key) && !is_year(key) && !is_stop(key))
                .map(|(text, _)| text.as_str())
                .collect();
            let glue = if run.iter().all(|word| word.starts_with(is_han)) { "" } else { " " };
            (!run.is_empty()).then(|| (*document, run.join(glue)))
        })
        .collect()
}

fn title_words(title: &str) -> Vec<(String, String)> {
    let spaced = title.replace(['_', '-'], " ");
    words(&spaced).into_iter().map(|word| (word.text.to_owned(), fold(word.text))).collect()
}

/// "2025".
pub(crate) fn is_year(key: &str) -> bool {
    key.len() == 4 && (key.starts_with("19") || key.starts_with("20")) && key.bytes().all(|byte| byte.is_ascii_digit())
}

/// A folded text with its words, against which values are looked up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mention {
    folded: String,
    words: BTreeSet<String>,
}

impl Mention {
    /// Reads a text.
    pub(crate) fn read(text: &str) -> Self {
        let folded = fold(text);
        let mut found: BTreeSet<String> = words(&folded).iter().map(|word| word.text.to_owned()).collect();
        // "Aurora-X1" and "X1's" name X1 too.
        let parts: Vec<String> = found
            .iter()
            .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>())
            .filter(|part| !part.is_empty())
            .collect();
        found.extend(parts);
        Self { folded, words: found }
    }

    /// Whether the text names `value`, whole or by a word that only this one of `all` has. One letter may be wrong in
    /// words of five letters or more.
    pub(crate) fn names(&self, value: &Value, all: &[Value]) -> bool {
        if self.has_phrase(&value.key) {
            return true;
        }
        let own: Vec<String> = key_words(&value.key)
            .into_iter()
            .filter(|word| !all.iter().any(|other| other.key != value.key && key_words(&other.key).contains(word)))
            .collect();
        // A numeral or a short common word is no name by itself; codes and long words are.
        own.iter().any(|word| telling(word) && self.has_word(word))
    }

    /// Whether the text holds the folded `phrase` between word bounds.
    pub(crate) fn has_phrase(&self, phrase: &str) -> bool {
        if phrase.is_empty() {
            return false;
        }
        let bound = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_han(c));
        // Chinese goes on without a gap; 晨星A1 ends where 晨星A10 does not.
        let (starts_free, ends_free) = (phrase.starts_with(is_han), phrase.ends_with(is_han));
        self.folded.match_indices(phrase).any(|(at, found)| {
            (starts_free || bound(self.folded[..at].chars().next_back()))
                && (ends_free || bound(self.folded[at + found.len()..].chars().next()))
        })
    }

    /// Whether the text names a day, month or year.
    pub(crate) fn says_date(&self) -> bool {
        quantities(&self.folded).iter().any(|quantity| quantity.kind == Kind::Date)
    }

    /// Whether the text names a year or a part of one, or says which one by today.
    pub(crate) fn says_year(&self) -> bool {
        const RELATIVE: [&str; 14] = [
            "quarter",
            "this year",
            "last year",
            "current year",
            "prior year",
            "previous year",
            "latest",
            "today",
            "去年",
            "今年",
            "前年",
            "本年",
            "上年",
            "季度",
        ];
        let fiscal = |word: &String| word.strip_prefix("fy").is_some_and(|year| year.parse::<u32>().is_ok());
        self.words.iter().any(|word| is_year(word) || fiscal(word))
            || RELATIVE.iter().any(|phrase| self.has_phrase(phrase))
    }

    fn has_word(&self, word: &str) -> bool {
        if self.words.contains(word) || (word.starts_with(is_han) && self.folded.contains(word)) {
            return true;
        }
        let letters = word.chars().count();
        let alphabetic = word.chars().all(|c| c.is_alphabetic() && !is_han(c));
        letters >= 5
            && alphabetic
            && self.words.iter().any(|known| {
                known.chars().count() >= 4
                    && known.chars().next() == word.chars().next()
                    && strsim::damerau_levenshtein(known, word) <= 1
            })
    }
}

fn telling(word: &str) -> bool {
    let mut chars = word.chars();
    let digits = word.chars().any(|c| c.is_ascii_digit());
    let letters = word.chars().any(char::is_alphabetic);
    if chars.next().is_some_and(is_han) {
        return word.chars().count() >= 2 && !is_stop(word);
    }
    (digits && letters) || is_year(word) || (word.chars().count() >= 3 && letters && !is_stop(word))
}

fn key_words(key: &str) -> Vec<String> {
    words(key)
        .into_iter()
        .map(|word| word.text.to_owned())
        .filter(|word| !is_stop(word) && !GENERIC.contains(&word.as_str()))
        .collect()
}

/// Words of document kinds: they name no subject.
const GENERIC: &[&str] = &[
    "manual",
    "guide",
    "handbook",
    "policy",
    "document",
    "user",
    "version",
    "edition",
    "page",
    "notes",
    "report",
    "annual",
    "product",
    "company",
    "手册",
    "用户",
    "指南",
    "制度",
    "说明书",
    "报告",
    "版本",
    "版",
    "产品",
    "公司",
    "文档",
    "有限公司",
];

/// How far along an edition is: its effective date if known, else the numbers in its name. `None`: cannot be ordered.
pub(crate) fn edition_rank(passage: &Passage) -> Option<(String, f64)> {
    let number = passage.facets.edition.as_deref().and_then(|edition| {
        let digits: String = edition
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        digits.trim_end_matches('.').parse::<f64>().ok().or_else(|| ordinal(edition))
    });
    match (&passage.facets.effective_from, number) {
        (Some(date), number) => Some((date.clone(), number.unwrap_or(0.0))),
        (None, Some(number)) if (1900.0..2200.0).contains(&number) => Some((format!("{number:04}"), number)),
        (None, Some(number)) => Some((String::new(), number)),
        (None, None) => None,
    }
}

/// "Third edition", "第三版".
fn ordinal(edition: &str) -> Option<f64> {
    const WORDS: [(&str, &str, f64); 9] = [
        ("first", "一", 1.0),
        ("second", "二", 2.0),
        ("third", "三", 3.0),
        ("fourth", "四", 4.0),
        ("fifth", "五", 5.0),
        ("sixth", "六", 6.0),
        ("seventh", "七", 7.0),
        ("eighth", "八", 8.0),
        ("ninth", "九", 9.0),
    ];
    let folded = fold(edition);
    WORDS.iter().find(|(english, chinese, _)| folded.contains(english) || folded.contains(chinese)).map(|(.., n)| *n)
}

#[cfg(test)]
mod tests {
    use super::{super::grade::fixture::passage, *};

    #[test]
    fn subjects_come_from_titles_where_ingestion_found_none() {
        let mut first = passage("a.md", "x");
        first.title = Some("Aurora X1 User Manual".into());
        let mut second = passage("b.md", "y");
        second.title = Some("Borealis Z9 User Manual".into());
        let labels: Vec<String> =
            values(Facet::Subject, &[&first, &second]).into_iter().map(|value| value.label).collect();
        assert_eq!(labels, ["Aurora X1", "Borealis Z9"]);

        first.title = Some("晨星 A5 用户手册".into());
        second.title = Some("晨星 B7 用户手册".into());
        let labels: Vec<String> =
            values(Facet::Subject, &[&first, &second]).into_iter().map(|value| value.label).collect();
        assert_eq!(labels, ["A5", "B7"]);
    }

    #[test]
    fn machine_names_are_no_values() {
        for label in ["ibmcld 07578-61136", "d41d8cd98f00b204", "scan_20240117093212", "zh-a07p0"] {
            assert!(is_opaque(label), "{label}");
        }
        for label in ["Aurora X1", "Travel Policy 2025", "NL-1101", "晨星 A5", "ISO 9001"] {
            assert!(!is_opaque(label), "{label}");
        }
    }

    #[test]
    fn labels_lose_what_all_end_with() {
        let short = |labels: &[&str]| shortest(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>());
        assert_eq!(short(&["晨星 A5 空气净化器", "晨星 B7 空气净化器"]), ["晨星 A5", "晨星 B7"]);
        assert_eq!(short(&["Aurora X1 Robot", "Borealis Z9 Robot"]), ["Aurora X1", "Borealis Z9"]);
        assert_eq!(short(&["Robot", "Mini Robot"]), ["Robot", "Mini Robot"]);
        assert_eq!(short(&["Basic", "Pro"]), ["Basic", "Pro"]);
    }

    #[test]
    fn unrelated_titles_give_no_subjects() {
        let mut first = passage("a.md", "x");
        first.title = Some("Forecasting".into());
        let mut second = passage("b.md", "y");
        second.title = Some("Russian Blue".into());
        assert_eq!(values(Facet::Subject, &[&first, &second]), []);
    }

    #[test]
    fn a_value_is_named_whole_by_its_own_word_and_with_a_wrong_letter() {
        let mut first = passage("a.md", "x");
        first.facets.subject = Some("Aurora X1".into());
        let mut second = passage("b.md", "y");
        second.facets.subject = Some("Borealis X2".into());
        let all = values(Facet::Subject, &[&first, &second]);
        let named = |text: &str| -> Vec<bool> {
            let mention = Mention::read(text);
            all.iter().map(|value| mention.names(value, &all)).collect()
        };
        assert_eq!(named("How long is the Aurora X1 warranty?"), [true, false]);
        assert_eq!(named("how long is the aurora's warranty"), [true, false]);
        assert_eq!(named("the Auroar warranty"), [true, false]);
        assert_eq!(named("x2的保修期多久"), [false, true]);
        assert_eq!(named("Aurora and Borealis"), [true, true]);
        assert_eq!(named("How long is the warranty?"), [false, false]);
    }

    #[test]
    fn a_name_that_goes_on_is_another_one() {
        for (text, phrase, expected) in [
            ("晨星A10的保修期多久？", "晨星a1", false),
            ("晨星A1的保修期多久？", "晨星a1", true),
            ("旧X1手机多少钱？", "x1手机", true),
            ("ZX1手机多少钱？", "x1手机", false),
            ("How long is the warranty of the X10?", "x1", false),
        ] {
            assert_eq!(Mention::read(text).has_phrase(phrase), expected, "{text} {phrase}");
        }
    }

    #[test]
    fn editions_are_ordered_by_date_then_number() {
        let mut old = passage("a.md", "x");
        old.facets.edition = Some("2023".into());
        let mut new = passage("b.md", "y");
        new.facets.edition = Some("2025 版".into());
        new.facets.effective_from = Some("2025-04-01".into());
        assert!(edition_rank(&old) < edition_rank(&new));
        old.facets.edition = Some("Second edition".into());
        new.facets = crate::domain::knowledge::Facets { edition: Some("第三版".into()), ..Default::default() };
        assert!(edition_rank(&old) < edition_rank(&new));
        new.facets.edition = Some("Pro".into());
        assert_eq!(edition_rank(&new), None);
    }
}
