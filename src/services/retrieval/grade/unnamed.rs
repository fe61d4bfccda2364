//! "This library" where no library was spoken of and several documents would do.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    evidence::{Ambiguity, Passage, Route},
    hitl::{Choice, Facet},
    id::DocumentId,
};

use super::{
    super::facets,
    case::{Case, Open, OpenQuestion},
    choices::{self, Candidate, Slot},
    support::{Support, best_of_documents},
    weights,
};

/// How near to the best document another one has to come to be what is meant just as well.
const NEAR: f32 = 0.6;

/// A thing pointed at that nothing said before names.
pub(crate) fn open_unnamed(case: &Case, supports: &[Support]) -> Option<Open> {
    let pointed = case.question.pointed_at.as_ref()?;
    if !case.fixed.is_empty() || case.question.content.iter().any(|word| word.is_code && !word.is_borrowed) {
        return None;
    }
    if case.given.before.iter().chain(&case.given.answered).any(|mention| mention.has_phrase(pointed.head())) {
        return None;
    }
    let mut best = best_of_documents(&case.pool, supports);
    let top = best.values().copied().fold(0.0, f32::max);
    best.retain(|_, score| *score >= NEAR * top);
    if best.len() < 2 {
        return None;
    }
    let slot = Slot { facet: Facet::Subject, is_product: false, name: Some(&pointed.noun) };
    let options = options(case, supports, &best);
    let question = choices::question(case.lang, Route::Clarify, &slot, options, &case.asked, case.rewrites);
    let open = OpenQuestion { question, assumption: None, rules_out: BTreeSet::new(), best_share: 0.5 };
    let reason = format!("“{}” names nothing that was spoken of, and {} documents would do", pointed.noun, best.len());
    Some((Ambiguity::MissingSlot, open, reason))
}

/// What the documents are about, where each of them says so; else none, and the asker has to name it.
fn options(case: &Case, supports: &[Support], near: &BTreeMap<DocumentId, f32>) -> Vec<Choice> {
    let passages: Vec<&Passage> = case.pool.iter().filter(|passage| near.contains_key(&passage.document_id)).collect();
    for facet in [Facet::Subject, Facet::Document] {
        let values = facets::values(facet, &passages);
        let known: usize = values.iter().map(|value| value.documents.len()).sum();
        if !(2..=choices::MOST).contains(&values.len()) || known < near.len() {
            continue;
        }
        let labels = facets::shortest(&values.iter().map(|value| value.label.clone()).collect::<Vec<_>>());
        let listed = values.into_iter().zip(labels).map(|(value, label)| {
            let inside = |support: &&Support| value.documents.contains(&case.pool[support.leaf].document_id);
            let leaves = supports.iter().filter(inside).filter(|support| support.score >= weights::CANDIDATE).count();
            let filename = passages
                .iter()
                .find(|passage| value.documents.contains(&passage.document_id))
                .map(|passage| passage.filename.clone());
            Candidate {
                label,
                leaves: u32::try_from(leaves.max(1)).unwrap_or(u32::MAX),
                mass: value.documents.iter().filter_map(|document| near.get(document)).copied().fold(0.0, f32::max),
                documents: value.documents,
                filename: filename.unwrap_or_default(),
            }
        });
        return choices::options(facet, listed.collect());
    }
    Vec::new()
}
