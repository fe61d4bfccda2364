//! Runs that have ended, when their log does not say all: it is dropped after a while, and a power failure can take its
//! tail. What they came to is then told by the message that they wrote.

use std::time::Duration;

use super::{
    Inner,
    finish::{failure, terminal},
    frame::Frame,
};
use crate::domain::{
    chat::{Message, TurnResult},
    error::StoreError,
    event::TurnEvent,
    hitl::{HitlView, Pending},
    id::MessageId,
    run::{Run, RunStatus},
};

/// How long a log is kept after the end of its run.
pub(super) const LOG_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Logs that are dropped in one transaction.
const BATCH: i64 = 32;
/// Transactions of one round.
const BATCHES: usize = 64;

impl Inner {
    /// Drops logs that are kept no longer. What one round does not reach is left to the next.
    pub(super) async fn drop_logs(&self) {
        let before = self.ports.clock.now() - LOG_LIFE;
        for _ in 0..BATCHES {
            match self.ports.chats.drop_logs(before, BATCH).await {
                Ok(dropped) if dropped >= BATCH.unsigned_abs() => {}
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(%error, "old run logs were not dropped");
                    return;
                }
            }
        }
    }

    /// Whether the log of a run is kept no longer, be it dropped already or not.
    pub(super) fn is_log_gone(&self, run: &Run) -> bool {
        let is_dropped = run.last_seq > 0 && run.log_from > run.last_seq;
        is_dropped || run.ended_at.is_some_and(|ended| ended + LOG_LIFE <= self.ports.clock.now())
    }

    /// How a run ended, by the message that it wrote. `None` of one that failed.
    pub(super) async fn result_of(&self, run: &Run) -> Result<Option<TurnResult>, StoreError> {
        if !run.status.is_terminal() || run.error.is_some() {
            return Ok(None);
        }
        let human = self.message_of(run, Some(run.human)).await?;
        let answer = self.message_of(run, run.message).await?;
        if answer.is_none() && run.message.is_some() {
            // It was deleted since.
            return Ok(None);
        }
        let mut result = TurnResult {
            response: String::new(),
            status: run.status,
            session_id: run.session_name.clone(),
            run_id: run.id,
            message_id: None,
            user_message_id: human.as_ref().map(|human| human.id),
            parent_id: human.and_then(|human| human.parent),
            rag_trace: None,
            citations: Vec::new(),
            hitl: None,
            model: self.ports.chat_model.name().to_owned(),
            finish_reason: None,
            usage: Default::default(),
            timings: Default::default(),
        };
        if let Some(answer) = answer {
            let asked = answer.pending.as_ref().filter(|_| run.status == RunStatus::AwaitingInput);
            result.hitl = asked.and_then(|pending| self.question(pending));
            result.message_id = Some(answer.id);
            result.response = answer.content;
            result.rag_trace = answer.trace;
            result.citations = answer.citations;
            result.model = answer.model.unwrap_or(result.model);
            result.finish_reason = answer.finish_reason;
            result.usage = answer.usage.unwrap_or_default();
            result.timings = answer.timings.unwrap_or_default();
        }
        Ok(Some(result))
    }

    fn question(&self, pending: &Pending) -> Option<HitlView> {
        let record = pending.record.as_ref()?;
        let rounds = self.ports.retrieval.config.max_rounds;
        Some(HitlView::new(pending.id, record, pending.round, rounds, pending.expires_at, pending.status))
    }

    async fn message_of(&self, run: &Run, id: Option<MessageId>) -> Result<Option<Message>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        match self.ports.chats.message(run.user, id).await {
            Ok(message) => Ok(Some(message)),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One frame in place of those up to `seq` that are missing: the whole text.
    pub(super) async fn snapshot(&self, run: &Run, seq: u64) -> Result<Frame, StoreError> {
        let content = self.message_of(run, run.message).await?.map(|message| message.content).unwrap_or_default();
        frame(run, seq, &TurnEvent::Snapshot { content })
    }

    /// The last frame of a run, where the log lacks it. `None` when nobody knows any more what it said.
    pub(super) async fn last_frame(&self, run: &Run) -> Result<Option<Frame>, StoreError> {
        if let Some(problem) = &run.error {
            return frame(run, run.last_seq, &failure(problem)).map(Some);
        }
        let result = self.result_of(run).await?;
        let last = result.and_then(|result| terminal(&result, None).pop());
        last.map(|event| frame(run, run.last_seq, &event)).transpose()
    }
}

fn frame(run: &Run, seq: u64, event: &TurnEvent) -> Result<Frame, StoreError> {
    Frame::new(run.id, seq, event)
        .map_err(|error| StoreError::Unavailable(format!("an event does not serialize: {error}")))
}
