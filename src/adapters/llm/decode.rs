//! From the bytes of an answer to [`ModelEvent`]s, without I/O.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    failure::upstream_error,
    sse::SseParser,
    thoughts::Thoughts,
    wire::{Chunk, Delta, Fragment},
};
use crate::domain::{
    error::ModelError,
    model::{ModelEvent, ToolCall, Usage},
};

/// Longest event of a stream, in bytes.
const EVENT_LIMIT: usize = 1 << 20;
/// Most calls of one answer.
const CALL_LIMIT: usize = 64;
/// Most bytes of one call's arguments.
const ARGUMENTS_LIMIT: usize = 1 << 20;

/// Reads one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    parser: SseParser,
    ready: VecDeque<ModelEvent>,
    /// What went wrong behind all that is ready; nothing follows it.
    failure: Option<ModelError>,
    thoughts: Thoughts,
    calls: Vec<ToolCall>,
    /// The index that the server gave each call.
    indices: Vec<Option<u32>>,
    spoke: bool,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    ended: bool,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            parser: SseParser::new(EVENT_LIMIT),
            ready: VecDeque::new(),
            failure: None,
            thoughts: Thoughts::default(),
            calls: Vec::new(),
            indices: Vec::new(),
            spoke: false,
            finish_reason: None,
            usage: None,
            ended: false,
        }
    }

    /// The next event that is whole. A failure comes after all that was said before it, and is the last one.
    pub(super) fn pop(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        match self.ready.pop_front() {
            Some(event) => Some(Ok(event)),
            None => self.failure.take().map(Err),
        }
    }

    /// Whether the model has said why it ended; the token count or the end of the stream may still come.
    pub(super) const fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the answer is over: nothing but what is ready will come.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes bytes of an event stream. Gives whether they completed an event.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let mut events = Vec::new();
        let parsed = self.parser.push(bytes, &mut events).map_err(|error| ModelError::BadResponse(error.to_string()));
        let taken = events.iter().try_for_each(|data| self.event(data)).and(parsed);
        self.settle(taken);
        !events.is_empty()
    }

    /// Takes a whole JSON answer, which servers that cannot stream give.
    pub(super) fn whole(&mut self, body: &[u8]) {
        let taken = self.chunk(body);
        self.settle(taken);
        self.finish();
    }

    /// The bytes are over.
    pub(super) fn finish(&mut self) {
        let finished = self.last();
        self.settle(finished);
    }

    fn settle(&mut self, taken: Result<(), ModelError>) {
        if let Err(error) = taken
            && !self.ended
        {
            self.let_go();
            self.failure = Some(error);
            self.ended = true;
        }
    }

    fn last(&mut self) -> Result<(), ModelError> {
        let last = self.parser.finish().map_err(|error| ModelError::BadResponse(error.to_string()))?;
        if let Some(data) = last {
            self.event(&data)?;
        }
        if self.ended {
            return Ok(());
        }
        match self.finish_reason.take() {
            Some(reason) => self.end(reason),
            None => Err(ModelError::BadResponse("the stream ended without completion".into())),
        }
    }

    fn event(&mut self, data: &str) -> Result<(), ModelError> {
        if self.ended {
            return Ok(());
        }
        if data.trim() != "[DONE]" {
            return self.chunk(data.as_bytes());
        }
        self.let_go();
        match self.finish_reason.take() {
            Some(reason) => self.end(reason),
            None if !self.calls.is_empty() => self.end("tool_calls".into()),
            None if self.spoke => self.end("stop".into()),
            None => Err(ModelError::BadResponse("the stream was done before it said anything".into())),
        }
    }

    fn chunk(&mut self, json: &[u8]) -> Result<(), ModelError> {
        let chunk: Chunk = serde_json::from_slice(json)
            .map_err(|error| ModelError::BadResponse(format!("not the JSON of an answer: {error}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(upstream_error(None, &error, None));
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage);
        }
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.delta(choice.delta)?;
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(reason);
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta) -> Result<(), ModelError> {
        if let Some(reasoning) = delta.reasoning_content.filter(|text| !text.is_empty()) {
            self.ready.push_back(ModelEvent::Reasoning(reasoning));
        }
        if let Some(text) = delta.content.map(super::wire::Content::into_text).filter(|text| !text.is_empty()) {
            let (ready, spoke) = (&mut self.ready, &mut self.spoke);
            self.thoughts.push(&text, |event| hear(event, ready, spoke));
        }
        delta.tool_calls.into_iter().try_for_each(|fragment| self.fragment(fragment))
    }

    /// No more text follows: what may have been a tag is none.
    fn let_go(&mut self) {
        let (ready, spoke) = (&mut self.ready, &mut self.spoke);
        self.thoughts.finish(|event| hear(event, ready, spoke));
    }

    /// Joins a fragment to the call that it continues: the one of its index, unless its id says that it is another
    /// (some servers give all calls the index 0); without an index the one of its id, else the last.
    fn fragment(&mut self, fragment: Fragment) -> Result<(), ModelError> {
        let id = fragment.id.filter(|id| !id.is_empty());
        let same_id = |call: &ToolCall| id.as_ref().is_none_or(|id| call.id.is_empty() || call.id == *id);
        let place = match (fragment.index, &id) {
            (Some(index), _) => (0..self.calls.len())
                .rev()
                .find(|&place| self.indices[place] == Some(index) && same_id(&self.calls[place])),
            (None, Some(id)) => self.calls.iter().position(|call| call.id == *id),
            // A name without index and id begins a call; arguments alone continue the last one.
            (None, None) if fragment.function.name.is_some() => None,
            (None, None) => self.calls.len().checked_sub(1),
        };
        let place = match place {
            Some(place) => place,
            None if self.calls.len() == CALL_LIMIT => {
                return Err(ModelError::BadResponse(format!("more than {CALL_LIMIT} tool calls")));
            }
            None => {
                let call = ToolCall { id: String::new(), name: String::new(), arguments: String::new() };
                self.calls.push(call);
                self.indices.push(fragment.index);
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        if let Some(id) = id {
            call.id = id;
        }
        match fragment.function.name {
            // Some servers repeat the name in every fragment.
            Some(name) if name != call.name => call.name.push_str(&name),
            _ => {}
        }
        match fragment.function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(piece)) => call.arguments.push_str(&piece),
            Some(whole) => call.arguments = whole.to_string(),
        }
        if call.arguments.len() + call.name.len() > ARGUMENTS_LIMIT {
            return Err(ModelError::BadResponse(format!("a tool call of more than {ARGUMENTS_LIMIT} bytes")));
        }
        Ok(())
    }

    fn end(&mut self, finish_reason: String) -> Result<(), ModelError> {
        self.let_go();
        for mut call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() {
                return Err(ModelError::BadResponse("a tool call without a name".into()));
            }
            if call.id.is_empty() {
                call.id = format!("call_{:016x}", rand::random::<u64>());
            }
            if call.arguments.is_empty() {
                call.arguments.push_str("{}");
            }
            self.ready.push_back(ModelEvent::Call(call));
        }
        self.ready.push_back(ModelEvent::End { finish_reason, usage: self.usage });
        self.ended = true;
        Ok(())
    }
}

fn hear(event: ModelEvent, ready: &mut VecDeque<ModelEvent>, spoke: &mut bool) {
    *spoke |= matches!(event, ModelEvent::Text(_));
    ready.push_back(event);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Result<Vec<ModelEvent>, ModelError> {
        let mut decoder = Decoder::new();
        for piece in pieces {
            decoder.push(piece);
        }
        if !decoder.has_ended() {
            decoder.finish();
        }
        std::iter::from_fn(|| decoder.pop()).collect()
    }

    fn data(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("data: {line}\n\n")).collect()
    }

    fn end(reason: &str, usage: Option<Usage>) -> ModelEvent {
        ModelEvent::End { finish_reason: reason.into(), usage }
    }

    fn call(id: &str, name: &str, arguments: &str) -> ModelEvent {
        ModelEvent::Call(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
    }

    const RECORDED: &str = concat!(
        ": keep-alive\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"想一想\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"保修期 is \"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two years 🦀\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"find\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"open\",\"arguments\":\"{\\\"n\\\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\":\\\"保\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\":1}\"}},{\"index\":0,\"function\":{\"arguments\":\"修\\\"}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9,\"total_tokens\":16}}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn every_split_of_a_recorded_stream_gives_the_same_events() {
        let expected = vec![
            ModelEvent::Reasoning("想一想".into()),
            ModelEvent::Text("保修期 is ".into()),
            ModelEvent::Text("two years 🦀".into()),
            call("a", "find", "{\"q\":\"保修\"}"),
            call("b", "open", "{\"n\":1}"),
            end("tool_calls", Some(Usage { prompt_tokens: 7, completion_tokens: 9 })),
        ];
        let bytes = RECORDED.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]), Ok(expected.clone()), "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&single), Ok(expected));
    }

    const PIECES: [&str; 8] = ["保", "修期", " e\u{301}", "👩\u{200d}🔧", " 🇨🇳", "\u{1f44d}\u{1f3fd}", "ก็", " ﬁn."];

    #[test]
    fn every_way_to_write_a_stream_gives_the_same_text_however_it_is_cut() {
        let mut expected: Vec<ModelEvent> = PIECES.iter().map(|piece| ModelEvent::Text((*piece).into())).collect();
        expected.push(end("stop", None));
        let chunks = PIECES.iter().map(|piece| json!({"choices": [{"delta": {"content": piece}}]}).to_string());
        let last = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
        let chunks: Vec<String> = chunks.chain([last]).collect();
        for line_end in ["\n", "\r\n", "\r"] {
            for (start, comment, done) in [
                ("", "", true),
                ("\u{feff}", "", true),
                ("", ": 保活", true),
                ("\u{feff}", ":", false),
                ("", "", false),
            ] {
                let comment = if comment.is_empty() { String::new() } else { format!("{comment}{line_end}") };
                let event = |data: &str| format!("{comment}data: {data}{line_end}{line_end}");
                let mut stream: String = chunks.iter().map(|chunk| event(chunk)).collect();
                if done {
                    stream.push_str(&event("[DONE]"));
                }
                let stream = format!("{start}{stream}").into_bytes();
                for cut in 0..=stream.len() {
                    let (left, right) = stream.split_at(cut);
                    assert_eq!(decode(&[left, right]).as_ref(), Ok(&expected), "{line_end:?} {comment} cut at {cut}");
                }
                for size in 1..=7 {
                    let pieces: Vec<&[u8]> = stream.chunks(size).collect();
                    assert_eq!(decode(&pieces).as_ref(), Ok(&expected), "{line_end:?} {comment} by {size}");
                }
            }
        }
    }

    fn is_refused(decoder: &mut Decoder, bytes: &[u8]) -> bool {
        decoder.push(bytes);
        decoder.has_ended()
    }

    #[test]
    fn a_line_of_ten_megabytes_is_refused_long_before_its_end() {
        for start in ["data: {\"choices\":[{\"delta\":{\"content\":\"", ": ", ""] {
            let mut decoder = Decoder::new();
            decoder.push(start.as_bytes());
            let piece = [b'x'; 16 << 10];
            let taken = (0..640).position(|_| is_refused(&mut decoder, &piece)).expect("it is refused");
            assert!(taken * piece.len() <= EVENT_LIMIT, "{taken} pieces were kept");
        }
        // The same in many lines of one event.
        let mut decoder = Decoder::new();
        let line = format!("data: {}\n", "x".repeat(1000));
        let taken = (0..10_000).position(|_| is_refused(&mut decoder, line.as_bytes())).expect("it is refused");
        assert!(taken * 1000 <= EVENT_LIMIT, "{taken} lines were kept");
    }

    #[test]
    fn calls_that_share_an_index_are_told_apart_by_id() {
        let stream = data(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"2}"}}]},"finish_reason":"stop"}]}"#,
        ]);
        assert_eq!(
            decode(&[stream.as_bytes()]),
            Ok(vec![call("a", "f", "{}"), call("b", "f", "{\"x\":2}"), end("stop", None)])
        );
    }

    #[test]
    fn arguments_may_be_an_object_and_the_name_repeated() {
        let stream = data(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}]}"#,
            "[DONE]",
        ]);
        assert_eq!(decode(&[stream.as_bytes()]), Ok(vec![call("a", "f", "{\"x\":1}"), end("tool_calls", None)]));
    }

    #[test]
    fn a_missing_done_after_the_finish_reason_is_fine() {
        let stream =
            r#"data: {"choices":[{"delta":{"content":[{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}"#;
        assert_eq!(decode(&[stream.as_bytes()]), Ok(vec![ModelEvent::Text("yes".into()), end("stop", None)]));
    }

    #[test]
    fn nothing_follows_the_end() {
        let stream = data(&[
            r#"{"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}"#,
            "[DONE]",
            r#"{"choices":[{"delta":{"content":"more"}}]}"#,
            "[DONE]",
        ]);
        assert_eq!(decode(&[stream.as_bytes()]), Ok(vec![ModelEvent::Text("yes".into()), end("stop", None)]));
    }

    #[test]
    fn an_answer_that_is_none_is_a_bad_response() {
        for stream in [
            "",
            "data: [DONE]\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"cut\"}}]}\n\n",
            "data: {\"choices\":[{\n\n",
            "<html>busy</html>",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
        ] {
            assert!(matches!(decode(&[stream.as_bytes()]), Err(ModelError::BadResponse(_))), "{stream}");
        }
    }

    #[test]
    fn an_error_inside_the_stream_keeps_its_class() {
        let classes = [
            (r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, "context too long"),
            (r#"{"error":{"message":"m","type":"rate_limit_error"}}"#, "rate limited"),
            (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, "model unavailable"),
            (r#"{"error":{"message":"m","code":503}}"#, "model unavailable"),
            (r#"{"error":{"message":"m","code":401}}"#, "model refused"),
        ];
        for (chunk, class) in classes {
            let error = decode(&[data(&[chunk]).as_bytes()]).unwrap_err().to_string();
            assert!(error.starts_with(class), "{chunk}: {error}");
        }
    }

    #[test]
    fn what_was_said_before_a_bad_line_stays_wherever_the_bytes_are_cut() {
        let good = data(&[r#"{"choices":[{"delta":{"content":"Two years"}}]}"#]);
        for bad in [
            "data: {broken\n\n".to_owned(),
            format!("data: {}", "x".repeat(EVENT_LIMIT)),
            data(&[r#"{"error":{"message":"m","code":503}}"#]),
        ] {
            let stream = format!("{good}{bad}");
            for cut in [good.len() - 3, good.len(), good.len() + 8, stream.len()] {
                let mut decoder = Decoder::new();
                decoder.push(&stream.as_bytes()[..cut]);
                decoder.push(&stream.as_bytes()[cut..]);
                decoder.push(good.as_bytes());
                assert_eq!(decoder.pop(), Some(Ok(ModelEvent::Text("Two years".into()))), "cut at {cut}");
                assert!(decoder.pop().is_some_and(|failed| failed.is_err()), "cut at {cut}");
                assert!(decoder.pop().is_none() && decoder.has_ended());
            }
        }
    }

    #[test]
    fn thoughts_inside_the_content_are_reasoning() {
        let piece = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let finish = data(&[r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#]);
        let said = format!("{}{}{finish}", piece("<thi"), piece("nk>hm</think>yes"));
        let text = |text: &str| ModelEvent::Text(text.into());
        let expected = vec![ModelEvent::Reasoning("hm".into()), text("yes"), end("stop", None)];
        assert_eq!(decode(&[said.as_bytes()]), Ok(expected));
        let begun = format!("{}{finish}", piece("<thi"));
        assert_eq!(decode(&[begun.as_bytes()]), Ok(vec![text("<thi"), end("stop", None)]));
        let silent = format!("{}{}", piece("<think>hm"), data(&["[DONE]"]));
        assert!(matches!(decode(&[silent.as_bytes()]), Err(ModelError::BadResponse(_))));
    }

    #[test]
    fn a_whole_answer_reads_like_a_stream() {
        let body = br#"{"choices":[{"index":0,"message":{"role":"assistant","content":"yes","tool_calls":null},
            "finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
        let mut decoder = Decoder::new();
        decoder.whole(body);
        let events: Result<Vec<_>, _> = std::iter::from_fn(|| decoder.pop()).collect();
        let usage = Some(Usage { prompt_tokens: 1, completion_tokens: 2 });
        assert_eq!(events.unwrap(), [ModelEvent::Text("yes".into()), end("stop", usage)]);
    }
}
