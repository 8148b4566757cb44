//! The live region: the few lines at the bottom that change, under the lines that never do.
//!
//! Everything is relative to the region itself. The terminal is told to go up as many rows as the
//! cursor stands below the region's top, never asked where that is. Finished lines are written at the
//! top of the region, which moves down by their number; what has scrolled away belongs to the
//! terminal. Between two frames only cells that differ are sent.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Line, sgr};
use crate::terminal::Size;

/// Marks of an update that is shown as a whole by terminals that know them.
const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l";
const END: &[u8] = b"\x1b[?2026l";
const SHOW_CURSOR: &[u8] = b"\x1b[?25h";

/// Where the cursor stands within the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    pub(crate) row: u16,
    pub(crate) column: u16,
}

/// What to show.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// Lines that go into the scrollback, each no wider than the screen.
    pub(crate) finished: Vec<Line>,
    /// The lines of the region; the last ones if there are too many.
    pub(crate) live: Vec<Line>,
    /// The place of the cursor; hidden without one.
    pub(crate) cursor: Option<Cursor>,
}

/// What is on the screen below the finished lines.
#[derive(Debug, Default)]
pub(crate) struct Region {
    shown: Option<Shown>,
    /// Whether the terminal breaks lines anew when it gets narrower.
    reflows: bool,
}

#[derive(Debug)]
struct Shown {
    cells: Buffer,
    /// Where the terminal's cursor stands.
    at: Cursor,
    is_cursor_visible: bool,
}

impl Region {
    pub(crate) fn new(reflows: bool) -> Self {
        Self {
            shown: None,
            reflows,
        }
    }

    /// The bytes that bring the screen from the last frame to this one; none if they are the same.
    pub(crate) fn frame(&mut self, frame: &Frame, size: Size) -> Vec<u8> {
        let rows = usize::from(size.rows.saturating_sub(1).max(1));
        let skipped = frame.live.len().saturating_sub(rows);
        let live = frame.live.get(skipped..).unwrap_or_default();
        let cells = rendered(live, size.columns);
        let skipped = u16::try_from(skipped).unwrap_or(u16::MAX);
        let cursor = frame.cursor.map(|cursor| Cursor {
            row: cursor.row.saturating_sub(skipped),
            column: cursor.column.min(size.columns.saturating_sub(1)),
        });
        let mut out = Vec::new();
        let before = self.shown.take();
        let at = match &before {
            Some(shown) if frame.finished.is_empty() && shown.cells.area == cells.area => {
                changed(&mut out, shown, &cells)
            }
            _ => {
                if let Some(shown) = &before {
                    to_top(&mut out, shown, size, self.reflows);
                }
                redrawn(&mut out, &frame.finished, &cells, size)
            }
        };
        let at = moved(&mut out, at, cursor.unwrap_or(at));
        let is_visible = cursor.is_some();
        let was_visible = before.as_ref().is_some_and(|shown| shown.is_cursor_visible);
        self.shown = Some(Shown {
            cells,
            at,
            is_cursor_visible: is_visible,
        });
        if out.is_empty() && is_visible == was_visible {
            return Vec::new();
        }
        let mut bytes = Vec::with_capacity(out.len() + 32);
        bytes.extend_from_slice(BEGIN);
        bytes.append(&mut out);
        if is_visible {
            bytes.extend_from_slice(SHOW_CURSOR);
        }
        bytes.extend_from_slice(END);
        bytes
    }

    /// The bytes that remove the region; the cursor then stands where its top was.
    pub(crate) fn removed(&mut self, size: Size) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(shown) = self.shown.take() {
            to_top(&mut out, &shown, size, self.reflows);
            out.extend_from_slice(b"\x1b[J");
        }
        out.extend_from_slice(SHOW_CURSOR);
        out
    }
}

fn rendered(lines: &[Line], columns: u16) -> Buffer {
    let height = u16::try_from(lines.len().max(1)).unwrap_or(u16::MAX);
    let mut cells = Buffer::empty(Rect::new(0, 0, columns, height));
    for (row, line) in lines.iter().enumerate() {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        cells.set_line(0, row, line, columns);
    }
    cells
}

/// Goes to the first cell of the region as it stands now.
fn to_top(out: &mut Vec<u8>, shown: &Shown, size: Size, reflows: bool) {
    let narrower = size.columns < shown.cells.area.width;
    let above = if narrower && reflows {
        rows_above(shown, size.columns)
    } else {
        usize::from(shown.at.row)
    };
    let above = above.min(usize::from(size.rows.saturating_sub(1)));
    if above > 0 {
        out.extend_from_slice(format!("\x1b[{above}A").as_bytes());
    }
    out.push(b'\r');
}

/// Rows between the top of the region and the cursor once lines of the old width have been broken.
fn rows_above(shown: &Shown, columns: u16) -> usize {
    let columns = usize::from(columns.max(1));
    let before: usize = (0..shown.at.row)
        .map(|row| used(&shown.cells, row).div_ceil(columns).max(1))
        .sum();
    before + usize::from(shown.at.column) / columns
}

/// Columns of a row up to its last cell that is not blank.
fn used(cells: &Buffer, row: u16) -> usize {
    let width = cells.area.width;
    let last = (0..width).rev().find(|column| {
        let cell = cells.cell((*column, row));
        cell.is_some_and(|cell| *cell != Cell::EMPTY)
    });
    last.map_or(0, |last| usize::from(last) + 1)
}

/// Writes finished lines and the whole region from the top of the old one.
fn redrawn(out: &mut Vec<u8>, finished: &[Line], cells: &Buffer, size: Size) -> Cursor {
    for line in finished {
        let width = write_line(out, line, usize::from(size.columns));
        if width < usize::from(size.columns) {
            out.extend_from_slice(b"\x1b[K");
        }
        out.extend_from_slice(b"\r\n");
    }
    let last = cells.area.height.saturating_sub(1);
    let mut at = Cursor::default();
    for row in 0..=last {
        let width = used(cells, row);
        let end = u16::try_from(width).unwrap_or(u16::MAX);
        write_cells(out, cells, row, 0..end);
        if end < cells.area.width {
            out.extend_from_slice(b"\x1b[K");
        }
        at = Cursor { row, column: end };
        if row < last {
            out.extend_from_slice(b"\r\n");
        }
    }
    // What the old region had below this one; the last row was cleared to its end already.
    if at.column < cells.area.width {
        out.extend_from_slice(b"\x1b[J");
    }
    at
}

/// Writes the cells that differ.
fn changed(out: &mut Vec<u8>, shown: &Shown, cells: &Buffer) -> Cursor {
    let mut at = shown.at;
    for row in 0..cells.area.height {
        let Some(range) = difference(&shown.cells, cells, row) else {
            continue;
        };
        let end = u16::try_from(used(cells, row)).unwrap_or(u16::MAX);
        let target = Cursor {
            row,
            column: range.start,
        };
        at = moved(out, at, target);
        let written = range.start..range.end.min(end).max(range.start);
        write_cells(out, cells, row, written.clone());
        at.column = written.end;
        if range.end > end {
            out.extend_from_slice(b"\x1b[K");
        }
    }
    at
}

/// From the first to behind the last cell of a row that differs.
fn difference(old: &Buffer, new: &Buffer, row: u16) -> Option<std::ops::Range<u16>> {
    let width = new.area.width;
    let differs = |column: &u16| old.cell((*column, row)) != new.cell((*column, row));
    let mut first = (0..width).find(differs)?;
    let last = (0..width).rev().find(differs)?;
    // The second half of a wide character is written with the first.
    if first > 0 {
        let before = new
            .cell((first - 1, row))
            .map_or(1, |cell| cell.symbol().width());
        let was = old
            .cell((first - 1, row))
            .map_or(1, |cell| cell.symbol().width());
        if before > 1 || was > 1 {
            first -= 1;
        }
    }
    let wide = new
        .cell((last, row))
        .map_or(1, |cell| cell.symbol().width());
    let end = last + u16::try_from(wide.max(1)).unwrap_or(1);
    Some(first..end.min(width))
}

fn moved(out: &mut Vec<u8>, from: Cursor, to: Cursor) -> Cursor {
    if from == to {
        return to;
    }
    match to.row.cmp(&from.row) {
        std::cmp::Ordering::Less => {
            out.extend_from_slice(format!("\x1b[{}A", from.row - to.row).as_bytes());
        }
        std::cmp::Ordering::Greater => {
            out.extend_from_slice(format!("\x1b[{}B", to.row - from.row).as_bytes());
        }
        std::cmp::Ordering::Equal => {}
    }
    // Absolute within the row: after a full row the terminal's column is a matter of taste.
    if to.column == 0 {
        out.push(b'\r');
    } else {
        out.extend_from_slice(format!("\x1b[{}G", to.column + 1).as_bytes());
    }
    to
}

fn write_cells(out: &mut Vec<u8>, cells: &Buffer, row: u16, columns: std::ops::Range<u16>) {
    let mut style = Style::new();
    let mut skip = 0;
    for column in columns {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        let Some(cell) = cells.cell((column, row)) else {
            continue;
        };
        let own = style_of(cell);
        if own != style {
            sgr::set(out, own);
            style = own;
        }
        out.extend_from_slice(cell.symbol().as_bytes());
        skip = cell.symbol().width().saturating_sub(1);
    }
    if style != Style::new() {
        out.extend_from_slice(b"\x1b[0m");
    }
}

fn style_of(cell: &Cell) -> Style {
    let mut style = Style::new().add_modifier(cell.modifier);
    if cell.fg != ratatui::style::Color::Reset {
        style = style.fg(cell.fg);
    }
    if cell.bg != ratatui::style::Color::Reset {
        style = style.bg(cell.bg);
    }
    style
}

/// Writes a line at this row of the screen.
pub(crate) fn lines_at(out: &mut Vec<u8>, row: usize, line: &Line, columns: u16) {
    out.extend_from_slice(format!("\x1b[{};1H", row + 1).as_bytes());
    let width = write_line(out, line, usize::from(columns));
    if width < usize::from(columns) {
        out.extend_from_slice(b"\x1b[K");
    }
}

/// Writes a line, at most `columns` wide; gives its width.
fn write_line(out: &mut Vec<u8>, line: &Line, columns: usize) -> usize {
    let mut width = 0;
    let mut style = Style::new();
    'line: for span in &line.spans {
        let own = line.style.patch(span.style);
        for grapheme in span.content.graphemes(true) {
            let wide = grapheme.width();
            if width + wide > columns {
                break 'line;
            }
            if own != style {
                sgr::set(out, own);
                style = own;
            }
            out.extend_from_slice(grapheme.as_bytes());
            width += wide;
        }
    }
    if style != Style::new() {
        out.extend_from_slice(b"\x1b[0m");
    }
    width
}

#[cfg(test)]
#[path = "region_tests.rs"]
mod tests;
