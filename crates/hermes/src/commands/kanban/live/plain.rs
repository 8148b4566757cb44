//! The board as text, for pipes and files.

use super::super::cards::{NAME, TITLE, assignee, padded};
use super::columns::Snapshot;
use crate::ui::one_line;

/// One heading a column, one line a card.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let mut out = format!("Board: {}\n", snapshot.board);
    for column in snapshot.shown() {
        out.push_str(&format!("\n{}\n", column.heading()));
        for card in &column.cards {
            let task = &card.task;
            out.push_str(&format!(
                "  {}  {}  {}\n",
                one_line(task.id.as_str(), NAME),
                padded(&one_line(assignee(task, "(unassigned)"), NAME), 20),
                one_line(&task.title, TITLE)
            ));
        }
        let left_out = column.total.unwrap_or_default();
        let left_out = left_out.saturating_sub(column.cards.len() as u64);
        if left_out > 0 {
            out.push_str(&format!("  … and {left_out} more\n"));
        }
    }
    out
}
