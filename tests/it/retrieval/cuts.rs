//! What the sizes of leaves do to retrieval, on the sets that `ASKBACK_TEST_EVAL` names (folders, separated by ':').
//!
//! The passages of a set are put together, six to a document, and cut anew. A leaf stands for the passages that it
//! overlaps. Small leaves hit more often and say less, so besides the ranking the share of the right passage is counted
//! that lies within the first 3,000 characters of what was found.

use std::{collections::HashMap, ops::Range, path::Path, sync::Arc};

use askback::{
    adapters::{embed::builtin::Builtin, vector::embedded::EmbeddedIndex},
    domain::{
        extract::{Block, BlockKind, Extracted},
        id::{ChunkId, CollectionId, DocumentId, VersionId},
        index::{Bm25, Embedder, Filter, Point, Quantized, Segment, VectorIndex},
        knowledge::{Chunk, Level},
    },
    services::{
        eval::{
            Passage, Question, Set,
            metrics::{figures, mean},
        },
        ingest::{
            chunk::{Before, Shape, Size, chunks},
            passage_text,
        },
        retrieval::search::Search,
    },
    text::terms,
};
use uuid::Uuid;

/// Passages of one document.
const TOGETHER: usize = 6;
/// Characters that are read of what was found.
const READ: usize = 3_000;

/// Whether passages have their title above them, and whether leaves are found by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Headings {
    None,
    Unindexed,
    Indexed,
}

/// Passages as one text, and where each of them stands.
fn glued(passages: &[Passage], headings: Headings) -> (Extracted, Vec<Range<usize>>) {
    let mut out = Extracted::default();
    let (mut chars, mut places) = (0, Vec::new());
    let mut push = |kind: BlockKind, text: &str| {
        let start = chars;
        out.text.push_str(text);
        out.text.push_str("\n\n");
        chars += text.chars().count() + 2;
        out.blocks.push(Block { kind, start, end: chars - 2 });
        start..chars - 2
    };
    for passage in passages {
        if headings != Headings::None && !passage.title.is_empty() {
            push(BlockKind::Heading(2), &passage.title);
        }
        places.push(push(BlockKind::Paragraph, passage.text.trim()));
    }
    (out, places)
}

/// Where a leaf stands: document, characters, and the passages that it overlaps, most first.
struct Place {
    document: usize,
    range: Range<usize>,
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

fn search_text(question: &Question) -> String {
    let before = question.history.iter().rfind(|turn| turn.role == "user");
    before.map(|turn| turn.text.as_str()).into_iter().chain([question.text.as_str()]).collect::<Vec<_>>().join("\n")
}

async fn measured(set: &Set, shape: &Shape, headings: Headings) -> (usize, f64, f64, f64) {
    let embedder: Arc<dyn Embedder> = Arc::new(Builtin::load().unwrap());
    let index: Arc<dyn VectorIndex> = Arc::new(EmbeddedIndex::new(embedder.dims()));
    let collection = CollectionId::from_uuid(Uuid::from_u128(1));
    let mut places: HashMap<ChunkId, Place> = HashMap::new();
    let mut stands: HashMap<&str, (usize, Range<usize>)> = HashMap::new();
    for (no, passages) in set.passages.chunks(TOGETHER).enumerate() {
        let (text, ranges) = glued(passages, headings);
        stands.extend(passages.iter().zip(ranges).map(|(passage, range)| (passage.id.as_str(), (no, range))));
        let version = VersionId::from_uuid(Uuid::from_u128(no as u128 + 1));
        let leaves: Vec<Chunk> = chunks(version, &text, shape, &Before::default())
            .into_iter()
            .filter(|chunk| chunk.level == Level::Leaf)
            .collect();
        let read: Vec<String> = leaves
            .iter()
            .map(|leaf| if headings == Headings::Unindexed { leaf.body.clone() } else { passage_text(None, leaf) })
            .collect();
        let vectors = embedder.passages(&read).await.unwrap();
        let points = leaves.iter().zip(&read).zip(vectors).map(|((leaf, text), vector)| {
            let counted = terms::count(text);
            Point {
                chunk: leaf.id,
                dense: vector.map(|vector| Quantized::of(&vector)),
                sparse: Bm25::CURRENT.passage(&counted.frequencies, counted.length),
            }
        });
        let document = DocumentId::from_uuid(Uuid::from_u128(no as u128 + 1));
        index.upsert(vec![Segment { collection, document, version, points: points.collect() }]).await.unwrap();
        for leaf in &leaves {
            let range = usize::try_from(leaf.start).unwrap()..usize::try_from(leaf.end).unwrap();
            places.insert(leaf.id, Place { document: no, range });
        }
    }
    let search = Search::alone(index, embedder);
    let (mut ranked, mut read) = (Vec::new(), Vec::new());
    for question in &set.questions {
        let Some(judged) = set.judged.get(&question.id) else { continue };
        let gold: Vec<(&str, &(usize, Range<usize>))> =
            judged.keys().filter_map(|id| stands.get_key_value(id.as_str())).map(|(id, place)| (*id, place)).collect();
        if gold.is_empty() {
            continue;
        }
        let hits = search.candidates(&search_text(question), &Filter::default(), 60).await.unwrap().hits;
        let found: Vec<&Place> = hits.iter().filter_map(|hit| places.get(&hit.chunk)).collect();
        // Each leaf stands for the passage that most of it lies in.
        let mut order: Vec<&str> = Vec::new();
        for place in &found {
            let passages = &set.passages[place.document * TOGETHER..];
            let here = passages.iter().take(TOGETHER).map(|passage| passage.id.as_str());
            let most = here.max_by_key(|id| overlap(&stands[id].1, &place.range));
            order.extend(most.filter(|id| !order.contains(id)));
        }
        let grades: HashMap<&str, f64> = gold.iter().map(|(id, _)| (*id, judged[*id])).collect();
        ranked.push(figures(&order, &grades));
        let mut left = READ;
        let mut covered = 0;
        for place in &found {
            let taken = place.range.start..place.range.start + place.range.len().min(left);
            left -= taken.len();
            covered += gold
                .iter()
                .filter(|(_, (document, _))| *document == place.document)
                .map(|(_, (_, range))| overlap(range, &taken))
                .sum::<usize>();
            if left == 0 {
                break;
            }
        }
        let whole: usize = gold.iter().map(|(_, (_, range))| range.len().max(1)).sum();
        read.push((covered as f64 / whole as f64).min(1.0));
    }
    let figures = mean(&ranked);
    (places.len(), figures.ndcg_10, figures.recall_10, read.iter().sum::<f64>() / read.len().max(1) as f64)
}

fn shape(least: usize, most: usize, overlap: usize) -> Shape {
    Shape { leaf: Size { least, most, overlap }, ..Shape::default() }
}

#[tokio::test]
async fn sizes_of_leaves() {
    let Ok(folders) = std::env::var("ASKBACK_TEST_EVAL") else {
        println!("skipped: ASKBACK_TEST_EVAL names no evaluation folders (separated by ':')");
        return;
    };
    let shapes = [(300, 450, 50), (400, 600, 80), (600, 900, 0), (600, 900, 100), (600, 900, 200), (900, 1_350, 150)];
    for folder in folders.split(':') {
        let set = Set::read(Path::new(folder)).unwrap();
        for (least, most, overlap) in shapes {
            let (leaves, ndcg, recall, read) = measured(&set, &shape(least, most, overlap), Headings::None).await;
            println!("{} {least}/{most}/{overlap}: {leaves} leaves, {ndcg:.3} / {recall:.3}, read {read:.3}", set.name);
        }
        for headings in [Headings::Unindexed, Headings::Indexed] {
            let (_, ndcg, recall, read) = measured(&set, &Shape::default(), headings).await;
            println!("{} headings {headings:?}: {ndcg:.3} / {recall:.3}, read {read:.3}", set.name);
        }
    }
}
