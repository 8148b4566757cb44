//! Cards that may have a problem, with their histories: found by their rows, so that the history of
//! the rest is never read.

use std::collections::HashMap;

use crate::model::{Event, Run, Task, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::fragments::{event_columns, run_columns, task_columns};
use crate::sqlite::rows;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, json_list};
use crate::{Error, Result};

/// A card with its events and attempts.
pub(crate) type History = (Task, Vec<Event>, Vec<Run>);

impl StoredBoard {
    /// The time, and the card `only` or those that a diagnostic may be about: cards ready for
    /// `stranded_seconds`, blocked ones, cards with failures, and those that wait `in_vain`.
    pub(crate) fn suspects(
        &self,
        only: Option<&TaskId>,
        stranded_seconds: i64,
        in_vain: &[TaskId],
    ) -> Result<(i64, Vec<History>)> {
        self.read(|tx| {
            let tasks = match only {
                Some(id) => vec![tx.task(id)?.ok_or_else(|| Error::unknown(id))?],
                None => tx.suspicious(stranded_seconds, in_vain)?,
            };
            Ok((tx.now, tx.histories(tasks)?))
        })
    }
}

impl Transaction<'_> {
    fn suspicious(&self, stranded_seconds: i64, in_vain: &[TaskId]) -> Result<Vec<Task>> {
        self.all(
            concat!(
                "SELECT ",
                task_columns!(),
                " FROM tasks t WHERE t.id IN (
                     SELECT id FROM tasks WHERE status IN ('triage', 'blocked')
                     UNION SELECT id FROM tasks WHERE status = 'ready' AND claim_lock IS NULL
                         AND COALESCE(assignee, '') <> '' AND created_at <= ?1
                     UNION SELECT id FROM tasks WHERE status NOT IN ('done', 'archived', 'running')
                         AND (consecutive_failures > 0 OR last_failure_error IS NOT NULL
                              OR block_recurrences > 0)
                     UNION SELECT value FROM json_each(?2)
                     UNION SELECT task_id FROM task_events
                         WHERE kind IN ('completion_blocked_hallucination',
                                        'suspected_hallucinated_references'))
                 AND t.status <> 'archived' ORDER BY t.id"
            ),
            params![self.now - stranded_seconds, json_list(in_vain)],
            rows::task,
        )
    }

    fn histories(&self, tasks: Vec<Task>) -> Result<Vec<History>> {
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let list = json_list(&ids);
        let mut events: HashMap<TaskId, Vec<Event>> = HashMap::new();
        for event in self.all(
            concat!(
                "SELECT ",
                event_columns!(),
                " FROM json_each(?1) j JOIN task_events e ON e.task_id = j.value ORDER BY +e.id"
            ),
            [&list],
            rows::event,
        )? {
            events.entry(event.task_id.clone()).or_default().push(event);
        }
        let mut runs: HashMap<TaskId, Vec<Run>> = HashMap::new();
        for run in self.all(
            concat!(
                "SELECT ",
                run_columns!(),
                " FROM json_each(?1) j JOIN task_runs r ON r.task_id = j.value ORDER BY +r.id"
            ),
            [&list],
            rows::run,
        )? {
            runs.entry(run.task_id.clone()).or_default().push(run);
        }
        Ok(tasks
            .into_iter()
            .map(|task| {
                let events = events.remove(&task.id).unwrap_or_default();
                let runs = runs.remove(&task.id).unwrap_or_default();
                (task, events, runs)
            })
            .collect())
    }
}
