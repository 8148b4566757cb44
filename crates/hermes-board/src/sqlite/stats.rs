//! Counting cards.

use std::collections::BTreeMap;

use serde::Serialize;

use serde_json::json;

use crate::Result;
use crate::model::TaskId;
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::NONE;

/// Number of cards by status.
pub type Counts = BTreeMap<String, u64>;

/// A board in numbers; archived cards do not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardStats {
    pub by_status: Counts,
    pub by_assignee: BTreeMap<String, Counts>,
    pub oldest_ready_age_seconds: Option<i64>,
    pub now: i64,
}

impl StoredBoard {
    /// The board in numbers.
    pub fn stats(&self) -> Result<BoardStats> {
        self.read(|tx| {
            let mut by_assignee: BTreeMap<String, Counts> = BTreeMap::new();
            let mut by_status = Counts::new();
            // One walk over the index on assignee and status, which touches no card.
            let counted = tx.all(
                "SELECT assignee, status, count(*) FROM tasks GROUP BY assignee, status",
                NONE,
                |row| {
                    let mut cells = Cells::new(row);
                    Ok((cells.text_or_none()?, cells.text()?, cells.int()?))
                },
            )?;
            for (assignee, status, count) in counted {
                if status == "archived" {
                    continue;
                }
                let count = u64::try_from(count).unwrap_or_default();
                *by_status.entry(status.clone()).or_default() += count;
                if let Some(assignee) = assignee {
                    by_assignee
                        .entry(assignee)
                        .or_default()
                        .insert(status, count);
                }
            }
            let oldest = tx
                .one(
                    "SELECT min(created_at) FROM tasks WHERE status = 'ready'",
                    NONE,
                    |row| Cells::new(row).int_or_none(),
                )?
                .flatten();
            Ok(BoardStats {
                by_status,
                by_assignee,
                oldest_ready_age_seconds: oldest.map(|at| tx.now - at),
                now: tx.now,
            })
        })
    }

    /// Cards by status, archived ones included.
    pub fn counts(&self) -> Result<Counts> {
        self.read(|tx| {
            let counted = tx.all(
                "SELECT status, count(*) FROM tasks GROUP BY status",
                NONE,
                |row| {
                    let mut cells = Cells::new(row);
                    let status = cells.text()?;
                    Ok((status, u64::try_from(cells.int()?).unwrap_or_default()))
                },
            )?;
            Ok(counted.into_iter().collect())
        })
    }

    /// How many cards each assignee has in progress.
    pub(crate) fn running_by_assignee(&self) -> Result<Vec<(String, usize)>> {
        self.read(|tx| {
            tx.all(
                "SELECT assignee, count(*) FROM tasks t
                 WHERE t.status = 'running' AND COALESCE(assignee, '') <> '' GROUP BY assignee",
                NONE,
                |row| {
                    let mut cells = Cells::new(row);
                    let assignee = cells.text()?;
                    Ok((assignee, usize::try_from(cells.int()?).unwrap_or_default()))
                },
            )
        })
    }

    /// Notes on a card that its workspace will be removed.
    pub fn note_scratch_tip(&mut self, id: &TaskId, message: &str) -> Result<()> {
        self.write(|tx| {
            tx.must_exist(id)?;
            tx.append(
                id,
                None,
                "tip_scratch_workspace",
                json!({"message": message}),
            )
        })
    }
}
