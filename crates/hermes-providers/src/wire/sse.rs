//! Parses server-sent events from slices of bytes.
//!
//! Hand-written because the reader is a blocking thread that gets slices; available parsers wrap an
//! asynchronous body.

/// Maximum bytes of an event. The largest are arguments of one call.
const MAX_EVENT: usize = 16 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    /// The name; empty if none.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// An event beyond the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Parser of a stream.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    /// Whether the last byte was a carriage return, to which a following line feed belongs.
    after_return: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseParser {
    /// Parses bytes and calls `found` for every completed event.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        found: &mut dyn FnMut(SseEvent),
    ) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + piece.len() + self.event.data.len() > MAX_EVENT {
                return Err(TooLong);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take_line(&String::from_utf8_lossy(&line), found);
        }
        Ok(())
    }

    /// Completes the last event if the stream ended without a blank line.
    pub(crate) fn finish(&mut self, found: &mut dyn FnMut(SseEvent)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&String::from_utf8_lossy(&line), found);
        }
        self.take_line("", found);
    }

    fn take_line(&mut self, line: &str, found: &mut dyn FnMut(SseEvent)) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                found(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments keep connections alive; ids and retry times are for reconnecting clients.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser
                .feed(piece, &mut |event| events.push((event.name, event.data)))
                .unwrap();
        }
        parser.finish(&mut |event| events.push((event.name, event.data)));
        events
    }

    const STREAM: &[u8] =
        b": hello\r\n\r\nevent: a\r\ndata: {\"x\":\r\ndata:1}\r\n\r\nid: 3\n\ndata: \xc3\xa9\n\ndata: [DONE]";

    #[test]
    fn comments_names_and_lines_follow_the_standard() {
        let events = parse(&[STREAM]);
        let expected = [("a", "{\"x\":\n1}"), ("", "é"), ("", "[DONE]")]
            .map(|(name, data)| (name.to_owned(), data.to_owned()));
        assert_eq!(events, expected);
    }

    #[test]
    fn endless_line_is_refused() {
        let mut parser = SseParser::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..20).any(|_| parser.feed(&piece, &mut |_| ()).is_err());
        assert!(refused);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_slice_boundaries(cuts in proptest::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for cut in cuts {
                pieces.push(&STREAM[start..cut]);
                start = cut;
            }
            pieces.push(&STREAM[start..]);
            prop_assert_eq!(parse(&pieces), parse(&[STREAM]));
        }
    }
}
