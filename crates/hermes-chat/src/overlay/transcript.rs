//! The whole conversation, with everything that was folded.

use crate::draw::Span;
use crate::draw::{Glyphs, Line, Palette, clip};
use crate::terminal::{Key, Mods, Size};

/// A view of the conversation; `None` rows until it is drawn for the first time.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: Vec<Line>,
    /// Width the lines were made for, and how many entries there were.
    made_for: Option<(u16, usize)>,
    /// Rows from the end to the last one shown.
    back: usize,
}

impl Transcript {
    /// Whether the lines have to be made anew.
    pub(crate) fn is_stale(&self, size: Size, entries: usize) -> bool {
        self.made_for != Some((size.columns, entries))
    }

    pub(crate) fn set_lines(&mut self, lines: Vec<Line>, size: Size, entries: usize) {
        self.lines = lines;
        self.made_for = Some((size.columns, entries));
    }

    /// Gives whether the view is closed.
    pub(crate) fn key(&mut self, key: Key, mods: Mods, size: Size) -> bool {
        let page = usize::from(size.rows.saturating_sub(2)).max(1);
        let most = self.lines.len().saturating_sub(page);
        match (key, mods.ctrl) {
            (Key::Escape | Key::Char('q'), _) | (Key::Char('c' | 't' | 'd'), true) => return true,
            (Key::Up | Key::Char('k'), _) => self.back += 1,
            (Key::Down | Key::Char('j'), _) => self.back = self.back.saturating_sub(1),
            (Key::PageUp | Key::Char('b'), _) => self.back += page,
            (Key::PageDown | Key::Char('f' | ' '), _) => self.back = self.back.saturating_sub(page),
            (Key::Home | Key::Char('g'), _) => self.back = most,
            (Key::End | Key::Char('G'), _) => self.back = 0,
            _ => {}
        }
        self.back = self.back.min(most);
        false
    }

    pub(crate) fn rows(&self, size: Size, palette: Palette, glyphs: Glyphs) -> Vec<Line> {
        let page = usize::from(size.rows.saturating_sub(1)).max(1);
        let end = self.lines.len().saturating_sub(self.back);
        let start = end.saturating_sub(page);
        let mut rows: Vec<Line> = self.lines.get(start..end).unwrap_or_default().to_vec();
        rows.resize_with(page, Line::default);
        let dot = glyphs.dot;
        let help = format!(
            "lines {}-{end} of {} {dot} arrows and pages move {dot} q closes",
            start + 1,
            self.lines.len()
        );
        let help = clip(&help, usize::from(size.columns), glyphs.ellipsis);
        rows.push(Line::from(Span::styled(help, palette.faint())));
        rows
    }
}
