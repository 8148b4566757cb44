//! The end of what a background process printed.

use crate::output::{AnsiStripper, TextTail, Utf8Decoder};

/// Characters kept.
const KEPT: usize = 200_000;

/// Clean text of a process's output, the last part of it, and its complete lines as they come.
#[derive(Debug)]
pub(super) struct OutputTail {
    decoder: Utf8Decoder,
    stripper: AnsiStripper,
    text: TextTail,
    /// A carriage return at the end of a piece, which may belong to a line feed.
    pending_return: bool,
    line: String,
}

/// A line is looked at in full up to here.
const LONGEST_LINE: usize = 64 * 1024;

impl Default for OutputTail {
    fn default() -> Self {
        Self {
            decoder: Utf8Decoder::default(),
            stripper: AnsiStripper::default(),
            text: TextTail::new(KEPT),
            pending_return: false,
            line: String::new(),
        }
    }
}

impl OutputTail {
    /// Takes bytes and passes each line they complete to `on_line`.
    pub(super) fn push(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(&str)) {
        let mut clean = String::new();
        let Self {
            decoder, stripper, ..
        } = self;
        decoder.feed(bytes, &mut |text| {
            stripper.feed(text, &mut |text| clean.push_str(text));
        });
        self.add(&clean, on_line);
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_str()
    }

    fn add(&mut self, text: &str, on_line: &mut dyn FnMut(&str)) {
        let mut pieces = text.split('\r').peekable();
        let mut is_first = true;
        while let Some(piece) = pieces.next() {
            let after_return = !is_first || self.pending_return;
            is_first = false;
            // A terminal ends lines with both; one is enough.
            if after_return
                && !piece.starts_with('\n')
                && (!piece.is_empty() || pieces.peek().is_some())
            {
                self.text.push("\r");
            }
            self.pending_return = after_return && piece.is_empty() && pieces.peek().is_none();
            self.text.push(piece);
            self.complete_lines(piece, on_line);
        }
    }

    fn complete_lines(&mut self, text: &str, on_line: &mut dyn FnMut(&str)) {
        for piece in text.split_inclusive('\n') {
            if self.line.len() < LONGEST_LINE {
                self.line.push_str(piece);
            }
            if piece.ends_with('\n') {
                on_line(self.line.trim_end_matches('\n'));
                self.line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn tail(pieces: &[&[u8]]) -> (String, Vec<String>) {
        let mut tail = OutputTail::default();
        let mut lines = Vec::new();
        for piece in pieces {
            tail.push(piece, &mut |line| lines.push(line.to_owned()));
        }
        (tail.text().to_owned(), lines)
    }

    #[test]
    fn lines_are_complete_however_they_arrive() {
        let (text, lines) = tail(&[b"REA", b"DY\r", b"\n\x1b[1mnext", b"\x1b[0m\r\nhalf"]);
        assert_eq!(text, "READY\nnext\nhalf");
        assert_eq!(lines, ["READY", "next"]);
        assert_eq!(tail(&[b"10%\r20%\rdone\n"]).0, "10%\r20%\rdone\n");
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = OutputTail::default();
        for n in 0..100_000 {
            tail.push(format!("line {n}\n").as_bytes(), &mut |_| {});
        }
        assert_eq!(tail.text().chars().count(), KEPT);
        assert!(tail.text().ends_with("line 99999\n"));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[ab\\r\\n]{0,30}", size in 1_usize..5) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(tail(&pieces), tail(&[text.as_bytes()]));
        }
    }
}
