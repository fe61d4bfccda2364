//! How often the built-in model's answer holds the right words, in one language and across two, on the sets that
//! `ASKBACK_TEST_EVAL` names (folders, separated by ':'). `ASKBACK_TEST_EVAL_STEP=n` asks every n-th question only.
//!
//! A set that has each question in two languages (`meta.parallel`) is asked across them too: the answer has to hold what
//! the twin question's answer is.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use askback::{
    adapters::{embed::builtin::Builtin as Vectors, llm::builtin::Builtin},
    domain::{
        evidence::{Evidence, Finding, render_evidence},
        model::{ChatModel, ModelRequest, Prompt, complete},
    },
};
use serde_json::Value;

use crate::support::shelf::Shelf;

/// Passages that are given where nothing is graded.
const GIVEN: usize = 8;

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

async fn told(model: &dyn ChatModel, evidence: &Evidence, question: &str) -> String {
    let messages =
        vec![Prompt::System { content: render_evidence(evidence) }, Prompt::User { content: question.into() }];
    complete(model, ModelRequest { messages, ..ModelRequest::default() }).await.unwrap().text
}

/// What a share of the questions came to.
#[derive(Default)]
struct Tally {
    questions: usize,
    /// Among the passages that were given ungraded, and in the answer from them.
    given: usize,
    from_given: usize,
    /// Graded: answered at all, with the right passage, and with the right words.
    answered: usize,
    found: usize,
    right: usize,
    asked: usize,
    chars: usize,
}

async fn measured(folder: &Path) {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let step: usize = std::env::var("ASKBACK_TEST_EVAL_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(1);
    let documents = lines(&folder.join("corpus.jsonl"));
    let queries = lines(&folder.join("queries.jsonl"));
    let langs: BTreeSet<&str> = documents.iter().map(|document| text(document, "lang")).collect();
    let vectors: Arc<Vectors> = Arc::new(Vectors::load().unwrap());
    let model = Builtin::new(Some(vectors));
    for searched in langs {
        let files: Vec<(String, String)> = documents
            .iter()
            .filter(|document| text(document, "lang") == searched)
            .map(|document| {
                let (id, title) = (text(document, "_id").replace('/', "_"), text(document, "title"));
                let heading = if title.is_empty() { String::new() } else { format!("# {title}\n\n") };
                (format!("{id}.md"), format!("{heading}{}", text(document, "text")))
            })
            .collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let shelf = Shelf::with(&files).await;
        for asked in queries.iter().map(|query| text(query, "lang")).collect::<BTreeSet<_>>() {
            let mut tally = Tally::default();
            for query in queries.iter().filter(|query| text(query, "lang") == asked).step_by(step) {
                let twin = |other: &&Value| {
                    text(other, "lang") == searched && other["meta"]["parallel"] == query["meta"]["parallel"]
                };
                let gold = if asked == searched || query["meta"]["parallel"].is_null() {
                    Some(query)
                } else {
                    queries.iter().find(twin)
                };
                let Some(gold) = gold else { continue };
                let answers: Vec<&str> =
                    gold["answers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                if answers.is_empty() || text(query, "expected") != "answerable" {
                    continue;
                }
                let holds = |text: &str| answers.iter().any(|answer| text.contains(answer));
                let question = text(query, "text");
                tally.questions += 1;
                let (passages, _) = shelf.retrieval.passages(question, &shelf.access, None, GIVEN).await.unwrap();
                tally.given += usize::from(passages.iter().any(|passage| holds(&passage.text)));
                let evidence = Evidence { passages, question: question.into(), ..Evidence::default() };
                tally.from_given += usize::from(holds(&told(&model, &evidence, question).await));
                match shelf.question(question).await.finding {
                    Finding::Answer(evidence) => {
                        let answer = told(&model, &evidence, question).await;
                        tally.answered += 1;
                        tally.found += usize::from(evidence.passages.iter().any(|passage| holds(&passage.text)));
                        tally.right += usize::from(holds(&answer));
                        tally.chars += answer.chars().count();
                        if std::env::var_os("ASKBACK_TEST_EVAL_VERBOSE").is_some() && !holds(&answer) {
                            println!("{question} | {answers:?} | {answer}");
                        }
                    }
                    Finding::Ask(_) => tally.asked += 1,
                    Finding::NoKnowledge => {}
                }
            }
            if tally.questions == 0 {
                continue;
            }
            let share = |part: usize| part as f64 / tally.questions as f64;
            println!(
                "{name} {asked}→{searched} n {}: given {:.3}, answer from them {:.3} | answered {:.3}, asked {:.3}, found {:.3}, answer {:.3}, {} characters",
                tally.questions,
                share(tally.given),
                share(tally.from_given),
                share(tally.answered),
                share(tally.asked),
                share(tally.found),
                share(tally.right),
                tally.chars / tally.answered.max(1),
            );
        }
        shelf.close().await;
    }
}

#[tokio::test]
async fn answers_hold_the_right_words() {
    let Ok(folders) = std::env::var("ASKBACK_TEST_EVAL") else {
        println!("skipped: ASKBACK_TEST_EVAL names no evaluation folders (separated by ':')");
        return;
    };
    for folder in folders.split(':') {
        measured(Path::new(folder)).await;
    }
}
