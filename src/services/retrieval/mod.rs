//! The retrieval service: plan → retrieve → grade → (rewrite once → retrieve → grade) → route, and the resume of an
//! answered question, which goes straight to retrieve.
//!
//! A straight function with its steps in files. Nothing here talks to the user: what comes out is a [`Finding`]
//! (answer from this evidence, ask this question, or "not in the documents") and the trace of how it came about.

mod facets;
mod grade;
pub mod merge;
mod outcome;
mod parts;
mod plan;
mod rerank;
mod resolve;
mod resume;
mod retrieve;
mod rewrite;
mod route;
pub mod search;
mod sources;
mod step;
mod structured;
mod tool;

use std::{sync::Arc, time::Duration};

pub use grade::{choices::fingerprint, judges::Judges};
pub use sources::{ListSources, OpenSource};
pub use tool::KnowledgeTool;

pub use crate::domain::evidence::render_evidence;
use crate::domain::{
    error::TurnError,
    event::Progress,
    evidence::{Finding, Passage},
    id::DocumentId,
    index::{Filter, Reranker},
    knowledge::{Access, DocumentStore},
    model::ChatModel,
    time::Clock,
    tool::Background,
    trace::RagTrace,
};
use plan::plan;
use resolve::Resolved;
use search::Search;
use step::Work;

pub use outcome::JudgedLeaf;

/// Numbers of retrieval that an operator may change.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalConfig {
    /// Passages that an answer is written from.
    pub top_k: usize,
    /// Leaves that go into merging and reranking; at least three times `top_k` are taken.
    pub candidate_k: usize,
    /// Passages below this score are left out: the reranker's score where it ran, else the fused one.
    pub min_score: f32,
    /// How long a reranker may take.
    pub rerank_timeout: Duration,
    /// Most rounds of asking about one question.
    pub max_rounds: u32,
    /// What asking costs beside a wrong silent choice: askback asks when the best-supported answer's share of the
    /// evidence is below one minus this.
    pub cost_ratio: f32,
}

impl Default for RetrievalConfig {
    fn default() -> Self {
        Self {
            top_k: 8,
            candidate_k: 30,
            min_score: 0.0,
            rerank_timeout: Duration::from_secs(5),
            max_rounds: 2,
            cost_ratio: 0.3,
        }
    }
}

/// The retrieval service. Shared behind an `Arc`.
pub struct Retrieval {
    /// Finds leaves.
    pub search: Search,
    /// Holds their texts and parents.
    pub documents: Arc<dyn DocumentStore>,
    /// Tells which editions are in force.
    pub clock: Arc<dyn Clock>,
    /// Scores passages anew, if configured.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Plans and rewrites, if configured; else built-in rules do.
    pub fast: Option<Arc<dyn ChatModel>>,
    /// Grades, if configured; else the built-in grader does alone.
    pub grade: Option<Arc<dyn ChatModel>>,
    /// Where the built-in grader works.
    pub judges: Judges,
    /// Numbers.
    pub config: RetrievalConfig,
}

/// What is asked, by whom, against which background.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The agent's query.
    pub question: &'a str,
    /// The user's own words.
    pub message: &'a str,
    /// The conversation before.
    pub background: &'a Background,
    /// What may be searched, already narrowed to the request's collections.
    pub access: &'a Access,
    /// The names that the request narrowed it to; kept in the record of a question.
    pub only: Option<&'a [String]>,
    /// Where progress goes.
    pub progress: &'a dyn Progress,
    /// Whether a question may be asked back at all.
    pub may_ask: bool,
}

/// What retrieval came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What to do now.
    pub finding: Finding,
    /// How it came about.
    pub trace: RagTrace,
}

/// The trace of a question that is searched for first.
fn begun(question: &str) -> RagTrace {
    RagTrace {
        tool_used: true,
        query: Some(question.to_owned()),
        retrieval_stage: Some("initial".into()),
        ..RagTrace::default()
    }
}

impl Retrieval {
    /// Finds evidence for a question, or what to ask back.
    ///
    /// # Errors
    /// [`TurnError::Retrieval`] when neither side of the search works, [`TurnError::Store`] when the store does not.
    /// Failing models are no error: built-in rules step in and the trace says so.
    pub async fn search(&self, ask: &Ask<'_>) -> Result<Found, TurnError> {
        let resolved = Resolved::new(ask);
        let mut trace = begun(ask.question);
        let plan = plan(ask.question, &resolved.question, self.fast.as_ref()).await;
        trace.complexity = Some(plan.complexity().to_owned());
        trace.complexity_reason = Some(plan.reason);
        if !plan.parts.is_empty() {
            return self.search_parts(ask, &plan.parts, trace).await;
        }
        let work = Work::new(ask, &resolved, &[], Filter::default());
        let outcome = self.work(&work, &mut trace).await?;
        if let Some(found) = self.search_joined(ask, &outcome, &trace).await? {
            return Ok(found);
        }
        Ok(outcome.into_found(trace))
    }

    /// As [`search`](Self::search) for a question of one part, within `documents`, with every leaf as it was judged:
    /// for measuring, and for fitting the built-in grader.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn measure(
        &self,
        ask: &Ask<'_>,
        documents: Option<&[DocumentId]>,
    ) -> Result<(Found, Vec<JudgedLeaf>), TurnError> {
        let resolved = Resolved::new(ask);
        let filter = Filter { documents: documents.map(<[DocumentId]>::to_vec), ..Filter::default() };
        let mut trace = RagTrace::default();
        let mut outcome = self.work(&Work::new(ask, &resolved, &[], filter), &mut trace).await?;
        let judged = std::mem::take(&mut outcome.judged);
        Ok((outcome.into_found(trace), judged))
    }

    /// Retrieval without a model and without grading: for `POST /search`. `documents` restricts it to these.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn passages(
        &self,
        query: &str,
        access: &Access,
        documents: Option<&[DocumentId]>,
        top_k: usize,
    ) -> Result<(Vec<Passage>, RagTrace), TurnError> {
        let filter = Filter { documents: documents.map(<[DocumentId]>::to_vec), ..Filter::default() };
        let mut trace = RagTrace { query: Some(query.to_owned()), ..RagTrace::default() };
        let retrieved = self.retrieve(query, access, &filter, top_k, &mut trace).await?;
        trace.retrieved_chunks = Some(retrieved.passages.clone());
        Ok((retrieved.passages, trace))
    }
}
