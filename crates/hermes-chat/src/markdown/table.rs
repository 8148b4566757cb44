//! Tables: columns as wide as they need to be, cells in several lines where there is no room.

use super::inline::inline;
use crate::draw::{Glyphs, Line, Palette, Span, display_width, wrap};

/// Narrowest column.
const NARROWEST: usize = 4;
/// Columns between two cells.
const GAP: usize = 3;

/// The lines of a table, at most `width` wide.
pub(super) fn table(
    source: &[String],
    width: usize,
    palette: Palette,
    glyphs: Glyphs,
) -> Vec<Line> {
    let rows: Vec<Vec<String>> = source
        .iter()
        .filter(|line| !is_separator(line))
        .map(|line| cells(line))
        .collect();
    let has_header = source.get(1).is_some_and(|line| is_separator(line));
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    if count == 0 {
        return Vec::new();
    }
    let styled = |row: usize, text: &str| {
        let base = if row == 0 && has_header {
            palette.strong()
        } else {
            palette.plain()
        };
        let lines = inline(text, palette, base);
        let spans = lines.into_iter().flat_map(|line| line.spans);
        Line::from(spans.collect::<Vec<Span>>())
    };
    let rows: Vec<Vec<Line>> = rows
        .iter()
        .enumerate()
        .map(|(row, cells)| cells.iter().map(|cell| styled(row, cell)).collect())
        .collect();
    let wanted: Vec<usize> = (0..count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0).max(1)
        })
        .collect();
    let room = width.saturating_sub(GAP * (count - 1));
    if room < count * NARROWEST {
        return listed(&rows, width, palette);
    }
    let widths = fitted(&wanted, room);
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        lines.extend(row_lines(row, &widths, palette, glyphs));
        if index == 0 && has_header {
            let dashes: Vec<String> = widths
                .iter()
                .map(|width| glyphs.dash.repeat(*width))
                .collect();
            let rule = dashes.join(&format!("{0}{1}{0}", glyphs.dash, glyphs.cross));
            lines.push(Line::from(Span::styled(rule, palette.faint())));
        }
    }
    lines
}

fn is_separator(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    let mut in_code = false;
    for character in line.chars() {
        match character {
            '|' if !escaped && !in_code => cells.push(String::new()),
            _ => {
                if character == '`' {
                    in_code = !in_code;
                }
                if let Some(cell) = cells.last_mut() {
                    if escaped && character == '|' {
                        cell.pop();
                    }
                    cell.push(character);
                }
            }
        }
        escaped = character == '\\' && !escaped;
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Takes from the widest columns until all fit.
fn fitted(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut widths = wanted.to_vec();
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else {
            break;
        };
        if *widest <= NARROWEST {
            break;
        }
        *widest -= 1;
    }
    widths
}

fn row_lines(row: &[Line], widths: &[usize], palette: Palette, glyphs: Glyphs) -> Vec<Line> {
    let empty = Line::default();
    let wrapped: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| wrap(row.get(column).unwrap_or(&empty), *width, &[], &[]))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|at| {
            let mut spans: Vec<Span> = Vec::new();
            for (column, (lines, width)) in wrapped.iter().zip(widths).enumerate() {
                if column > 0 {
                    let bar = format!(" {} ", glyphs.bar);
                    spans.push(Span::styled(bar, palette.faint()));
                }
                let line = lines.get(at).cloned().unwrap_or_default();
                let used: usize = line
                    .spans
                    .iter()
                    .map(|span| display_width(&span.content))
                    .sum();
                spans.extend(line.spans);
                if column + 1 < widths.len() {
                    spans.push(Span::from(" ".repeat(width.saturating_sub(used))));
                }
            }
            Line::from(spans)
        })
        .collect()
}

/// Every cell on lines of its own, where columns have no room.
fn listed(rows: &[Vec<Line>], width: usize, palette: Palette) -> Vec<Line> {
    let header = rows.first();
    let mut lines = Vec::new();
    for row in rows.iter().skip(1) {
        for (column, cell) in row.iter().enumerate() {
            let mut spans = Vec::new();
            if let Some(name) = header.and_then(|header| header.get(column)) {
                spans.extend(name.spans.clone());
                spans.push(Span::styled(": ".to_owned(), palette.faint()));
            }
            spans.extend(cell.spans.clone());
            lines.extend(wrap(
                &Line::from(spans),
                width,
                &[],
                &[Span::from("  ".to_owned())],
            ));
        }
    }
    lines
}
