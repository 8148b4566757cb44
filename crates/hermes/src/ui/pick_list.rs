//! What a picker knows: its rows, which of them a typed text leaves, and which one is marked. Pure.

use super::{cut, visible};

/// A row to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) label: String,
    /// What is good to know before choosing it; shown beside the label.
    pub(crate) detail: String,
}

impl Choice {
    pub(crate) fn new(label: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            detail: detail.into(),
        }
    }
}

/// A movement of the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// The state of a picker.
#[derive(Debug)]
pub(super) struct PickList<'a> {
    choices: &'a [Choice],
    filter: String,
    /// Rows that the filter leaves.
    left: Vec<usize>,
    /// The marked row among them.
    marked: usize,
    /// The first row that is shown.
    top: usize,
}

impl<'a> PickList<'a> {
    pub(super) fn new(choices: &'a [Choice], initial: usize) -> Self {
        Self {
            choices,
            filter: String::new(),
            left: (0..choices.len()).collect(),
            marked: initial.min(choices.len().saturating_sub(1)),
            top: 0,
        }
    }

    /// The marked row; `None` if the filter leaves none.
    pub(super) fn marked(&self) -> Option<usize> {
        self.left.get(self.marked).copied()
    }

    pub(super) fn go(&mut self, way: Move, page: usize) {
        let last = self.left.len().saturating_sub(1);
        self.marked = match way {
            Move::Up if self.marked == 0 => last,
            Move::Up => self.marked - 1,
            Move::Down if self.marked == last => 0,
            Move::Down => self.marked + 1,
            Move::PageUp => self.marked.saturating_sub(page),
            Move::PageDown => (self.marked + page).min(last),
            Move::First => 0,
            Move::Last => last,
        };
    }

    /// Adds to the filter.
    pub(super) fn add(&mut self, letter: char) {
        if !letter.is_control() {
            self.filter.push(letter);
            self.refilter();
        }
    }

    /// Takes the last letter of the filter away.
    pub(super) fn remove_last(&mut self) {
        self.filter.pop();
        self.refilter();
    }

    /// Forgets the filter; whether there was one.
    pub(super) fn clear(&mut self) -> bool {
        let had_one = !self.filter.is_empty();
        self.filter.clear();
        self.refilter();
        had_one
    }

    /// Keeps rows that have every word of the filter; those with it at the front of the label first.
    fn refilter(&mut self) {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let rank = |choice: &Choice| {
            let label = choice.label.to_lowercase();
            let text = format!("{label} {}", choice.detail.to_lowercase());
            if !words.iter().all(|word| text.contains(word)) {
                return None;
            }
            let first = words.first().copied().unwrap_or_default();
            Some(match (label.starts_with(first), label.contains(first)) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            })
        };
        let mut ranked: Vec<(u8, usize)> = self
            .choices
            .iter()
            .enumerate()
            .filter_map(|(at, choice)| Some((rank(choice)?, at)))
            .collect();
        // With an empty filter all ranks are equal, and the order is that of the choices.
        ranked.sort_unstable();
        self.left = ranked.into_iter().map(|(_, at)| at).collect();
        self.marked = 0;
        self.top = 0;
    }

    /// The lines to show, none wider than `width`, with `rows` rows at most. Gives which line is
    /// marked as well.
    pub(super) fn lines(&mut self, width: usize, rows: usize) -> Vec<(String, bool)> {
        let rows = rows.max(1);
        if self.marked < self.top {
            self.top = self.marked;
        } else if self.marked >= self.top + rows {
            self.top = self.marked + 1 - rows;
        }
        let label_width = self
            .choices
            .iter()
            .map(|choice| unicode_width::UnicodeWidthStr::width(choice.label.as_str()))
            .max()
            .unwrap_or(0)
            .min(width / 2);
        let mut lines = Vec::new();
        if !self.filter.is_empty() {
            // What was typed may have been pasted.
            let filter = format!("  Filter: {}", visible(&self.filter));
            lines.push((cut(&filter, width), false));
        }
        let shown = self.left.iter().enumerate().skip(self.top).take(rows);
        for (position, at) in shown {
            let Some(choice) = self.choices.get(*at) else {
                continue;
            };
            let is_marked = position == self.marked;
            let mark = if is_marked { "> " } else { "  " };
            let label = cut(&choice.label, label_width.max(16));
            let used = unicode_width::UnicodeWidthStr::width(label.as_str());
            let gap = " ".repeat(label_width.saturating_sub(used) + 2);
            let text = format!("{mark}{label}{gap}{}", choice.detail);
            lines.push((cut(text.trim_end(), width), is_marked));
        }
        if self.left.is_empty() {
            lines.push((
                cut("  Nothing matches; Backspace removes a letter.", width),
                false,
            ));
        }
        let hidden = self.left.len().saturating_sub(rows);
        if hidden > 0 {
            let text = format!(
                "  {} of {} shown",
                rows.min(self.left.len()),
                self.left.len()
            );
            lines.push((cut(&text, width), false));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn choices() -> Vec<Choice> {
        ["OpenRouter", "OpenAI", "Anthropic", "Google Gemini"]
            .iter()
            .map(|label| Choice::new(*label, "a key"))
            .collect()
    }

    #[test]
    fn typing_leaves_what_matches_and_the_mark_wraps() {
        let choices = choices();
        let mut list = PickList::new(&choices, 0);
        list.go(Move::Up, 5);
        assert_eq!(list.marked(), Some(3));
        list.go(Move::Down, 5);
        assert_eq!(list.marked(), Some(0));
        for letter in "open".chars() {
            list.add(letter);
        }
        list.go(Move::Down, 5);
        assert_eq!(list.marked(), Some(1));
        list.add('x');
        assert_eq!(list.marked(), None);
        list.remove_last();
        assert_eq!(list.marked(), Some(0));
        assert!(list.clear());
        assert!(!list.clear());
        assert_eq!(list.left.len(), 4);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut choices = choices();
        choices.push(Choice::new("日本語".repeat(20), "x".repeat(100)));
        let mut list = PickList::new(&choices, 4);
        for width in [10, 20, 40, 80] {
            for (line, _) in list.lines(width, 3) {
                let used = unicode_width::UnicodeWidthStr::width(line.as_str());
                assert!(used <= width, "{width}: {line}");
            }
        }
        assert!(
            list.lines(80, 3)
                .iter()
                .any(|(line, _)| line.contains("3 of 5 shown"))
        );
    }
}
