//! Asking back: the record of a question, its bounds, and its fingerprint.

use crate::{
    domain::{
        hitl::{Answer, HitlStatus, NewPending, Pending, Question, Record},
        id::{CollectionId, HitlId},
        time::Millis,
    },
    services::retrieval::fingerprint,
    text::cut,
};

/// Most bytes of a record.
const MAX_RECORD: usize = 8 * 1024;
/// Most characters of the question that a record keeps.
const MAX_QUESTION: usize = 1_500;

/// What a new question stands on.
pub(super) struct Ground {
    /// The rounds before it, answered.
    pub(super) answers: Vec<Answer>,
    /// The question that was answered now.
    pub(super) before: Option<Before>,
    /// The request's collections.
    pub(super) only: Option<Vec<String>>,
    /// What could be read.
    pub(super) collections: Vec<CollectionId>,
    /// Of the index.
    pub(super) generation: u64,
}

/// A question of the round before.
pub(super) struct Before {
    /// The first one of the chain. `None` begins a chain: on another branch the same may be asked again.
    root: Option<HitlId>,
    round: u32,
    /// Fingerprints of the chain.
    asked: Vec<String>,
}

impl Before {
    pub(super) fn new(question: &Pending, record: &Record) -> Self {
        Self {
            root: (question.status == HitlStatus::Taken).then_some(question.root),
            round: question.round,
            asked: chain(question, record),
        }
    }
}

/// Fingerprints of a question and of those of the rounds before it.
pub(super) fn chain(question: &Pending, record: &Record) -> Vec<String> {
    record.asked.iter().chain([&question.fingerprint]).cloned().collect()
}

/// The open question that a turn leaves behind.
pub(super) fn pending(question: Question, ground: Ground, now: Millis, expires_at: Millis) -> NewPending {
    let id = HitlId::at(now);
    let (root, round, asked) =
        ground.before.map_or((id, 1, Vec::new()), |before| (before.root.unwrap_or(id), before.round + 1, before.asked));
    let fingerprint = fingerprint(&question);
    let record = fit(Record {
        v: Record::VERSION,
        question,
        answers: ground.answers,
        asked,
        only: ground.only,
        collections: ground.collections,
        index_generation: ground.generation,
    });
    NewPending { id, root, round, fingerprint, record, expires_at }
}

/// Cuts a record to its bound: first the long texts, then the documents of the options that name most of them, last the
/// question and its parts, the longest first. The facet and its value stay, so that an option whose documents were cut
/// still narrows the search.
fn fit(mut record: Record) -> Record {
    let question = &mut record.question.original_question;
    *question = cut(question, MAX_QUESTION).to_owned();
    while size(&record) > MAX_RECORD {
        let options = &mut record.question.options;
        let answers = record.answers.iter_mut().flat_map(|answer| &mut answer.filters);
        let longest = options
            .iter_mut()
            .map(|option| &mut option.filter)
            .chain(answers)
            .max_by_key(|filter| filter.documents.len())
            .filter(|filter| filter.documents.len() > 1);
        if let Some(filter) = longest {
            filter.documents.truncate(filter.documents.len() / 2);
        } else if let Some(option) = options.iter_mut().find(|option| !option.aliases.is_empty()) {
            option.aliases.clear();
        } else {
            let question = &mut record.question;
            let parts = question.parts.iter_mut().map(|part| &mut part.question);
            let longest = parts.chain([&mut question.original_question]).max_by_key(|text| text.chars().count());
            let Some(text) = longest.filter(|text| text.chars().count() > 1) else { break };
            *text = cut(text, text.chars().count() / 2).to_owned();
        }
    }
    record
}

fn size(record: &Record) -> usize {
    serde_json::to_vec(record).map_or(0, |json| json.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        evidence::Route,
        hitl::{Choice, Facet, OptionFilter, Part},
        id::DocumentId,
    };

    fn question(options: usize, documents: usize) -> Question {
        Question {
            route: Route::ScopeSelect,
            prompt: "Which product do you mean?".into(),
            options: (0..options)
                .map(|n| Choice {
                    id: format!("{n:08x}"),
                    label: format!("Product {n}"),
                    aliases: vec![],
                    evidence_count: 2,
                    filter: OptionFilter {
                        facet: Facet::Subject,
                        value: format!("Product {n}"),
                        documents: (0..documents).map(|_| DocumentId::at(Millis(1))).collect(),
                    },
                })
                .collect(),
            missing_slots: vec![],
            original_question: "How long is the warranty?".into(),
            rewrite_count: 0,
            parts: Vec::new(),
        }
    }

    fn ground(before: Option<Before>) -> Ground {
        Ground { answers: vec![], before, only: None, collections: vec![], generation: 3 }
    }

    #[test]
    fn a_record_never_exceeds_its_bound() {
        let asked = pending(question(8, 64), ground(None), Millis(1), Millis(2));
        assert!(size(&asked.record) <= MAX_RECORD);
        assert!(asked.record.question.options.iter().all(|option| !option.filter.documents.is_empty()));
        let mut of_parts = question(8, 64);
        of_parts.parts =
            (0..4).map(|n| Part { question: "问".repeat(800), options: vec![format!("{n:08x}"); 8] }).collect();
        let asked = pending(of_parts, ground(None), Millis(1), Millis(2));
        assert!(size(&asked.record) <= MAX_RECORD);
        assert!(asked.record.question.parts.iter().all(|part| !part.question.is_empty() && part.options.len() == 8));
        let small = pending(question(2, 1), ground(None), Millis(1), Millis(2));
        assert_eq!(small.record.question, question(2, 0).with_documents_of(&small.record.question));
    }

    #[test]
    fn rounds_keep_their_root() {
        let first = pending(question(2, 1), ground(None), Millis(1), Millis(2));
        assert_eq!((first.root, first.round), (first.id, 1));
        let after = |root| Before { root, round: 1, asked: vec![first.fingerprint.clone()] };
        let second = pending(question(2, 1), ground(Some(after(Some(first.root)))), Millis(5), Millis(6));
        assert_eq!((second.root, second.round), (first.id, 2));
        assert_eq!(second.fingerprint, first.fingerprint);
        assert_eq!(second.record.asked, std::slice::from_ref(&first.fingerprint));
        let other = pending(question(3, 1), ground(Some(after(None))), Millis(5), Millis(6));
        assert_eq!((other.root, other.round), (other.id, 2));
        assert_ne!(other.fingerprint, first.fingerprint);
    }

    impl Question {
        fn with_documents_of(mut self, other: &Self) -> Self {
            for (mine, theirs) in self.options.iter_mut().zip(&other.options) {
                mine.filter.documents.clone_from(&theirs.filter.documents);
            }
            self
        }
    }
}
