//! Ends the runs of processes that died: what they had said, as far as it was logged, stays.

use super::{Chat, Inner, cite::citations, finish::failure, frame::Frame, stored::lines};
use crate::domain::{
    chat::{Finish, MessagePart},
    error::{StoreError, TurnError},
    event::TurnEvent,
    hitl::Settlement,
    id::RunId,
    run::{FrameBatch, Orphan, RunStatus},
};

/// Batches that are read from the store at once.
const PAGE: i64 = 256;

impl Chat {
    /// Ends the runs that an earlier start of this process left behind, and starts those that wait. Call it before turns
    /// are taken.
    pub async fn recover(&self) {
        self.inner.beat().await;
        self.inner.recover().await;
        self.inner.sweep().await;
    }
}

impl Inner {
    /// Ends the runs of dead processes. A failure is logged and tried again with a later beat.
    pub(super) async fn recover(&self) {
        let orphans = match self.ports.chats.orphans().await {
            Ok(orphans) => orphans,
            Err(error) => {
                tracing::warn!(%error, "runs of dead processes could not be looked for");
                return;
            }
        };
        for orphan in orphans {
            let run = orphan.run;
            // A process that could not say in time that it lives knows better about its own runs.
            if orphan.owner == self.owner {
                continue;
            }
            match self.end_orphan(orphan).await {
                Ok(()) => {
                    metrics::counter!("askback_turns_total", "status" => RunStatus::Interrupted.as_str()).increment(1);
                    tracing::info!(run_id = %run, "a run of a dead process was ended as interrupted");
                }
                // Another process was faster.
                Err(StoreError::Conflict(_) | StoreError::NotFound) => {}
                Err(error) => tracing::warn!(run_id = %run, %error, "a run of a dead process could not be ended"),
            }
        }
    }

    /// Ends a run as interrupted, with what its log says was said.
    pub(super) async fn end_orphan(&self, orphan: Orphan) -> Result<(), StoreError> {
        fail::fail_point!("recover:before", |_| Err(StoreError::Unavailable("failpoint".into())));
        let extends = orphan.earlier.is_some();
        let earlier = orphan.earlier.unwrap_or_default();
        let mut fold = Fold { content: earlier.clone(), ..Fold::default() };
        self.fold(orphan.run, &mut fold).await?;
        let mut problem = TurnError::Interrupted.problem();
        problem.run_id = Some(orphan.run.to_string());
        problem.session_id = Some(orphan.session_name.clone());
        let seq = fold.seq + 1;
        let frame = Frame::new(orphan.run, seq, &failure(&problem))
            .map_err(|error| StoreError::Unavailable(format!("an event does not serialize: {error}")))?;
        let mut lines = frame.json.to_vec();
        lines.push(b'\n');
        let (mut content, parts) = fold.close();
        // White space alone says nothing.
        if content == earlier || content.trim().is_empty() {
            content.clear();
        }
        let passages = orphan.trace.and_then(|trace| trace.retrieved_chunks).unwrap_or_default();
        let citations = citations(&content, &passages);
        let finish = Finish {
            run: orphan.run,
            owner: orphan.owner.clone(),
            extends,
            session: orphan.session,
            human: orphan.human,
            message: orphan.message,
            status: RunStatus::Interrupted,
            content,
            finish_reason: None,
            model: None,
            usage: None,
            timings: None,
            parts,
            citations,
            // It is kept since the text began.
            trace: None,
            settle: orphan.taken.map(|taken| (taken, Settlement::Reopened, RunStatus::Interrupted.as_str().to_owned())),
            ask: None,
            episodes: Vec::new(),
            told: Vec::new(),
            error: Some(problem),
            frames: FrameBatch { run: orphan.run, owner: orphan.owner, first_seq: seq, last_seq: seq, lines },
            now: self.ports.clock.now(),
        };
        self.ports.chats.finish(&finish).await?;
        fail::fail_point!("recover:after", |_| Err(StoreError::Unavailable("failpoint".into())));
        Ok(())
    }

    /// The answer of a run as far as its log is committed.
    pub(super) async fn said_so_far(&self, run: RunId) -> Result<String, StoreError> {
        let mut fold = Fold::default();
        let live = self.live().get(&run).cloned();
        match live {
            Some(live) => {
                let committed = live.marks().borrow().committed;
                live.frames(0, committed, usize::MAX).iter().for_each(|frame| fold.take(frame));
            }
            None => self.fold(run, &mut fold).await?,
        }
        Ok(fold.close().0)
    }

    /// Takes in a stored log.
    async fn fold(&self, run: RunId, fold: &mut Fold) -> Result<(), StoreError> {
        loop {
            let before = fold.seq;
            for frame in self.ports.chats.frames(run, before, PAGE).await?.into_iter().flat_map(lines) {
                fold.take(&frame);
            }
            if fold.seq == before {
                return Ok(());
            }
        }
    }
}

/// What a log says was said.
#[derive(Debug, Default, PartialEq)]
struct Fold {
    /// The last frame that was taken in.
    seq: u64,
    content: String,
    reasoning: String,
    parts: Vec<MessagePart>,
    open: Vec<(String, String)>,
}

impl Fold {
    fn take(&mut self, frame: &Frame) {
        if frame.seq <= self.seq {
            return;
        }
        self.seq = frame.seq;
        let event = match frame.event() {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(seq = frame.seq, %error, "a frame of the log cannot be read");
                return;
            }
        };
        match event {
            TurnEvent::Content { content, .. } => self.content.push_str(&content),
            TurnEvent::Snapshot { content } => self.content = content,
            TurnEvent::ContentReset => {
                let text = std::mem::take(&mut self.content);
                if !text.is_empty() {
                    self.parts.push(MessagePart::Text { text });
                }
            }
            TurnEvent::Reasoning { content, .. } => self.reasoning.push_str(&content),
            TurnEvent::ToolCall { call } => {
                self.open.push((call.id.clone(), call.name.clone()));
                self.parts.push(MessagePart::ToolCall { call });
            }
            TurnEvent::ToolResult { result } => {
                self.open.retain(|(id, _)| *id != result.id);
                // What the model read is not in the log; people see the summary.
                self.parts.push(MessagePart::ToolResult {
                    id: result.id,
                    name: result.name,
                    status: result.status,
                    text: result.summary,
                });
            }
            TurnEvent::RagStep { .. }
            | TurnEvent::SessionTitle { .. }
            | TurnEvent::Trace { .. }
            | TurnEvent::HitlRequest { .. }
            | TurnEvent::Message { .. }
            | TurnEvent::Error { .. } => {}
        }
    }

    /// The answer so far and what lies beside it; calls without an answer are answered as cancelled.
    fn close(mut self) -> (String, Vec<MessagePart>) {
        for (id, name) in self.open {
            self.parts.push(MessagePart::ToolResult { id, name, status: "cancelled".into(), text: String::new() });
        }
        if !self.reasoning.is_empty() {
            self.parts.insert(0, MessagePart::Reasoning { text: self.reasoning });
        }
        (self.content, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{event::CallView, id::RunId, time::Millis};

    #[test]
    fn a_log_folds_to_what_was_said() {
        let call = CallView { id: "1".into(), name: "search".into(), arguments: json!({ "query": "q" }) };
        let events = [
            TurnEvent::Content { content: "let me ".into(), offset: 0 },
            TurnEvent::Content { content: "look".into(), offset: 7 },
            TurnEvent::ContentReset,
            TurnEvent::ToolCall { call: call.clone() },
            TurnEvent::Reasoning { content: "hm".into(), offset: 0 },
            TurnEvent::Content { content: "It is 24".into(), offset: 0 },
        ];
        let mut fold = Fold::default();
        for (seq, event) in (1..).zip(&events) {
            let frame = Frame::new(RunId::at(Millis(1)), seq, event).unwrap();
            fold.take(&frame);
            fold.take(&frame);
        }
        assert_eq!(fold.seq, 6);
        assert_eq!(
            fold.close(),
            (
                "It is 24".to_owned(),
                vec![
                    MessagePart::Reasoning { text: "hm".into() },
                    MessagePart::Text { text: "let me look".into() },
                    MessagePart::ToolCall { call },
                    MessagePart::ToolResult {
                        id: "1".into(),
                        name: "search".into(),
                        status: "cancelled".into(),
                        text: String::new()
                    },
                ]
            )
        );
    }
}
