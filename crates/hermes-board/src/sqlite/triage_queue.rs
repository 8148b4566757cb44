//! Cards in triage that could be split without anybody asking for it.

use crate::Result;
use crate::model::Task;
use crate::sqlite::SqliteBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::task_columns;
use crate::sqlite::rows;

/// How long after the last touch somebody may still be typing.
const TYPING_SECONDS: i64 = 60;
/// A line of the body that forbids it.
const OPT_OUT: &str = "no-auto-decompose";

/// A card in triage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriageCard {
    /// The card.
    pub task: Task,
    /// When somebody last filed, edited or moved it.
    pub touched_at: i64,
    /// Whether it came here because unblocking did not help: a person has to look at it.
    pub escalated: bool,
}

impl TriageCard {
    /// Whether it may be split by itself. `is_profile` tells profiles from lanes of other programs.
    pub fn may_be_split(&self, now: i64, is_profile: impl Fn(&str) -> bool) -> bool {
        let opted_out = self
            .task
            .body
            .as_deref()
            .is_some_and(|body| body.lines().any(|line| line.trim() == OPT_OUT));
        let parked = self
            .task
            .assignee
            .as_deref()
            .is_some_and(|assignee| !is_profile(assignee));
        now.saturating_sub(self.touched_at) >= TYPING_SECONDS
            && !self.escalated
            && !opted_out
            && !parked
    }
}

impl SqliteBoard {
    /// The cards in triage, in the order of dispatch.
    pub fn triage_cards(&self) -> Result<Vec<TriageCard>> {
        self.read(|session| {
            session.all(
                concat!(
                    "SELECT ",
                    task_columns!(),
                    ", COALESCE((SELECT max(e.created_at) FROM task_events e \
                         WHERE e.task_id = t.id AND e.kind IN \
                             ('created', 'edited', 'status', 'assigned', 'reprioritized')), \
                         t.created_at), \
                     COALESCE((SELECT e.kind FROM task_events e WHERE e.task_id = t.id \
                         AND e.kind IN ('created', 'status', 'block_loop_detected') \
                         ORDER BY +e.id DESC LIMIT 1), '') = 'block_loop_detected' \
                     FROM tasks t WHERE t.status = 'triage' \
                     ORDER BY t.priority DESC, t.created_at, t.id"
                ),
                [],
                |row| {
                    let mut facts = Cells::behind(row, rows::TASK_CELLS);
                    Ok(TriageCard {
                        task: rows::task(row)?,
                        touched_at: facts.int()?,
                        escalated: facts.int()? != 0,
                    })
                },
            )
        })
    }
}
