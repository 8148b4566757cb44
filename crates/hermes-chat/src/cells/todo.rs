//! The todo list of the agent while it works.

use serde_json::Value;

use crate::draw::{Glyphs, Line, Palette, Span, clip};

/// Rows that are shown.
const ROWS: usize = 8;

/// The list in the result of the todo tool, unfinished items first where not all fit.
pub(crate) fn todo_rows(
    items: &[Value],
    width: usize,
    palette: Palette,
    glyphs: Glyphs,
) -> Vec<Line> {
    let status = |item: &Value| item["status"].as_str().unwrap_or_default().to_owned();
    let done = items
        .iter()
        .filter(|item| status(item) == "completed")
        .count();
    let is_open = |item: &&Value| !matches!(status(item).as_str(), "completed" | "cancelled");
    let open: Vec<&Value> = items.iter().filter(is_open).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let shown: Vec<&Value> = if items.len() <= ROWS {
        items.iter().collect()
    } else {
        open.iter().take(ROWS).copied().collect()
    };
    let head = format!("  {done} of {} done", items.len());
    let mut rows = vec![Line::from(Span::styled(head, palette.faint()))];
    for item in &shown {
        let (sign, style) = match status(item).as_str() {
            "completed" => (glyphs.done, palette.faint()),
            "cancelled" => (glyphs.failed, palette.faint()),
            "in_progress" => (glyphs.current, palette.strong()),
            _ => (glyphs.open, palette.plain()),
        };
        let text = item["content"].as_str().unwrap_or_default();
        let text = hermes_text::steady(&hermes_text::one_line(text, 300));
        let text = clip(&text, width.saturating_sub(6), glyphs.ellipsis);
        rows.push(Line::from(vec![
            Span::styled(format!("  {sign} "), palette.accent()),
            Span::styled(text, style),
        ]));
    }
    let left = items.len() - shown.len();
    if left > 0 {
        rows.push(Line::from(Span::styled(
            format!("    {left} more"),
            palette.faint(),
        )));
    }
    rows
}
