//! The sample corpus, and what askback has to do about each question of `data/cases/sample.jsonl`.

use askback::domain::evidence::{Finding, Route};
use serde::Deserialize;

use super::told::write;
use crate::support::shelf::Shelf;

#[derive(Deserialize)]
struct Case {
    text: String,
    /// The user's turns before.
    #[serde(default)]
    before: Vec<String>,
    expected: String,
    #[serde(default)]
    answers: Vec<String>,
    #[serde(default)]
    document: Option<String>,
    /// What the text of the answer has to hold, all of it, and may not hold.
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    reply: Option<Reply>,
    /// Not met yet. Once it is, the mark has to go.
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize)]
struct Reply {
    answers: Vec<String>,
    document: String,
}

/// What went wrong, if anything.
async fn problem(shelf: &Shelf, case: &Case) -> Option<String> {
    let before: Vec<&str> = case.before.iter().map(String::as_str).collect();
    let found = shelf.question_after(&before, &case.text).await;
    let reason = found.trace.evidence_reason.clone().unwrap_or_default();
    match (case.expected.as_str(), &found.finding) {
        ("answerable", Finding::Answer(evidence)) => {
            let first =
                evidence.passages.iter().take(3).map(|passage| passage.text.as_str()).collect::<Vec<_>>().join("\n");
            let holds = case.answers.iter().any(|answer| first.contains(answer.as_str()));
            let from = case
                .document
                .as_deref()
                .is_none_or(|name| evidence.passages.iter().any(|passage| passage.filename == name));
            if !holds && !case.answers.is_empty() || !from {
                return Some(format!("other evidence ({}): {reason}", evidence.passages[0].filename));
            }
            if case.says.is_empty() && case.lacks.is_empty() {
                return None;
            }
            let said = write(evidence, &case.text).await;
            let is_right = case.says.iter().all(|part| said.contains(part.as_str()))
                && !case.lacks.iter().any(|part| said.contains(part.as_str()));
            (!is_right).then(|| format!("says {said}"))
        }
        ("unanswerable", Finding::NoKnowledge) => None,
        ("ambiguous", Finding::Ask(question)) => {
            let mut labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
            let mut wanted: Vec<&str> = case.options.iter().map(String::as_str).collect();
            labels.sort_unstable();
            wanted.sort_unstable();
            let route = if question.route == Route::ScopeSelect { "scope_select" } else { "clarify" };
            if labels != wanted || Some(route) != case.route.as_deref() {
                return Some(format!("asks {route} {labels:?}: {reason}"));
            }
            let reply = case.reply.as_ref()?;
            for option in &question.options {
                let resumed = shelf.choose(question, option).await;
                let Finding::Answer(evidence) = &resumed.finding else {
                    return Some(format!("no answer after {}: {:?}", option.label, resumed.trace.evidence_reason));
                };
                if evidence.passages.iter().take(2).any(|passage| {
                    passage.filename == reply.document
                        && reply.answers.iter().any(|answer| passage.text.contains(answer.as_str()))
                }) {
                    return None;
                }
            }
            Some("no option leads to the answer".into())
        }
        (_, finding) => {
            let name = match finding {
                Finding::Answer(evidence) => format!("answers from {}", evidence.passages[0].filename),
                Finding::Ask(question) => format!("asks {}", question.text()),
                Finding::NoKnowledge => "finds nothing".to_owned(),
            };
            Some(format!("{name}: {reason}"))
        }
    }
}

#[tokio::test]
async fn every_case_of_the_sample_corpus() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(data.join("corpus"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let shelf = Shelf::with(&files).await;
    let cases = std::fs::read_to_string(data.join("cases/sample.jsonl")).unwrap();
    let mut problems = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        match problem(&shelf, &case).await {
            Some(problem) if !case.open => problems.push(format!("{} ({}): {problem}", case.text, case.expected)),
            None if case.open => problems.push(format!("{} ({}): is met now, unmark it", case.text, case.expected)),
            Some(_) | None => {}
        }
    }
    shelf.close().await;
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cases.lines().count(), problems.join("\n"));
}
