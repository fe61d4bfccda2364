//! Passages that share only names with the question: the gym in Rome is no canteen in Rome, where the canteen of another
//! place shows what a passage on a canteen reads like.

use std::collections::BTreeSet;

use crate::text::generic::weight;

use super::{
    case::Case,
    lexicon::Weighted,
    siblings::{siblings, title_likeness},
    support::{Support, near},
};

/// Under this share of the thing that is asked for a passage is about something else; from the other one on it is about it.
const ANOTHER: f32 = 0.5;
const THE_THING: f32 = 0.9;
/// How alike titles are of which every second word tells them apart: "Rome Office", "Oslo Office".
const ONE_MAKE: f32 = 0.3;

/// Leaves that hold names of the question but not the thing it asks about, where leaves without the names hold that.
pub(crate) fn only_names(case: &Case, weighted: &[Weighted], supports: &[Support]) -> BTreeSet<usize> {
    let own = || weighted.iter().filter(|one| !one.word.is_borrowed);
    let is_name = |one: &&Weighted| one.is_facet || one.word.is_name || one.word.is_code;
    let names: Vec<&Weighted> = own().filter(is_name).collect();
    let things: Vec<&Weighted> = own().filter(|one| !is_name(one) && weight(&one.word.text) >= 1.0).collect();
    if names.is_empty() || things.is_empty() {
        return BTreeSet::new();
    }
    let share = |support: &Support, words: &[&Weighted]| -> f32 {
        let reading = &case.readings[support.leaf];
        let texts = reading.sentences.iter().map(|sentence| &sentence.words).chain([&reading.above]);
        let held = |one: &&Weighted| {
            let near = texts.clone().map(|text| near(text, &one.word, &case.kin, text.holds(&one.word)));
            one.weight * near.fold(0.0, f32::max)
        };
        words.iter().map(held).sum::<f32>() / words.iter().map(|one| one.weight).sum::<f32>()
    };
    let native = || supports.iter().filter(|support| !support.crosses);
    let told: Vec<(&Support, f32, f32)> =
        native().map(|support| (support, share(support, &names), share(support, &things))).collect();
    // Two pages of one guide, two sections of one text: what one says of its place the other might say of its own.
    let are_of_one_make = |one: &Support, other: &Support| {
        let (one, other) = (&case.pool[one.leaf], &case.pool[other.leaf]);
        one.document_id == other.document_id || title_likeness(one, other) >= ONE_MAKE || siblings(one, other)
    };
    let shows = |support: &Support| {
        told.iter().any(|(other, named, thing)| {
            *named < ANOTHER
                && *thing >= THE_THING
                && other.features.kind >= support.features.kind
                && are_of_one_make(support, other)
        })
    };
    told.iter()
        .filter(|(support, named, thing)| *named >= ANOTHER && *thing < ANOTHER && shows(support))
        .map(|(support, ..)| support.leaf)
        .collect()
}
