//! Retrieval figures: words alone, meaning alone, both fused by rank, and both fused by coverage (what askback does).
//!
//! Each passage of a set is one point of the index, whole and with its title, as the published figures have it; chunking
//! is not measured here.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use serde::Serialize;

use super::{
    metrics::{DEPTH, Figures, figures, mean, reciprocal_ranks},
    set::{Question, Set},
};
use crate::{
    domain::{
        error::EngineError,
        id::{ChunkId, CollectionId, Id, VersionId},
        index::{Bm25, Embedder, Filter, Hit, Point, Quantized, Segment, VectorIndex},
    },
    services::retrieval::search::Search,
    text::terms,
};

/// Which turns of a conversation make the search text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// The last one.
    Last,
    /// The last one and the user's one before it.
    Previous,
    /// All of the user's.
    All,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The set.
    pub set: String,
    /// Language of the questions and of the passages that were searched, where a set judges across languages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub languages: Option<(String, String)>,
    /// See [`Turns`].
    pub turns: Turns,
    /// Questions with a relevant passage.
    pub questions: usize,
    /// BM25 alone.
    pub bm25: Figures,
    /// Cosine alone.
    pub dense: Figures,
    /// Reciprocal rank fusion of the two.
    pub rrf: Figures,
    /// Coverage fusion of the two.
    pub coverage: Figures,
}

/// Figures of several sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The embedder.
    pub embedder: String,
    /// One per set, pair of languages and choice of turns.
    pub rows: Vec<Row>,
}

/// How deep the rankings of each side are fused by rank.
const SIDE: usize = 100;
/// Passages embedded at a time.
const BATCH: usize = 256;

/// Indexes the passages of each set in an index made by `make` and asks its questions.
///
/// # Errors
/// Those of index and embedder.
pub async fn retrieval(
    sets: &[Set],
    embedder: Arc<dyn Embedder>,
    make: impl Fn() -> Arc<dyn VectorIndex>,
) -> Result<Report, EngineError> {
    let mut rows = Vec::new();
    for set in sets {
        let search = Search::alone(make(), Arc::clone(&embedder));
        index(set, &search).await?;
        for languages in pairs(set) {
            for turns in turns(set) {
                rows.push(measure(set, &search, languages.clone(), turns).await?);
            }
        }
    }
    Ok(Report { embedder: embedder.name().to_owned(), rows })
}

async fn index(set: &Set, search: &Search) -> Result<(), EngineError> {
    for batch in set.passages.chunks(BATCH) {
        let texts: Vec<String> = batch.iter().map(|passage| format!("{}\n{}", passage.title, passage.text)).collect();
        let vectors = search.embedder().passages(&texts).await?;
        let mut segments = Vec::with_capacity(batch.len());
        for ((passage, text), vector) in batch.iter().zip(&texts).zip(vectors) {
            let counted = terms::count(text);
            let point = Point {
                chunk: chunk(&passage.id),
                dense: vector.map(|vector| Quantized::of(&vector)),
                sparse: Bm25::CURRENT.passage(&counted.frequencies, counted.length),
            };
            segments.push(Segment {
                collection: collection(&passage.lang),
                document: named(&passage.id),
                version: named(&passage.id),
                points: vec![point],
            });
        }
        search.index().upsert(segments).await?;
    }
    Ok(())
}

/// Names in sets are texts; the index wants ids.
fn named<T>(name: &str) -> Id<T> {
    Id::derived(VersionId::from_uuid(uuid::Uuid::NAMESPACE_OID), name)
}

fn chunk(passage: &str) -> ChunkId {
    named(passage)
}

fn collection(lang: &str) -> CollectionId {
    named(lang)
}

/// Every pair of languages that is judged, if questions are judged across languages; else no restriction.
fn pairs(set: &Set) -> Vec<Option<(String, String)>> {
    let langs: HashMap<&str, &str> =
        set.passages.iter().map(|passage| (passage.id.as_str(), passage.lang.as_str())).collect();
    let mut pairs = BTreeSet::new();
    for question in &set.questions {
        let judged = set.judged.get(&question.id).into_iter().flat_map(HashMap::keys);
        pairs.extend(judged.filter_map(|id| Some((question.lang.clone(), (*langs.get(id.as_str())?).to_owned()))));
    }
    if pairs.iter().all(|(asked, searched)| asked == searched) {
        return vec![None];
    }
    pairs.into_iter().map(Some).collect()
}

fn turns(set: &Set) -> Vec<Turns> {
    if set.questions.iter().all(|question| question.history.is_empty()) {
        vec![Turns::Last]
    } else {
        vec![Turns::Last, Turns::Previous, Turns::All]
    }
}

async fn measure(
    set: &Set,
    search: &Search,
    languages: Option<(String, String)>,
    turns: Turns,
) -> Result<Row, EngineError> {
    let filter =
        Filter { collections: languages.as_ref().map(|(_, searched)| vec![collection(searched)]), ..Filter::default() };
    let mut all: [Vec<Figures>; 4] = Default::default();
    for question in &set.questions {
        if languages.as_ref().is_some_and(|(asked, _)| *asked != question.lang) {
            continue;
        }
        let judged = judged(set, question, languages.as_ref());
        if judged.is_empty() {
            continue;
        }
        let query = search_text(question, turns);
        let candidates = search.candidates(&query, &filter, SIDE).await?;
        let sparse = search.index().sparse(&candidates.terms.sparse, &filter, SIDE).await?;
        let dense = match &candidates.vector {
            Some(vector) => search.index().dense(vector, &filter, SIDE).await?,
            None => Vec::new(),
        };
        let (sparse, dense) = (chunks(&sparse), chunks(&dense));
        let coverage: Vec<ChunkId> = candidates.hits.iter().take(DEPTH).map(|hit| hit.chunk).collect();
        let fused = reciprocal_ranks([&sparse, &dense]);
        for (figure, ranking) in all.iter_mut().zip([&sparse, &dense, &fused, &coverage]) {
            figure.push(figures(ranking, &judged));
        }
    }
    let [bm25, dense, rrf, coverage] = all.each_ref().map(|figures| mean(figures));
    Ok(Row { set: set.name.clone(), languages, turns, questions: all[0].len(), bm25, dense, rrf, coverage })
}

fn chunks(hits: &[Hit]) -> Vec<ChunkId> {
    hits.iter().map(|hit| hit.chunk).collect()
}

/// What counts as found: judged passages in the language that is searched.
fn judged(set: &Set, question: &Question, languages: Option<&(String, String)>) -> HashMap<ChunkId, f64> {
    let Some(judged) = set.judged.get(&question.id) else { return HashMap::new() };
    let is_searched = |lang: &str| languages.is_none_or(|(_, searched)| searched == lang);
    let passages = set.passages.iter().filter(|passage| is_searched(&passage.lang));
    passages.filter_map(|passage| judged.get(&passage.id).map(|grade| (chunk(&passage.id), *grade))).collect()
}

fn search_text(question: &Question, turns: Turns) -> String {
    let earlier: Vec<&str> =
        question.history.iter().filter(|turn| turn.role == "user").map(|turn| turn.text.as_str()).collect();
    let kept = match turns {
        Turns::Last => &[],
        Turns::Previous => &earlier[earlier.len().saturating_sub(1)..],
        Turns::All => &earlier[..],
    };
    kept.iter().copied().chain([question.text.as_str()]).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nDCG@10 / R@10, embedder {}", self.embedder)?;
        let head = ["bm25", "dense", "rrf", "coverage"];
        write!(f, "{:<44}{:>6}", "set", "n")?;
        for column in head {
            write!(f, "{column:>14}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            let languages =
                row.languages.as_ref().map_or_else(String::new, |(asked, searched)| format!(" {asked}→{searched}"));
            let turns = match row.turns {
                Turns::Last => "",
                Turns::Previous => ", last and previous turn",
                Turns::All => ", all user turns",
            };
            write!(f, "{:<44}{:>6}", format!("{}{languages}{turns}", row.set), row.questions)?;
            for Figures { ndcg_10, recall_10 } in [row.bm25, row.dense, row.rrf, row.coverage] {
                write!(f, "{:>14}", format!("{ndcg_10:.3} / {recall_10:.3}"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
