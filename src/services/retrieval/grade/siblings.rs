//! Which documents are of one make, and which of them are out before any is compared: other products than the one that
//! the question names, editions that a newer one replaces.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    domain::{evidence::Passage, hitl::Facet, id::DocumentId},
    text::{
        lang::Lang,
        question::Breadth,
        words::{is_han, words},
    },
};

use super::{
    super::facets::{self, Mention, Value, document_label, edition_rank, is_opaque},
    case::Case,
    support::Support,
};

/// Where the question names a product (place, edition), its siblings are out.
pub(crate) fn ruled_out_by_name(case: &Case, known: &[(Facet, Vec<Value>)]) -> BTreeSet<DocumentId> {
    let mut out = BTreeSet::new();
    for (facet, values) in known.iter().filter(|(facet, _)| *facet != Facet::Document) {
        // The nearest text that names any decides: "and the Borealis?" after a question about the Aurora.
        let by = |mention: &Mention| values.iter().filter(|value| mention.names(value, values)).collect::<Vec<_>>();
        let named: Vec<&Value> = if case.question.breadth == Breadth::Compare && case.question.is_follow_up {
            // "Which one is quieter?" is about all that was spoken of.
            let spoken = case.given.question.iter().chain(&case.given.before);
            let mut named: Vec<&Value> = Vec::new();
            for value in spoken.flat_map(by) {
                if !named.iter().any(|known| known.key == value.key) {
                    named.push(value);
                }
            }
            named
        } else {
            case.given.question.iter().map(by).find(|named| !named.is_empty()).unwrap_or_default()
        };
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

/// What an edition in force has to score beside an older one, so that it is taken to speak of the same matter.
const SPEAKS: f32 = 0.5;

/// Documents that a newer edition in force replaces, or that are not in force yet while another edition is, each with the
/// leaf that speaks in its place: under the same heading, or nearly as good. It need not say it in the question's words,
/// but it has to speak of the matter: what only an older edition says is not lost.
pub(crate) fn superseded(case: &Case, supports: &[Support], out: &BTreeSet<DocumentId>) -> BTreeMap<DocumentId, usize> {
    let mut best: BTreeMap<DocumentId, &Support> = BTreeMap::new();
    for support in supports {
        let document = case.pool[support.leaf].document_id;
        if !out.contains(&document) && best.get(&document).is_none_or(|known| known.score < support.score) {
            best.insert(document, support);
        }
    }
    let mut superseded = BTreeMap::new();
    for (document, own) in &best {
        let heading = heading(case, own);
        let stands_in = best.keys().filter(|other| replaces(case, **other, *document)).find_map(|newer| {
            let under_heading = supports.iter().find(|support| {
                case.pool[support.leaf].document_id == *newer
                    && heading.is_some()
                    && self::heading(case, support) == heading
            });
            let as_good = best
                .get(newer)
                .copied()
                .filter(|other| other.score >= SPEAKS * own.score && other.features.missing <= own.features.missing);
            under_heading.or(as_good)
        });
        if let Some(stands_in) = stands_in {
            superseded.insert(*document, stands_in.leaf);
        }
    }
    superseded
}

/// The heading that a leaf stands under, folded.
fn heading(case: &Case, support: &Support) -> Option<String> {
    let path = case.pool[support.leaf].section.as_deref()?;
    path.rsplit(" > ").next().map(facets::value_key).filter(|heading| !heading.is_empty())
}

/// Whether `newer` is the edition of the text of `older` that is to be read instead of it today.
fn replaces(case: &Case, newer: DocumentId, older: DocumentId) -> bool {
    let rank = |document| first_of(&case.pool, document).and_then(edition_rank);
    let (Some(new), Some(old)) = (rank(newer), rank(older)) else { return false };
    let in_force = |rank: &(String, f64)| rank.0.as_str() <= case.today.as_str();
    newer != older
        && in_force(&new)
        && (new > old || !in_force(&old))
        && new != old
        && same_series(&case.pool, newer, older)
}

/// The edition of `document`, where it replaces one of `superseded`: it is to be named.
pub(crate) fn edition_in_force(
    case: &Case,
    document: DocumentId,
    superseded: &BTreeMap<DocumentId, usize>,
) -> Option<String> {
    let facets = &first_of(&case.pool, document)?.facets;
    superseded
        .keys()
        .any(|older| replaces(case, document, *older))
        .then(|| facets.edition.clone().or_else(|| facets.effective_from.clone()))?
}

/// What an answer from `document` has to say of itself, where a newer edition in force is silent on the matter.
pub(crate) fn older_edition(case: &Case, document: DocumentId, out: &BTreeSet<DocumentId>) -> Option<String> {
    let edition = first_of(&case.pool, document)?.facets.edition.clone()?;
    let has_newer = case
        .pool
        .iter()
        .map(|passage| passage.document_id)
        .any(|other| !out.contains(&other) && replaces(case, other, document));
    has_newer.then(|| match case.lang {
        Lang::Zh => format!("只有旧版（{edition}）提到这一点"),
        _ => format!("only an older edition ({edition}) says this"),
    })
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
pub(crate) fn title_likeness(a: &Passage, b: &Passage) -> f32 {
    if is_opaque(&document_label(a)) || is_opaque(&document_label(b)) {
        return 0.0;
    }
    let of = |passage: &Passage| -> BTreeSet<String> {
        let label = crate::text::fold(&document_label(passage)).replace(['_', '-'], " ");
        words(&label)
            .into_iter()
            .map(|word| word.text.to_owned())
            .filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()) && !is_mark(word))
            .collect()
    };
    let (left, right) = (of(a), of(b));
    let (common, union) = (left.intersection(&right).count(), left.union(&right).count());
    #[expect(clippy::cast_precision_loss, reason = "a few words")]
    let share = if union == 0 { 0.0 } else { common as f32 / union as f32 };
    share
}

/// "A", "乙": what only counts things of one name.
fn is_mark(word: &str) -> bool {
    word.chars().count() < if word.starts_with(is_han) { 2 } else { 3 }
}

/// Two editions of one text: the same subject, or the same title but for numbers.
fn same_series(pool: &[Passage], a: DocumentId, b: DocumentId) -> bool {
    let (Some(a), Some(b)) = (first_of(pool, a), first_of(pool, b)) else { return false };
    let differ = |left: &Option<String>, right: &Option<String>| {
        left.as_ref()
            .zip(right.as_ref())
            .is_some_and(|(left, right)| facets::value_key(left) != facets::value_key(right))
    };
    if differ(&a.facets.kind, &b.facets.kind) || differ(&a.facets.place, &b.facets.place) {
        return false;
    }
    match (&a.facets.subject, &b.facets.subject) {
        (Some(left), Some(right)) if facets::value_key(left) == facets::value_key(right) => true,
        (Some(left), Some(right)) => {
            // Subjects that differ in the year only are one series: "Travel Policy 2023" and "Travel Policy 2025". Other
            // numbers tell products apart: "Falcon V2" and "Falcon V3".
            let bare = |subject: &str| -> Vec<String> {
                let key = facets::value_key(subject);
                key.split(' ').filter(|word| !facets::is_year(word)).map(str::to_owned).collect()
            };
            bare(left) == bare(right)
        }
        _ => title_likeness(a, b) >= 0.6,
    }
}
