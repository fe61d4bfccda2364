//! What a turn has said and done so far. It is told of everything at once, tells the watchers, and outlives the work
//! when that fails or is stopped.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{cite::MarkerFilter, journal::Journal, live::LiveRun, pace::Pace, seam::Seam};
use crate::{
    domain::{
        chat::{Citation, Message, MessagePart, Timings},
        episode::Remembered,
        event::{CallView, Progress, ResultView, Step, TurnEvent},
        evidence::Evidence,
        id::MessageId,
        model::{ToolCall, Usage},
        tool::ToolOutcome,
        trace::RagTrace,
    },
    services::agent::{MAX_ANSWER_CHARS, Said},
};

/// Most characters of reasoning that are kept and shown.
const MAX_REASONING_CHARS: u64 = 200_000;

/// Where a turn's events go, with the turn's watch. Shared with the tools, which report progress through it.
pub(super) struct Sink {
    journal: Arc<Journal>,
    run: Arc<LiveRun>,
    started: Instant,
    last_step: Mutex<Instant>,
}

impl Sink {
    pub(super) fn new(journal: Arc<Journal>, run: Arc<LiveRun>, started: Instant) -> Self {
        Self { journal, run, started, last_step: Mutex::new(started) }
    }

    pub(super) fn tell(&self, event: &TurnEvent) {
        self.journal.push(&self.run, event);
    }

    fn timed(&self, icon: &str, label: &str, detail: &str, group: Option<(&str, &str)>) -> Step {
        let now = Instant::now();
        let before = std::mem::replace(&mut *self.last_step.lock().unwrap_or_else(PoisonError::into_inner), now);
        Step {
            icon: icon.into(),
            label: label.into(),
            detail: detail.into(),
            elapsed_ms: millis(now - self.started),
            stage_elapsed_ms: millis(now.saturating_duration_since(before)),
            group: group.map(|(id, _)| id.into()),
            group_label: group.map(|(_, label)| label.into()),
        }
    }

    /// The first frame of a run.
    pub(super) fn first(&self, label: &str, session: &str, message: MessageId, human: MessageId) {
        self.tell(&TurnEvent::RagStep {
            session_id: Some(session.into()),
            message_id: Some(message),
            user_message_id: Some(human),
            step: self.timed("📨", label, "", None),
        });
    }
}

impl Progress for Sink {
    fn step(&self, icon: &str, label: &str, detail: &str, group: Option<(&str, &str)>) {
        let step = self.timed(icon, label, detail, group);
        self.tell(&TurnEvent::RagStep { session_id: None, message_id: None, user_message_id: None, step });
    }
}

/// See the module.
pub(super) struct Transcript {
    sink: Arc<Sink>,
    answer: String,
    /// Unicode scalar values of `answer`.
    answer_chars: u64,
    reasoning_chars: u64,
    reasoning: String,
    filter: MarkerFilter,
    pub(super) parts: Vec<MessagePart>,
    open_calls: Vec<ToolCall>,
    pub(super) usage: Usage,
    pub(super) finish_reason: Option<String>,
    pub(super) evidence: Option<Evidence>,
    pub(super) trace: Option<Box<RagTrace>>,
    /// Whether what the text rests on was told with it.
    rests: bool,
    pub(super) retrieval: Duration,
    first_token: Option<Duration>,
    pace: Pace,
    called_at: Option<Instant>,
    /// Those of an earlier answer that is written on: what they say stays said.
    pub(super) citations: Vec<Citation>,
    /// Characters of an earlier answer that is written on.
    earlier_chars: u64,
    /// Joins what is said to it.
    seam: Option<Seam>,
    /// What tools could not do.
    pub(super) faults: Vec<Remembered>,
}

impl Transcript {
    pub(super) fn new(sink: Arc<Sink>) -> Self {
        Self {
            sink,
            answer: String::new(),
            answer_chars: 0,
            reasoning_chars: 0,
            reasoning: String::new(),
            filter: MarkerFilter::new(0),
            parts: Vec::new(),
            open_calls: Vec::new(),
            usage: Usage::default(),
            finish_reason: None,
            evidence: None,
            trace: None,
            rests: false,
            retrieval: Duration::ZERO,
            first_token: None,
            pace: Pace::default(),
            called_at: None,
            citations: Vec::new(),
            earlier_chars: 0,
            seam: None,
            faults: Vec::new(),
        }
    }

    /// Goes on behind an earlier answer, which rests on `evidence`.
    pub(super) fn go_on_from(&mut self, earlier: Message, evidence: Evidence) {
        self.seam = Some(Seam::behind(&earlier.content));
        self.answer_chars = earlier.content.chars().count() as u64;
        self.earlier_chars = self.answer_chars;
        self.answer = earlier.content;
        self.usage = earlier.usage.unwrap_or_default();
        self.citations = earlier.citations;
        self.trace = earlier.trace.map(Box::new);
        self.answer_from(evidence);
    }

    /// Whether anything was said in this run.
    pub(super) fn said_something(&self) -> bool {
        self.answer_chars > self.earlier_chars
    }

    /// What was said as the answer so far. White space alone says nothing.
    pub(super) fn answer(&self) -> &str {
        if self.answer.trim().is_empty() { "" } else { &self.answer }
    }

    /// How many passages markers may point at from here on.
    pub(super) fn answer_from(&mut self, evidence: Evidence) {
        self.filter = MarkerFilter::new(evidence.passages.len());
        self.evidence = Some(evidence);
    }

    /// Takes in what the agent says.
    pub(super) fn hear(&mut self, said: Said, thinking: &str) {
        match said {
            Said::Thinking => {
                let passages = self.evidence.as_ref().map_or(0, |evidence| evidence.passages.len());
                self.filter = MarkerFilter::new(passages);
                self.pace = Pace::default();
                self.sink.step("💭", thinking, "", None);
            }
            Said::Text(piece) => {
                self.pace.heard(Instant::now());
                let piece = printable(piece);
                let new = match &mut self.seam {
                    Some(seam) => seam.push(&piece),
                    None => piece,
                };
                let shown = self.filter.push(&new);
                self.say(&shown);
            }
            Said::Reasoning(piece) => {
                self.pace.heard(Instant::now());
                self.reason(piece);
            }
            Said::Reset => self.reset(),
            Said::Call(call) => {
                self.sink.tell(&TurnEvent::ToolCall { call: CallView::from(&call) });
                self.parts.push(MessagePart::ToolCall { call: CallView::from(&call) });
                self.called_at.get_or_insert_with(Instant::now);
                self.open_calls.push(call);
            }
            Said::Answered { view, text, outcome, fault } => {
                if let Some(fault) = fault {
                    self.faults.push(Remembered::ToolError { tool: view.name.clone(), fault });
                }
                self.answered(view, text, outcome);
            }
            Said::ModelEnded { finish_reason, usage } => {
                let held = self.seam.as_mut().map(Seam::finish).unwrap_or_default();
                let mut rest = self.filter.push(&held);
                rest.push_str(&self.filter.finish());
                if finish_reason != "tool_calls" {
                    self.say(&rest);
                }
                self.finish_reason = Some(finish_reason);
                let usage = usage.unwrap_or_default();
                self.pace.ended(usage.completion_tokens);
                self.usage += usage;
            }
        }
    }

    /// Adds text that is known to be right: a sentence of askback's own, or what passed the filter.
    pub(super) fn say(&mut self, text: &str) {
        let room = usize::try_from(self.answer_chars).map_or(0, |chars| MAX_ANSWER_CHARS.saturating_sub(chars));
        let text = crate::text::cut(text, room);
        if text.is_empty() {
            return;
        }
        self.first_token.get_or_insert_with(|| self.sink.started.elapsed());
        self.rest();
        self.sink.tell(&TurnEvent::Content { content: text.to_owned(), offset: self.answer_chars });
        self.answer.push_str(text);
        self.answer_chars += text.chars().count() as u64;
    }

    /// Before the first text that markers can stand in. An earlier answer's basis is kept already.
    fn rest(&mut self) {
        if let (false, Some(trace), Some(evidence), None) = (self.rests, &self.trace, &self.evidence, &self.seam) {
            self.rests = true;
            let retrieved_chunks = Some(evidence.passages.clone());
            self.sink.run.rest_on(RagTrace { retrieved_chunks, ..RagTrace::clone(trace) });
        }
    }

    fn reason(&mut self, piece: String) {
        let piece = printable(piece);
        if piece.is_empty() || self.reasoning_chars >= MAX_REASONING_CHARS {
            return;
        }
        let chars = piece.chars().count() as u64;
        self.reasoning.push_str(&piece);
        self.sink.tell(&TurnEvent::Reasoning { content: piece, offset: self.reasoning_chars });
        self.reasoning_chars += chars;
    }

    /// The text so far was not the answer; it stays with the message as a part.
    pub(super) fn reset(&mut self) {
        // What the filter holds back belongs to the same text.
        let held = self.filter.finish();
        if self.answer.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.answer) + &held;
        self.parts.push(MessagePart::Text { text });
        self.answer_chars = 0;
        self.first_token = None;
        self.sink.tell(&TurnEvent::ContentReset);
    }

    fn answered(&mut self, view: ResultView, text: String, outcome: Option<Box<ToolOutcome>>) {
        self.open_calls.retain(|call| call.id != view.id);
        self.parts.push(MessagePart::ToolResult {
            id: view.id.clone(),
            name: view.name.clone(),
            status: view.status.clone(),
            text,
        });
        self.sink.tell(&TurnEvent::ToolResult { result: view });
        let Some(outcome) = outcome else { return };
        self.rests = false;
        let came_to_nothing = outcome.evidence.is_none() && outcome.question.is_none();
        if let Some(evidence) = outcome.evidence {
            match &mut self.evidence {
                Some(known) => known.extend(evidence),
                None => self.evidence = Some(evidence),
            }
        }
        if let Some(trace) = outcome.trace {
            // A further search that found nothing does not undo what one before it found, and what is only opened says
            // nothing of a search.
            let only_opens = trace.query.is_none() && self.trace.is_some();
            if !only_opens && (self.evidence.is_none() || !came_to_nothing) {
                self.trace = Some(trace);
            }
            self.retrieval += self.called_at.map_or(Duration::ZERO, |called| called.elapsed());
        }
        if self.open_calls.is_empty() {
            self.called_at = None;
        }
        if let (Some(trace), Some(evidence), None) = (&mut self.trace, &self.evidence, &outcome.question) {
            trace.retrieved_chunks = Some(evidence.passages.clone());
        }
    }

    /// At the end, however it came: calls without an answer are answered as cancelled, reasoning becomes a part, and
    /// what the filter holds back of a cut answer is let go if it points somewhere.
    pub(super) fn close(&mut self) {
        let held = self.filter.finish();
        if !self.answer.is_empty() {
            self.say(&held);
        }
        for call in std::mem::take(&mut self.open_calls) {
            let view = ResultView {
                id: call.id.clone(),
                name: call.name.clone(),
                status: "cancelled".into(),
                summary: String::new(),
            };
            self.sink.tell(&TurnEvent::ToolResult { result: view });
            self.parts.push(MessagePart::ToolResult {
                id: call.id,
                name: call.name,
                status: "cancelled".into(),
                text: String::new(),
            });
        }
        if !self.reasoning.is_empty() {
            self.parts.insert(0, MessagePart::Reasoning { text: std::mem::take(&mut self.reasoning) });
        }
    }

    pub(super) fn timings(&self) -> Timings {
        Timings {
            queue_ms: 0,
            retrieval_ms: millis(self.retrieval),
            first_token_ms: self.first_token.map_or(0, millis),
            total_ms: millis(self.sink.started.elapsed()),
            tokens_per_second: self.pace.per_second(),
        }
    }

    pub(super) fn sink(&self) -> &Arc<Sink> {
        &self.sink
    }
}

/// Without what no store keeps and no reader sees: control characters other than line breaks and tabs, and those that
/// turn the direction of what follows.
fn printable(piece: String) -> String {
    let hides = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if piece.contains(hides) { piece.replace(hides, "") } else { piece }
}

pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
