//! What each word of a question weighs.

use crate::{
    domain::index::TermStats,
    text::{
        generic::{is_generic, weight},
        question::{Content, Question},
        terms::term_id,
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

/// How many further leaves are taken to stand beside those of a collection, with each word in one of them: a collection of
/// a few leaves tells little of how rare a word is, and what it lacks would outweigh all that it holds.
const PRIOR: f32 = 20.0;

/// The idf of a term, as in [`TermStats::idf`], beside the prior.
fn rarity(stats: &TermStats, term: &str) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "leaves are counted in millions")]
    let (df, n) = (stats.df(term_id(term)) as f32 + 1.0, stats.points as f32 + PRIOR);
    (1.0 + ((n - df).max(0.0) + 0.5) / (df + 0.5)).ln()
}

/// Gives each content word its weight.
pub(crate) fn weigh(question: &Question, stats: &TermStats) -> Vec<Weighted> {
    let mut weighted: Vec<Weighted> = question
        .content
        .iter()
        .map(|word| Weighted {
            weight: rarity(stats, &word.term).clamp(0.5, 8.0) * share_of(word),
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

fn share_of(word: &Content) -> f32 {
    weight(&word.text) * (if word.is_borrowed { BORROWED } else { 1.0 })
}
