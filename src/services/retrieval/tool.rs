//! `search_knowledge_base`: retrieval as a tool of the agent.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{
    error::ToolError,
    evidence::{Finding, Route, render_evidence},
    hitl::Question,
    model::ToolSpec,
    tool::{Bounds, Tool, ToolContext, ToolOutcome},
};

use super::{Ask, Retrieval};

/// Most characters of a query.
const LONGEST: usize = 4_000;

/// The knowledge tool. Identity, access and quota come from the turn's context, never from the arguments.
pub struct KnowledgeTool {
    retrieval: Arc<Retrieval>,
    spec: ToolSpec,
}

impl KnowledgeTool {
    /// The name that models call it by.
    pub const NAME: &'static str = "search_knowledge_base";

    /// A tool over `retrieval`.
    #[must_use]
    pub fn new(retrieval: Arc<Retrieval>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            Self::NAME,
            "Searches the organisation's documents. Returns numbered passages to answer from and to cite as [n]; or says \
             that the question is ambiguous, that nothing was found, or that the limit is reached. Give one \
             self-contained question, in the user's language.",
        );
        Self { retrieval, spec }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The question, with names instead of pronouns.
    query: String,
}

#[async_trait]
impl Tool for KnowledgeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn bounds(&self) -> Bounds {
        // What it finds is bounded by itself. Its models have times of their own, and may take them one after the other.
        Bounds { time: Duration::from_secs(240), chars: 400_000, ..Bounds::default() }
    }

    fn metered(&self) -> bool {
        true
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let query = query(arguments, &self.spec)?;
        if !ctx.quota.take() {
            return Ok(ToolOutcome {
                text: "TOOL_CALL_LIMIT_REACHED: the knowledge base was searched already in this turn. Answer from the \
                       passages that you have, or say that the documents do not hold it."
                    .into(),
                status: "limit".into(),
                summary: "limit reached".into(),
                ..ToolOutcome::default()
            });
        }
        let ask = Ask {
            question: &query,
            message: &ctx.message,
            background: &ctx.background,
            access: &ctx.access,
            only: ctx.only.as_deref(),
            progress: ctx.progress.as_ref(),
            may_ask: true,
        };
        let found = self.retrieval.search(&ask).await.map_err(ToolError::Fatal)?;
        let mut trace = found.trace;
        trace.tool_name = Some(Self::NAME.into());
        let mut outcome = ToolOutcome { status: "ok".into(), trace: Some(Box::new(trace)), ..ToolOutcome::default() };
        match found.finding {
            Finding::Answer(evidence) => {
                let evidence = ctx.markers.found(evidence);
                outcome.summary = format!("{} passages", evidence.passages.len());
                outcome.text = render_evidence(&evidence);
                outcome.evidence = Some(evidence);
            }
            Finding::Ask(question) => {
                outcome.summary.clone_from(&question.prompt);
                outcome.text = asking(&question);
                outcome.question = Some(question);
            }
            Finding::NoKnowledge => {
                outcome.summary = "nothing found".into();
                outcome.text =
                    "NO_KNOWLEDGE: the documents do not hold an answer to this. Say so; do not answer from elsewhere."
                        .into();
            }
        }
        Ok(outcome)
    }
}

fn query(arguments: Value, spec: &ToolSpec) -> Result<String, ToolError> {
    let Arguments { query } = spec.read(arguments)?;
    let query = query.trim();
    if query.is_empty() {
        return Err(spec.unfit("the query is empty"));
    }
    Ok(crate::text::cut(query, LONGEST).to_owned())
}

fn asking(question: &Question) -> String {
    let prefix = if question.route == Route::ScopeSelect { "NEEDS_SCOPE_SELECTION" } else { "NEEDS_CLARIFICATION" };
    format!("{prefix}: {}", question.text())
}
