//! `list_sources` and `open_source`: the numbered results of the conversation's last search, turns later too. Only their
//! places are remembered: what stands there is read anew, as far as its reader may read it now.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{
    episode::{EpisodeStore, Source},
    error::{FaultCode, ToolError, ToolFault, TurnError},
    evidence::{Evidence, GONE, Passage, RetrievalStatus, Route, render_evidence},
    id::ChunkId,
    knowledge::{Access, Placed},
    model::ToolSpec,
    tool::{Tool, ToolContext, ToolOutcome},
    trace::RagTrace,
};

use super::{Retrieval, retrieve::passage, search::Scored};

/// Steps from a leaf to its section.
const LEVELS: usize = 2;

/// What both tools look at.
#[derive(Clone)]
struct Results {
    retrieval: Arc<Retrieval>,
    episodes: Arc<dyn EpisodeStore>,
}

impl Results {
    /// The results of this turn's searches, else of the last search before it.
    async fn of(&self, ctx: &ToolContext) -> Result<Vec<Source>, ToolError> {
        let mut sources = ctx.markers.sources();
        if let (true, Some(leaf)) = (sources.is_empty(), ctx.parent) {
            sources = self.episodes.results(ctx.user, ctx.session, leaf).await.map_err(TurnError::Store)?;
        }
        if sources.is_empty() {
            let text = "no search of this conversation has found anything yet, so there are no numbered results.";
            return Err(ToolFault::new(FaultCode::NoResults, text).into());
        }
        Ok(sources)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Lists them.
pub struct ListSources {
    results: Results,
    spec: ToolSpec,
}

impl ListSources {
    /// The name that models call it by.
    pub const NAME: &'static str = "list_sources";

    /// A tool over the results that `episodes` keeps.
    #[must_use]
    pub fn new(retrieval: Arc<Retrieval>, episodes: Arc<dyn EpisodeStore>) -> Self {
        let about = "Lists the numbered results of the conversation's last search by document, page and section. Use it \
                     when the user asks what an answer rests on, or speaks of results found earlier.";
        Self { results: Results { retrieval, episodes }, spec: ToolSpec::of::<Nothing>(Self::NAME, about) }
    }
}

#[async_trait]
impl Tool for ListSources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let Nothing {} = self.spec.read(arguments)?;
        let sources = self.results.of(ctx).await?;
        let chunks: Vec<ChunkId> = sources.iter().map(|source| source.chunk_id).collect();
        let documents = &self.results.retrieval.documents;
        let placed = documents.hydrate(&ctx.access, &chunks).await.map_err(TurnError::Store)?;
        let placed: HashMap<ChunkId, Placed> = placed.into_iter().map(|placed| (placed.chunk.id, placed)).collect();
        let mut text = "Results of the last search:".to_owned();
        for source in &sources {
            // Not in brackets: a list of names is nothing to cite.
            let line = placed.get(&source.chunk_id).map_or_else(|| GONE.to_owned(), called);
            text.push_str(&format!("\n{}. {line}", source.marker));
        }
        let summary = format!("{} results", sources.len());
        Ok(ToolOutcome { text, status: "ok".into(), summary, ..ToolOutcome::default() })
    }
}

/// What people call a place: document, page and section, on one line.
fn called(placed: &Placed) -> String {
    let page = placed.chunk.page.as_ref().map(|page| format!(" (Page {page})")).unwrap_or_default();
    let section = placed.chunk.section.as_ref().map(|section| format!(" · {section}")).unwrap_or_default();
    format!("{}{page}{section}", placed.filename).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The result's number: 2 for `[2]` or "the second one".
    index: u32,
}

/// Opens one of them.
pub struct OpenSource {
    results: Results,
    spec: ToolSpec,
}

impl OpenSource {
    /// The name that models call it by.
    pub const NAME: &'static str = "open_source";

    /// A tool over the results that `episodes` keeps.
    #[must_use]
    pub fn new(retrieval: Arc<Retrieval>, episodes: Arc<dyn EpisodeStore>) -> Self {
        let about = "Opens one of the numbered results of the conversation's last search: gives the whole section that it \
                     stands in, as a numbered passage to cite. Use it for \"open the second one\" or \"show me [3]\".";
        Self { results: Results { retrieval, episodes }, spec: ToolSpec::of::<Which>(Self::NAME, about) }
    }
}

#[async_trait]
impl Tool for OpenSource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let Which { index } = self.spec.read(arguments)?;
        let sources = self.results.of(ctx).await?;
        let source = sources.iter().find(|source| source.marker == index).ok_or_else(|| beyond(index, &sources))?;
        let opened = self.results.retrieval.open(&ctx.access, source.chunk_id).await.map_err(ToolError::Fatal)?;
        let Some(passage) = opened else {
            let text = format!("result {index} was changed or removed since the search, or may not be read any more.");
            return Err(ToolFault::new(FaultCode::Gone, text).into());
        };
        let evidence = ctx.markers.number(Evidence { passages: vec![passage], ..Evidence::default() });
        let summary = evidence.passages.first().map(|passage| passage.filename.clone()).unwrap_or_default();
        let trace = RagTrace {
            tool_used: true,
            tool_name: Some(Self::NAME.into()),
            route: Some(Route::Answer),
            retrieval_status: Some(RetrievalStatus::Answerable),
            ..RagTrace::default()
        };
        Ok(ToolOutcome {
            text: render_evidence(&evidence),
            status: "ok".into(),
            summary,
            evidence: Some(evidence),
            question: None,
            trace: Some(Box::new(trace)),
        })
    }
}

fn beyond(index: u32, sources: &[Source]) -> ToolError {
    let numbers = match sources {
        [only] => format!("only one result, {}", only.marker),
        [first, .., last] => format!("{} results, {} to {}", sources.len(), first.marker, last.marker),
        [] => "no results".to_owned(),
    };
    ToolFault::new(FaultCode::OutOfRange, format!("the last search has {numbers}; there is no {index}.")).into()
}

impl Retrieval {
    /// The section that a chunk stands in; `None` when the chunk is gone, or `access` does not allow it.
    async fn open(&self, access: &Access, chunk: ChunkId) -> Result<Option<Passage>, TurnError> {
        let mut found = self.documents.hydrate(access, &[chunk]).await?.pop();
        for _ in 0..LEVELS {
            let Some(parent) = found.as_ref().and_then(|placed| placed.chunk.parent) else { break };
            match self.documents.hydrate(access, &[parent]).await?.pop() {
                Some(wider) => found = Some(wider),
                None => break,
            }
        }
        let Some(placed) = found else { return Ok(None) };
        let as_named =
            Scored { chunk: placed.chunk.id, document: placed.document, score: 1.0, lexical: 1.0, dense: None };
        let mut opened = [passage(placed, 0, &as_named)];
        self.tell_pages(&mut opened).await?;
        let [opened] = opened;
        Ok(Some(opened))
    }
}
