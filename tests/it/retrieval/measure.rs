//! Asking and answering on the evaluation sets that `ASKBACK_TEST_EVAL` names (folders, separated by ':').
//!
//! `ASKBACK_TEST_EVAL_STEP=n` asks every n-th question only. With `ASKBACK_TEST_EVAL_DUMP` every judged leaf goes to that file as a JSON line: the ground on which the weights of
//! the built-in grader are fitted.

use std::{collections::HashMap, fmt::Write as _, io::Write as _, path::Path};

use askback::{
    domain::{evidence::Finding, id::DocumentId, tool::Background},
    text::question::Question,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::shelf::Shelf;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    lang: String,
    #[serde(default)]
    r#type: String,
    expected: String,
    #[serde(default)]
    history: Vec<Turn>,
    #[serde(default)]
    meta: Value,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    text: String,
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Vec<T> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn background(query: &Query) -> Background {
    let of = |role: &str| query.history.iter().filter(|turn| turn.role == role).map(|turn| turn.text.clone()).collect();
    Background { user_turns: of("user"), answers: of("assistant"), ..Background::default() }
}

/// Counts of one kind of question.
#[derive(Default)]
struct Tally {
    all: usize,
    asked: usize,
    answered: usize,
    right: usize,
    nothing: usize,
}

async fn measured(folder: &Path, dump: &mut Option<std::fs::File>) -> String {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let documents: Vec<Document> = lines(&folder.join("corpus.jsonl"));
    let texts: Vec<(String, String)> = documents
        .iter()
        .map(|document| {
            let heading = if document.title.is_empty() { String::new() } else { format!("# {}\n\n", document.title) };
            (format!("{}.md", document.id.replace('/', "_")), format!("{heading}{}", document.text))
        })
        .collect();
    let files: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let mut shelf = Shelf::open().await;
    let ids = shelf.add("set", &files).await;
    let by_name: HashMap<&str, DocumentId> = documents.iter().map(|d| d.id.as_str()).zip(ids).collect();
    let mut gold: HashMap<String, Vec<DocumentId>> = HashMap::new();
    for line in std::fs::read_to_string(folder.join("qrels.tsv")).unwrap().lines().skip(1) {
        let mut fields = line.split('\t');
        if let (Some(query), Some(document)) = (fields.next(), fields.next())
            && let Some(document) = by_name.get(document)
        {
            gold.entry(query.to_owned()).or_default().push(*document);
        }
    }
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    let step: usize = std::env::var("ASKBACK_TEST_EVAL_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(1);
    for query in lines::<Query>(&folder.join("queries.jsonl")).into_iter().step_by(step) {
        let scope =
            query.meta.get("scope_doc").and_then(Value::as_str).and_then(|id| by_name.get(id)).map(|id| vec![*id]);
        let (found, judged) = shelf.measure(&background(&query), scope.as_deref(), &query.text).await;
        let right = gold.get(&query.id).cloned().unwrap_or_default();
        let tally = tallies.entry(query.expected.clone()).or_default();
        tally.all += 1;
        match &found.finding {
            Finding::Ask(_) => tally.asked += 1,
            Finding::NoKnowledge => tally.nothing += 1,
            Finding::Answer(evidence) => {
                tally.answered += 1;
                tally.right +=
                    usize::from(evidence.passages.iter().any(|passage| right.contains(&passage.document_id)));
            }
        }
        if let Some(dump) = dump {
            let leaves: Vec<Value> = judged
                .iter()
                .map(|leaf| json!({"gold": right.contains(&leaf.document), "d": leaf.document, "f": leaf.features, "x": leaf.crosses, "s": leaf.score}))
                .collect();
            let outcome = match &found.finding {
                Finding::Ask(_) => "ask",
                Finding::NoKnowledge => "nothing",
                Finding::Answer(_) => "answer",
            };
            let line = json!({
                "set": name, "id": query.id, "lang": query.lang, "type": query.r#type, "expected": query.expected,
                "kind": query.meta.get("unanswerable_kind"), "outcome": outcome, "reason": found.trace.evidence_reason,
                "contradicts": matches!(&found.finding, Finding::Answer(evidence) if evidence.guidance.contradiction),
                "text": query.text, "pointed": Question::read(&query.text).pointed_at.map(|pointed| pointed.noun), "prompt": found.trace.hitl_prompt, "options": found.trace.hitl_options, "leaves": leaves,
            });
            writeln!(dump, "{line}").unwrap();
        }
    }
    shelf.close().await;
    let mut report = String::new();
    let asked: usize = tallies.values().map(|tally| tally.asked).sum();
    for expected in ["answerable", "ambiguous", "unanswerable"] {
        let Some(t) = tallies.get(expected) else { continue };
        writeln!(
            report,
            "{name:<14} {expected:<13} n {:<5} asked {:>4} answered {:>5} (with gold {:>5}) nothing {:>4}",
            t.all, t.asked, t.answered, t.right, t.nothing
        )
        .unwrap();
    }
    if let Some(ambiguous) = tallies.get("ambiguous").filter(|_| asked > 0) {
        let (hit, all) = (ambiguous.asked as f64, ambiguous.all as f64);
        writeln!(
            report,
            "{name:<14} asking: precision {:.3} recall {:.3} F1 {:.3}",
            hit / asked as f64,
            hit / all,
            2.0 * hit / (asked as f64 + all)
        )
        .unwrap();
    }
    report
}

#[tokio::test]
async fn the_sets_in_the_environment() {
    let Ok(folders) = std::env::var("ASKBACK_TEST_EVAL") else {
        println!("skipped: ASKBACK_TEST_EVAL names no evaluation folders (separated by ':')");
        return;
    };
    let mut dump = std::env::var("ASKBACK_TEST_EVAL_DUMP").ok().map(|path| std::fs::File::create(path).unwrap());
    for folder in folders.split(':') {
        println!("{}", measured(Path::new(folder), &mut dump).await);
    }
}
