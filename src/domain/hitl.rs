//! Asking back: the question, its record, and the moves between its states.

use serde::{Deserialize, Serialize};

use super::{
    evidence::{RetrievalStatus, Route},
    id::{CollectionId, DocumentId, HitlId, MessageId, RunId},
    time::Millis,
};

/// What separates the things that a question may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    /// Product, entity.
    Subject,
    /// Place.
    Place,
    /// Date or period.
    Period,
    /// Edition of the text.
    Edition,
    /// Heading path.
    Section,
    /// The document itself.
    Document,
    /// A kind that the rows or clauses of one document tell apart (a table's dimension, "for X …; for Y …").
    Kind,
}

/// What choosing an option restricts the search to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionFilter {
    /// What it fixes.
    pub facet: Facet,
    /// To which value, as the label shows it.
    pub value: String,
    /// The documents that carry the value (not versions: a new upload keeps the choice), at most 64. For facets
    /// within a document (`Section`, `Kind`) the value also narrows the passages.
    pub documents: Vec<DocumentId>,
}

/// One thing that may be meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// First 8 hex digits of SHA-256 of facet and folded value: the same after a restart.
    pub id: String,
    /// For people, at most 60 characters, unique among the options.
    pub label: String,
    /// Other names that a reply may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Distinct leaves that support it.
    pub evidence_count: u32,
    /// What choosing it means.
    pub filter: OptionFilter,
}

/// A question to the user that came out of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// [`Route::Clarify`] or [`Route::ScopeSelect`].
    pub route: Route,
    /// In the language of the user's message.
    pub prompt: String,
    /// At most 8; may be empty for a clarify.
    pub options: Vec<Choice>,
    /// What is missing, in the user's language.
    pub missing_slots: Vec<String>,
    /// The question that could not be answered, resolved against the conversation.
    pub original_question: String,
    /// Rewrites already spent.
    pub rewrite_count: u32,
    /// The parts of a question of several, none of which has an answer yet: each goes on by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A part of a question, with what was asked back about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The part, resolved against the conversation.
    pub question: String,
    /// Ids of the options that are about it, of earlier rounds too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Question {
    /// Most options of a question.
    pub const MOST_OPTIONS: usize = 8;

    /// Whether no further option would have had room: what is meant may be none of those that are offered.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.options.len() >= Self::MOST_OPTIONS
    }

    /// The assistant message that asks: the prompt, and under a blank line one `- label` a line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.prompt.clone();
        if !self.options.is_empty() {
            text.push('\n');
        }
        for option in &self.options {
            text.push_str("\n- ");
            text.push_str(&option.label);
        }
        text
    }

    /// `retrieval_status` of a turn that ends with it.
    #[must_use]
    pub const fn status(&self) -> RetrievalStatus {
        match self.route {
            Route::ScopeSelect => RetrievalStatus::NeedsScopeSelection,
            _ => RetrievalStatus::NeedsClarification,
        }
    }
}

/// One answered round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What the user said.
    pub text: String,
    /// Chosen options, as filters. Several from one question are alternatives.
    pub filters: Vec<OptionFilter>,
    /// None of the options is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
    /// Documents that the user ruled out with that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except_documents: Vec<DocumentId>,
    /// The words that the answer adds to the search.
    pub words: String,
}

impl Answer {
    /// Whether it chooses nothing, rules nothing out, and adds no words: "hmm", "3" of two.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        self.filters.is_empty() && !self.none && self.except_documents.is_empty() && self.words.trim().is_empty()
    }
}

/// Everything a resume needs, stored with the question: ids and filters only, at most 8 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Layout of this record.
    pub v: u32,
    /// What was asked.
    pub question: Question,
    /// Earlier rounds, oldest first.
    pub answers: Vec<Answer>,
    /// Fingerprints of the questions of the earlier rounds: none of them is asked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// The collections that the asking request was restricted to, by name.
    pub only: Option<Vec<String>>,
    /// The collections that it could read.
    pub collections: Vec<CollectionId>,
    /// Generation of the index when it was asked.
    pub index_generation: u64,
}

impl Record {
    /// The layout written today.
    pub const VERSION: u32 = 1;
}

/// The states of a question. See [`HitlStatus::may_become`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitlStatus {
    /// Waits for a reply.
    Open,
    /// A run is finding out what the reply means.
    Taken,
    /// Answered.
    Answered,
    /// Declined.
    Dismissed,
    /// Left for another question.
    Superseded,
    /// Its time passed.
    Expired,
}

impl HitlStatus {
    /// The word of the wire, for logs and sentences.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Taken => "taken",
            Self::Answered => "answered",
            Self::Dismissed => "dismissed",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
        }
    }

    /// Whether a question makes this move. The store records no other.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Open => matches!(next, Self::Taken | Self::Expired),
            Self::Taken => {
                matches!(next, Self::Open | Self::Answered | Self::Dismissed | Self::Superseded | Self::Expired)
            }
            // Resumed once more on another branch: a line of its history, no other state.
            Self::Answered => matches!(next, Self::Answered),
            Self::Dismissed => matches!(next, Self::Dismissed),
            Self::Superseded => matches!(next, Self::Superseded),
            Self::Expired => false,
        }
    }
}

/// How the run that took a question leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The message was the answer.
    Answered,
    /// The message declined it.
    Dismissed,
    /// The message asked something else.
    Superseded,
    /// The run failed, was stopped or died: open again, or expired if its time has passed.
    Reopened,
    /// It was settled before, and this run resumed it on another branch: it stays what it is.
    Repeated,
}

impl Settlement {
    /// The state that it leaves a question in that was in `before` and whose time has not passed.
    #[must_use]
    pub const fn status(self, before: HitlStatus) -> HitlStatus {
        match self {
            Self::Answered => HitlStatus::Answered,
            Self::Dismissed => HitlStatus::Dismissed,
            Self::Superseded => HitlStatus::Superseded,
            Self::Reopened => HitlStatus::Open,
            Self::Repeated => before,
        }
    }
}

/// A question as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Never changes.
    pub id: HitlId,
    /// The assistant message that asked: its branch.
    pub message: MessageId,
    /// The first question of the chain of rounds; its own id in round 1.
    pub root: HitlId,
    /// From 1.
    pub round: u32,
    /// Where it stands.
    pub status: HitlStatus,
    /// Question core, slot and sorted option keys: never asked twice within a root.
    pub fingerprint: String,
    /// What a resume needs. `None`: the stored record cannot be read.
    pub record: Option<Record>,
    /// The prompt, kept beside the record for history.
    pub prompt: String,
    /// `clarify` or `scope_select`.
    pub route: Route,
    /// When it expires.
    pub expires_at: Millis,
    /// When it was asked.
    pub created_at: Millis,
    /// The run that took it.
    pub taken_by: Option<RunId>,
    /// The message that answered it.
    pub answered_by: Option<MessageId>,
}

/// A question that a run wants to leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPending {
    /// Its id.
    pub id: HitlId,
    /// See [`Pending::root`].
    pub root: HitlId,
    /// See [`Pending::round`].
    pub round: u32,
    /// See [`Pending::fingerprint`].
    pub fingerprint: String,
    /// See [`Record`].
    pub record: Record,
    /// See [`Pending::expires_at`].
    pub expires_at: Millis,
}

/// `hitl` of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[expect(missing_docs, reason = "each field is named and explained by protocol.md")]
pub struct HitlView {
    pub id: HitlId,
    pub prompt: String,
    pub options: Vec<String>,
    pub option_list: Vec<ChoiceView>,
    pub route: Route,
    pub retrieval_status: RetrievalStatus,
    pub original_question: String,
    pub missing_slots: Vec<String>,
    pub round: u32,
    pub max_rounds: u32,
    pub expires_at: String,
    pub status: HitlStatus,
}

/// An option of [`HitlView`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[expect(missing_docs, reason = "each field is named and explained by protocol.md")]
pub struct ChoiceView {
    pub id: String,
    pub label: String,
    pub evidence_count: u32,
}

impl HitlView {
    /// The view of a question with this record.
    #[must_use]
    pub fn new(
        id: HitlId,
        record: &Record,
        round: u32,
        max_rounds: u32,
        expires_at: Millis,
        status: HitlStatus,
    ) -> Self {
        let question = &record.question;
        Self {
            id,
            prompt: question.prompt.clone(),
            options: question.options.iter().map(|option| option.label.clone()).collect(),
            option_list: question
                .options
                .iter()
                .map(|option| ChoiceView {
                    id: option.id.clone(),
                    label: option.label.clone(),
                    evidence_count: option.evidence_count,
                })
                .collect(),
            route: question.route,
            retrieval_status: question.status(),
            original_question: question.original_question.clone(),
            missing_slots: question.missing_slots.clone(),
            round,
            max_rounds,
            expires_at: expires_at.to_string(),
            status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [HitlStatus; 6] = [
        HitlStatus::Open,
        HitlStatus::Taken,
        HitlStatus::Answered,
        HitlStatus::Dismissed,
        HitlStatus::Superseded,
        HitlStatus::Expired,
    ];

    #[test]
    fn the_table_of_moves() {
        let moves = |from: HitlStatus| ALL.into_iter().filter(|to| from.may_become(*to)).collect::<Vec<_>>();
        use HitlStatus::{Answered, Dismissed, Expired, Open, Superseded, Taken};
        assert_eq!(moves(Open), [Taken, Expired]);
        assert_eq!(moves(Taken), [Open, Answered, Dismissed, Superseded, Expired]);
        for settled in [Answered, Dismissed, Superseded] {
            assert_eq!(moves(settled), [settled], "resumed on another branch");
        }
        assert_eq!(moves(Expired), []);
    }

    #[test]
    fn a_run_leaves_a_question_only_where_it_may_go() {
        for settlement in [Settlement::Answered, Settlement::Dismissed, Settlement::Superseded, Settlement::Reopened] {
            let left = settlement.status(HitlStatus::Taken);
            assert!(HitlStatus::Taken.may_become(left), "{settlement:?}");
            if left != HitlStatus::Open {
                assert!(left.may_become(Settlement::Repeated.status(left)), "{settlement:?}");
            }
        }
    }
}
