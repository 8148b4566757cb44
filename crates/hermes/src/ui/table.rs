//! Columns that align whatever is in them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Printer;
use super::printer::Style;

/// Rows of text under a header.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Self {
            rows: vec![header.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table, two spaces between columns, no trailing spaces.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.width()).max().unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// At most `width` columns of a text, by whole characters, with `…` where something is cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used < width
        })
        .collect();
    kept.push('…');
    kept
}

/// A page of labelled values under headings.
pub(crate) struct Page {
    printer: Printer,
    /// Columns of a label.
    width: usize,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn new(printer: Printer, width: usize) -> Self {
        let text = String::new();
        Self {
            printer,
            width,
            text,
        }
    }

    pub(crate) fn heading(&mut self, title: &str) {
        self.text
            .push_str(&format!("{}\n", heading(self.printer, title)));
    }

    pub(crate) fn row(&mut self, label: &str, value: &str) {
        let (label, width) = (format!("{label}:"), self.width);
        self.text.push_str(&format!("  {label:<width$} {value}\n"));
    }
}

/// `◆ Title` above a group of lines.
pub(crate) fn heading(printer: Printer, title: &str) -> String {
    printer.paint(Style::HEADING, &format!("◆ {title}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_align() {
        let mut table = Table::new(&["Name", "Model"]);
        table.row(vec!["日本".to_owned(), "a".to_owned()]);
        table.row(vec!["x".to_owned(), "b".to_owned()]);
        assert_eq!(table.render(), "Name  Model\n日本  a\nx     b\n");
    }

    #[test]
    fn cutting_knows_characters() {
        assert_eq!(cut("short", 26), "short");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語日本語", 5), "日本…");
    }
}
