//! `rag_trace`: what retrieval did in a turn, as clients see it. Absent fields are left out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::{Ambiguity, Answerability, Passage, Relevance, RetrievalStatus, Route};

/// The fields of protocol.md, in its order of thought: the call, the plan, the search, the judgement, the question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "each field is named and explained by protocol.md")]
#[expect(clippy::struct_excessive_bools, reason = "the wire names them")]
pub struct RagTrace {
    pub tool_used: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite_method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten_query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_back_question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyde_document: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_status: Option<RetrievalStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_relevance: Option<Relevance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_answerability: Option<Answerability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_ambiguity: Option<Ambiguity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_confidence: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_slots: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_prompt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hitl_options: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hitl_resumed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_reply_verdict: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_resume_strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_resume_from_status: Option<RetrievalStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_resume_from_route: Option<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_targeted_retrieved_chunks: Option<Vec<Passage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_applied: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_timeout_seconds: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_min_score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_rerank_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_threshold_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_empty: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_pipeline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_k_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_candidate_multiplier: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_top_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_merge_candidate_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf_retrieve_level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge_applied: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge_threshold: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge_replaced_chunks: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge_steps: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved_chunks: Option<Vec<Passage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_retrieved_chunks: Option<Vec<Passage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite_retrieved_chunks: Option<Vec<Passage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity_reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sub_questions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthesis_merged_count: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub sub_traces: Vec<RagTrace>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub step_limit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grader: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl RagTrace {
    /// All passages in it, those of its parts too.
    pub fn passages_mut(&mut self) -> Vec<&mut Passage> {
        let own = [
            &mut self.retrieved_chunks,
            &mut self.initial_retrieved_chunks,
            &mut self.rewrite_retrieved_chunks,
            &mut self.hitl_targeted_retrieved_chunks,
        ];
        let own = own.into_iter().flatten().flatten();
        own.chain(self.sub_traces.iter_mut().flat_map(Self::passages_mut)).collect()
    }
}
