//! Going on from an answered question: straight back to retrieval, and one call of the model over what it finds. No
//! agent, no plan.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    Inner,
    ask::{self, Before, Ground},
    turn::{Ending, Scene, Work},
};
use crate::{
    domain::{
        error::{ModelError, TurnError},
        event::Progress,
        evidence::{Evidence, Finding, render_evidence},
        hitl::{Answer, Pending, Record},
        model::{ModelRequest, Prompt},
    },
    services::{
        agent::listen,
        retrieval::{Ask, Found},
    },
};

const ANSWER: &str = include_str!("../prompts/answer.md");

impl Inner {
    /// Goes on with the question of `record`, which `answer` answers.
    pub(super) async fn resume(
        &self,
        scene: &Scene,
        asked: &Pending,
        record: &Record,
        answer: Answer,
        work: &mut Work,
    ) -> Result<Ending, TurnError> {
        work.transcript.sink().step("↩️", work.labels(scene).resumed, &answer.text, None);
        let mut record = record.clone();
        record.answers.push(answer);
        let context = self.context(scene, work).await?;
        work.earlier = Some(context.read);
        // What may be read is asked again: it may have changed since the question.
        let only = scene.request.collections.clone().or_else(|| record.only.clone());
        let access = self.ports.documents.readable(scene.user, only.as_deref()).await?;
        let chain = ask::chain(asked, &record);
        let progress = Arc::clone(work.transcript.sink());
        let ask = Ask {
            question: &record.question.original_question,
            message: &scene.accepted.text,
            background: &context.background,
            access: &access,
            only: only.as_deref(),
            progress: progress.as_ref(),
            may_ask: true,
        };
        let began = Instant::now();
        let Found { finding, trace } = self.ports.retrieval.resume(&record, asked.round, &ask, &chain).await?;
        fail::fail_point!("resume:retrieved", |_| Err(TurnError::Internal("failpoint".into())));
        work.transcript.retrieval += began.elapsed();
        work.transcript.trace = Some(Box::new(trace));
        match finding {
            Finding::Answer(evidence) => {
                let evidence = work.markers.found(evidence);
                let material = material(&record, &evidence);
                let messages = context.prompts(ANSWER, &material, self.config.window_tokens);
                work.transcript.answer_from(evidence);
                self.ask_model(scene, messages, work).await?;
                if work.transcript.answer().is_empty() {
                    return Err(TurnError::Model(ModelError::BadResponse("the model said nothing".into())));
                }
                Ok(Ending::Answered)
            }
            Finding::Ask(question) => {
                let ground = Ground {
                    before: Some(Before::new(asked, &record)),
                    answers: record.answers,
                    only,
                    collections: access.collections,
                    generation: self.generation().await?,
                };
                Ok(self.ask_back(question, ground, work))
            }
            Finding::NoKnowledge => {
                self.say_all(work.labels(scene).no_knowledge, work);
                Ok(Ending::Answered)
            }
        }
    }

    /// One call of the model over what the transcript answers from.
    pub(super) async fn ask_model(
        &self,
        scene: &Scene,
        messages: Vec<Prompt>,
        work: &mut Work,
    ) -> Result<(), TurnError> {
        let labels = work.labels(scene);
        let transcript = &mut work.transcript;
        transcript.sink().step("✍️", labels.answering, "", None);
        let request = ModelRequest {
            model: scene.request.model.clone(),
            messages,
            sampling: scene.request.sampling.clone(),
            ..ModelRequest::default()
        };
        let mut say = |said| transcript.hear(said, labels.thinking);
        listen(self.ports.chat_model.as_ref(), request, false, &mut say).await.map(|_| ())
    }
}

/// What was asked back and answered, then the passages and the question. The answers stand before the passages, each on
/// a line of its own, so that nothing in them reads as one.
fn material(record: &Record, evidence: &Evidence) -> String {
    let mut material = format!("Asked back: {}\n", one_line(&record.question.prompt));
    for answer in record.answers.iter().filter(|answer| !answer.says_nothing()) {
        material.push_str("The user answered: ");
        material.push_str(&one_line(if answer.words.is_empty() { &answer.text } else { &answer.words }));
        material.push('\n');
    }
    material.push('\n');
    material.push_str(&render_evidence(evidence));
    material
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
