//! Parallel sections of one document that answer differently: "Germany" and "Japan" under "Warranty".

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::{
    domain::{
        evidence::{Ambiguity, Route},
        hitl::Facet,
    },
    text::{
        question::{Breadth, Scope},
        vocabulary::Vocabulary,
    },
};

use super::{
    super::facets::{Mention, Value, value_key},
    answers::{Said, groups},
    builtin::Judged,
    case::{Case, Open, OpenQuestion},
    choices::{self, Candidate, Slot},
    separate::assuming,
    support::Support,
    weights,
};

/// How alike the sentences of parallel sections are, their headings' words aside.
const ALIKE: f32 = 0.5;
/// How much less of the question a parallel section may hold.
const LACKS: f32 = 0.12;

/// Sections of the best document that stand under one heading and say the same of different things. Only where a quantity
/// is asked for: two of them can be told apart by their form.
pub(crate) fn open_sections(
    case: &Case,
    supports: &[Support],
    candidates: &[&Support],
    judged: &mut Judged,
) -> Option<Open> {
    let question = &case.question;
    let is_of_all = question.breadth != Breadth::One || question.scope == Scope::Whole;
    let is_led = question.content.iter().any(|word| word.is_borrowed);
    if is_of_all || is_led || question.wants.quantities().is_empty() || case.fixed.contains(&Facet::Section) {
        return None;
    }
    let best = candidates.first()?;
    let top = &case.pool[best.leaf];
    let (parent, _) = place(top.section.as_deref()?);
    // The best leaf of each section beside it, in the order of the document.
    let mut sections: BTreeMap<&str, &Support> = BTreeMap::new();
    for support in supports {
        let passage = &case.pool[support.leaf];
        let Some((above, heading)) = passage.section.as_deref().map(place) else { continue };
        let is_beside = passage.document_id == top.document_id && above == parent;
        if is_beside && sections.get(heading).is_none_or(|known| known.score < support.score) {
            sections.insert(heading, support);
        }
    }
    let naming: HashSet<String> =
        sections.keys().flat_map(|heading| Vocabulary::read(heading).terms().cloned().collect::<Vec<_>>()).collect();
    sections.retain(|_, support| is_alike(best, support, &naming));
    let mut sections: Vec<(&str, &Support)> = sections.into_iter().collect();
    sections.sort_by_key(|(_, support)| case.pool[support.leaf].start);
    let value = |(heading, _): &(&str, &Support)| Value {
        label: (*heading).to_owned(),
        key: value_key(heading),
        documents: BTreeSet::from([top.document_id]),
    };
    let mut values: Vec<Value> = sections.iter().map(value).collect();
    // What was named is meant; and a section that is called what is asked for is the one that is meant.
    let names = |mention: &Mention| values.iter().position(|value| mention.names(value, &values));
    if let Some(named) = case.given.all().iter().find_map(names) {
        if sections.len() >= 2 && sections[named].1.leaf == best.leaf {
            judged.guidance.chosen.push(vec![values[named].label.clone()]);
        }
        return None;
    }
    sections.retain(|(_, support)| {
        support.score >= weights::CANDIDATE && support.features.focus + LACKS >= best.features.focus
    });
    values.retain(|value| sections.iter().any(|(heading, _)| *heading == value.label));
    if sections.len() < 2 {
        return None;
    }
    let said: Vec<Said> = sections.iter().map(|(_, support)| case.said(support)).collect();
    let group = groups(&said, &naming);
    if group.iter().all(|one| *one == group[0]) {
        return None;
    }
    let best_share = share_of_best(&sections, &group);
    if best_share >= 1.0 - case.cost_ratio {
        return None;
    }
    let listed = values
        .into_iter()
        .enumerate()
        .map(|(at, value)| Candidate {
            label: value.label,
            documents: value.documents,
            leaves: 1,
            // The document's own order.
            #[expect(clippy::cast_precision_loss, reason = "at most eight")]
            mass: 1.0 - at as f32 / 100.0,
            filename: top.filename.clone(),
        })
        .collect();
    let options = choices::options(Facet::Section, listed);
    let heaviest = sections.iter().find(|(_, support)| support.leaf == best.leaf).map(|(heading, _)| *heading)?;
    let slot = Slot { facet: Facet::Section, is_product: false, name: None };
    let mut asked = choices::question(case.lang, Route::ScopeSelect, &slot, options, &case.asked, case.rewrites);
    if sections.len() > asked.options.len() {
        choices::say_that_there_are_more(&mut asked, case.lang);
    }
    let open = OpenQuestion {
        question: asked,
        assumption: Some(assuming(case.lang, heaviest)),
        rules_out: BTreeSet::new(),
        best_share,
    };
    let reason = format!("{} sections of one document answer differently", sections.len());
    Some((Ambiguity::MultipleCandidates, open, reason))
}

/// A heading path as what it stands under and its last heading.
fn place(path: &str) -> (&str, &str) {
    path.rsplit_once(" > ").unwrap_or(("", path))
}

/// Whether `other` gives what is asked for in much the same words as `best`.
fn is_alike(best: &Support, other: &Support, naming: &HashSet<String>) -> bool {
    other.leaf == best.leaf
        || other.crosses == best.crosses
            && other.features.kind >= 1.0
            && best.words.likeness(&other.words, naming) >= ALIKE
}

/// The share that the answer with the most support has among all.
fn share_of_best(sections: &[(&str, &Support)], group: &[usize]) -> f32 {
    let mut masses: BTreeMap<usize, f32> = BTreeMap::new();
    for ((_, support), group) in sections.iter().zip(group) {
        *masses.entry(*group).or_default() += support.score;
    }
    let total: f32 = masses.values().sum();
    masses.values().copied().fold(0.0, f32::max) / total.max(f32::EPSILON)
}
