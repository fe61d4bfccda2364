//! Which documents may answer: the best leaf of each, as far as it comes near the best of all.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::id::DocumentId;

use super::{case::Case, support::Support, weights};

/// Scores across languages are read off other features than those within one. A leaf in the question's own language that
/// is clearly nearer in meaning than the best one in another, or as near and holds more of the question, is as good.
pub(crate) fn lift_native(supports: &mut [Support]) {
    let best = supports.iter().filter(|support| support.crosses).max_by(|a, b| a.score.total_cmp(&b.score));
    let Some((score, dense, focus, kind)) =
        best.map(|best| (best.score, best.features.dense, best.features.focus, best.features.kind))
    else {
        return;
    };
    let is_as_good = |native: &Support| {
        let own = &native.features;
        let is_nearer = own.dense >= dense + 2.0 * CLEARLY;
        let is_fuller = own.dense + CLEARLY / 2.0 >= dense && own.focus >= focus;
        let may_answer = !native.crosses && native.score >= weights::RELEVANT;
        may_answer && own.kind >= kind && own.missing == 0.0 && (is_nearer || is_fuller)
    };
    // They stay behind the best in the question's language as they were.
    let top = supports.iter().filter(|native| !native.crosses).map(|native| native.score).fold(0.0, f32::max);
    for native in supports.iter_mut().filter(|native| is_as_good(native)) {
        native.score = native.score.max(score * native.score / top);
    }
}

/// By how much a document in another language has to be nearer in meaning than noise in the question's own.
const CLEARLY: f32 = 0.08;

/// The best leaf of each document that comes near the best of all, best first.
pub(crate) fn candidates<'s>(case: &Case, supports: &'s [Support], dropped: &BTreeSet<DocumentId>) -> Vec<&'s Support> {
    let mut best: BTreeMap<DocumentId, &Support> = BTreeMap::new();
    // Who is answered in their own language is not asked about documents in another. A quantity of the wanted kind beside
    // words of something else is no answer, where a document in another language is clearly nearer in meaning.
    let nearest = supports
        .iter()
        .filter(|support| support.crosses && support.score >= weights::PARTIAL && support.features.kind > 0.0)
        .filter(|support| !dropped.contains(&case.pool[support.leaf].document_id))
        .map(|support| support.features.dense)
        .fold(0.0, f32::max);
    let is_native = |support: &Support| {
        !support.crosses
            && support.score >= weights::SUFFICIENT
            && (support.features.focus >= 0.5 || support.features.dense + CLEARLY > nearest)
    };
    let has_native =
        supports.iter().any(|support| is_native(support) && !dropped.contains(&case.pool[support.leaf].document_id));
    for support in supports {
        let document = case.pool[support.leaf].document_id;
        let is_noise = !has_native
            && !support.crosses
            && support.features.focus < 0.5
            && nearest > 0.0
            && support.features.dense + CLEARLY <= nearest;
        if dropped.contains(&document) || has_native && support.crosses || is_noise {
            continue;
        }
        let slot = best.entry(document).or_insert(support);
        if is_better(case, support, slot) {
            *slot = support;
        }
    }
    // Where a quantity is asked for, a document that holds one beside as much of the question is ahead of those that do not.
    let measured = best
        .values()
        .filter(|support| support.features.kind >= 1.0 && support.score >= weights::SUFFICIENT)
        .map(|support| support.features.focus)
        .fold(0.0, f32::max);
    if !case.question.wants.quantities().is_empty() {
        best.retain(|_, support| support.features.kind >= 1.0 || support.features.focus > measured);
    }
    let top = best.values().map(|support| support.score).fold(0.0, f32::max);
    let mut near: Vec<&Support> =
        best.into_values().filter(|support| support.score >= weights::CANDIDATE.max(0.7 * top)).collect();
    near.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.leaf.cmp(&b.leaf)));
    near
}

/// Whether one leaf of a document speaks for it rather than another one. Where a quantity is asked for, one that holds it
/// beside as much of the question does.
fn is_better(case: &Case, support: &Support, other: &Support) -> bool {
    let is_measured = |one: &Support| one.features.kind >= 1.0 && one.score >= weights::SUFFICIENT;
    let is_as_full = |one: &Support, other: &Support| is_measured(one) && one.features.focus >= other.features.focus;
    if case.question.wants.quantities().is_empty() || is_measured(support) == is_measured(other) {
        return support.score > other.score;
    }
    is_as_full(support, other) || support.score > other.score && !is_as_full(other, support)
}
