//! A sentence that says one thing for several times ("2.5 and 2.6 million in 2019 and 2018, respectively"), where the
//! question says no time.

use std::collections::BTreeSet;

use crate::{
    domain::{
        evidence::{Ambiguity, Route},
        hitl::Facet,
    },
    text::{
        fold,
        quantities::{Kind, quantities},
        question::{Breadth, Scope, Wants},
    },
};

use super::{
    super::facets::Mention,
    case::{Case, Open, OpenQuestion},
    choices::{self, Candidate, Slot},
    support::Support,
};

/// How much of the question the passage's best window has to hold.
const ABOUT: f32 = 0.7;

/// The times that the best sentence tells apart, if the question says none of them.
pub(crate) fn open_clause(case: &Case, candidates: &[&Support]) -> Option<Open> {
    let question = &case.question;
    let is_led = question.content.iter().any(|word| word.is_borrowed);
    let is_of_all = question.breadth != Breadth::One || question.scope == Scope::Whole;
    let wants_value =
        matches!(question.wants, Wants::Money | Wants::Amount | Wants::Percent | Wants::Duration | Wants::Other);
    if is_of_all || is_led || !wants_value || case.fixed.contains(&Facet::Period) {
        return None;
    }
    let best = candidates.first().filter(|best| best.features.focus >= ABOUT)?;
    if case.given.of_time().iter().any(Mention::says_date) {
        return None;
    }
    let top = &case.pool[best.leaf];
    let reading = &case.readings[best.leaf];
    let inside = reading
        .sentences
        .iter()
        .filter(|sentence| best.window.start <= sentence.range.start && sentence.range.end <= best.window.end)
        .max_by(|a, b| {
            let held = |words: &crate::text::vocabulary::Vocabulary| -> f32 {
                question.content.iter().map(|word| words.holds(word)).sum()
            };
            held(&a.words).total_cmp(&held(&b.words)).then(b.range.start.cmp(&a.range.start))
        })?;
    let times = times(top.text.get(inside.range.clone()).unwrap_or_default())?;
    #[expect(clippy::cast_precision_loss, reason = "at most eight")]
    let listed = times.iter().enumerate().map(|(place, label)| Candidate {
        label: label.clone(),
        documents: BTreeSet::from([top.document_id]),
        leaves: 1,
        // The sentence's own order.
        mass: 1.0 - place as f32 / 100.0,
        filename: top.filename.clone(),
    });
    let options = choices::options(Facet::Period, listed.collect());
    let slot = Slot { facet: Facet::Period, is_product: false, name: None };
    let asked = choices::question(case.lang, Route::Clarify, &slot, options, &case.asked, case.rewrites);
    #[expect(clippy::cast_precision_loss, reason = "at most eight")]
    let best_share = 1.0 / times.len() as f32;
    let open = OpenQuestion { question: asked, assumption: None, rules_out: BTreeSet::new(), best_share };
    Some((Ambiguity::MissingSlot, open, "one sentence says it for several times".to_owned()))
}

/// The times of a sentence that gives each of them a value of its own, as they are written.
fn times(sentence: &str) -> Option<Vec<String>> {
    let folded = fold(sentence);
    if !["respectively", "分别"].iter().any(|word| folded.contains(word)) {
        return None;
    }
    let (dates, values): (Vec<_>, Vec<_>) =
        quantities(sentence).into_iter().partition(|quantity| quantity.kind == Kind::Date);
    let mut times: Vec<(String, String)> = Vec::new();
    for date in dates {
        if !times.iter().any(|(key, _)| *key == date.key) {
            times.push((date.key, sentence.get(date.start..date.end)?.to_owned()));
        }
    }
    let kinds: BTreeSet<Kind> = values.iter().map(|value| value.kind).collect();
    let has_one_each = |kind: &Kind| {
        let distinct: BTreeSet<&String> =
            values.iter().filter(|value| value.kind == *kind).map(|value| &value.key).collect();
        distinct.len() >= 2 && values.iter().filter(|value| value.kind == *kind).count() == times.len()
    };
    let is_parallel = (2..=choices::MOST).contains(&times.len()) && kinds.iter().any(has_one_each);
    is_parallel.then(|| times.into_iter().map(|(_, label)| label).collect())
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn a_value_for_each_time() {
        for (text, expected) in [
            ("Rent was $2.5 million, $2.6 million and $2.4 million in 2019, 2018 and 2017, respectively.", 3),
            ("The share was 87% and 85% in fiscal 2019 and 2018, respectively.", 2),
            ("2023年和2024年的收入分别为 300 万元和 350 万元。", 2),
            ("Rent was $2.5 million in 2019 and $2.6 million in 2018.", 0),
            ("Anna and Ben paid $5 and $6, respectively, in 2019.", 0),
        ] {
            assert_eq!(times(text).map_or(0, |times| times.len()), expected, "{text}");
        }
    }
}
