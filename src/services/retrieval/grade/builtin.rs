//! The built-in grader: whether the evidence answers the question, and whether it is one answer or several.
//!
//! It asks only where the corpus itself shows that the question is open: parallel documents that give different
//! answers, rows of one table that the question does not tell apart, a period that was not said. Everything else is
//! answered, at most with an assumption, or refused.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    domain::{
        evidence::{Ambiguity, Answerability, Guidance, Passage, Relevance},
        hitl::Facet,
        id::DocumentId,
    },
    text::{
        question::{Breadth, Question},
        words::words,
    },
};

use super::{
    super::facets::{self, OF_DOCUMENTS, Value},
    candidates::{candidates, lift_native},
    case::{Case, OpenQuestion},
    inside::open_inside,
    lacks::lacks,
    lexicon::{Weighted, weigh},
    namesake::only_names,
    sections::open_sections,
    separate::{names_several, open_documents},
    siblings::{self, edition_in_force, older_edition, ruled_out_by_name},
    support::{Frame, Support, support},
    unnamed::open_unnamed,
    weights,
};

/// A judgement of the built-in grader.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub relevance: Relevance,
    pub answerability: Answerability,
    pub ambiguity: Ambiguity,
    pub confidence: f32,
    /// What it would ask, and what it assumes when it may not.
    pub open: Option<OpenQuestion>,
    pub guidance: Guidance,
    /// Documents per value, for an answer that gives each value its own.
    pub per_value: Vec<(String, BTreeSet<DocumentId>)>,
    /// Documents that are out: another product, a superseded edition.
    pub dropped: BTreeSet<DocumentId>,
    /// Leaves of the pool that carry the answer, best first.
    pub lead: Vec<usize>,
    /// All candidates say the same.
    pub agreed: bool,
    /// Words of the question that stand neither in the best window nor above it.
    pub lacks: Vec<String>,
    pub reason: String,
    /// All leaves, as judged; for measuring.
    pub supports: Vec<Support>,
}

/// Judges a case.
pub(crate) fn judge(case: &Case) -> Judged {
    let all: Vec<&Passage> = case.pool.iter().collect();
    let known: Vec<(Facet, Vec<Value>)> =
        OF_DOCUMENTS.iter().map(|facet| (*facet, facets::values(*facet, &all))).collect();
    let weighted = weigh_focus(case, &known);
    let frame = Frame {
        question: &case.question,
        weighted: &weighted,
        kin: &case.kin,
        names_several: names_several(case, &known, |_| true),
    };
    let mut supports: Vec<Support> = case
        .pool
        .iter()
        .zip(&case.readings)
        .enumerate()
        .map(|(leaf, (passage, reading))| support(&frame, leaf, passage, reading))
        .collect();

    let elsewhere = only_names(case, &weighted, &supports);
    for support in supports.iter_mut().filter(|support| elsewhere.contains(&support.leaf)) {
        support.score *= weights::ANOTHER_THING;
    }
    lift_native(&mut supports);
    let mut dropped = ruled_out_by_name(case, &known);
    let mut judged = judgement(case, &supports, &dropped);
    let named = dropped.clone();
    let mut superseded = BTreeMap::new();
    if case.question.breadth == Breadth::One {
        superseded = siblings::superseded(case, &supports, &dropped);
    }
    // Where the best passage is of a replaced edition, the one in force answers in its place.
    let stands_in = candidates(case, &supports, &dropped)
        .first()
        .and_then(|support| superseded.get(&case.pool[support.leaf].document_id))
        .and_then(|leaf| supports.iter().find(|support| support.leaf == *leaf));
    dropped.extend(superseded.keys());
    let mut candidates = candidates(case, &supports, &dropped);
    if let Some(stands_in) = stands_in {
        candidates.retain(|support| case.pool[support.leaf].document_id != case.pool[stands_in.leaf].document_id);
        candidates.insert(0, stands_in);
    }
    if let Some(first) = candidates.first().map(|support| case.pool[support.leaf].document_id) {
        judged.guidance.edition = edition_in_force(case, first, &superseded);
        if case.question.breadth == Breadth::One {
            judged.guidance.assumption = older_edition(case, first, &named);
        }
    }
    judged.lead = candidates.iter().map(|support| support.leaf).collect();
    let nearest = || supports.iter().max_by(|a, b| a.score.total_cmp(&b.score));
    judged.lacks = candidates.first().copied().or_else(nearest).map(|best| lacks(case, best)).unwrap_or_default();
    judged.dropped = dropped;
    let open = if judged.relevance == Relevance::None || candidates.is_empty() {
        None
    } else {
        open_inside(case, &known, &weighted, &candidates, &supports, &mut judged)
            .or_else(|| open_documents(case, &known, &candidates, &supports, &mut judged))
            .or_else(|| open_sections(case, &supports, &candidates, &mut judged))
            .or_else(|| open_unnamed(case, &supports))
    };
    judged.supports = supports;
    if let Some((ambiguity, open, reason)) = open {
        judged.reason = reason;
        if case.degraded {
            judged.guidance.assumption.clone_from(&open.assumption);
            judged.dropped.extend(open.rules_out.iter().copied());
        } else {
            judged.ambiguity = ambiguity;
            judged.open = Some(open);
        }
    }
    judged
}

/// Words that name a value of a facet are found by the document, not by its sentences.
fn weigh_focus(case: &Case, known: &[(Facet, Vec<Value>)]) -> Vec<Weighted> {
    let mut weighted = weigh(&case.question, &case.stats);
    let mut facet_words: BTreeSet<String> = BTreeSet::new();
    for (facet, values) in known {
        if *facet != Facet::Document {
            facet_words.extend(
                values
                    .iter()
                    .flat_map(|value| words(&value.key).into_iter().map(|w| w.text.to_owned()).collect::<Vec<_>>()),
            );
        }
    }
    for weighted in &mut weighted {
        weighted.is_facet = facet_words.contains(&weighted.word.text);
    }
    // A question of nothing but names is about what the names stand for.
    if weighted.iter().all(|weighted| weighted.is_facet) {
        for weighted in &mut weighted {
            weighted.is_facet = false;
        }
    }
    weighted
}

/// Relevance, answerability and confidence by the best leaf that is not ruled out.
fn judgement(case: &Case, supports: &[Support], dropped: &BTreeSet<DocumentId>) -> Judged {
    let best = supports
        .iter()
        .filter(|support| !dropped.contains(&case.pool[support.leaf].document_id))
        .max_by(|a, b| a.score.total_cmp(&b.score));
    let confidence = best.map_or(0.0, |support| support.score);
    let relevance = match best {
        None => Relevance::None,
        Some(support) if support.score < weights::RELEVANT => Relevance::None,
        Some(support) if support.score >= weights::STRONG => Relevance::Strong,
        Some(_) => Relevance::Weak,
    };
    let answerability = if confidence >= weights::SUFFICIENT {
        Answerability::Sufficient
    } else if confidence >= weights::PARTIAL && says_little(&case.question) && best.is_some_and(holds_half) {
        Answerability::Partial
    } else {
        Answerability::None
    };
    let reason = best.map_or_else(
        || "no passage was found".to_owned(),
        |support| {
            let f = &support.features;
            format!(
                "best passage {:.2}: words {:.2}, in its sentences {:.2}, kind of answer {:.1}, meaning {:.2}{}",
                support.score,
                f.cover,
                f.focus,
                f.kind,
                f.dense,
                if f.missing > 0.0 { ", lacks a code or number of the question" } else { "" }
            )
        },
    );
    Judged {
        relevance,
        answerability,
        ambiguity: Ambiguity::None,
        confidence,
        open: None,
        guidance: Guidance::default(),
        per_value: Vec::new(),
        dropped: BTreeSet::new(),
        lead: Vec::new(),
        agreed: true,
        lacks: Vec::new(),
        reason,
        supports: Vec::new(),
    }
}

/// Whether the question is so short of words that more of them may find what is meant.
fn says_little(question: &Question) -> bool {
    question.content.len() <= 2 && !question.has_name() && !question.content.iter().any(|word| word.is_borrowed)
}

/// Whether half of what is asked stands in the best window: with less there is nothing that a better question would find.
fn holds_half(support: &Support) -> bool {
    support.features.focus >= 0.5 && support.features.missing == 0.0 && !support.crosses
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{fixture::passage, given::Given, lexicon::Kin, reading::Reading},
        *,
    };
    use crate::domain::{evidence::Route, index::TermStats, tool::Background};

    /// What a test says about a question.
    struct World<'a> {
        question: &'a str,
        before: &'a [&'a str],
        fixed: &'a [Facet],
        degraded: bool,
        cost_ratio: f32,
        pool: Vec<Passage>,
    }

    impl World<'_> {
        fn judge(&self) -> Judged {
            let question = Question::read(self.question);
            let background = Background {
                user_turns: self.before.iter().map(|turn| (*turn).to_owned()).collect(),
                ..Background::default()
            };
            let given = Given::new(&[self.question], &background, &[]);
            judge(&Case {
                asked: self.question.to_owned(),
                lang: question.lang,
                question,
                readings: Reading::all(&self.pool),
                pool: self.pool.as_slice().into(),
                stats: Arc::new(TermStats { generation: 1, points: 100, ..TermStats::default() }),
                kin: Kin::new(),
                given,
                fixed: self.fixed.to_vec(),
                today: "2026-01-01".to_owned(),
                cost_ratio: self.cost_ratio,
                degraded: self.degraded,
                rewrites: 0,
            })
        }
    }

    fn manual(subject: &str, text: &str) -> Passage {
        let mut passage = passage(&format!("{subject}.md"), text);
        passage.title = Some(format!("{subject} User Manual"));
        passage.section = Some("Warranty".into());
        passage.facets.subject = Some(subject.into());
        passage.facets.kind = Some("manual".into());
        passage
    }

    fn manuals(first: &str, second: &str) -> Vec<Passage> {
        vec![
            manual("Aurora X1", &format!("The warranty of the robot lasts {first} from the day of purchase.")),
            manual("Borealis Z9", &format!("The warranty of the robot lasts {second} from the day of purchase.")),
        ]
    }

    fn world(question: &str) -> World<'_> {
        World {
            question,
            before: &[],
            fixed: &[],
            degraded: false,
            cost_ratio: 0.3,
            pool: manuals("3 years", "2 years"),
        }
    }

    fn labels(judged: &Judged) -> Vec<&str> {
        judged.open.iter().flat_map(|open| &open.question.options).map(|option| option.label.as_str()).collect()
    }

    #[test]
    fn parallel_documents_with_different_answers_are_candidates() {
        let judged = world("How long does the warranty of the robot last?").judge();
        assert_eq!(judged.ambiguity, Ambiguity::MultipleCandidates);
        assert_eq!(labels(&judged), ["Aurora X1", "Borealis Z9"]);
        let open = judged.open.unwrap();
        assert_eq!(open.question.prompt, "Which product do you mean?");
        assert_eq!(open.assumption.as_deref(), Some("assuming that you mean Aurora X1"));
        assert_eq!(open.rules_out.len(), 1);
    }

    #[test]
    fn the_same_answer_everywhere_is_no_ambiguity() {
        let judged =
            World { pool: manuals("3 years", "36 months"), ..world("How long does the warranty of the robot last?") }
                .judge();
        assert_eq!(
            (judged.ambiguity, judged.agreed, judged.answerability),
            (Ambiguity::None, true, Answerability::Sufficient)
        );
    }

    #[test]
    fn a_named_value_rules_its_siblings_out() {
        let judged = world("How long does the warranty of the Borealis last?").judge();
        assert_eq!(
            (judged.ambiguity, judged.dropped.len(), judged.lead.as_slice()),
            (Ambiguity::None, 1, [1].as_slice())
        );
    }

    #[test]
    fn what_the_user_spoke_of_before_is_not_asked() {
        let judged =
            World { before: &["I bought a Borealis Z9."], ..world("How long does the warranty of the robot last?") }
                .judge();
        assert_eq!((judged.open.is_none(), judged.dropped.len()), (true, 1));
        assert_eq!(judged.reason, "the conversation is about Borealis Z9");
    }

    #[test]
    fn a_facet_that_an_answer_fixed_is_not_asked_again() {
        let fixed = [Facet::Subject, Facet::Document];
        let judged = World { fixed: &fixed, ..world("How long does the warranty of the robot last?") }.judge();
        assert!(judged.open.is_none());
        assert!(judged.guidance.contradiction);
    }

    #[test]
    fn all_and_comparisons_are_answered_per_value() {
        let judged = world("Compare how long the warranty of each robot lasts").judge();
        let values: Vec<&str> = judged.per_value.iter().map(|(value, _)| value.as_str()).collect();
        assert_eq!((judged.open.is_none(), values), (true, vec!["Aurora X1", "Borealis Z9"]));
    }

    #[test]
    fn one_side_of_the_search_is_not_enough_to_ask() {
        let judged = World { degraded: true, ..world("How long does the warranty of the robot last?") }.judge();
        assert!(judged.open.is_none());
        assert_eq!(judged.guidance.assumption.as_deref(), Some("assuming that you mean Aurora X1"));
    }

    /// The parts of a manual's chapter on the warranty, one leaf each.
    fn parts(months: [(&str, u32); 3]) -> Vec<Passage> {
        let mut at = 0;
        let part = |(heading, months): (&str, u32)| {
            let text = format!("The warranty of the robot in {heading} is {months} months from the day of purchase.");
            let mut part = manual("Aurora X1", &format!("{heading}\n\n{text}"));
            part.section = Some(format!("Warranty > {heading}"));
            part.start = at;
            at += 100;
            part
        };
        months.map(part).into()
    }

    const IN_PARTS: [(&str, u32); 3] = [("Germany", 24), ("Japan", 12), ("Brazil", 18)];

    #[test]
    fn parallel_sections_of_one_document_are_candidates() {
        let asked = World { pool: parts(IN_PARTS), ..world("How long is the warranty of the robot?") };
        let judged = asked.judge();
        assert_eq!(judged.ambiguity, Ambiguity::MultipleCandidates, "{}", judged.reason);
        assert_eq!(labels(&judged), ["Germany", "Japan", "Brazil"]);
        let open = judged.open.unwrap();
        assert!(open.question.options.iter().all(|option| option.filter.facet == Facet::Section));
        assert!(World { fixed: &[Facet::Section], ..asked }.judge().open.is_none());
    }

    #[test]
    fn sections_that_were_named_or_agree_or_are_all_asked_for_leave_nothing_open() {
        for (question, before, months) in [
            ("How long is the warranty of the robot in Japan?", &[][..], IN_PARTS),
            ("How long is the warranty of the robot?", &["I live in Brazil."][..], IN_PARTS),
            ("How long is the warranty of the robot in each country?", &[][..], IN_PARTS),
            ("How long is the warranty of the robot?", &[][..], IN_PARTS.map(|(place, _)| (place, 24))),
            // The part that is called what is asked for.
            ("How long is the warranty?", &[][..], [("Warranty", 24), ("Battery", 12), ("Remote control", 18)]),
        ] {
            let judged = World { pool: parts(months), before, ..world(question) }.judge();
            assert!(judged.open.is_none(), "{question} {before:?}: {}", judged.reason);
        }
        let named = World { pool: parts(IN_PARTS), ..world("How long is the warranty of the robot in Japan?") }.judge();
        assert_eq!((named.guidance.chosen, named.lead[0]), (vec![vec!["Japan".to_owned()]], 1));
    }

    #[test]
    fn the_price_of_asking_decides() {
        let judged = World { cost_ratio: 0.6, ..world("How long does the warranty of the robot last?") }.judge();
        assert!(judged.open.is_none());
    }

    #[test]
    fn of_two_editions_only_the_newest_in_force_speaks() {
        let edition = |year: &str, days: &str| {
            let mut passage =
                passage(&format!("policy-{year}.md"), &format!("Employees may work from home on {days} days a week."));
            passage.title = Some(format!("Remote Work Policy {year}"));
            passage.facets.subject = Some("Remote Work".into());
            passage.facets.kind = Some("policy".into());
            passage.facets.edition = Some(year.into());
            passage.facets.effective_from = Some(format!("{year}-02-01"));
            passage
        };
        let pool = vec![edition("2023", "2"), edition("2025", "3"), edition("2027", "4")];
        let judged = World { pool, ..world("On how many days a week may employees work from home?") }.judge();
        assert_eq!((judged.guidance.edition.as_deref(), judged.lead.as_slice()), (Some("2025"), [1].as_slice()));
        assert!(judged.open.is_none());
    }

    #[test]
    fn pointing_at_nothing_is_asked_about() {
        let library =
            |name: &str| passage(name, &format!("The {name} provides books, maps and computers to the public."));
        let pool = vec![library("Monterey library"), library("Auburn library")];
        let judged = World { pool: pool.clone(), ..world("What does this library provide to the public?") }.judge();
        let open = judged.open.unwrap();
        assert_eq!(
            (open.question.route, open.question.prompt.as_str()),
            (Route::Clarify, "Which library do you mean?")
        );
        let judged = World {
            pool,
            before: &["Is the Auburn library open?"],
            ..world("What does this library provide to the public?")
        }
        .judge();
        assert!(judged.open.is_none());
    }

    #[test]
    fn nothing_relevant_is_nothing() {
        let judged = world("Who wrote the national anthem of Iceland?").judge();
        assert_eq!((judged.relevance, judged.open.is_none()), (Relevance::None, true));
        let judged = World { pool: Vec::new(), ..world("How long?") }.judge();
        assert_eq!((judged.relevance, judged.confidence), (Relevance::None, 0.0));
    }
}
