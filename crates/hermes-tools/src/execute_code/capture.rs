//! Output of a script, kept within bounds while it is read: the head, the tail, and how much there
//! was.
//!
//! More is kept than is shown, so that a secret is masked whole before anything is cut.

use std::collections::VecDeque;

use anstream::adapter::strip_str;
use hermes_secret::Redactor;
use hermes_text::with_separators;

/// Bytes of standard error that are shown.
pub(super) const MAX_STDERR: usize = 10_000;
/// How many times the shown size is kept while reading.
const SLACK: usize = 4;
/// Bytes beside a gap in what was kept that are not shown: a secret may have been cut in two there.
const MARGIN: usize = 1024;

/// The two ends of a stream.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    total: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownOutput {
    pub(super) text: String,
    /// Bytes of the stream.
    pub(super) total: usize,
    /// Bytes that are in the text.
    pub(super) kept: usize,
    pub(super) truncated: bool,
}

impl Capture {
    /// For a stream of which `shown` bytes will be shown.
    pub(super) fn new(shown: usize) -> Self {
        let (head_room, tail_room) = Self::rooms(shown);
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_room,
            tail_room,
            total: 0,
        }
    }

    /// Bytes to keep of the head and of the tail.
    pub(super) fn rooms(shown: usize) -> (usize, usize) {
        let room = shown.saturating_mul(SLACK);
        let head = room / 5 * 2;
        (head, room - head)
    }

    /// A stream of `total` bytes of which only these two ends were kept.
    pub(super) fn of_ends(head: &[u8], tail: &[u8], total: usize) -> Self {
        Self {
            head: head.to_vec(),
            tail: tail.iter().copied().collect(),
            head_room: head.len(),
            tail_room: tail.len(),
            total,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = self.head_room - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let skip = rest.len().saturating_sub(self.tail_room);
        self.tail.extend(rest.iter().skip(skip));
        let excess = self.tail.len().saturating_sub(self.tail_room);
        self.tail.drain(..excess);
    }

    /// The stream as text: decoded, stripped of terminal codes, masked, then cut to `limit` bytes,
    /// two fifths from the head and three from the tail.
    pub(super) fn show(self, limit: usize, redactor: &Redactor) -> ShownOutput {
        let tail: Vec<u8> = self.tail.into();
        let gap = self.total - self.head.len() - tail.len();
        let head_limit = limit * 2 / 5;
        let tail_limit = limit - head_limit;
        if gap == 0 {
            let text = cleaned(&[self.head, tail].concat(), redactor);
            if text.len() <= limit {
                return ShownOutput {
                    text,
                    total: self.total,
                    kept: self.total,
                    truncated: false,
                };
            }
            let (head, tail) = (head_of(&text, head_limit), tail_of(&text, tail_limit));
            return joined(head, tail, self.total);
        }
        let (head, tail) = (cleaned(&self.head, redactor), cleaned(&tail, redactor));
        let head = head_of(&head, head_limit.min(head.len().saturating_sub(MARGIN)));
        let tail = tail_of(&tail, tail_limit.min(tail.len().saturating_sub(MARGIN)));
        joined(head, tail, self.total)
    }

    /// As [`Capture::show`], from the head only.
    pub(super) fn show_head(self, limit: usize, redactor: &Redactor) -> String {
        let total = self.total;
        let complete = self.head.len() == total;
        let text = cleaned(&self.head, redactor);
        if complete && text.len() <= limit {
            return text;
        }
        let room = if complete {
            limit
        } else {
            limit.min(text.len().saturating_sub(MARGIN))
        };
        let head = head_of(&text, room);
        format!("{head}\n… [{total} bytes in total]")
    }
}

fn joined(head: &str, tail: &str, total: usize) -> ShownOutput {
    let kept = head.len() + tail.len();
    // Masks and replaced characters can make the text longer than the bytes it came from.
    let omitted = total.saturating_sub(kept);
    ShownOutput {
        text: format!(
            "{head}\n\n… [OUTPUT TRUNCATED - {} bytes omitted out of {} total] …\n\n{tail}",
            with_separators(omitted),
            with_separators(total)
        ),
        total,
        kept,
        truncated: true,
    }
}

/// At most `limit` bytes from the start, whole characters.
fn head_of(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit))
        .unwrap_or_default()
}

/// At most `limit` bytes from the end, whole characters.
fn tail_of(text: &str, limit: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(limit));
    text.get(start..).unwrap_or_default()
}

/// The bytes as text, without terminal codes and with secrets masked.
fn cleaned(bytes: &[u8], redactor: &Redactor) -> String {
    let text = strip_str(&String::from_utf8_lossy(bytes)).to_string();
    redactor.redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn shown(bytes: &[u8], limit: usize) -> ShownOutput {
        let mut capture = Capture::new(limit);
        for chunk in bytes.chunks(7) {
            capture.push(chunk);
        }
        capture.show(limit, &Redactor::default())
    }

    #[test]
    fn short_output_is_whole_and_without_codes() {
        assert_eq!(
            shown(b"\x1b[31mred\x1b[0m \xff", 100),
            ShownOutput {
                text: "red \u{fffd}".to_owned(),
                total: 14,
                kept: 14,
                truncated: false
            }
        );
    }

    #[test]
    fn long_output_keeps_both_ends() {
        let text = format!("START{}END", "x".repeat(200_000));
        let shown = shown(text.as_bytes(), 50_000);
        assert!(shown.text.starts_with("START") && shown.text.ends_with("END"));
        assert_eq!(
            (shown.kept, shown.total, shown.truncated),
            (50_000, 200_008, true)
        );
        assert!(
            shown
                .text
                .contains("150,008 bytes omitted out of 200,008 total")
        );
    }

    #[test]
    fn a_secret_across_the_cut_is_masked_before_it() {
        let secret = "canary-0123456789abcdef";
        let redactor = Redactor::new([secret]);
        // Every position near the end of the shown head.
        for shift in 0..60 {
            let text = format!("{}{secret}{}", "x".repeat(360 + shift), "y".repeat(5000));
            let mut capture = Capture::new(1000);
            capture.push(text.as_bytes());
            let text = capture.show(1000, &redactor).text;
            assert!(!text.contains("canary-0"), "{shift}");
        }
    }

    proptest! {
        #[test]
        fn bounded_whatever_comes(bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
            let shown = shown(&bytes, 200);
            prop_assert_eq!(shown.total, bytes.len());
            prop_assert!(shown.text.len() <= 200 + 120);
        }
    }
}
