//! What the built-in model says, over a shelf.

use std::sync::{Arc, LazyLock};

use askback::{
    adapters::{embed::builtin::Builtin as Vectors, llm::builtin::Builtin},
    domain::{
        evidence::{Evidence, Finding, render_evidence},
        model::{ModelRequest, Prompt, complete},
    },
};

use crate::support::shelf::Shelf;

/// A question with the turns of the user before it, and what its answer has to hold and may not hold.
pub struct Case {
    pub before: &'static [&'static str],
    pub question: &'static str,
    pub holds: &'static [&'static str],
    pub lacks: &'static [&'static str],
}

pub const fn case(question: &'static str, holds: &'static [&'static str], lacks: &'static [&'static str]) -> Case {
    Case { before: &[], question, holds, lacks }
}

/// The answer as text, or the question with its options, or "nothing".
pub async fn told(shelf: &Shelf, before: &[&str], question: &str) -> String {
    let found = shelf.question_after(before, question).await;
    match &found.finding {
        Finding::Answer(evidence) => write(evidence, question).await,
        Finding::Ask(asked) => format!("asks {}", asked.text()),
        Finding::NoKnowledge => format!("nothing ({})", found.trace.evidence_reason.unwrap_or_default()),
    }
}

/// The answer to `question` from `evidence`.
pub async fn write(evidence: &Evidence, question: &str) -> String {
    static MODEL: LazyLock<Builtin> = LazyLock::new(|| Builtin::new(Some(Arc::new(Vectors::load().unwrap()))));
    let messages =
        vec![Prompt::System { content: render_evidence(evidence) }, Prompt::User { content: question.into() }];
    complete(&*MODEL, ModelRequest { messages, ..ModelRequest::default() }).await.unwrap().text
}

/// All cases over one shelf.
pub async fn all(files: &[(&str, &str)], cases: &[Case]) {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let shelf = Shelf::with(&files).await;
    let mut wrong = Vec::new();
    for case in cases {
        let text = told(&shelf, case.before, case.question).await;
        let lacking = case.holds.iter().filter(|part| !text.contains(**part));
        let extra = case.lacks.iter().filter(|part| text.contains(**part));
        let problems: Vec<&&str> = lacking.chain(extra).collect();
        if !problems.is_empty() {
            wrong.push(format!("{:?} {} {problems:?}: {text}", case.before, case.question));
        }
    }
    shelf.close().await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
