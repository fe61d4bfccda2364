//! What a question leaves open inside a document: the row of a table, the time of a sentence. Where several documents
//! leave open the same, which of them is meant comes first: a row that is chosen in one of them would choose that
//! document too, and nobody was asked.

use std::collections::BTreeSet;

use crate::{
    domain::{hitl::Facet, id::DocumentId},
    text::fold,
};

use super::{
    super::facets::Value,
    builtin::Judged,
    case::{Case, Open, OpenQuestion},
    choices::united,
    clauses::open_clause,
    lexicon::Weighted,
    rows::open_table,
    separate::{Which, names_several, which},
    support::Support,
};

/// What the best of `candidates` leaves open inside it, or which of those that leave open the same is meant.
pub(crate) fn open_inside(
    case: &Case,
    known: &[(Facet, Vec<Value>)],
    weighted: &[Weighted],
    candidates: &[&Support],
    supports: &[Support],
    judged: &mut Judged,
) -> Option<Open> {
    let inside = |support: &&Support| open_table(case, weighted, &[support]).or_else(|| open_clause(case, &[support]));
    let (best, others) = candidates.split_first()?;
    let (ambiguity, mut open, reason) = inside(best)?;
    let mut alike = vec![*best];
    let mut twins = Vec::new();
    for other in others {
        let Some((_, twin, _)) = inside(other).filter(|(_, twin, _)| is_the_same(&open, twin)) else { continue };
        alike.push(other);
        twins.push(twin);
    }
    if twins.is_empty() {
        return Some((ambiguity, open, reason));
    }
    let facts: Vec<BTreeSet<String>> = alike.iter().map(|support| facts(case, support, &open)).collect();
    let group: Vec<usize> =
        facts.iter().map(|own| facts.iter().position(|known| known == own).unwrap_or_default()).collect();
    let is_of_these = |value: &Value| alike.iter().any(|support| value.documents.contains(&document(case, support)));
    if group.iter().any(|one| *one != group[0]) && !names_several(case, known, is_of_these) {
        match which(case, known, &alike, &group, supports, judged) {
            Which::Open(open) => return Some(*open),
            Which::Said => {
                let is_left = |support: &&Support| !judged.dropped.contains(&document(case, support));
                return alike.into_iter().find(is_left).as_ref().and_then(inside);
            }
            Which::Untold => {}
        }
    }
    // The row is meant in each of them.
    open.question = twins.into_iter().map(|twin| twin.question).fold(open.question, united);
    Some((ambiguity, open, reason))
}

fn document(case: &Case, support: &Support) -> DocumentId {
    case.pool[support.leaf].document_id
}

/// Whether two documents leave the same thing open: a period, or rows of one name or with a label in common.
fn is_the_same(one: &OpenQuestion, other: &OpenQuestion) -> bool {
    let (one, other) = (&one.question, &other.question);
    let facet = |question: &crate::domain::hitl::Question| question.options.first().map(|option| option.filter.facet);
    let shares_one = one.options.iter().any(|option| other.options.iter().any(|known| known.id == option.id));
    facet(one) == facet(other)
        && (shares_one || facet(one) == Some(Facet::Period) || one.missing_slots == other.missing_slots)
}

/// What a document says of the choices: the quantities of its best window, and of all sentences and rows that name one.
fn facts(case: &Case, support: &Support, open: &OpenQuestion) -> BTreeSet<String> {
    let own = document(case, support);
    let labels: Vec<String> = open.question.options.iter().map(|option| fold(&option.filter.value)).collect();
    let mut facts: BTreeSet<String> =
        case.readings[support.leaf].quantities_in(&support.window).map(|quantity| quantity.key.clone()).collect();
    for (passage, reading) in case.pool.iter().zip(&case.readings).filter(|(passage, _)| passage.document_id == own) {
        for sentence in &reading.sentences {
            let text = fold(passage.text.get(sentence.range.clone()).unwrap_or_default());
            if labels.iter().any(|label| text.contains(label.as_str())) {
                facts.extend(reading.quantities_in(&sentence.range).map(|quantity| quantity.key.clone()));
            }
        }
    }
    facts
}
