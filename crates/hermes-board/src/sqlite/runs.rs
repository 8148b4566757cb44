//! Attempts: opened, closed, and recorded at once for cards that nobody claimed.

use serde_json::Value;

use crate::Result;
use crate::model::{HostRef, Object, Outcome, RunId, TaskId};
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;

/// How an attempt ends.
pub(super) struct Ending<'a> {
    outcome: Outcome,
    summary: Option<&'a str>,
    error: Option<&'a str>,
    metadata: Option<&'a Object>,
}

impl<'a> Ending<'a> {
    pub(super) fn new(
        outcome: Outcome,
        summary: Option<&'a str>,
        metadata: Option<&'a Object>,
    ) -> Self {
        Self {
            outcome,
            summary,
            error: None,
            metadata,
        }
    }

    pub(super) fn failed(outcome: Outcome, error: &'a str, metadata: &'a Object) -> Self {
        Self {
            outcome,
            summary: None,
            error: Some(error),
            metadata: Some(metadata),
        }
    }

    fn metadata_text(&self) -> Option<String> {
        let metadata = self.metadata.filter(|metadata| !metadata.is_empty())?;
        Some(Value::Object(metadata.clone()).to_string())
    }
}

/// An attempt that begins.
pub(super) struct NewRun<'a> {
    pub(super) lock: &'a str,
    pub(super) expires: i64,
    pub(super) pid: Option<u32>,
    pub(super) metadata: Option<&'a Object>,
    pub(super) host: Option<&'a HostRef>,
}

impl Transaction<'_> {
    /// Opens an attempt at a card that is being claimed; the caller writes it to the card.
    pub(super) fn open_run(&self, task: &TaskId, new: &NewRun<'_>) -> Result<RunId> {
        let run = self.insert(
            "INSERT INTO task_runs (task_id, profile, step_key, status, claim_lock, claim_expires,
                 worker_pid, max_runtime_seconds, started_at, metadata, host_id, host_name)
             SELECT id, assignee, current_step_key, 'running', ?2, ?3, ?4, max_runtime_seconds, ?5,
                 ?6, ?7, ?8
             FROM tasks WHERE id = ?1",
            params![
                task.as_str(),
                new.lock,
                new.expires,
                new.pid,
                self.now,
                new.metadata
                    .map(|metadata| Value::Object(metadata.clone()).to_string()),
                new.host.map(|host| host.id.as_str()),
                new.host.map(|host| host.name.as_str())
            ],
        )?;
        Ok(RunId(run))
    }

    /// Closes the open attempt of a card, if there is one, and abandons its checks.
    pub(super) fn close_run(
        &self,
        task: &TaskId,
        run: Option<RunId>,
        ending: &Ending<'_>,
    ) -> Result<Option<RunId>> {
        let Some(run) = run else {
            return Ok(None);
        };
        self.end_run(run, ending)?;
        self.execute(
            "UPDATE tasks SET current_run_id = NULL WHERE id = ?1",
            [task.as_str()],
        )?;
        self.void_checks(task)?;
        Ok(Some(run))
    }

    /// Records the end of an attempt, and nothing on its card.
    pub(super) fn end_run(&self, run: RunId, ending: &Ending<'_>) -> Result<()> {
        let status = match ending.outcome {
            Outcome::Completed => "done",
            other => other.as_str(),
        };
        self.execute(
            "UPDATE task_runs SET status = ?2, outcome = ?3, summary = ?4, error = ?5,
                 metadata = ?6, ended_at = ?7, claim_lock = NULL, claim_expires = NULL,
                 worker_pid = NULL
             WHERE id = ?1 AND ended_at IS NULL",
            params![
                run.0,
                status,
                ending.outcome.as_str(),
                ending.summary,
                ending.error,
                ending.metadata_text(),
                self.now
            ],
        )?;
        Ok(())
    }

    /// Records an attempt that began and ended now, to keep the summary of a card that nobody had
    /// claimed.
    pub(super) fn record_instant_run(&self, task: &TaskId, ending: &Ending<'_>) -> Result<RunId> {
        self.insert(
            "INSERT INTO task_runs (task_id, profile, step_key, status, outcome, summary, error,
                 metadata, started_at, ended_at)
             SELECT id, assignee, current_step_key, ?2, ?2, ?3, ?4, ?5, ?6, ?6
             FROM tasks WHERE id = ?1",
            params![
                task.as_str(),
                ending.outcome.as_str(),
                ending.summary,
                ending.error,
                ending.metadata_text(),
                self.now
            ],
        )
        .map(RunId)
    }

    /// Closes the attempt in progress, or records one if there is something to keep.
    pub(super) fn close_or_record(
        &self,
        task: &TaskId,
        run: Option<RunId>,
        ending: &Ending<'_>,
    ) -> Result<Option<RunId>> {
        let kept = ending.summary.is_some() || ending.metadata.is_some();
        match self.close_run(task, run, ending)? {
            Some(run) => Ok(Some(run)),
            None if kept => self.record_instant_run(task, ending).map(Some),
            None => Ok(None),
        }
    }
}
