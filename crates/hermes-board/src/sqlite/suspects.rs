//! Cards that may have a problem, with their histories: found by their rows, so that the history of
//! the rest is never read.

use std::collections::HashMap;

use crate::model::{Run, Task, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::{run_columns, task_columns};
use crate::sqlite::rows;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, json_list};
use crate::{Error, Result};

/// What happened to a card, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) events: Vec<PastEvent>,
    pub(crate) runs: Vec<Run>,
}

/// An event, as far as diagnostics need it.
#[derive(Debug)]
pub(crate) struct PastEvent {
    id: i64,
    pub(crate) kind: String,
    pub(crate) created_at: i64,
    /// What it says about cards that do not exist; nothing in events of other kinds.
    pub(crate) payload: Option<serde_json::Value>,
}

/// Which cards a diagnostic may be about.
pub(crate) struct Suspicion<'s> {
    /// Seconds after which a ready card is one of them.
    pub(crate) stranded_seconds: i64,
    /// Cards that a dispatcher starts no worker for.
    pub(crate) in_vain: &'s [TaskId],
}

/// Cards that may have a problem: those ready for long, blocked ones, those with failures, and those
/// that wait in vain.
macro_rules! suspicious {
    () => {
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
    };
}

impl StoredBoard {
    /// The time, and the card `only` or those that a diagnostic may be about.
    pub(crate) fn suspects(
        &self,
        only: Option<&TaskId>,
        suspicion: &Suspicion<'_>,
    ) -> Result<(i64, Vec<(Task, History)>)> {
        self.read(|tx| {
            let tasks = match only {
                Some(id) => vec![tx.task(id)?.ok_or_else(|| Error::unknown(id))?],
                None => tx.suspicious(suspicion)?,
            };
            let ids: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
            let histories = tx.histories(&ids)?;
            Ok((tx.now, tasks.into_iter().zip(histories).collect()))
        })
    }

    /// The same among cards that were read already.
    pub(crate) fn suspects_among<'t>(
        &self,
        cards: impl Iterator<Item = &'t Task>,
        suspicion: &Suspicion<'_>,
    ) -> Result<(i64, Vec<(&'t Task, History)>)> {
        let cards: HashMap<&TaskId, &Task> = cards.map(|task| (&task.id, task)).collect();
        self.read(|tx| {
            let tasks: Vec<&Task> = tx
                .suspicious_ids(suspicion)?
                .iter()
                .filter_map(|id| cards.get(id).copied())
                .collect();
            let ids: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
            let histories = tx.histories(&ids)?;
            Ok((tx.now, tasks.into_iter().zip(histories).collect()))
        })
    }
}

impl Transaction<'_> {
    fn suspicious(&self, suspicion: &Suspicion<'_>) -> Result<Vec<Task>> {
        self.all(
            concat!("SELECT ", task_columns!(), suspicious!()),
            params![
                self.now - suspicion.stranded_seconds,
                json_list(suspicion.in_vain)
            ],
            rows::task,
        )
    }

    fn suspicious_ids(&self, suspicion: &Suspicion<'_>) -> Result<Vec<TaskId>> {
        self.ids(
            concat!("SELECT t.id", suspicious!()),
            params![
                self.now - suspicion.stranded_seconds,
                json_list(suspicion.in_vain)
            ],
        )
    }

    /// The histories of these cards, in this order.
    fn histories(&self, ids: &[&TaskId]) -> Result<Vec<History>> {
        let mut histories: Vec<History> = ids.iter().map(|_| History::default()).collect();
        let places: HashMap<&str, usize> = ids
            .iter()
            .enumerate()
            .map(|(place, id)| (id.as_str(), place))
            .collect();
        let place = |id: &str| places.get(id).copied();
        let list = json_list(ids);
        self.each(
            "SELECT e.task_id, e.id, e.kind, e.created_at,
                 CASE WHEN e.kind IN ('completion_blocked_hallucination',
                                      'suspected_hallucinated_references') THEN e.payload END
             FROM json_each(?1) j JOIN task_events e ON e.task_id = j.value",
            &params![list],
            |row| {
                let mut cells = Cells::new(row);
                let place = place(&cells.text()?);
                let event = PastEvent {
                    id: cells.int()?,
                    kind: cells.text()?,
                    created_at: cells.int()?,
                    payload: cells.json()?,
                };
                if let Some(history) = place.and_then(|place| histories.get_mut(place)) {
                    history.events.push(event);
                }
                Ok(())
            },
        )?;
        self.each(
            concat!(
                "SELECT ",
                run_columns!(),
                " FROM json_each(?1) j JOIN task_runs r ON r.task_id = j.value"
            ),
            &params![list],
            |row| {
                let run = rows::run(row)?;
                let place = place(run.task_id.as_str());
                if let Some(history) = place.and_then(|place| histories.get_mut(place)) {
                    history.runs.push(run);
                }
                Ok(())
            },
        )?;
        for history in &mut histories {
            history.events.sort_unstable_by_key(|event| event.id);
            history.runs.sort_unstable_by_key(|run| run.id);
        }
        Ok(histories)
    }
}
