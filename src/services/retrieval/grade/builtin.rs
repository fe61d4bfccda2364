//! The built-in grader: whether the evidence answers the question, and whether it is one answer or several.
//!
//! It asks only where the corpus itself shows that the question is open: parallel documents that give different
//! answers, rows of one table that the question does not tell apart, a period that was not said. Everything else is
//! answered, at most with an assumption, or refused.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::{
    domain::{
        evidence::{Ambiguity, Answerability, Guidance, Passage, Relevance, Route},
        hitl::{Facet, Question as Asked},
        id::DocumentId,
        index::TermStats,
    },
    text::{
        lang::Lang,
        question::{Breadth, Question, Wants},
        sentences::is_row,
        words::words,
    },
};

use super::{
    super::facets::{self, OF_DOCUMENTS, Value, document_label, edition_rank},
    answers::{Said, groups},
    choices::{self, Candidate, Slot},
    given::Given,
    lexicon::{Vocabulary, Weighted, weigh},
    support::{Frame, Support, support},
    tables, weights,
};

/// A question before its evidence.
pub(crate) struct Case<'a> {
    /// The question as it is searched for, resolved against the conversation.
    pub asked: &'a str,
    /// The same, read.
    pub question: &'a Question,
    /// The language that people are answered in.
    pub lang: Lang,
    /// Leaves: the best few of each of the best documents.
    pub pool: &'a [Passage],
    /// Fused score around rank 20.
    pub baseline: Option<f32>,
    /// The index's term statistics.
    pub stats: &'a TermStats,
    /// What has been said.
    pub given: &'a Given,
    /// Facets that an earlier answer fixed.
    pub fixed: &'a [Facet],
    /// Today, `YYYY-MM-DD`.
    pub today: &'a str,
    /// Cost of asking over cost of a wrong silent choice: ask when the best answer's share is below one minus it.
    pub cost_ratio: f32,
    /// One side of the search failed.
    pub degraded: bool,
    /// Rewrites already spent.
    pub rewrites: u32,
}

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
    pub reason: String,
    /// All leaves, as judged; for measuring.
    pub supports: Vec<Support>,
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

/// Judges a case.
pub(crate) fn judge(case: &Case<'_>) -> Judged {
    let all: Vec<&Passage> = case.pool.iter().collect();
    let known: Vec<(Facet, Vec<Value>)> =
        OF_DOCUMENTS.iter().map(|facet| (*facet, facets::values(*facet, &all))).collect();
    let weighted = weigh_focus(case, &known);
    let frame = Frame { question: case.question, weighted: &weighted, baseline: case.baseline };
    let supports: Vec<Support> =
        case.pool.iter().enumerate().map(|(leaf, passage)| support(&frame, leaf, passage)).collect();

    let mut dropped = ruled_out_by_name(case, &known);
    let mut judged = judgement(case, &supports, &dropped);
    let (mut edition, mut candidates) = (None, candidates(case, &supports, &dropped));
    if case.question.breadth == Breadth::One {
        let (newest, superseded) = newest_edition(case, &candidates);
        edition = newest;
        dropped.extend(superseded);
        candidates.retain(|support| !dropped.contains(&case.pool[support.leaf].document_id));
    }
    judged.guidance.edition = edition;
    judged.lead = candidates.iter().map(|support| support.leaf).collect();
    judged.dropped = dropped;
    judged.supports.clone_from(&supports);
    if judged.relevance == Relevance::None || candidates.is_empty() {
        return judged;
    }
    let open = open_table(case, &weighted, &candidates)
        .or_else(|| open_documents(case, &known, &candidates, &mut judged))
        .or_else(|| open_pointer(case, &supports));
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
fn weigh_focus(case: &Case<'_>, known: &[(Facet, Vec<Value>)]) -> Vec<Weighted> {
    let mut weighted = weigh(case.question, case.stats);
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

/// Where the question names a product (place, edition), its siblings are out.
fn ruled_out_by_name(case: &Case<'_>, known: &[(Facet, Vec<Value>)]) -> BTreeSet<DocumentId> {
    let mut out = BTreeSet::new();
    for (facet, values) in known.iter().filter(|(facet, _)| *facet != Facet::Document) {
        // The nearest text that names any decides: "and the Borealis?" after a question about the Aurora.
        let named: Vec<&Value> = case
            .given
            .question
            .iter()
            .map(|mention| values.iter().filter(|value| mention.names(value, values)).collect::<Vec<_>>())
            .find(|named| !named.is_empty())
            .unwrap_or_default();
        if named.is_empty() || named.len() == values.len() {
            continue;
        }
        let inside: BTreeSet<DocumentId> = named.iter().flat_map(|value| value.documents.iter().copied()).collect();
        for value in values.iter().filter(|value| !named.iter().any(|named| named.key == value.key)) {
            for document in value.documents.difference(&inside) {
                let is_sibling = inside.iter().any(|other| {
                    let (Some(a), Some(b)) = (first_of(case.pool, *document), first_of(case.pool, *other)) else {
                        return false;
                    };
                    siblings(a, b)
                });
                if is_sibling
                    || *facet == Facet::Edition && inside.iter().any(|other| same_series(case.pool, *document, *other))
                {
                    out.insert(*document);
                }
            }
        }
    }
    out
}

fn first_of(pool: &[Passage], document: DocumentId) -> Option<&Passage> {
    pool.iter().find(|passage| passage.document_id == document)
}

/// Whether two documents are of one make: the same kind of text about different things.
fn siblings(a: &Passage, b: &Passage) -> bool {
    if let (Some(left), Some(right)) = (&a.facets.kind, &b.facets.kind) {
        return left == right;
    }
    title_likeness(a, b) >= 0.34
}

/// The share of title words that two documents have in common, numbers and codes aside.
fn title_likeness(a: &Passage, b: &Passage) -> f32 {
    let of = |passage: &Passage| -> BTreeSet<String> {
        let label = crate::text::fold(&document_label(passage)).replace(['_', '-'], " ");
        words(&label)
            .into_iter()
            .map(|word| word.text.to_owned())
            .filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()))
            .collect()
    };
    let (left, right) = (of(a), of(b));
    let (common, union) = (left.intersection(&right).count(), left.union(&right).count());
    #[expect(clippy::cast_precision_loss, reason = "a few words")]
    let share = if union == 0 { 0.0 } else { common as f32 / union as f32 };
    share
}

/// Two editions of one text: the same subject, or the same title but for numbers.
fn same_series(pool: &[Passage], a: DocumentId, b: DocumentId) -> bool {
    let (Some(a), Some(b)) = (first_of(pool, a), first_of(pool, b)) else { return false };
    match (&a.facets.subject, &b.facets.subject) {
        (Some(left), Some(right)) if facets::value_key(left) == facets::value_key(right) => true,
        (Some(left), Some(right)) => {
            // Subjects that differ in numbers only are one series: "Travel Policy 2023" and "Travel Policy 2025".
            let bare =
                |subject: &str| facets::value_key(subject).replace(|c: char| c.is_ascii_digit(), "").trim().to_owned();
            bare(left) == bare(right)
        }
        _ => title_likeness(a, b) >= 0.6,
    }
}

/// Relevance, answerability and confidence by the best leaf that is not ruled out.
fn judgement(case: &Case<'_>, supports: &[Support], dropped: &BTreeSet<DocumentId>) -> Judged {
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
    } else if confidence >= weights::PARTIAL {
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
        reason,
        supports: Vec::new(),
    }
}

/// The best leaf of each document that comes near the best of all, best first.
fn candidates<'s>(case: &Case<'_>, supports: &'s [Support], dropped: &BTreeSet<DocumentId>) -> Vec<&'s Support> {
    let mut best: BTreeMap<DocumentId, &Support> = BTreeMap::new();
    for support in supports {
        let document = case.pool[support.leaf].document_id;
        if dropped.contains(&document) {
            continue;
        }
        let slot = best.entry(document).or_insert(support);
        if support.score > slot.score {
            *slot = support;
        }
    }
    let top = best.values().map(|support| support.score).fold(0.0, f32::max);
    let mut near: Vec<&Support> =
        best.into_values().filter(|support| support.score >= weights::CANDIDATE.max(0.7 * top)).collect();
    near.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.leaf.cmp(&b.leaf)));
    near
}

/// Among editions of one text only the newest in force speaks: its name, and the documents that it replaces.
fn newest_edition(case: &Case<'_>, candidates: &[&Support]) -> (Option<String>, BTreeSet<DocumentId>) {
    let mut superseded = BTreeSet::new();
    let mut named = None;
    for (at, support) in candidates.iter().enumerate() {
        let passage = &case.pool[support.leaf];
        let Some(rank) = edition_rank(passage) else { continue };
        let series: Vec<(&Passage, (String, f64))> = candidates
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, other)| &case.pool[other.leaf])
            .filter(|other| same_series(case.pool, passage.document_id, other.document_id))
            .filter_map(|other| edition_rank(other).map(|rank| (other, rank)))
            .filter(|(_, other)| *other != rank)
            .collect();
        let in_force = |rank: &(String, f64)| rank.0.as_str() <= case.today;
        let newer_in_force = series.iter().any(|(_, other)| in_force(other) && *other > rank);
        let others_in_force = series.iter().any(|(_, other)| in_force(other));
        if newer_in_force || (!in_force(&rank) && others_in_force) {
            superseded.insert(passage.document_id);
        } else if !series.is_empty() {
            named = passage.facets.edition.clone().or_else(|| passage.facets.effective_from.clone());
        }
    }
    (if superseded.is_empty() { None } else { named }, superseded)
}

type Open = (Ambiguity, OpenQuestion, String);

/// Rows or periods of a table that the question does not tell apart.
fn open_table(case: &Case<'_>, weighted: &[Weighted], candidates: &[&Support]) -> Option<Open> {
    if case.question.breadth != Breadth::One || matches!(case.question.wants, Wants::List | Wants::YesNo) {
        return None;
    }
    let best = candidates.first()?;
    let top = &case.pool[best.leaf];
    // The best window must be a row, or stand in a leaf that is mostly table.
    let rows = top.text.lines().filter(|line| is_row(line)).count();
    let in_row = is_row(top.text.get(best.window.clone()).unwrap_or_default());
    if !in_row && rows < 3 {
        return None;
    }
    let leaves: Vec<&Passage> = case.pool.iter().filter(|passage| passage.document_id == top.document_id).collect();
    let given = case.given.all();
    for table in tables::tables(&leaves) {
        let above = Vocabulary::read(&format!(
            "{}\n{}\n{}",
            document_label(top).replace(['_', '-'], " "),
            top.section.as_deref().unwrap_or_default(),
            top.page_number.as_deref().unwrap_or_default()
        ));
        let Some(open) = tables::open(&table, case.question, weighted, &given, &above) else { continue };
        let facet = if open.is_period { Facet::Period } else { Facet::Kind };
        if case.fixed.contains(&facet) {
            continue;
        }
        let total: u32 = open.values.iter().map(|(_, count)| count).sum();
        let listed: Vec<Candidate> = if open.values.len() > choices::MOST {
            Vec::new()
        } else {
            open.values
                .iter()
                .enumerate()
                .map(|(place, (label, count))| Candidate {
                    label: label.clone(),
                    documents: BTreeSet::from([top.document_id]),
                    leaves: *count,
                    // The table's own order.
                    #[expect(clippy::cast_precision_loss, reason = "at most eight")]
                    mass: 1.0 - place as f32 / 100.0,
                    filename: top.filename.clone(),
                })
                .collect()
        };
        let options = choices::options(facet, listed);
        let slot = Slot { facet, is_product: false, name: open.slot.as_deref() };
        let question = choices::question(case.lang, Route::Clarify, &slot, options, case.asked, case.rewrites);
        #[expect(clippy::cast_precision_loss, reason = "a few rows")]
        let best_share = 1.0 / total.max(2) as f32;
        let open = OpenQuestion { question, assumption: None, rules_out: BTreeSet::new(), best_share };
        let what = if facet == Facet::Period { "several periods" } else { "several rows" };
        return Some((Ambiguity::MissingSlot, open, format!("{what} of one table match and their values differ")));
    }
    None
}

/// Parallel documents that answer differently.
fn open_documents(
    case: &Case<'_>,
    known: &[(Facet, Vec<Value>)],
    candidates: &[&Support],
    judged: &mut Judged,
) -> Option<Open> {
    let parallel = parallel(case, candidates);
    if parallel.len() < 2 {
        return None;
    }
    let naming: HashSet<String> = known
        .iter()
        .flat_map(|(_, values)| values)
        .flat_map(|value| Vocabulary::read(&value.label).terms().cloned().collect::<Vec<_>>())
        .collect();
    let said: Vec<Said> = parallel
        .iter()
        .map(|support| {
            let text = case.pool[support.leaf].text.get(support.window.clone()).unwrap_or_default();
            Said::read(support, text, case.question.wants)
        })
        .collect();
    let group = groups(&said, &naming);
    judged.agreed = group.iter().all(|one| *one == group[0]);
    if case.question.breadth != Breadth::One {
        judged.per_value = per_value(case, known, &parallel);
        return None;
    }
    if judged.agreed {
        return None;
    }
    let separating = separating(case, known, &parallel, &group);
    let Some((facet, values)) = separating else {
        // The same thing said twice, differently, with nothing that tells the sources apart.
        judged.guidance.contradiction = contradicts(case, &parallel, &group, &naming);
        return None;
    };
    if let Some((value, rest)) = said_before(case, &values) {
        judged.dropped.extend(rest);
        judged.reason = format!("the conversation is about {value}");
        return None;
    }
    let mut masses: BTreeMap<usize, f32> = BTreeMap::new();
    for (support, group) in parallel.iter().zip(&group) {
        *masses.entry(*group).or_default() += support.score;
    }
    let total: f32 = masses.values().sum();
    let best_share = masses.values().copied().fold(0.0, f32::max) / total.max(f32::EPSILON);
    if best_share >= 1.0 - case.cost_ratio {
        return None;
    }
    let listed: Vec<Candidate> =
        values.iter().map(|value| candidate(case, value, &parallel, &judged.supports)).collect();
    let heaviest = listed.iter().max_by(|a, b| a.mass.total_cmp(&b.mass))?.clone();
    let rules_out = values
        .iter()
        .filter(|value| value.label != heaviest.label)
        .flat_map(|value| value.documents.iter().copied())
        .collect();
    let options = choices::options(facet, listed);
    if options.len() < 2 {
        return None;
    }
    let is_product =
        facet == Facet::Subject && parallel.iter().any(|support| is_about_product(&case.pool[support.leaf]));
    let slot = Slot { facet, is_product, name: None };
    let question = choices::question(case.lang, Route::ScopeSelect, &slot, options, case.asked, case.rewrites);
    let open = OpenQuestion { question, assumption: Some(assuming(case.lang, &heaviest.label)), rules_out, best_share };
    Some((Ambiguity::MultipleCandidates, open, format!("{} candidates answer differently", values.len())))
}

/// "assuming that you mean X" in the user's language.
pub(crate) fn assuming(lang: Lang, label: &str) -> String {
    if lang == Lang::Zh { format!("假设您指的是{label}") } else { format!("assuming that you mean {label}") }
}

/// Candidates that speak of the same matter as the best one: siblings of it with as much of the question in them.
fn parallel<'s>(case: &Case<'_>, candidates: &[&'s Support]) -> Vec<&'s Support> {
    let Some(best) = candidates.first() else { return Vec::new() };
    let top = &case.pool[best.leaf];
    candidates
        .iter()
        .filter(|support| {
            let passage = &case.pool[support.leaf];
            if support.leaf == best.leaf {
                return true;
            }
            let (own, theirs) = (&best.features, &support.features);
            let as_much = theirs.focus + 0.12 >= own.focus && (theirs.kind - own.kind).abs() < 0.3;
            // Words cannot be compared across languages: there nearness in meaning has to be alike.
            let alike = if best.crosses || support.crosses {
                best.crosses == support.crosses && (own.dense - theirs.dense).abs() <= 0.12
            } else {
                as_much
            };
            let same_heading = match (&top.section, &passage.section) {
                (Some(left), Some(right)) => {
                    let innermost = |path: &str| facets::value_key(path.rsplit(" > ").next().unwrap_or_default());
                    innermost(left) == innermost(right)
                }
                _ => false,
            };
            alike && (siblings(top, passage) || same_heading && title_likeness(top, passage) > 0.0)
        })
        .copied()
        .collect()
}

/// The facet that tells the answers apart, with its values among the parallel candidates.
fn separating(
    case: &Case<'_>,
    known: &[(Facet, Vec<Value>)],
    parallel: &[&Support],
    group: &[usize],
) -> Option<(Facet, Vec<Value>)> {
    let documents: BTreeSet<DocumentId> = parallel.iter().map(|support| case.pool[support.leaf].document_id).collect();
    let mut best: Option<(f32, Facet, Vec<Value>)> = None;
    for (facet, values) in known {
        if case.fixed.contains(facet) {
            continue;
        }
        let here: Vec<Value> = values
            .iter()
            .filter_map(|value| {
                let inside: BTreeSet<DocumentId> = value.documents.intersection(&documents).copied().collect();
                (!inside.is_empty()).then(|| Value { documents: inside, ..value.clone() })
            })
            .collect();
        if !(2..=choices::MOST).contains(&here.len()) {
            continue;
        }
        let value_of = |support: &Support| {
            here.iter().position(|value| value.documents.contains(&case.pool[support.leaf].document_id))
        };
        let total: f32 = parallel.iter().map(|support| support.score).sum();
        let with_value: f32 =
            parallel.iter().filter(|support| value_of(support).is_some()).map(|support| support.score).sum();
        let known_share = with_value / total.max(f32::EPSILON);
        let mut masses = vec![0.0_f32; here.len()];
        for support in parallel {
            if let Some(value) = value_of(support) {
                masses[value] += support.score;
            }
        }
        let mut ordered = masses.clone();
        ordered.sort_by(|a, b| b.total_cmp(a));
        let balance = ordered[1] / ordered[0].max(f32::EPSILON);
        let pairs: Vec<(usize, usize, f32)> = parallel
            .iter()
            .zip(group)
            .filter_map(|(support, group)| value_of(support).map(|value| (value, *group, support.score)))
            .collect();
        let gain = gain(&pairs);
        let merit = gain * known_share * prior(*facet);
        if known_share >= 0.8 && gain >= 0.5 && balance >= 0.4 && best.as_ref().is_none_or(|(known, ..)| *known < merit)
        {
            best = Some((merit, *facet, here));
        }
    }
    best.map(|(_, facet, values)| (facet, values))
}

const fn prior(facet: Facet) -> f32 {
    match facet {
        Facet::Subject => 1.0,
        Facet::Place => 0.95,
        Facet::Period | Facet::Edition => 0.9,
        Facet::Section | Facet::Kind => 0.7,
        Facet::Document => 0.65,
    }
}

/// How much knowing the value tells of the answer: 1 − H(answer | value) / H(answer), over (value, answer, mass).
fn gain(pairs: &[(usize, usize, f32)]) -> f32 {
    let entropy = |masses: &BTreeMap<usize, f32>| -> f32 {
        let total: f32 = masses.values().sum();
        masses.values().filter(|mass| **mass > 0.0).map(|mass| -(mass / total) * (mass / total).ln()).sum()
    };
    let mut answers: BTreeMap<usize, f32> = BTreeMap::new();
    let mut by_value: BTreeMap<usize, BTreeMap<usize, f32>> = BTreeMap::new();
    for (value, answer, mass) in pairs {
        *answers.entry(*answer).or_default() += mass;
        *by_value.entry(*value).or_default().entry(*answer).or_default() += mass;
    }
    let whole = entropy(&answers);
    if whole <= f32::EPSILON {
        return 0.0;
    }
    let total: f32 = answers.values().sum();
    let left: f32 = by_value.values().map(|masses| masses.values().sum::<f32>() / total * entropy(masses)).sum();
    1.0 - left / whole
}

fn candidate(case: &Case<'_>, value: &Value, parallel: &[&Support], supports: &[Support]) -> Candidate {
    let inside = |support: &Support| value.documents.contains(&case.pool[support.leaf].document_id);
    let leaves = supports.iter().filter(|support| inside(support) && support.score >= weights::CANDIDATE).count();
    Candidate {
        label: value.label.clone(),
        documents: value.documents.clone(),
        leaves: u32::try_from(leaves.max(1)).unwrap_or(u32::MAX),
        mass: parallel.iter().filter(|support| inside(support)).map(|support| support.score).sum(),
        filename: parallel
            .iter()
            .find(|support| inside(support))
            .map(|support| case.pool[support.leaf].filename.clone())
            .unwrap_or_default(),
    }
}

/// The one value that the conversation is about, and the documents of the others.
fn said_before(case: &Case<'_>, values: &[Value]) -> Option<(String, BTreeSet<DocumentId>)> {
    for mention in &case.given.before {
        let (named, others): (Vec<&Value>, Vec<&Value>) = values.iter().partition(|value| mention.names(value, values));
        if let [only] = named.as_slice() {
            return Some((
                only.label.clone(),
                others.iter().flat_map(|value| value.documents.iter().copied()).collect(),
            ));
        }
    }
    None
}

fn per_value(
    case: &Case<'_>,
    known: &[(Facet, Vec<Value>)],
    parallel: &[&Support],
) -> Vec<(String, BTreeSet<DocumentId>)> {
    let documents: BTreeSet<DocumentId> = parallel.iter().map(|support| case.pool[support.leaf].document_id).collect();
    known
        .iter()
        .map(|(_, values)| {
            values
                .iter()
                .map(|value| (value.label.clone(), value.documents.intersection(&documents).copied().collect()))
                .filter(|(_, inside): &(String, BTreeSet<DocumentId>)| !inside.is_empty())
                .collect::<Vec<_>>()
        })
        .find(|values| (2..=choices::MOST).contains(&values.len()))
        .unwrap_or_default()
}

/// Sentences that are alike but for their numbers or a negation contradict each other.
fn contradicts(case: &Case<'_>, parallel: &[&Support], group: &[usize], naming: &HashSet<String>) -> bool {
    let numeric = !case.question.wants.quantities().is_empty();
    (1..parallel.len()).any(|other| {
        group[other] != group[0] && numeric && parallel[0].words.likeness(&parallel[other].words, naming) >= 0.5
    })
}

fn is_about_product(passage: &Passage) -> bool {
    const KINDS: [&str; 8] = ["manual", "guide", "handbook", "datasheet", "手册", "说明书", "用户手册", "指南"];
    let kind = passage.facets.kind.as_deref().map(crate::text::fold).unwrap_or_default();
    let label = crate::text::fold(&document_label(passage));
    KINDS.iter().any(|known| kind.contains(known) || label.contains(known))
}

/// "this library" where no library was spoken of and several documents would do.
fn open_pointer(case: &Case<'_>, supports: &[Support]) -> Option<Open> {
    let noun = case.question.pointed_at.as_deref()?;
    if case.question.has_name() || case.fixed.contains(&Facet::Subject) {
        return None;
    }
    let head = noun.rsplit(' ').next().unwrap_or(noun);
    if case.given.before.iter().any(|mention| mention.has_phrase(head)) {
        return None;
    }
    let mut best: BTreeMap<DocumentId, f32> = BTreeMap::new();
    for support in supports {
        let slot = best.entry(case.pool[support.leaf].document_id).or_default();
        *slot = slot.max(support.score);
    }
    let top = best.values().copied().fold(0.0, f32::max);
    let near = best.values().filter(|score| **score >= 0.6 * top).count();
    if near < 2 {
        return None;
    }
    let slot = Slot { facet: Facet::Subject, is_product: false, name: Some(noun) };
    let question = choices::question(case.lang, Route::Clarify, &slot, Vec::new(), case.asked, case.rewrites);
    let open = OpenQuestion { question, assumption: None, rules_out: BTreeSet::new(), best_share: 0.5 };
    Some((
        Ambiguity::MissingSlot,
        open,
        format!("“{noun}” names nothing that was spoken of, and {near} documents would do"),
    ))
}
