//! Which machine the work on a card is on, and whether the others can have it: beside the cards, for
//! boards on a server.

use hermes_store::Commit;

use crate::Result;
use crate::model::{RunId, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::statements::{NONE, params};

/// Where the work of the last attempt at a card is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) run: RunId,
    /// The installation whose dispatcher started the attempt; see [`crate::boards::Board::installation`].
    pub(crate) place: String,
    /// Whether that installation has done what it can to let others go on.
    pub(crate) is_handed_over: bool,
    /// The newest commit that was pushed.
    pub(crate) commit: Option<String>,
    /// Why others cannot have it.
    pub(crate) problem: Option<String>,
}

/// The work of an attempt that is over and has not been handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unhanded {
    pub(crate) task: TaskId,
    pub(crate) run: RunId,
    pub(crate) place: String,
    /// Seconds since the attempt ended.
    pub(crate) age: i64,
    /// Whether a dispatcher may start the next attempt.
    pub(crate) is_startable: bool,
}

/// What came of handing over.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    pub(crate) commit: Option<String>,
    pub(crate) problem: Option<String>,
}

impl StoredBoard {
    /// Where the work of the last attempt at a card is.
    pub(crate) fn work_of(&self, task: &TaskId) -> Result<Option<Work>> {
        self.look(|tx| {
            tx.one(
                "SELECT run_id, place, handed_at, commit_id, problem FROM hermes_work
                 WHERE task_id = ?1",
                [task.as_str()],
                |row| {
                    Ok(Work {
                        run: RunId(row.get(0)?),
                        place: row.get(1)?,
                        is_handed_over: row.get::<Option<i64>>(2)?.is_some(),
                        commit: row.get(3)?,
                        problem: row.get(4)?,
                    })
                },
            )
        })
    }

    /// From now on the work on a card is on this machine.
    pub(crate) fn begin_work(&self, task: &TaskId, run: RunId, place: &str) -> Result<()> {
        self.write_aside(Commit::Forced, |tx| {
            tx.execute(
                "INSERT INTO hermes_work (task_id, run_id, place)
                 SELECT ?1, ?2, ?3 FROM tasks WHERE id = ?1
                 ON CONFLICT (task_id) DO UPDATE SET run_id = ?2, place = ?3, handed_at = NULL,
                     commit_id = NULL, problem = NULL
                 WHERE hermes_work.run_id <= ?2",
                params![task.as_str(), run.0, place],
            )?;
            Ok(())
        })
    }

    /// Attempts that are over, whose work nobody has handed over yet.
    pub(crate) fn unhanded_work(&self) -> Result<Vec<Unhanded>> {
        let now = self.clock();
        self.look(|tx| {
            tx.all(
                "SELECT w.task_id, w.run_id, w.place, r.ended_at, t.status
                 FROM hermes_work w JOIN tasks t ON t.id = w.task_id
                 JOIN task_runs r ON r.id = w.run_id
                 WHERE w.handed_at IS NULL AND r.ended_at IS NOT NULL
                     AND t.status NOT IN ('running', 'done', 'archived')",
                NONE,
                |row| {
                    let task: String = row.get(0)?;
                    let ended_at: i64 = row.get(3)?;
                    let status: String = row.get(4)?;
                    Ok(Unhanded {
                        task: TaskId::new(task),
                        run: RunId(row.get(1)?),
                        place: row.get(2)?,
                        age: now.saturating_sub(ended_at),
                        is_startable: status == "ready" || status == "review",
                    })
                },
            )
        })
    }

    /// Notes what came of handing over the work of an attempt.
    pub(crate) fn note_handed_over(
        &self,
        task: &TaskId,
        run: RunId,
        handed: &HandedOver,
    ) -> Result<()> {
        self.write_aside(Commit::Forced, |tx| {
            tx.execute(
                "UPDATE hermes_work SET handed_at = ?3, commit_id = ?4, problem = ?5
                 WHERE task_id = ?1 AND run_id = ?2",
                params![task.as_str(), run.0, tx.now, handed.commit, handed.problem],
            )?;
            Ok(())
        })
    }

    /// Repositories of cards that may be worked on soon, each with the newest commits that other
    /// machines have pushed.
    pub(crate) fn awaited_repositories(&self) -> Result<Vec<(String, Option<String>)>> {
        self.look(|tx| {
            tx.all(
                "SELECT DISTINCT t.repository, w.commit_id FROM tasks t
                 LEFT JOIN hermes_work w ON w.task_id = t.id
                 WHERE t.repository IS NOT NULL AND t.status IN ('ready', 'review', 'todo')",
                NONE,
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Cards whose directory on this machine nobody needs any more.
    pub(crate) fn archived_cards_with_files(&self) -> Result<Vec<TaskId>> {
        self.look(|tx| {
            tx.ids(
                "SELECT id FROM tasks WHERE status = 'archived'
                 AND (workspace_kind = 'scratch' OR repository IS NOT NULL)",
                NONE,
            )
        })
    }
}
