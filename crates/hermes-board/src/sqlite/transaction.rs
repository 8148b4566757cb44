//! One transaction: statements, events, and the time of its beginning.

use std::path::Path;

use hermes_store::rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::Value;

use crate::boards::Board;
use crate::clock::IdSource;
use crate::model::{RunId, Status, Task, TaskId};
use crate::sqlite::fragments::task_columns;
use crate::sqlite::open::{BoardOptions, failed_on};
use crate::sqlite::rows;
use crate::{Error, Result};

/// A connection inside a transaction.
pub(super) struct Transaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) path: &'c Path,
    pub(super) now: i64,
    pub(super) ids: &'c dyn IdSource,
    /// Failures after which a card without a limit of its own stays blocked.
    pub(super) failure_limit: i64,
}

/// The columns of a card that decide whether an operation is allowed.
pub(super) struct CardState {
    pub(super) status: Status,
    pub(super) word: String,
    pub(super) lock: Option<String>,
    pub(super) run: Option<RunId>,
    pub(super) assignee: Option<String>,
}

impl CardState {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            status: task.status(),
            word: task.status_word().to_owned(),
            lock: task.claim_lock.clone(),
            run: task.current_run_id,
            assignee: task.assignee.clone(),
        }
    }

    pub(super) fn require_status(
        &self,
        id: &TaskId,
        action: &'static str,
        allowed: &[Status],
    ) -> Result<()> {
        if allowed.contains(&self.status) {
            Ok(())
        } else {
            Err(Error::not_allowed(id, action, &self.word))
        }
    }

    /// Refuses a request of an attempt that is over.
    pub(super) fn require_run(
        &self,
        id: &TaskId,
        action: &'static str,
        expected: Option<RunId>,
    ) -> Result<()> {
        match expected {
            Some(expected) if self.run != Some(expected) => Err(Error::StaleRun {
                id: id.clone(),
                action,
                expected,
                current: self.run,
            }),
            _ => Ok(()),
        }
    }
}

impl<'c> Transaction<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        board: &'c Board,
        options: &'c BoardOptions,
    ) -> Self {
        Self {
            connection,
            path: &board.database,
            now: options.clock.now(),
            ids: options.ids.as_ref(),
            failure_limit: options.failure_limit,
        }
    }
}

impl Transaction<'_> {
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        #[cfg(test)]
        super::query_plans_tests::note(sql);
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map_err(failed_on(self.path, "write to"))
    }

    /// Inserts a row and returns its id.
    pub(super) fn insert(&self, sql: &str, params: impl Params) -> Result<i64> {
        self.execute(sql, params)?;
        Ok(self.connection.last_insert_rowid())
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> hermes_store::rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        #[cfg(test)]
        super::query_plans_tests::note(sql);
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, read).optional())
            .map_err(failed_on(self.path, "read"))
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> hermes_store::rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        #[cfg(test)]
        super::query_plans_tests::note(sql);
        let rows = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| {
                let mut rows = statement.query(params)?;
                let mut values = Vec::new();
                while let Some(row) = rows.next()? {
                    values.push(read(row)?);
                }
                Ok(values)
            });
        rows.map_err(failed_on(self.path, "read"))
    }

    /// The result of a query `SELECT EXISTS (…)`.
    pub(super) fn holds(&self, sql: &str, params: impl Params) -> Result<bool> {
        Ok(self.one(sql, params, |row| row.get(0))?.unwrap_or(false))
    }

    pub(super) fn ids(&self, sql: &str, params: impl Params) -> Result<Vec<TaskId>> {
        self.all(sql, params, |row| {
            super::cells::Cells::new(row).text().map(TaskId::new)
        })
    }

    /// Appends an event. Kinds and payloads are those of the reference, except `checks_started`,
    /// `checks_passed`, `check_failed`, `checks_edited`, `review_commented`, `review_replied`,
    /// `review_resolved`, `changes_requested` and `approved`; a null payload is no payload.
    pub(super) fn append(
        &self,
        task: &TaskId,
        run: Option<RunId>,
        kind: &str,
        payload: Value,
    ) -> Result<()> {
        self.execute(
            "INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                task.as_str(),
                run.map(|run| run.0),
                kind,
                (!payload.is_null()).then(|| payload.to_string()),
                self.now
            ],
        )?;
        Ok(())
    }

    pub(super) fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.one(
            concat!("SELECT ", task_columns!(), " FROM tasks t WHERE t.id = ?1"),
            [id.as_str()],
            rows::task,
        )
    }

    pub(super) fn known_task(&self, id: &TaskId) -> Result<Task> {
        self.task(id)?.ok_or_else(|| Error::unknown(id))
    }

    pub(super) fn card_state(&self, id: &TaskId) -> Result<CardState> {
        self.one(
            "SELECT status, claim_lock, current_run_id, assignee FROM tasks WHERE id = ?1",
            [id.as_str()],
            |row| {
                let mut cells = super::cells::Cells::new(row);
                let word = cells.text()?;
                Ok(CardState {
                    status: Status::from_database(&word),
                    word,
                    lock: cells.text_or_none()?,
                    run: cells.int_or_none()?.filter(|id| *id > 0).map(RunId),
                    assignee: cells.text_or_none()?,
                })
            },
        )?
        .ok_or_else(|| Error::unknown(id))
    }

    pub(super) fn must_exist(&self, id: &TaskId) -> Result<()> {
        let exists = self.holds(
            "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1)",
            [id.as_str()],
        )?;
        if exists {
            Ok(())
        } else {
            Err(Error::unknown(id))
        }
    }

    /// Those of the ids that no card has.
    pub(super) fn missing(&self, ids: &[TaskId]) -> Result<Vec<TaskId>> {
        self.ids(
            "SELECT DISTINCT j.value FROM json_each(?1) j
             WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = j.value) ORDER BY j.key",
            [json_list(ids)],
        )
    }
}

/// The payload, with one more key if there is a value for it.
pub(super) fn with(mut payload: Value, key: &str, value: Option<impl Into<Value>>) -> Value {
    if let (Value::Object(map), Some(value)) = (&mut payload, value) {
        map.insert(key.to_owned(), value.into());
    }
    payload
}

/// Names as one parameter for `json_each`: a set in a query instead of a query per name.
pub(super) fn json_list(ids: &[TaskId]) -> String {
    Value::from(ids.iter().map(TaskId::as_str).collect::<Vec<_>>()).to_string()
}
