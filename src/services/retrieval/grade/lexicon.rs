//! How much of a question the words of a text cover.

use std::collections::HashSet;

use crate::{
    domain::index::TermStats,
    text::{
        dimensions, fold,
        question::{Content, Question},
        terms::{analyse_folded, term_id},
        words::{is_han, surfaces},
    },
};

pub(crate) use crate::domain::kin::Kin;

/// A content word of the question with its weight.
#[derive(Debug, Clone)]
pub(crate) struct Weighted {
    /// The word.
    pub word: Content,
    /// idf, kept between ½ and 8: a word of every text still says something, an unknown one not everything.
    pub weight: f32,
    /// It names a value of a facet ("Aurora"): found by its document, not in its sentences.
    pub is_facet: bool,
}

/// What a word of the turn before weighs beside one of the question itself, and what all of them weigh at most beside the
/// question's own: "and hotels?" asks for hotels, however long the question before it was.
const BORROWED: f32 = 0.5;
const ALL_BORROWED: f32 = 0.6;

/// What a word that fits any document, and a light verb, weighs beside others.
const GENERIC_WEIGHT: f32 = 0.3;
/// Words that fit any document: "each product" asks about no word "product".
const GENERIC: &[&str] = &[
    "product",
    "company",
    "document",
    "item",
    "thing",
    "detail",
    "information",
    "info",
    "model",
    "device",
    "exactly",
    "currently",
    "time",
    "record",
    "percentage",
    "average",
    "change",
    "difference",
    "amount",
    "year",
    "period",
    "sum",
    "level",
    "length",
    "duration",
    "rule",
    "产品",
    "公司",
    "文档",
    "文件",
    "资料",
    "东西",
    "情况",
    "信息",
    "内容",
    "具体",
    "目前",
    "规定",
    "一款",
    "两款",
    "型号",
    "设备",
    "时间",
    "平均",
    "变化",
    "差额",
    "金额",
    "总额",
    "年份",
    "结果",
    "提到",
    "包括",
    "意思",
    "含义",
];

/// Verbs that lend a noun their form and say little themselves: "set up", "get a refund", "进行检查".
const LIGHT: &[&str] = &[
    "set", "sets", "get", "gets", "getting", "got", "make", "makes", "making", "made", "take", "takes", "taking",
    "took", "taken", "give", "gives", "giving", "gave", "given", "put", "puts", "putting", "go", "goes", "going",
    "went", "done", "let", "use", "uses", "used", "using", "spend", "have", "进行", "得到", "获得", "作出", "做出",
    "使用", "采取",
];

/// Gives each content word its weight.
pub(crate) fn weigh(question: &Question, stats: &TermStats) -> Vec<Weighted> {
    let mut weighted: Vec<Weighted> = question
        .content
        .iter()
        .map(|word| Weighted {
            weight: stats.idf(term_id(&word.term)).clamp(0.5, 8.0) * share_of(word),
            word: word.clone(),
            is_facet: false,
        })
        .collect();
    let sum = |is_borrowed: bool| -> f32 {
        weighted.iter().filter(|one| one.word.is_borrowed == is_borrowed).map(|one| one.weight).sum()
    };
    let (own, borrowed) = (sum(false), sum(true));
    let leads = question.content.iter().any(|word| !word.is_borrowed && !word.is_code);
    if leads && borrowed > ALL_BORROWED * own {
        for one in weighted.iter_mut().filter(|one| one.word.is_borrowed) {
            one.weight *= ALL_BORROWED * own / borrowed;
        }
    }
    weighted
}

impl Weighted {
    /// A word that fits any document.
    pub(crate) fn is_generic(&self) -> bool {
        is_generic(&self.word.text)
    }
}

fn is_generic(word: &str) -> bool {
    GENERIC.contains(&word) || GENERIC.contains(&word.trim_end_matches('s'))
}

fn share_of(word: &Content) -> f32 {
    let generic = is_generic(&word.text);
    let light = LIGHT.contains(&word.text.as_str());
    (if generic || light { GENERIC_WEIGHT } else { 1.0 }) * (if word.is_borrowed { BORROWED } else { 1.0 })
}

/// A text prepared for lookups.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vocabulary {
    folded: String,
    terms: HashSet<String>,
    surfaces: HashSet<String>,
}

impl Vocabulary {
    /// Prepares a text.
    pub(crate) fn read(text: &str) -> Self {
        let folded = fold(text);
        let surfaces = surfaces(&folded);
        let terms = analyse_folded(&folded).into_iter().map(|term| term.text).collect();
        Self { folded, terms, surfaces }
    }

    /// Several texts as one.
    pub(crate) fn of_all<'v>(parts: impl IntoIterator<Item = &'v Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.folded.push_str(&part.folded);
            all.folded.push('\n');
            all.terms.extend(part.terms.iter().cloned());
            all.surfaces.extend(part.surfaces.iter().cloned());
        }
        all
    }

    /// How far a word that the text holds by `there` is met by the nearest in meaning.
    pub(crate) fn near(&self, word: &Content, kin: &Kin, there: f32) -> f32 {
        if there >= 1.0 || word.is_code {
            return there;
        }
        let Some(near) = kin.get(&word.text) else { return there };
        near.iter()
            .filter(|(other, _)| self.surfaces.contains(other.as_str()))
            .map(|(_, credit)| *credit)
            .fold(there, f32::max)
    }

    /// How far the text holds `word`, 0 … 1. A Chinese word that is not there counts by the pairs of characters that are.
    pub(crate) fn holds(&self, word: &Content) -> f32 {
        if self.terms.contains(&word.term) || dimensions::named_in(&word.text, &self.surfaces) {
            return 1.0;
        }
        if word.text.starts_with(is_han) {
            return self.holds_han(&word.text);
        }
        // "warranties" and "guaranteed": what stemming leaves apart meets in a long common beginning.
        let letters = word.term.chars().count();
        if letters >= 6 && !word.is_code && self.terms.iter().any(|term| same_root(term, &word.term)) {
            return 0.9;
        }
        // One slip of the pen.
        if letters >= 6 && !word.is_code && self.terms.iter().any(|term| slipped(term, &word.term)) {
            return 0.8;
        }
        0.0
    }

    fn holds_han(&self, word: &str) -> f32 {
        if self.folded.contains(word) {
            return 1.0;
        }
        let chars: Vec<char> = word.chars().collect();
        if chars.len() < 3 {
            return 0.0;
        }
        let pairs: Vec<String> = chars.windows(2).map(|pair| pair.iter().collect()).collect();
        let there = pairs.iter().filter(|pair| self.folded.contains(pair.as_str())).count();
        #[expect(clippy::cast_precision_loss, reason = "a few pairs")]
        let share = there as f32 / pairs.len() as f32;
        share * 0.9
    }

    /// The share of terms that two texts have in common (Jaccard), leaving out those of `ignored`.
    pub(crate) fn likeness(&self, other: &Self, ignored: &HashSet<String>) -> f32 {
        let own: HashSet<&String> = self.terms.iter().filter(|term| !ignored.contains(*term)).collect();
        let theirs: HashSet<&String> = other.terms.iter().filter(|term| !ignored.contains(*term)).collect();
        let common = own.intersection(&theirs).count();
        let union = own.union(&theirs).count();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred terms")]
        let share = if union == 0 { 0.0 } else { common as f32 / union as f32 };
        share
    }

    /// All words as they are written, folded, stop words and codes aside.
    pub(crate) fn surfaces(&self) -> impl Iterator<Item = &String> {
        self.surfaces.iter()
    }

    /// All terms.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &String> {
        self.terms.iter()
    }
}

fn slipped(left: &str, right: &str) -> bool {
    left.chars().count() >= 5
        && left.chars().next() == right.chars().next()
        && strsim::damerau_levenshtein(left, right) <= 1
}

fn same_root(left: &str, right: &str) -> bool {
    let common = left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count();
    let longer = left.chars().count().max(right.chars().count());
    common >= 6 && common * 10 >= longer * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(question: &str, text: &str) -> Vec<f32> {
        let vocabulary = Vocabulary::read(text);
        Question::read(question).content.iter().map(|word| vocabulary.holds(word)).collect()
    }

    #[test]
    fn english_words_by_stem_and_root() {
        assert_eq!(holds("warranties of the battery", "The warranty covers batteries."), [1.0, 1.0]);
        assert_eq!(holds("installation", "Install it."), [1.0]);
        assert_eq!(holds("solar charger", "The charging dock"), [0.0, 0.0]);
    }

    #[test]
    fn chinese_words_by_pairs() {
        assert_eq!(holds("保修期", "整机保修期为两年"), [1.0]);
        assert_eq!(holds("保修期", "提供保修服务"), [0.45]);
        assert_eq!(holds("价格", "提供保修服务"), [0.0]);
    }
}
