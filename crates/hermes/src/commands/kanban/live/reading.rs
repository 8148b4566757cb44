//! A text that is read over the board: a card, a log, a conversation, the help.

use hermes_board::model::TaskId;
use unicode_width::UnicodeWidthChar;

use super::keys::Key;

/// What a text is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Card(TaskId),
    /// What the card's worker printed; more may come.
    Log(TaskId),
    Session(TaskId),
    Help,
}

/// An open text.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) subject: Subject,
    text: String,
    /// The text in lines of this width, and the rows of the screen for it.
    pub(super) lines: Vec<String>,
    room: (usize, usize),
    /// First line on the screen.
    pub(super) first: usize,
}

impl Reading {
    /// `text` steers no terminal any more. A log is read from its end.
    pub(super) fn new(subject: Subject, text: &str) -> Self {
        let first = match subject {
            Subject::Log(_) => usize::MAX,
            Subject::Card(_) | Subject::Session(_) | Subject::Help => 0,
        };
        Self {
            subject,
            text: text.replace('\t', "    "),
            lines: Vec::new(),
            room: (0, 0),
            first,
        }
    }

    /// The same text, as it is now. Who reads the end goes on reading the end.
    pub(super) fn renew(&mut self, text: &str) {
        let is_at_end = self.first >= self.last();
        self.text = text.replace('\t', "    ");
        self.lines = wrapped(&self.text, self.room.0);
        if is_at_end && matches!(self.subject, Subject::Log(_)) {
            self.first = self.last();
        }
        self.first = self.first.min(self.last());
    }

    /// Breaks the lines for a screen of this width with this many rows for them.
    pub(super) fn fit(&mut self, width: usize, rows: usize) {
        if self.room.0 != width {
            self.lines = wrapped(&self.text, width);
        }
        self.room = (width, rows);
        self.first = self.first.min(self.last());
    }

    fn last(&self) -> usize {
        self.lines.len().saturating_sub(self.room.1)
    }

    /// Scrolls; gives whether the reader has had enough.
    pub(super) fn press(&mut self, key: Key) -> bool {
        let page = self.room.1.max(1);
        match key {
            Key::Up | Key::Char('k') => self.first = self.first.saturating_sub(1),
            Key::Down | Key::Char('j') => self.first += 1,
            Key::PageUp | Key::Char('b') => self.first = self.first.saturating_sub(page),
            Key::PageDown | Key::Char('f' | ' ') => self.first += page,
            Key::First | Key::Char('g') => self.first = 0,
            Key::Last | Key::Char('G') => self.first = self.last(),
            Key::Left
            | Key::Enter
            | Key::Escape
            | Key::Backspace
            | Key::Interrupt
            | Key::Char('q' | 'h' | '?') => return true,
            Key::Right | Key::Suspend | Key::Char(_) => {}
        }
        self.first = self.first.min(self.last());
        false
    }
}

/// Lines of at most this width, broken at blanks where there are some.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        loop {
            let mut used = 0;
            let end = rest.char_indices().find(|(_, character)| {
                used += character.width().unwrap_or(0);
                used > width
            });
            let Some((end, _)) = end else {
                lines.push(rest.to_owned());
                break;
            };
            // One character always goes, however narrow the screen.
            let least = rest.chars().next().map_or(1, char::len_utf8);
            let (head, tail) = rest.split_at(end.max(least));
            let broken = (!tail.starts_with(' ')).then(|| head.rfind(' ')).flatten();
            let is_word_before = |blank: &usize| {
                let before = head.get(..*blank).unwrap_or_default();
                !before.trim().is_empty()
            };
            let at = broken.filter(is_word_before).unwrap_or(head.len());
            let (kept, more) = rest.split_at(at);
            lines.push(kept.trim_end().to_owned());
            rest = more.strip_prefix(' ').unwrap_or(more);
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn nothing_of_a_long_line_is_lost() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("  indented text", 10), ["  indented", "text"]);
        assert_eq!(wrapped("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrapped("日", 1), ["日"]);
        assert_eq!(wrapped("x", 0), ["x"]);
    }

    #[test]
    fn a_log_is_followed_at_its_end_only() {
        let text = |count: usize| {
            let lines: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            lines.join("\n")
        };
        let mut log = Reading::new(Subject::Log(TaskId::new("t")), &text(10));
        log.fit(10, 4);
        assert_eq!(log.first, 6);
        log.renew(&text(12));
        assert_eq!(log.first, 8);
        log.press(Key::Up);
        log.renew(&text(20));
        assert_eq!(log.first, 7);
    }
}
