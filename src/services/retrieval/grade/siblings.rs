//! Which documents are of one make, and which of them are out before any is compared: other products than the one that
//! the question names, editions that a newer one replaces.

use std::collections::BTreeSet;

use crate::{
    domain::{evidence::Passage, hitl::Facet, id::DocumentId},
    text::words::words,
};

use super::{
    super::facets::{self, Value, document_label, edition_rank, is_opaque},
    builtin::Case,
    support::Support,
};

/// Where the question names a product (place, edition), its siblings are out.
pub(crate) fn ruled_out_by_name(case: &Case, known: &[(Facet, Vec<Value>)]) -> BTreeSet<DocumentId> {
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
                    let (Some(a), Some(b)) = (first_of(&case.pool, *document), first_of(&case.pool, *other)) else {
                        return false;
                    };
                    siblings(a, b)
                });
                if is_sibling
                    || *facet == Facet::Edition && inside.iter().any(|other| same_series(&case.pool, *document, *other))
                {
                    out.insert(*document);
                }
            }
        }
    }
    out
}

/// Among editions of one text only the newest in force speaks: its name, and the documents that it replaces.
pub(crate) fn newest_edition(case: &Case, candidates: &[&Support]) -> (Option<String>, BTreeSet<DocumentId>) {
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
            .filter(|other| same_series(&case.pool, passage.document_id, other.document_id))
            .filter_map(|other| edition_rank(other).map(|rank| (other, rank)))
            .filter(|(_, other)| *other != rank)
            .collect();
        let in_force = |rank: &(String, f64)| rank.0.as_str() <= case.today.as_str();
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

fn first_of(pool: &[Passage], document: DocumentId) -> Option<&Passage> {
    pool.iter().find(|passage| passage.document_id == document)
}

/// Whether two documents are of one make: the same kind of text about different things.
pub(crate) fn siblings(a: &Passage, b: &Passage) -> bool {
    if let (Some(left), Some(right)) = (&a.facets.kind, &b.facets.kind) {
        return left == right;
    }
    title_likeness(a, b) >= 0.34
}

/// The share of title words that two documents have in common, numbers and codes aside.
fn title_likeness(a: &Passage, b: &Passage) -> f32 {
    if is_opaque(&document_label(a)) || is_opaque(&document_label(b)) {
        return 0.0;
    }
    let of = |passage: &Passage| -> BTreeSet<String> {
        let label = crate::text::fold(&document_label(passage)).replace(['_', '-'], " ");
        words(&label)
            .into_iter()
            .map(|word| word.text.to_owned())
            .filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()) && word.len() >= 3)
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
