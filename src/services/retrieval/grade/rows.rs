//! What a question leaves open in a table of the best document, and the question that follows from it.

use std::collections::BTreeSet;

use crate::{
    domain::{
        evidence::{Ambiguity, Passage, Route},
        hitl::Facet,
    },
    text::{
        question::{Breadth, Scope, Wants},
        sentences::is_row,
        vocabulary::Vocabulary,
    },
};

use super::{
    super::facets::{self, Value, document_label, value_key},
    case::{Case, Open, OpenQuestion},
    choices::{self, Candidate, Slot},
    lexicon::Weighted,
    support::Support,
    tables,
};

/// How much of the question a table has to be about: where the best passage is a table, and where it is text beside one.
const OF_TABLE: f32 = 0.6;
const OF_TEXT: f32 = 0.85;
/// How much less of the question another table of the document may hold.
const SAME_COVER: f32 = 0.05;

/// Rows or periods of a table that the question does not tell apart.
pub(crate) fn open_table(case: &Case, weighted: &[Weighted], candidates: &[&Support]) -> Option<Open> {
    // What a follow-up points at was settled in the turn before.
    let is_led = case.question.content.iter().any(|word| word.is_borrowed);
    let is_of_all = case.question.breadth != Breadth::One || case.question.scope == Scope::Whole;
    if is_of_all || is_led || matches!(case.question.wants, Wants::List | Wants::YesNo) {
        return None;
    }
    let best = candidates.first()?;
    let top = &case.pool[best.leaf];
    let rows = top.text.lines().filter(|line| is_row(line)).count();
    let in_row = is_row(top.text.get(best.window.clone()).unwrap_or_default());
    let enough = if in_row || rows >= 3 { OF_TABLE } else { OF_TEXT };
    let leaves: Vec<&Passage> = case.pool.iter().filter(|passage| passage.document_id == top.document_id).collect();
    let title = Vocabulary::read(&document_label(top).replace(['_', '-'], " "));
    let tables: Vec<(tables::Table, f32)> = tables::tables(&leaves)
        .into_iter()
        .map(|table| {
            let cover = table.cover(weighted, &case.kin, &title);
            (table, cover)
        })
        .collect();
    // A sentence that says it as well as the best table answers.
    let widest = tables.iter().map(|(_, cover)| *cover).fold(0.0, f32::max);
    let is_said = !in_row && !case.question.wants.quantities().is_empty() && best.features.kind >= 1.0;
    if is_said && best.features.focus >= widest {
        return None;
    }
    let subjects = facets::values(Facet::Subject, &case.pool.iter().collect::<Vec<_>>());
    for (table, _) in tables.into_iter().filter(|(_, cover)| *cover >= enough && *cover + SAME_COVER >= widest) {
        let above = Vocabulary::read(&format!(
            "{}\n{}\n{}",
            document_label(top).replace(['_', '-'], " "),
            table.heading,
            top.page_number.as_deref().unwrap_or_default()
        ));
        let Some(open) = tables::open(&table, &case.question, (weighted, &case.kin), &case.given, &above, enough)
        else {
            continue;
        };
        let facet = if open.is_period { Facet::Period } else { Facet::Kind };
        // A row that was chosen may leave another column open: what was said of a column is looked up in the table.
        if facet == Facet::Period && case.fixed.contains(&facet) {
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
        let slot = slot(facet, &open, &subjects);
        let question = choices::question(case.lang, Route::Clarify, &slot, options, &case.asked, case.rewrites);
        #[expect(clippy::cast_precision_loss, reason = "a few rows")]
        let best_share = 1.0 / total.max(2) as f32;
        let open = OpenQuestion { question, assumption: None, rules_out: BTreeSet::new(), best_share };
        let what = if facet == Facet::Period { "several periods" } else { "several rows" };
        return Some((Ambiguity::MissingSlot, open, format!("{what} of one table match and their values differ")));
    }
    None
}

/// What is missing: rows of products leave open which product, whatever their column is called.
fn slot<'o>(facet: Facet, open: &'o tables::Open, subjects: &[Value]) -> Slot<'o> {
    let is_subject = |(label, _): &(String, u32)| subjects.iter().any(|subject| subject.key == value_key(label));
    if open.values.iter().all(is_subject) {
        return Slot { facet: Facet::Subject, is_product: true, name: None };
    }
    Slot { facet, is_product: false, name: open.slot.as_deref() }
}
