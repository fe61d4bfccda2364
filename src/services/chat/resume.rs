//! Going on from an answered question.

use super::{
    Inner,
    turn::{Ending, Scene, Work},
};
use crate::domain::{
    error::TurnError,
    event::Progress,
    hitl::{Answer, Pending, Record},
};

impl Inner {
    /// Original question and answer together, asked again.
    pub(super) async fn resume(
        &self,
        scene: &Scene,
        _taken: &Pending,
        record: &Record,
        answer: Answer,
        work: &mut Work,
    ) -> Result<Ending, TurnError> {
        work.transcript.sink().step("↩️", scene.labels.resumed, "", None);
        let question = format!("{} {}", record.question.original_question, answer.words);
        self.ask_agent(scene, &question, work).await
    }
}
