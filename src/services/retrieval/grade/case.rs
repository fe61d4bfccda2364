//! A question with its evidence, as the built-in grader is given it, and what the evidence may leave open.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    domain::{
        evidence::{Ambiguity, Passage},
        hitl::{Facet, Question as Asked},
        id::DocumentId,
        index::TermStats,
    },
    text::{lang::Lang, question::Question},
};

use super::{answers::Said, given::Given, lexicon::Kin, reading::Reading, support::Support};

/// A question with its evidence.
pub(crate) struct Case {
    /// The question as it is searched for, resolved against the conversation.
    pub asked: String,
    /// The same, read.
    pub question: Question,
    /// The language that people are answered in.
    pub lang: Lang,
    /// Leaves: the best few of each of the best documents.
    pub pool: Arc<[Passage]>,
    /// The leaves, read.
    pub readings: Vec<Reading>,
    /// The index's term statistics.
    pub stats: Arc<TermStats>,
    /// Words of the passages that are near in meaning to words of the question.
    pub kin: Kin,
    /// What has been said.
    pub given: Given,
    /// Facets that an earlier answer fixed.
    pub fixed: Vec<Facet>,
    /// Today, `YYYY-MM-DD`.
    pub today: String,
    /// Cost of asking over cost of a wrong silent choice: ask when the best answer's share is below one minus it.
    pub cost_ratio: f32,
    /// One side of the search failed.
    pub degraded: bool,
    /// Rewrites already spent.
    pub rewrites: u32,
}

impl Case {
    /// What the best window of a leaf says.
    pub(crate) fn said(&self, support: &Support) -> Said {
        let text = self.pool[support.leaf].text.get(support.window.clone()).unwrap_or_default();
        Said::read(support, &self.readings[support.leaf], text, self.question.wants)
    }
}

/// What the evidence leaves open.
#[derive(Debug, Clone)]
pub(crate) struct OpenQuestion {
    /// Complete with options.
    pub question: Asked,
    /// The best-supported reading, in words.
    pub assumption: Option<String>,
    /// Documents that this reading rules out.
    pub rules_out: BTreeSet<DocumentId>,
    /// Share of the best answer among all, 0 … 1.
    pub best_share: f32,
}

/// What is open, how ambiguous that is, and why.
pub(crate) type Open = (Ambiguity, OpenQuestion, String);
