//! What retrieval finds, how it is judged, and what follows from it.

use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) mod fixture;
mod text;

pub use text::{ParsedEvidence, ParsedPassage, parse_evidence, render_evidence};

use super::{
    extract::PageMark,
    hitl::Question,
    id::{ChunkId, DocumentId},
    knowledge::Facets,
};

/// What stands in the place of a passage that may not be read any more. Its number stays its own.
pub const GONE: &str = "(no longer available)";

/// A chunk that was found, with the scores of the stages that it went through. Serialized it is the wire's chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Passage {
    /// The document's name.
    pub filename: String,
    /// What people call the page that it begins on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_number: Option<String>,
    /// The pages that begin inside it, in order, with their place in that version's text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageMark>,
    /// The chunk's text.
    pub text: String,
    /// The fused score (see `services::retrieval::search`).
    pub score: f32,
    /// Place in the fused list, from 1.
    pub rrf_rank: u32,
    /// The reranker's score, if one ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank_score: Option<f32>,
    /// The chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: DocumentId,
    /// The document's version.
    pub version: i64,
    /// Where `text` stands in that version's text, in Unicode scalar values.
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// Cosine of the dense side, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense_score: Option<f32>,
    /// Lexical share of the sparse side, 0 … 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical_score: Option<f32>,
    /// Heading path, " > " between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Header row of the table that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// 1 … 3; merged passages are 1 or 2.
    pub level: u8,
    /// The document's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Read later, its document was deleted or may no longer be read: the text is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// What tells the document from its siblings.
    #[serde(skip)]
    pub facets: Facets,
}

impl Passage {
    /// Without what it says: where it stands is all that is left.
    pub fn remove(&mut self) {
        self.removed = true;
        self.text.clear();
        (self.section, self.header) = (None, None);
    }
}

/// How much the passages have to do with the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relevance {
    /// Nothing.
    None,
    /// The subject, perhaps.
    Weak,
    /// The very thing asked.
    Strong,
}

/// How far the passages answer the question.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Answerability {
    /// Not.
    None,
    /// In part.
    Partial,
    /// Wholly.
    Sufficient,
}

/// Whether the question means one thing, seen against the passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ambiguity {
    /// It does.
    None,
    /// Something needed is not said.
    MissingSlot,
    /// Several things match.
    MultipleCandidates,
}

/// The judgement of a grader.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    /// See [`Relevance`].
    pub relevance: Relevance,
    /// See [`Answerability`].
    pub answerability: Answerability,
    /// See [`Ambiguity`].
    pub ambiguity: Ambiguity,
    /// 0 … 1.
    pub confidence: f32,
    /// What is missing, in the user's language.
    pub missing_slots: Vec<String>,
    /// The question to ask, complete with options, if `ambiguity` is not `None` and asking is possible.
    pub question: Option<Question>,
    /// What the answer has to mind.
    pub guidance: Guidance,
    /// For the trace.
    pub reason: String,
    /// `builtin` or the model's name.
    pub grader: String,
}

/// What the writer of the answer is told besides the passages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Guidance {
    /// The reading that was chosen without asking, as a clause in the user's language without a full stop ("assuming
    /// that you mean Aurora X1"); stands in the first sentence of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumption: Option<String>,
    /// Several editions answer; this one is in force and is to be named: a noun phrase ("2025", "Third edition").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// The passages contradict each other: give each with its source, and say that they differ.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contradiction: bool,
    /// One answer per value of what separates the passages (a comparison, or "all of them").
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_value: Vec<ValueGroup>,
    /// The parts of a question of several: each is answered from passages of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What the user chose inside a document (rows, sections, periods), one group for each question that was asked back: all
    /// values of a group are meant, and nothing beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Vec<String>>,
}

/// A part of a question, with what it is answered from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// The part, resolved against the conversation.
    pub question: String,
    /// Its passages, by marker (from 1), ascending; none: the documents do not hold it, which is to be said.
    pub markers: Vec<u32>,
    /// What its answer has to mind.
    #[serde(default)]
    pub guidance: Guidance,
}

impl Guidance {
    /// Calls every passage by the marker that `renumber` gives it.
    pub fn renumber(&mut self, renumber: &impl Fn(u32) -> u32) {
        let groups = self.per_value.iter_mut().map(|group| &mut group.markers);
        for marker in groups.chain(self.parts.iter_mut().map(|part| &mut part.markers)).flatten() {
            *marker = renumber(*marker);
        }
        for part in &mut self.parts {
            part.guidance.renumber(renumber);
        }
    }
}

/// The passages that speak for one value of a facet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueGroup {
    /// The value as people read it ("Aurora X1").
    pub value: String,
    /// Its passages, by marker (from 1), ascending.
    pub markers: Vec<u32>,
}

/// Where a question goes after grading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The evidence is enough.
    Answer,
    /// Search once more with a rewritten query.
    Rewrite,
    /// Ask for what is missing.
    Clarify,
    /// Ask which of several things is meant.
    ScopeSelect,
    /// The documents do not hold it.
    NoKnowledge,
}

/// `retrieval_status` of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalStatus {
    /// Enough.
    Answerable,
    /// Something.
    Partial,
    /// To be searched again.
    NeedsRewrite,
    /// Asks for a slot.
    NeedsClarification,
    /// Asks for a choice.
    NeedsScopeSelection,
    /// Nothing.
    NoKnowledge,
}

/// Passages to answer from, with the numbers that citations use: passage `i` is `[before + i + 1]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Passages that earlier searches of the turn found: they have the markers before these.
    pub before: usize,
    /// In the order of the markers.
    pub passages: Vec<Passage>,
    /// What the answer has to mind.
    pub guidance: Guidance,
    /// The question that they answer, resolved.
    pub question: String,
}

impl Evidence {
    /// The same passages, with the markers that follow those of `before` others.
    #[must_use]
    pub fn after(mut self, before: usize) -> Self {
        let shift = u32::try_from(before).unwrap_or(u32::MAX);
        self.guidance.renumber(&|marker| marker.saturating_add(shift));
        self.before = before;
        self
    }

    /// Adds what a further search of the turn found, at the place that its markers say.
    pub fn extend(&mut self, further: Self) {
        let place = further.before.saturating_sub(self.before).min(self.passages.len());
        self.passages.splice(place..place, further.passages);
        (self.guidance, self.question) = (further.guidance, further.question);
    }
}

/// What retrieval came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// Answer from this.
    Answer(Evidence),
    /// Ask back; the passages stay with the trace.
    Ask(Question),
    /// Say that the documents do not hold it.
    NoKnowledge,
}
