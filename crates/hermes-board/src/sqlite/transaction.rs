//! One transaction: statements, events, and the time of its beginning.

use std::borrow::Borrow;

use serde_json::Value;

use crate::clock::IdSource;
use crate::model::{RunId, Status, Task, TaskId};
use crate::sqlite::fragments::task_columns;
use crate::sqlite::open::BoardOptions;
use crate::sqlite::rows;
use crate::sqlite::statements::{AsParam, More, Param, Row, Statements, params};
use crate::{Error, Result};

/// The statements of one transaction, and the time of its beginning.
pub(super) struct Transaction<'c> {
    statements: &'c dyn Statements,
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
    pub(super) fn new(statements: &'c dyn Statements, now: i64, options: &'c BoardOptions) -> Self {
        Self {
            statements,
            now,
            ids: options.ids.as_ref(),
            failure_limit: options.failure_limit,
        }
    }
}

impl Transaction<'_> {
    pub(super) fn execute<const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
    ) -> Result<usize> {
        self.statements
            .execute(sql, &params.each_ref().map(AsParam::as_param))
    }

    /// Inserts a row and returns its id.
    pub(super) fn insert<const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
    ) -> Result<i64> {
        self.statements
            .insert(sql, &params.each_ref().map(AsParam::as_param))
    }

    pub(super) fn one<T, const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
        read: impl FnOnce(&dyn Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let (mut read, mut found) = (Some(read), None);
        self.statements
            .query(sql, &params.each_ref().map(AsParam::as_param), &mut |row| {
                if let Some(read) = read.take() {
                    found = Some(read(row)?);
                }
                Ok(More::No)
            })?;
        Ok(found)
    }

    pub(super) fn all<T, const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
        mut read: impl FnMut(&dyn Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut values = Vec::new();
        let params = params.each_ref().map(AsParam::as_param);
        self.each(sql, &params, |row| {
            values.push(read(row)?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Passes on all rows of a result.
    pub(super) fn each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut take: impl FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        self.statements.query(sql, params, &mut |row| {
            take(row)?;
            Ok(More::Yes)
        })
    }

    /// The result of a query `SELECT EXISTS (…)`.
    pub(super) fn holds<const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
    ) -> Result<bool> {
        Ok(self.one(sql, params, |row| row.get(0))?.unwrap_or(false))
    }

    pub(super) fn ids<const N: usize>(
        &self,
        sql: &str,
        params: [impl AsParam; N],
    ) -> Result<Vec<TaskId>> {
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
            "SELECT j.value FROM json_each(?1) j
             WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = j.value)
             GROUP BY j.value ORDER BY min(j.key)",
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
pub(super) fn json_list(ids: &[impl Borrow<TaskId>]) -> String {
    let ids = ids.iter().map(|id| id.borrow().as_str());
    Value::from(ids.collect::<Vec<_>>()).to_string()
}
