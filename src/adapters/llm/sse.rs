//! Server-sent events, from bytes that may be cut anywhere to the data of whole events.

/// An event grew past the parser's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {0} bytes")]
pub(super) struct TooLong(pub(super) usize);

/// Reads the lines of an event stream as the HTML standard has them: ended by CR, LF or CRLF, a byte order mark at the
/// start passed over, comments and unknown fields too. What waits for its end is bounded.
#[derive(Debug)]
pub(super) struct SseParser {
    limit: usize,
    line: Vec<u8>,
    data: String,
    has_data: bool,
    /// A CR ended the last line: an LF right behind it belongs to it.
    after_cr: bool,
    at_start: bool,
}

impl SseParser {
    /// A parser that refuses lines and events of more than `limit` bytes.
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: String::new(), has_data: false, after_cr: false, at_start: true }
    }

    /// Takes the next bytes and adds the data of every event that is whole with them to `events`, those before a line
    /// that is too long among them.
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<String>) -> Result<(), TooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&bytes[..end])?;
            let ended_by_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if ended_by_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            events.extend(self.end_line()?);
        }
        self.grow(bytes)
    }

    /// Ends the stream. The standard drops an event without its blank line; servers that cut the last one short are
    /// common enough to give it.
    pub(super) fn finish(&mut self) -> Result<Option<String>, TooLong> {
        if !self.line.is_empty()
            && let Some(event) = self.end_line()?
        {
            return Ok(Some(event));
        }
        Ok(self.dispatch())
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        if field != b"data" {
            return Ok(None);
        }
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        if self.data.len() + value.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(&value);
        self.has_data = true;
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<String> {
        std::mem::take(&mut self.has_data).then(|| std::mem::take(&mut self.data))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "\u{feff}: hello\r\ndata: one\r\n\r\ndata:二\ndata: 三\n\nevent: x\rdata\r\rid: 7\n\n\
                          data: {\"a\":\"é\"}\r\n\r\ndata: [DONE]";
    const EVENTS: [&str; 5] = ["one", "二\n三", "", "{\"a\":\"é\"}", "[DONE]"];

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = SseParser::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events).expect("within the limit");
        }
        events.extend(parser.finish().expect("within the limit"));
        events
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let bytes = STREAM.as_bytes();
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(read(&[left, right]), EVENTS, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), EVENTS);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut events = Vec::new();
        let mut parser = SseParser::new(8);
        assert_eq!(parser.push(b"data: 123", &mut events), Err(TooLong(8)));
        let mut parser = SseParser::new(8);
        assert_eq!(parser.push(b"data:abc\ndata:def\ndata:ghi\n", &mut events), Err(TooLong(8)));
        assert!(events.is_empty());
        let mut parser = SseParser::new(8);
        assert_eq!(parser.push(b"data:a\n\ndata: 123", &mut events), Err(TooLong(8)));
        assert_eq!(events, ["a"], "what came before it");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_read_alike(bytes in proptest::collection::vec(any::<u8>(), 0..64), cut in 0_usize..64) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(read(&[&bytes]), read(&[&bytes[..cut], &bytes[cut..]]));
        }
    }
}
