//! The alternate screen, drawn line by line where something differs.

use ratatui::text::Line as TextLine;

use crate::draw::{Line, lines_at};
use crate::terminal::{Size, write_all};

/// The alternate screen while it is shown; the caller leaves it.
#[derive(Debug, Default)]
pub(crate) struct Alternate {
    shown: Vec<Line>,
    size: Option<Size>,
}

impl Alternate {
    /// Shows the alternate screen.
    pub(crate) fn enter() -> std::io::Result<Self> {
        write_all(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(Self::default())
    }

    /// Shows what was there before.
    #[expect(clippy::unused_self, reason = "what is left cannot be drawn on")]
    pub(crate) fn leave(self) -> std::io::Result<()> {
        write_all(b"\x1b[?1049l")
    }

    pub(crate) fn draw(&mut self, lines: Vec<Line>, size: Size) -> std::io::Result<()> {
        let is_resized = self.size.replace(size) != Some(size);
        if is_resized {
            self.shown.clear();
        }
        let mut lines = lines;
        lines.resize_with(usize::from(size.rows), TextLine::default);
        let mut out = Vec::new();
        for (row, line) in lines.iter().enumerate() {
            if self.shown.get(row) != Some(line) {
                lines_at(&mut out, row, line, size.columns);
            }
        }
        self.shown = lines;
        if out.is_empty() {
            return Ok(());
        }
        let mut bytes = b"\x1b[?2026h".to_vec();
        if is_resized {
            bytes.extend_from_slice(b"\x1b[2J");
        }
        bytes.append(&mut out);
        bytes.extend_from_slice(b"\x1b[?2026l");
        write_all(&bytes)
    }
}
