//! What a question came to, before it is put into a turn's words.

use crate::domain::{
    evidence::{Ambiguity, Answerability, Evidence, Finding, Passage, Relevance, RetrievalStatus, Route},
    id::DocumentId,
    trace::RagTrace,
};

use super::{Found, grade::weights, route::status};

/// What a question came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub finding: Finding,
    pub route: Route,
    pub status: RetrievalStatus,
    pub relevance: Relevance,
    pub answerability: Answerability,
    pub ambiguity: Ambiguity,
    pub confidence: f32,
    pub reason: String,
    pub grader: String,
    /// What was found, for the trace; of an answer, its passages.
    pub retrieved: Vec<Passage>,
    /// The question that it came of, resolved.
    pub question: String,
    /// Its words that the best passage does not hold.
    pub lacks: Vec<String>,
    /// What it is answered with where it may not be asked.
    pub unasked: Option<Evidence>,
    /// How each leaf of the pool was judged; for measuring.
    pub judged: Vec<JudgedLeaf>,
}

/// A leaf of the pool as the built-in grader saw it: the ground that its weights are fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedLeaf {
    /// Its document.
    pub document: DocumentId,
    /// cover, focus, kind, missing, nameless, dense, lexical, spread, gap.
    pub features: [f32; weights::COUNT],
    /// Whether it is in another language than the question.
    pub crosses: bool,
    /// 0 … 1.
    pub score: f32,
}

impl Outcome {
    pub(crate) fn nothing() -> Self {
        Self {
            finding: Finding::NoKnowledge,
            route: Route::NoKnowledge,
            status: RetrievalStatus::NoKnowledge,
            relevance: Relevance::None,
            answerability: Answerability::None,
            ambiguity: Ambiguity::None,
            confidence: 0.0,
            reason: String::new(),
            grader: weights::VERSION.to_owned(),
            retrieved: Vec::new(),
            question: String::new(),
            lacks: Vec::new(),
            unasked: None,
            judged: Vec::new(),
        }
    }

    /// Becomes the answer from this evidence; without any it stays as it is.
    pub(crate) fn answer(&mut self, evidence: Option<Evidence>) {
        let Some(evidence) = evidence else { return };
        self.route = Route::Answer;
        self.status = status(Route::Answer, self.answerability);
        self.retrieved.clone_from(&evidence.passages);
        self.finding = Finding::Answer(evidence);
    }

    /// Writes itself into a trace.
    pub(crate) fn note(&self, trace: &mut RagTrace) {
        trace.route = Some(self.route);
        trace.retrieval_status = Some(self.status);
        if trace.sub_traces.is_empty() {
            trace.evidence_relevance = Some(self.relevance);
            trace.evidence_answerability = Some(self.answerability);
            trace.evidence_ambiguity = Some(self.ambiguity);
            trace.evidence_confidence = Some(self.confidence);
            trace.evidence_reason = Some(self.reason.clone());
            trace.grader = Some(self.grader.clone());
        }
        trace.retrieved_chunks = Some(self.retrieved.clone());
        if let Finding::Ask(question) = &self.finding {
            trace.hitl_prompt = Some(question.prompt.clone());
            trace.hitl_options = question.options.iter().map(|option| option.label.clone()).collect();
            trace.missing_slots.clone_from(&question.missing_slots);
        }
    }

    /// Ends a turn's retrieval.
    pub(crate) fn into_found(self, mut trace: RagTrace) -> Found {
        self.note(&mut trace);
        Found { finding: self.finding, trace }
    }
}
