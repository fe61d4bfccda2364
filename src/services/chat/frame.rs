//! Frames: events of a run as lines of JSON, numbered, the form in which they are logged and sent.

use bytes::Bytes;

use crate::domain::{event::TurnEvent, id::RunId};

/// One event of a run on its way to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// 1, 2, 3 … per run.
    pub seq: u64,
    /// The `type`; see [`TurnEvent::kind`].
    pub kind: &'static str,
    /// One JSON object on one line: `type`, `seq` and `run_id` first. Shared, never copied.
    pub json: Bytes,
}

/// The kinds of [`TurnEvent::kind`], for lines that are read back.
const KINDS: [&str; 12] = [
    "rag_step",
    "session_title",
    "reasoning",
    "tool_call",
    "tool_result",
    "content",
    "content_reset",
    "trace",
    "hitl_request",
    "message",
    "error",
    "snapshot",
];

const TYPE: &[u8] = br#"{"type":""#;

impl Frame {
    /// The frame of `event`.
    ///
    /// # Errors
    /// The event does not serialize: a defect.
    pub fn new(run: RunId, seq: u64, event: &TurnEvent) -> Result<Self, serde_json::Error> {
        let kind = event.kind();
        let plain = serde_json::to_vec(event)?;
        // The tag is serialized first, so the numbers go in right behind it.
        let head = TYPE.len() + kind.len() + 1;
        let (head, tail) = plain.split_at(head.min(plain.len()));
        let numbers = format!(r#","seq":{seq},"run_id":"{run}""#);
        let mut json = Vec::with_capacity(plain.len() + numbers.len());
        json.extend_from_slice(head);
        json.extend_from_slice(numbers.as_bytes());
        json.extend_from_slice(tail);
        Ok(Self { seq, kind, json: json.into() })
    }

    /// A line of a log. `None` for a line that no version of askback wrote.
    pub(super) fn read(seq: u64, line: Bytes) -> Option<Self> {
        let rest = line.strip_prefix(TYPE)?;
        let end = rest.iter().position(|&byte| byte == b'"')?;
        let kind = KINDS.into_iter().find(|kind| kind.as_bytes() == &rest[..end])?;
        Some(Self { seq, kind, json: line })
    }

    /// Whether nothing follows it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.kind, "message" | "error")
    }

    /// Whether it changes the text of the answer.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, "content" | "content_reset" | "snapshot")
    }

    /// The event that it carries.
    ///
    /// # Errors
    /// The line was not written by askback.
    pub fn event(&self) -> Result<TurnEvent, serde_json::Error> {
        serde_json::from_slice(&self.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Millis;

    #[test]
    fn type_seq_and_run_come_first() {
        let run = RunId::at(Millis(1));
        let events = [TurnEvent::Content { content: "a \"b\"\n保".into(), offset: 3 }, TurnEvent::ContentReset];
        let lines: Vec<String> = events
            .iter()
            .map(|event| String::from_utf8(Frame::new(run, 7, event).unwrap().json.to_vec()).unwrap())
            .collect();
        assert_eq!(
            lines,
            [
                format!(r#"{{"type":"content","seq":7,"run_id":"{run}","content":"a \"b\"\n保","offset":3}}"#),
                format!(r#"{{"type":"content_reset","seq":7,"run_id":"{run}"}}"#),
            ]
        );
    }

    #[test]
    fn a_frame_is_read_back() {
        let event = TurnEvent::Content { content: "x".into(), offset: 0 };
        let frame = Frame::new(RunId::at(Millis(1)), 2, &event).unwrap();
        assert_eq!(Frame::read(2, frame.json.clone()), Some(frame.clone()));
        assert_eq!(frame.event().unwrap(), event);
        assert_eq!(Frame::read(1, Bytes::from_static(b"{}")), None);
    }
}
