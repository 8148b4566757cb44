//! The last lines of a command that still runs, for whoever watches.
//!
//! They are redacted like everything that leaves the terminal. What could be the beginning or the end
//! of a secret is held back: the unfinished word at the end, and a private key that is being printed.

use std::sync::{Arc, Mutex};

use hermes_secret::Redactor;

use super::capture::TextTail;
use crate::lock::lock;

/// Characters kept: more than the longest private key.
const KEPT: usize = 32 * 1024;
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// The end of the output so far.
#[derive(Debug)]
pub(crate) struct LiveOutput {
    tail: Mutex<TextTail>,
    redactor: Arc<Redactor>,
}

impl LiveOutput {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            tail: Mutex::new(TextTail::new(KEPT)),
            redactor,
        }
    }

    pub(super) fn push(&self, text: &str) {
        lock(&self.tail).push(text);
    }

    /// The last lines, as a terminal would show them now, without blank ones.
    pub(crate) fn last_lines(&self, most: usize) -> Vec<String> {
        let (text, is_cut) = {
            let tail = lock(&self.tail);
            (tail.as_str().to_owned(), tail.is_cut())
        };
        let text = self.redactor.redact(presentable(&text, is_cut));
        let mut lines: Vec<String> = text
            .rsplit('\n')
            .map(|line| {
                // A progress bar goes back to the beginning of its line.
                let line = line.trim_end_matches('\r');
                line.rsplit('\r').next().unwrap_or(line).trim_end()
            })
            .filter(|line| !line.trim().is_empty())
            .take(most)
            .map(str::to_owned)
            .collect();
        lines.reverse();
        lines
    }
}

/// The part that can be redacted without what is not there.
fn presentable(text: &str, is_cut: bool) -> &str {
    let mut text = text;
    if is_cut {
        // The first line has lost its beginning, and perhaps a key has.
        let line = text.find('\n').map_or(text.len(), |index| index + 1);
        text = text.get(line..).unwrap_or_default();
        let end = text.find(KEY_ENDS);
        let begin = text.find(KEY_BEGINS).unwrap_or(usize::MAX);
        if let Some(end) = end.filter(|end| *end < begin) {
            text = text.get(end..).unwrap_or_default();
            let line = text.find('\n').map_or(text.len(), |index| index + 1);
            text = text.get(line..).unwrap_or_default();
        }
    }
    if let Some(begin) = text.rfind(KEY_BEGINS)
        && !text.get(begin..).unwrap_or_default().contains(KEY_ENDS)
    {
        text = text.get(..begin).unwrap_or_default();
    }
    let word = text.rfind(char::is_whitespace).map_or(0, |index| {
        index
            + text
                .get(index..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
    });
    text.get(..word).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn live() -> LiveOutput {
        LiveOutput::new(Arc::new(Redactor::new(["correct-horse-battery"])))
    }

    #[test]
    fn the_last_lines_are_shown_as_on_a_terminal() {
        let live = live();
        live.push("one\ntwo\n\nthree\r\n 10 %\r 20 %\r");
        assert_eq!(live.last_lines(3), ["two", "three", " 20 %"]);
        live.push(" 30 % of what");
        assert_eq!(live.last_lines(1), [" 30 % of"]);
    }

    #[test]
    fn no_part_of_a_secret_is_shown() {
        let secret = "correct-horse-battery";
        for split in 1..secret.len() {
            let live = live();
            let (first, second) = secret.split_at(split);
            live.push(&format!("x {first}"));
            assert_eq!(live.last_lines(9), ["x"]);
            live.push(&format!("{second}\n"));
            assert!(!live.last_lines(9).concat().contains("horse"));
        }
        let live = live();
        live.push("before\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n");
        assert_eq!(live.last_lines(9), ["before"]);
        live.push(&"MIIEabcd\n".repeat(KEPT / 2));
        live.push("-----END RSA PRIVATE KEY-----\nafter\n");
        assert_eq!(live.last_lines(9), ["after"]);
    }
}
