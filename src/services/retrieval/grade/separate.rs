//! Parallel documents that answer differently: what tells them apart, and the question that follows from it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::{
    domain::{
        evidence::{Ambiguity, Passage, Route},
        hitl::Facet,
        id::DocumentId,
    },
    text::{
        generic::is_generic,
        lang::{Lang, detect},
        question::Breadth,
        vocabulary::Vocabulary,
    },
};

use super::{
    super::facets::{self, Mention, Value, document_label},
    answers::{Said, groups},
    builtin::Judged,
    case::{Case, Open, OpenQuestion},
    choices::{self, Candidate, Slot},
    contradictions::contradicts,
    reading::Reading,
    siblings::siblings,
    support::{Support, near},
    weights,
};

/// Parallel documents that answer differently.
pub(crate) fn open_documents(
    case: &Case,
    known: &[(Facet, Vec<Value>)],
    candidates: &[&Support],
    supports: &[Support],
    judged: &mut Judged,
) -> Option<Open> {
    let naming: HashSet<String> = known
        .iter()
        .flat_map(|(_, values)| values)
        .flat_map(|value| Vocabulary::read(&value.label).terms().cloned().collect::<Vec<_>>())
        .collect();
    let parallel = parallel(case, candidates, &naming);
    let compared = compared(case, known);
    if !compared.is_empty() {
        lead_with_each(case, &compared, supports, judged);
        judged.per_value = compared;
        return None;
    }
    if let [only] = parallel.as_slice() {
        judged.lead.sort_by_key(|leaf| *leaf != only.leaf);
    }
    if parallel.len() < 2 {
        judged.guidance.contradiction = contradicts(case, candidates, &naming);
        return None;
    }
    let said: Vec<Said> = parallel.iter().map(|support| case.said(support)).collect();
    let group = groups(&said, &naming);
    judged.agreed = group.iter().all(|one| *one == group[0]);
    if case.question.breadth != Breadth::One
        || names_several(case, known, |value| {
            parallel.iter().any(|support| value.documents.contains(&case.pool[support.leaf].document_id))
        })
    {
        judged.per_value = per_value(case, known, &parallel);
        return None;
    }
    if judged.agreed {
        return None;
    }
    match which(case, known, &parallel, &group, supports, judged) {
        Which::Open(open) => Some(*open),
        Which::Said => None,
        Which::Untold => {
            judged.guidance.contradiction = contradicts(case, &parallel, &naming);
            None
        }
    }
}

/// Which of several documents is meant.
pub(crate) enum Which {
    /// It has to be asked.
    Open(Box<Open>),
    /// The conversation says it; the others are dropped.
    Said,
    /// Nothing tells them apart, or one outweighs the others.
    Untold,
}

/// Which of `parallel` is meant, that answer as `group` says: what tells them apart is asked, unless it was said.
pub(crate) fn which(
    case: &Case,
    known: &[(Facet, Vec<Value>)],
    parallel: &[&Support],
    group: &[usize],
    supports: &[Support],
    judged: &mut Judged,
) -> Which {
    let Some((facet, values)) = separating(case, known, parallel, group) else { return Which::Untold };
    if let Some((value, rest)) = said_before(case, &values) {
        judged.dropped.extend(rest);
        judged.reason = format!("the conversation is about {value}");
        return Which::Said;
    }
    let mut masses: BTreeMap<usize, f32> = BTreeMap::new();
    for (support, group) in parallel.iter().zip(group) {
        *masses.entry(*group).or_default() += support.score;
    }
    let total: f32 = masses.values().sum();
    let best_share = masses.values().copied().fold(0.0, f32::max) / total.max(f32::EPSILON);
    if best_share >= 1.0 - case.cost_ratio {
        return Which::Untold;
    }
    ask_which(case, known, (facet, values), parallel, supports, best_share)
        .map_or(Which::Untold, |open| Which::Open(Box::new(open)))
}

/// The question which of the values of a facet is meant.
fn ask_which(
    case: &Case,
    known: &[(Facet, Vec<Value>)],
    (facet, values): (Facet, Vec<Value>),
    parallel: &[&Support],
    supports: &[Support],
    best_share: f32,
) -> Option<Open> {
    let is_foreign = parallel.iter().all(|support| support.crosses);
    let values = if is_foreign && points_at_nothing(case) { with_siblings(case, known, facet, values) } else { values };
    let labels = labels(&values);
    let listed: Vec<Candidate> = values
        .iter()
        .zip(labels)
        .map(|(value, label)| Candidate { label, ..candidate(case, value, parallel, supports) })
        .collect();
    // Of equals the first: the best leaf's.
    let heaviest = listed.iter().reduce(|best, next| if next.mass > best.mass { next } else { best })?.clone();
    let rules_out = values
        .iter()
        .filter(|value| value.documents != heaviest.documents)
        .flat_map(|value| value.documents.iter().copied())
        .collect();
    let options = choices::options(facet, listed);
    if options.len() < 2 {
        return None;
    }
    let is_product =
        facet == Facet::Subject && parallel.iter().any(|support| is_about_product(&case.pool[support.leaf]));
    let slot = Slot { facet, is_product, name: None };
    let mut question = choices::question(case.lang, Route::ScopeSelect, &slot, options, &case.asked, case.rewrites);
    if values.len() > question.options.len() {
        choices::say_that_there_are_more(&mut question, case.lang);
    }
    let open = OpenQuestion { question, assumption: Some(assuming(case.lang, &heaviest.label)), rules_out, best_share };
    Some((Ambiguity::MultipleCandidates, open, format!("{} candidates answer differently", values.len())))
}

/// The best leaf of each thing compared takes part in the answer, as far as it has to do with the question.
fn lead_with_each(case: &Case, compared: &[(String, BTreeSet<DocumentId>)], supports: &[Support], judged: &mut Judged) {
    for (_, documents) in compared {
        let of_it = |support: &&Support| documents.contains(&case.pool[support.leaf].document_id);
        let best = supports.iter().filter(of_it).max_by(|a, b| a.score.total_cmp(&b.score));
        if let Some(best) = best.filter(|best| best.score >= weights::RELEVANT && !judged.lead.contains(&best.leaf)) {
            judged.lead.push(best.leaf);
        }
    }
}

/// "assuming that you mean X" in the user's language.
pub(crate) fn assuming(lang: Lang, label: &str) -> String {
    if lang == Lang::Zh { format!("假设您指的是{label}") } else { format!("assuming that you mean {label}") }
}

/// How alike the windows of siblings must be when no heading says that they are about the same.
const ALIKE: f32 = 0.25;

/// The share of the question that a lone document's sentence has to hold, and by how much less a sibling may hold.
const JUST_THAT: f32 = 0.6;
const LACKS: f32 = 0.12;

/// Candidates that speak of the same matter as the best one: siblings of it with as much of the question in them, under
/// the same heading or in much the same words.
fn parallel<'s>(case: &Case, candidates: &[&'s Support], naming: &HashSet<String>) -> Vec<&'s Support> {
    let Some(best) = candidates.first() else { return Vec::new() };
    let mut parallel: Vec<&Support> = candidates
        .iter()
        .filter(|other| other.leaf == best.leaf || is_parallel(case, best, other, naming))
        .copied()
        .collect();
    // Beside siblings a lone document counts that says just what is asked.
    if parallel.len() >= 2 && !case.question.wants.quantities().is_empty() {
        let in_words_of_one =
            |other: &Support| parallel.iter().any(|known| known.words.likeness(&other.words, naming) >= ALIKE);
        let lone = candidates.iter().copied().filter(|other| {
            !parallel.iter().any(|known| known.leaf == other.leaf)
                && in_words_of_one(other)
                && case.pool[other.leaf].facets.subject.is_some()
                && other.crosses == best.crosses
                && other.features.kind >= 1.0
                && other.features.focus >= JUST_THAT
                && other.features.focus + 0.01 >= best.features.focus
        });
        parallel.extend(lone.collect::<Vec<_>>());
    }
    // Who lacks a word that another one holds is not what is meant.
    let fullest = parallel.iter().map(|support| support.features.focus).fold(0.0, f32::max);
    if !best.crosses {
        parallel.retain(|support| support.features.focus + LACKS >= fullest);
    }
    let holds: Vec<BTreeSet<&str>> = parallel.iter().map(|support| held(case, support)).collect();
    let lacks = |at: usize| {
        let is_outdone = |other: &BTreeSet<&str>| other.len() > holds[at].len() && other.is_superset(&holds[at]);
        !holds[at].is_empty() && holds.iter().any(is_outdone)
    };
    (0..parallel.len()).filter(|at| !lacks(*at)).map(|at| parallel[at]).collect()
}

/// From which nearness on another word says the same.
const MEANS: f32 = 0.65;

/// Own words of the question, names of documents aside, that a leaf's document holds, in other words too.
fn held<'c>(case: &'c Case, support: &Support) -> BTreeSet<&'c str> {
    let document = case.pool[support.leaf].document_id;
    let own = case
        .question
        .content
        .iter()
        .filter(|word| !(word.is_borrowed || word.is_code || word.is_name || is_generic(&word.text)));
    let readings: Vec<&Reading> = case
        .pool
        .iter()
        .zip(&case.readings)
        .filter(|(passage, _)| passage.document_id == document)
        .map(|(_, reading)| reading)
        .collect();
    own.filter(|word| {
        readings.iter().any(|reading| {
            let parts = reading.sentences.iter().map(|part| &part.words);
            parts.chain([&reading.above]).any(|words| near(words, word, &case.kin, words.holds(word)) >= MEANS)
        })
    })
    .map(|word| word.text.as_str())
    .collect()
}

fn is_parallel(case: &Case, best: &Support, other: &Support, naming: &HashSet<String>) -> bool {
    let (top, passage) = (&case.pool[best.leaf], &case.pool[other.leaf]);
    let (own, theirs) = (&best.features, &other.features);
    // Words cannot be compared across languages: there nearness in meaning has to be alike.
    let says_as_much = if best.crosses || other.crosses {
        best.crosses == other.crosses && (own.dense - theirs.dense).abs() <= 0.12
    } else {
        theirs.focus + LACKS >= own.focus && (theirs.kind - own.kind).abs() < 0.3
    };
    if !says_as_much {
        return false;
    }
    let same_heading = match (&top.section, &passage.section) {
        (Some(left), Some(right)) => innermost(left) == innermost(right),
        _ => false,
    };
    let alike = same_heading || best.words.likeness(&other.words, naming) >= ALIKE;
    // Two lists of codes that both hold the one that is asked about.
    let asks_code = case.question.content.iter().any(|word| {
        word.is_code && !word.is_borrowed && [best, other].into_iter().all(|support| support.words.holds(word) >= 1.0)
    });
    let alike = alike || asks_code;
    // Manuals tell the same things of their products, each in words of its own; policies tell each its own.
    let is_of_products = top.facets.kind.is_some() && is_about_product(top) && is_about_product(passage);
    let measured = !case.question.wants.quantities().is_empty();
    siblings(top, passage) && (alike || is_of_products && measured)
}

fn innermost(path: &str) -> String {
    facets::value_key(path.rsplit(" > ").next().unwrap_or_default())
}

/// The values as short as they are told apart; those of one language are made short together.
fn labels(values: &[Value]) -> Vec<String> {
    let lang = |value: &&Value| detect(&value.label);
    let of = |wanted: Lang| -> Vec<String> {
        facets::shortest(
            &values.iter().filter(|value| lang(value) == wanted).map(|value| value.label.clone()).collect::<Vec<_>>(),
        )
    };
    let mut short = [Lang::En, Lang::Zh, Lang::Other].map(|wanted| (wanted, of(wanted).into_iter()));
    values
        .iter()
        .map(|value| {
            let own = short.iter_mut().find(|(wanted, _)| *wanted == lang(&value));
            own.and_then(|(_, labels)| labels.next()).unwrap_or_else(|| value.label.clone())
        })
        .collect()
}

/// "How do I reset it?" as the first words of a conversation: any of the things that the documents are about may be meant.
fn points_at_nothing(case: &Case) -> bool {
    let names_nothing = !case.question.content.iter().any(|word| word.is_code || word.is_name || word.is_borrowed);
    case.question.is_follow_up && names_nothing && case.given.before.is_empty() && case.given.answered.is_empty()
}

/// `values`, and those of the documents in the pool that are of one make with theirs.
fn with_siblings(case: &Case, known: &[(Facet, Vec<Value>)], facet: Facet, mut values: Vec<Value>) -> Vec<Value> {
    let first_of = |value: &Value| case.pool.iter().find(|passage| value.documents.contains(&passage.document_id));
    let others = known.iter().filter(|(of, _)| *of == facet).flat_map(|(_, all)| all);
    for other in others {
        let is_sibling = values.iter().any(|value| match (first_of(value), first_of(other)) {
            (Some(a), Some(b)) => a.facets.kind.is_some() && siblings(a, b),
            _ => false,
        });
        if is_sibling && values.len() < choices::MOST && !values.iter().any(|value| value.key == other.key) {
            values.push(other.clone());
        }
    }
    values
}

/// The facet that tells the answers apart, with its values among the parallel candidates.
fn separating(
    case: &Case,
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
        if here.len() < 2 {
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

fn candidate(case: &Case, value: &Value, parallel: &[&Support], supports: &[Support]) -> Candidate {
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

/// Whether the question itself names two or more values of one facet, among those that `counts` lets count: then it
/// asks about each of them.
pub(crate) fn names_several(case: &Case, known: &[(Facet, Vec<Value>)], counts: impl Fn(&Value) -> bool) -> bool {
    known.iter().any(|(_, values)| {
        values.iter().filter(|value| counts(value)).filter(|value| is_named(case, value, values)).count() >= 2
    })
}

/// Whether the question names `value`, one of `all`; a comparison that leans on earlier turns is about all that was named
/// in them.
fn is_named(case: &Case, value: &Value, all: &[Value]) -> bool {
    let leans = case.question.is_follow_up && case.question.breadth == Breadth::Compare;
    let before: &[Mention] = if leans { &case.given.before } else { &[] };
    let told = case.given.answered.last().filter(|_| leans);
    let asked = case.given.question.iter().take(if leans { usize::MAX } else { 1 });
    asked.chain(before).chain(told).any(|mention| mention.names(value, all))
}

/// What the question compares, with the documents of each in the pool: the values of one facet that it names, two at
/// least.
fn compared(case: &Case, known: &[(Facet, Vec<Value>)]) -> Vec<(String, BTreeSet<DocumentId>)> {
    known
        .iter()
        .map(|(_, values)| {
            let named: Vec<&Value> = values.iter().filter(|value| is_named(case, value, values)).collect();
            // "2023版" says no 2023 beside it.
            let is_part = |value: &Value| {
                named.iter().any(|other| other.key != value.key && other.key.contains(value.key.as_str()))
            };
            named
                .iter()
                .filter(|value| !is_part(value))
                .map(|value| (value.label.clone(), value.documents.clone()))
                .collect::<Vec<_>>()
        })
        .find(|named| (2..=choices::MOST).contains(&named.len()))
        .unwrap_or_default()
}

/// The one value that the conversation is about, by the nearest turn that names any, and the documents of the others.
fn said_before(case: &Case, values: &[Value]) -> Option<(String, BTreeSet<DocumentId>)> {
    for mention in &case.given.before {
        let (named, others): (Vec<&Value>, Vec<&Value>) = values.iter().partition(|value| mention.names(value, values));
        match named.as_slice() {
            [] => {}
            [only] => {
                return Some((
                    only.label.clone(),
                    others.iter().flat_map(|value| value.documents.iter().copied()).collect(),
                ));
            }
            // What was said last is about several: nothing older says which.
            _ => return None,
        }
    }
    None
}

fn per_value(case: &Case, known: &[(Facet, Vec<Value>)], parallel: &[&Support]) -> Vec<(String, BTreeSet<DocumentId>)> {
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

fn is_about_product(passage: &Passage) -> bool {
    const KINDS: [&str; 8] = ["manual", "guide", "handbook", "datasheet", "手册", "说明书", "用户手册", "指南"];
    let kind = passage.facets.kind.as_deref().map(crate::text::fold).unwrap_or_default();
    let label = crate::text::fold(&document_label(passage));
    KINDS.iter().any(|known| kind.contains(known) || label.contains(known))
}
