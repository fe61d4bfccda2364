//! Writing on at an answer: one call of the model over what the answer rests on, with what was said so far.

use super::{
    Inner,
    context::tokens,
    labels,
    turn::{Ending, Scene, Work},
};
use crate::domain::{
    chat::{Message, Refused},
    error::{StoreError, TurnError},
    evidence::{Evidence, GONE, Passage, Route, render_evidence},
    id::UserId,
    model::Prompt,
    run::RunKind,
};

const CONTINUE: &str = include_str!("../prompts/continue.md");
/// The model's turn comes after the user's, so somebody has to say it.
const GO_ON: &str = "Go on exactly where your answer stops.";

impl Inner {
    /// Refuses to go on with what no model began: the sentence that a dismissal comes to is whole.
    pub(super) async fn check_continuable(&self, user: UserId, kind: RunKind) -> Result<(), Refused> {
        let RunKind::Continue(message) = kind else { return Ok(()) };
        match self.ports.chats.message(user, message).await {
            Ok(answer) if labels::is_dismissal(&answer.content) => {
                Err(Refused::NotContinuable("a dismissal has nothing to go on with"))
            }
            // What is not there is refused where it is looked for.
            Ok(_) | Err(StoreError::NotFound) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on with an answer. Nothing is searched: its markers keep their meaning.
    pub(super) async fn extend(&self, scene: &Scene, work: &mut Work) -> Result<Ending, TurnError> {
        let earlier = self.ports.chats.message(scene.user, scene.accepted.message).await?;
        let context = self.context(scene, work).await?;
        let evidence = rests_on(&earlier, &scene.accepted.text);
        let readable = self.still_readable(scene, evidence.clone()).await?;
        // The question stands behind its passages, as it did when the answer was begun.
        let material =
            if readable.passages.is_empty() { scene.accepted.text.clone() } else { render_evidence(&readable) };
        let window = self.config.window_tokens.saturating_sub(tokens(&earlier.content));
        let mut messages = context.prompts(CONTINUE, &material, window);
        messages.push(Prompt::Assistant { content: earlier.content.clone(), tool_calls: Vec::new() });
        messages.push(Prompt::User { content: GO_ON.into() });
        work.transcript.go_on_from(earlier, evidence);
        self.ask_model(scene, messages, work).await?;
        Ok(Ending::Answered)
    }

    /// The passages as their reader may read them now.
    async fn still_readable(&self, scene: &Scene, mut evidence: Evidence) -> Result<Evidence, TurnError> {
        let documents = &self.ports.documents;
        let access = documents.readable(scene.user, None).await?;
        for passage in &mut evidence.passages {
            let Passage { document_id, version, start, end, .. } = *passage;
            match documents.text(&access, document_id, version, start, end).await {
                Ok(_) => {}
                Err(StoreError::NotFound) => passage.text = GONE.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(evidence)
    }
}

/// What the answer rests on: nothing, where it says that the documents do not hold it.
fn rests_on(answer: &Message, question: &str) -> Evidence {
    let answered = answer.trace.as_ref().filter(|trace| trace.route == Some(Route::Answer));
    let Some(trace) = answered else { return Evidence { question: question.to_owned(), ..Evidence::default() } };
    Evidence {
        passages: trace.retrieved_chunks.clone().unwrap_or_default(),
        question: trace.query.clone().unwrap_or_else(|| question.to_owned()),
        ..Evidence::default()
    }
}
