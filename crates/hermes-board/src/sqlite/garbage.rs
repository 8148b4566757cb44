//! Rows that are no longer needed.

use std::path::PathBuf;

use crate::Result;
use crate::model::TaskId;
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::{NONE, params};

/// Tables whose rows belong to a card. The reference forgets some of them when it deletes one.
const ORPHANS: [&str; 5] = [
    "DELETE FROM task_attachments WHERE task_id NOT IN (SELECT id FROM tasks)",
    "DELETE FROM task_checks WHERE task_id NOT IN (SELECT id FROM tasks)",
    "DELETE FROM task_check_sessions WHERE task_id NOT IN (SELECT id FROM tasks)",
    "DELETE FROM task_check_results
         WHERE session_id NOT IN (SELECT id FROM task_check_sessions)",
    "DELETE FROM task_links WHERE parent_id NOT IN (SELECT id FROM tasks)
         OR child_id NOT IN (SELECT id FROM tasks)",
];

impl StoredBoard {
    /// Scratch workspaces of archived cards.
    pub(crate) fn archived_scratch(&self) -> Result<Vec<(TaskId, PathBuf)>> {
        self.read(|tx| {
            tx.all(
                "SELECT id, workspace_path FROM tasks WHERE status = 'archived'
                 AND workspace_kind = 'scratch' AND COALESCE(workspace_path, '') <> ''",
                NONE,
                |row| {
                    let mut cells = Cells::new(row);
                    Ok((TaskId::new(cells.text()?), PathBuf::from(cells.text()?)))
                },
            )
        })
    }

    /// Deletes events of finished cards that are older than so many seconds.
    pub(crate) fn forget_old_events(&mut self, seconds: i64) -> Result<usize> {
        self.write(|tx| {
            tx.execute(
                "DELETE FROM task_events WHERE created_at < ?1 AND task_id IN
                 (SELECT id FROM tasks WHERE status IN ('done', 'archived'))",
                params![tx.now - seconds],
            )
        })
    }

    /// Deletes rows of cards that are gone.
    pub(crate) fn forget_orphans(&mut self) -> Result<usize> {
        self.write(|tx| {
            let mut rows = 0;
            for statement in ORPHANS {
                rows += tx.execute(statement, NONE)?;
            }
            Ok(rows)
        })
    }

    /// Every file that an attachment names.
    pub(crate) fn attachment_paths(&self) -> Result<Vec<PathBuf>> {
        let paths = self.read(|tx| {
            tx.all("SELECT stored_path FROM task_attachments", NONE, |row| {
                Cells::new(row).text().map(PathBuf::from)
            })
        })?;
        Ok(paths.into_iter().map(|path| self.path_here(path)).collect())
    }
}
