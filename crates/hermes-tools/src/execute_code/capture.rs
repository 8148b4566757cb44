//! Output of a script, kept within bounds while it is read: the head, the tail, and how much there
//! was.
//!
//! More is kept than is shown, so that a secret is masked whole before anything is cut.

use std::collections::VecDeque;

use hermes_secret::Redactor;

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

/// What is shown of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
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

    /// A stream of `total` bytes of which somebody else kept both ends.
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
    pub(super) fn show(self, limit: usize, redactor: &Redactor) -> Shown {
        let tail: Vec<u8> = self.tail.into();
        let gap = self.total - self.head.len() - tail.len();
        let clean = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            redactor.redact(&strip_terminal_codes(&text)).into_owned()
        };
        if gap == 0 {
            let text = clean(&[self.head, tail].concat());
            if text.len() <= limit {
                return Shown {
                    text,
                    total: self.total,
                    kept: self.total,
                    truncated: false,
                };
            }
            let (head, tail) = (
                floor(&text, limit * 2 / 5),
                ceil(&text, limit - limit * 2 / 5),
            );
            return joined(head, tail, self.total);
        }
        let head = clean(&self.head);
        let head = floor(
            &head,
            (limit * 2 / 5).min(head.len().saturating_sub(MARGIN)),
        );
        let tail = clean(&tail);
        let room = limit - limit * 2 / 5;
        let tail = ceil(&tail, room.min(tail.len().saturating_sub(MARGIN)));
        joined(head, tail, self.total)
    }

    /// As [`Capture::show`], from the head only.
    pub(super) fn show_head(self, limit: usize, redactor: &Redactor) -> String {
        let total = self.total;
        let complete = self.head.len() == total;
        let text = String::from_utf8_lossy(&self.head);
        let text = redactor.redact(&strip_terminal_codes(&text)).into_owned();
        if complete && text.len() <= limit {
            return text;
        }
        let room = if complete {
            limit
        } else {
            limit.min(text.len().saturating_sub(MARGIN))
        };
        let head = floor(&text, room);
        format!("{head}\n… [{total} bytes in total]")
    }
}

fn joined(head: &str, tail: &str, total: usize) -> Shown {
    let kept = head.len() + tail.len();
    // Masks and replaced characters can make the text longer than the bytes it came from.
    let omitted = total.saturating_sub(kept);
    Shown {
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
fn floor(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// At most `limit` bytes from the end, whole characters.
fn ceil(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

fn with_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Where the text loses its terminal codes.
fn strip_terminal_codes(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn shown(bytes: &[u8], limit: usize) -> Shown {
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
            Shown {
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
