//! How a card looks on one line, and pieces of text that several verbs print.

use hermes_board::Counts;
use hermes_board::model::{Status, Task};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::ui::one_line;

/// Most characters of a title on a line; JSON has all of it.
pub(super) const TITLE: usize = 200;
/// Most characters of a name on a line.
pub(super) const NAME: usize = 64;
/// Most characters of the particulars of an event on a line.
const PARTICULARS: usize = 2000;

/// The sign of a status.
pub(super) fn icon(status: Status) -> &'static str {
    match status {
        Status::Todo => "◻",
        Status::Ready => "▶",
        Status::Running => "●",
        Status::Scheduled => "⏱",
        Status::Blocked => "⊘",
        Status::Done => "✓",
        Status::Archived => "—",
        Status::Triage | Status::Review | Status::Unknown => "?",
    }
}

/// A card in a list.
pub(super) fn card_line(task: &Task) -> String {
    let tenant = task
        .tenant
        .as_deref()
        .filter(|tenant| !tenant.is_empty())
        .map(|tenant| format!(" [{}]", one_line(tenant, NAME)))
        .unwrap_or_default();
    format!(
        "{} {}  {}  {}{tenant}  {}",
        icon(task.status()),
        one_line(task.id.as_str(), NAME),
        padded(&one_line(task.status_word(), NAME), 8),
        padded(&one_line(assignee(task, "(unassigned)"), NAME), 20),
        one_line(&task.title, TITLE),
    )
}

/// Whom a card is given to, or what stands for nobody.
pub(super) fn assignee<'t>(task: &'t Task, nobody: &'t str) -> &'t str {
    task.assignee
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(nobody)
}

/// A text with spaces behind it, so that the next column aligns.
pub(super) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// `done=2, ready=1`, or what stands for nothing.
pub(in crate::commands) fn counts_text(counts: &Counts, nothing: &str) -> String {
    if counts.is_empty() {
        return nothing.to_owned();
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(status, count)| format!("{}={count}", one_line(status, NAME)))
        .collect();
    parts.join(", ")
}

/// The particulars of an event behind its kind; nothing if there are none.
pub(super) fn particulars(payload: Option<&Value>) -> String {
    match payload {
        None | Some(Value::Null) => String::new(),
        Some(value) => format!(" {}", one_line(&value.to_string(), PARTICULARS)),
    }
}

/// `a, b, c`.
pub(super) fn joined<T: std::fmt::Display>(items: &[T]) -> String {
    let shown: Vec<String> = items
        .iter()
        .map(|item| one_line(&item.to_string(), NAME))
        .collect();
    shown.join(", ")
}
