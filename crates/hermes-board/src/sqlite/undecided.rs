//! Cards in triage that may be taken out of it without being asked.

use std::collections::BTreeSet;

use crate::Result;
use crate::model::TaskId;
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::NONE;

/// How long nobody must have touched a card: it may still be being written.
const QUIET_SECONDS: i64 = 60;
/// A line with which a card is left alone.
const OPT_OUT: &str = "no-auto-decompose";

/// Cards in triage that nobody has to decide about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undecided {
    /// Cards that can be split now, the oldest first.
    pub due: Vec<TaskId>,
    /// When the next card can be, in seconds since 1970.
    pub next: Option<i64>,
}

impl StoredBoard {
    /// Cards in triage that a dispatcher may split by itself. Left alone are cards that were touched
    /// within the last minute, that came back to triage because they were blocked again and again,
    /// that are assigned to somebody who is no profile, and that say so in their text.
    pub fn undecided(&self, profiles: &BTreeSet<String>) -> Result<Undecided> {
        self.read(|tx| {
            let cards = tx.all(
                "SELECT t.id, t.assignee, t.body,
                     t.created_at, (SELECT max(e.created_at) FROM task_events e
                         WHERE e.task_id = t.id),
                     (SELECT e.kind FROM task_events e WHERE e.task_id = t.id
                         AND (e.kind IN ('created', 'block_loop_detected') OR e.kind = 'status'
                              AND json_extract(e.payload, '$.status') = 'triage')
                         ORDER BY +e.id DESC LIMIT 1)
                 FROM tasks t WHERE t.status = 'triage' ORDER BY t.created_at, t.id",
                NONE,
                |row| {
                    let mut cells = Cells::new(row);
                    let id = TaskId::new(cells.text()?);
                    let assignee = cells.filled_text()?;
                    let opted_out = cells.text()?.lines().any(|line| line.trim() == OPT_OUT);
                    let created = cells.int()?;
                    let touched = cells.int_or_none()?.map_or(created, |at| at.max(created));
                    let looped = cells.text()? == "block_loop_detected";
                    let strange = assignee.is_some_and(|name| !profiles.contains(&name));
                    Ok((id, touched, opted_out || looped || strange))
                },
            )?;
            let mut undecided = Undecided::default();
            for (id, touched, is_left_alone) in cards {
                let at = touched.saturating_add(QUIET_SECONDS);
                if is_left_alone {
                    continue;
                }
                if at <= tx.now {
                    undecided.due.push(id);
                } else {
                    undecided.next = Some(undecided.next.map_or(at, |next| next.min(at)));
                }
            }
            Ok(undecided)
        })
    }
}
