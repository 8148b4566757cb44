//! A list to pick from, narrowed down by typing.

use crate::composer::matching;
use crate::draw::{Glyphs, Line, Palette, Span, clip};
use crate::terminal::{Key, Mods, Size};

/// What became of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Nothing,
    Cancelled,
    /// The entry with this number.
    Chosen(usize),
}

/// A list to pick from.
#[derive(Debug)]
pub(crate) struct Picker {
    title: String,
    entries: Vec<String>,
    query: String,
    /// Entries that match.
    found: Vec<usize>,
    chosen: usize,
}

impl Picker {
    pub(crate) fn new(title: &str, entries: Vec<String>) -> Self {
        Self {
            title: title.to_owned(),
            found: (0..entries.len()).collect(),
            entries,
            query: String::new(),
            chosen: 0,
        }
    }

    /// Begins at the end of the list.
    pub(crate) fn choose_last(&mut self) {
        self.chosen = self.found.len().saturating_sub(1);
    }

    pub(crate) fn key(&mut self, key: Key, mods: Mods, size: Size) -> Picked {
        let page = isize::try_from(size.rows.saturating_sub(4)).unwrap_or(1);
        match (key, mods.ctrl) {
            (Key::Escape, _) | (Key::Char('c' | 'd' | 'g'), true) => return Picked::Cancelled,
            (Key::Enter, _) => {
                return match self.found.get(self.chosen) {
                    Some(index) => Picked::Chosen(*index),
                    None => Picked::Nothing,
                };
            }
            (Key::Up, _) | (Key::Char('p'), true) => self.step(-1),
            (Key::Down | Key::Tab, _) | (Key::Char('n'), true) => self.step(1),
            (Key::PageUp, _) => self.step(-page),
            (Key::PageDown, _) => self.step(page),
            (Key::Home, _) => self.chosen = 0,
            (Key::End, _) => self.choose_last(),
            (Key::Backspace, _) => {
                self.query.pop();
                self.find();
            }
            (Key::Char('u'), true) => {
                self.query.clear();
                self.find();
            }
            (Key::Char(character), false) if !mods.alt => {
                self.query.push(character);
                self.find();
            }
            _ => {}
        }
        Picked::Nothing
    }

    fn step(&mut self, by: isize) {
        let last = self.found.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    fn find(&mut self) {
        self.found = if self.query.is_empty() {
            (0..self.entries.len()).collect()
        } else {
            matching(&self.query, &self.entries, usize::MAX)
        };
        self.chosen = 0;
    }

    pub(crate) fn rows(&self, size: Size, palette: Palette, glyphs: Glyphs) -> Vec<Line> {
        let width = usize::from(size.columns);
        let place = usize::from(size.rows.saturating_sub(4)).max(1);
        let title = clip(&self.title, width, glyphs.ellipsis);
        let query = hermes_text::steady(&self.query);
        let mut rows = vec![
            Line::from(Span::styled(title, palette.heading())),
            Line::from(vec![
                Span::styled(format!("{} ", glyphs.prompt), palette.accent()),
                Span::from(query),
                Span::styled(" ".to_owned(), palette.chosen()),
            ]),
        ];
        let first = self.chosen.saturating_sub(place - 1);
        for (row, index) in self.found.iter().enumerate().skip(first).take(place) {
            let text = self
                .entries
                .get(*index)
                .map(String::as_str)
                .unwrap_or_default();
            let text = hermes_text::steady(text);
            let is_chosen = row == self.chosen;
            let text = clip(&format!("  {text}"), width, glyphs.ellipsis);
            let style = if is_chosen {
                palette.chosen()
            } else {
                palette.plain()
            };
            rows.push(Line::from(Span::styled(text, style)));
        }
        if self.found.is_empty() {
            rows.push(Line::from(Span::styled(
                "  nothing found".to_owned(),
                palette.faint(),
            )));
        }
        rows.resize_with(usize::from(size.rows.saturating_sub(1)), Line::default);
        let dot = glyphs.dot;
        let help = format!(
            "{} of {} {dot} type to search {dot} Enter chooses {dot} Esc cancels",
            self.found.len(),
            self.entries.len()
        );
        let help = clip(&help, width, glyphs.ellipsis);
        rows.push(Line::from(Span::styled(help, palette.faint())));
        rows
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const SIZE: Size = Size {
        columns: 30,
        rows: 8,
    };

    #[test]
    fn typing_narrows_the_list_down() {
        let entries = ["fix the parser", "write docs", "parse dates"];
        let mut picker = Picker::new("Sessions", entries.map(str::to_owned).to_vec());
        for letter in "pars".chars() {
            assert_eq!(
                picker.key(Key::Char(letter), Mods::NONE, SIZE),
                Picked::Nothing
            );
        }
        let rows = picker.rows(SIZE, Palette::plain_theme(false), Glyphs::UNICODE);
        let text: Vec<String> = rows
            .iter()
            .map(|row| row.to_string().trim_end().to_owned())
            .collect();
        assert_eq!(
            text[..4],
            ["Sessions", "❯ pars", "  parse dates", "  fix the parser"]
        );
        assert_eq!(picker.key(Key::Down, Mods::NONE, SIZE), Picked::Nothing);
        assert_eq!(picker.key(Key::Enter, Mods::NONE, SIZE), Picked::Chosen(0));
        assert_eq!(picker.key(Key::Escape, Mods::NONE, SIZE), Picked::Cancelled);
    }

    #[test]
    fn empty_list_gives_nothing() {
        let mut picker = Picker::new("None", Vec::new());
        picker.choose_last();
        assert_eq!(picker.key(Key::Enter, Mods::NONE, SIZE), Picked::Nothing);
        assert_eq!(
            picker
                .rows(SIZE, Palette::plain_theme(true), Glyphs::ASCII)
                .len(),
            8
        );
    }
}
