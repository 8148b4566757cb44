//! Claims: claiming a card, extending the claim, recording the worker.

use hermes_store::Commit;
use serde_json::{Value, json};

use crate::Result;
use crate::model::{Outcome, RunId, Status, Task, TaskId, WorkerIdentity, object};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::rows;
use crate::sqlite::runs::{Ending, NewRun};
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, with};
use crate::store::{
    Applied, ClaimFrom, ClaimOutcome, ClaimRequest, Claimant, Claimed, ReachedCap,
    ResolvedWorkspace,
};

impl StoredBoard {
    /// A heartbeat without an event: extends the claim of the attempt while `lock` holds it. Returns
    /// whether the attempt is in progress.
    pub fn keep_alive(
        &mut self,
        id: &TaskId,
        run: RunId,
        lock: Option<&str>,
        ttl_seconds: i64,
    ) -> Result<Applied> {
        // What a loss of power undoes is the heartbeat of a worker that is gone as well.
        self.write_as(Commit::Logged, |tx| {
            let beaten = tx.execute(
                "UPDATE tasks SET last_heartbeat_at = ?3
                 WHERE id = ?1 AND current_run_id = ?2 AND status = 'running'",
                params![id.as_str(), run.0, tx.now],
            )?;
            if beaten == 0 {
                return Ok(Applied::LostRace);
            }
            tx.execute(
                "UPDATE task_runs SET last_heartbeat_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
                params![run.0, tx.now],
            )?;
            let until = tx.now + ttl_seconds.max(1);
            let prolonged = tx.execute(
                "UPDATE tasks SET claim_expires = ?3 WHERE id = ?1 AND claim_lock = ?2",
                params![id.as_str(), lock, until],
            )?;
            if prolonged > 0 {
                tx.move_run_expiry(id, until)?;
            }
            Ok(Applied::Yes)
        })
    }
}

impl Transaction<'_> {
    pub(super) fn extend_own_claim(
        &self,
        id: &TaskId,
        lock: &str,
        ttl_seconds: i64,
    ) -> Result<Applied> {
        let until = self.now + ttl_seconds.max(1);
        let kept = self.execute(
            "UPDATE tasks SET claim_expires = ?3
             WHERE id = ?1 AND status = 'running' AND claim_lock = ?2",
            params![id.as_str(), lock, until],
        )?;
        if kept == 0 {
            return Ok(Applied::LostRace);
        }
        self.move_run_expiry(id, until)?;
        Ok(Applied::Yes)
    }

    pub(super) fn heartbeat(
        &self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()> {
        let state = self.card_state(id)?;
        state.require_status(id, "record a heartbeat of", &[Status::Running])?;
        state.require_run(id, "record a heartbeat of", expected_run)?;
        self.execute(
            "UPDATE tasks SET last_heartbeat_at = ?2 WHERE id = ?1",
            params![id.as_str(), self.now],
        )?;
        self.execute(
            "UPDATE task_runs SET last_heartbeat_at = ?2 WHERE id = ?1",
            params![state.run.map(|run| run.0), self.now],
        )?;
        let note = note.filter(|note| !note.is_empty());
        let payload = note.map_or(Value::Null, |note| json!({"note": note}));
        self.append(id, state.run, "heartbeat", payload)
    }

    pub(super) fn record_workspace(
        &self,
        id: &TaskId,
        claimant: Claimant<'_>,
        workspace: &ResolvedWorkspace,
    ) -> Result<Applied> {
        let changed = self.execute(
            "UPDATE tasks SET workspace_path = ?3, branch_name = COALESCE(?4, branch_name)
             WHERE id = ?1 AND current_run_id = ?2 AND status = 'running' AND claim_lock = ?5
               AND EXISTS (SELECT 1 FROM task_runs r WHERE r.id = ?2 AND r.host_id IS ?6)",
            params![
                id.as_str(),
                claimant.run.0,
                workspace.path.to_string_lossy(),
                workspace.branch,
                claimant.lock,
                claimant.host
            ],
        )?;
        if let Some(base) = workspace.base.as_ref().filter(|_| changed > 0) {
            self.record_base(id, base)?;
        }
        Ok(applied(changed))
    }

    pub(super) fn record_spawned(
        &self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        let changed = self.execute(
            "UPDATE tasks SET worker_pid = ?3
             WHERE id = ?1 AND current_run_id = ?2 AND status = 'running'",
            params![id.as_str(), run.0, pid],
        )?;
        if changed == 0 {
            return Ok(Applied::LostRace);
        }
        self.execute(
            "UPDATE task_runs SET worker_pid = ?2, metadata = ?3
             WHERE id = ?1 AND ended_at IS NULL",
            params![
                run.0,
                pid,
                identity.map(|identity| json!(identity).to_string())
            ],
        )?;
        let mut payload = object(json!({"pid": pid}));
        payload.extend(identity.map(WorkerIdentity::to_object).unwrap_or_default());
        self.append(id, Some(run), "spawned", payload.into())?;
        Ok(Applied::Yes)
    }

    /// The limit that one more card in progress would exceed.
    pub(super) fn reached_cap(&self, request: &ClaimRequest) -> Result<Option<ReachedCap>> {
        let counts = self.one(
            "SELECT count(*),
                 count(CASE WHEN t.assignee =
                     (SELECT c.assignee FROM tasks c WHERE c.id = ?1) THEN 1 END),
                 count(CASE WHEN r.host_id = ?2 THEN 1 END)
             FROM tasks t LEFT JOIN task_runs r ON r.id = t.current_run_id
             WHERE t.status = 'running'",
            params![
                request.task.as_str(),
                request.host.as_ref().map(|host| host.id.as_str())
            ],
            |row| {
                let mut cells = Cells::new(row);
                let mut count = || cells.int().map(|count| usize::try_from(count).unwrap_or(0));
                Ok([count()?, count()?, count()?])
            },
        )?;
        Ok(request.caps.reached(counts.unwrap_or_default()))
    }

    pub(super) fn claim(&self, request: &ClaimRequest) -> Result<ClaimOutcome> {
        let id = &request.task;
        let Some(task) = self.task(id)? else {
            return Ok(ClaimOutcome::Unknown);
        };
        let refused = || ClaimOutcome::NotClaimable {
            status: task.status_word().to_owned(),
            lock: task.claim_lock.clone(),
        };
        // A card that waits for a worker has none: an expired claim on it is a leftover.
        let held = task.claim_lock.is_some() && task.claim_expires.is_none_or(|at| at >= self.now);
        if task.status() != request.from.status() || held {
            return Ok(refused());
        }
        if request.from == ClaimFrom::Ready {
            if self.has_open_parent(id)? {
                self.execute(
                    "UPDATE tasks SET status = 'todo' WHERE id = ?1",
                    [id.as_str()],
                )?;
                self.append(
                    id,
                    None,
                    "claim_rejected",
                    json!({"reason": "parents_not_done"}),
                )?;
                return Ok(ClaimOutcome::ParentsOpen);
            }
            if let Some(at) = task.scheduled_at.filter(|at| *at > self.now) {
                return Ok(ClaimOutcome::TooEarly { at });
            }
        }
        // An open attempt of a card that is not running was left by another program.
        let leaked = Ending::new(
            Outcome::Reclaimed,
            Some("closed when the card was claimed again"),
            None,
        );
        self.close_run(id, task.current_run_id, &leaked)?;
        let expires = self.now + request.ttl_seconds.max(1);
        let metadata = request
            .dispatcher
            .as_ref()
            .map(WorkerIdentity::as_dispatcher);
        let new = NewRun {
            lock: &request.lock,
            expires,
            pid: None,
            metadata: metadata.as_ref(),
            host: request.host.as_ref(),
        };
        let run = self.open_run(id, &new)?;
        self.execute(
            "UPDATE tasks SET status = 'running', claim_lock = ?2, claim_expires = ?3,
                 started_at = COALESCE(started_at, ?4), worker_pid = NULL,
                 last_heartbeat_at = NULL, scheduled_at = NULL, current_run_id = ?5
             WHERE id = ?1",
            params![id.as_str(), request.lock, expires, self.now, run.0],
        )?;
        self.append(
            id,
            Some(run),
            "claimed",
            with(
                json!({"lock": request.lock, "expires": expires, "run_id": run}),
                "source_status",
                (request.from == ClaimFrom::Review).then_some("review"),
            ),
        )?;
        Ok(ClaimOutcome::Claimed(Box::new(Claimed {
            is_first_attempt: task.started_at.is_none(),
            // As the statement above left it.
            task: Task {
                state: rows::state(Status::Running.as_str().to_owned()),
                claim_lock: Some(request.lock.clone()),
                claim_expires: Some(expires),
                started_at: task.started_at.or(Some(self.now)),
                worker_pid: None,
                last_heartbeat_at: None,
                scheduled_at: None,
                current_run_id: Some(run),
                ..task
            },
            run,
        })))
    }

    /// Copies the expiry of a card's claim to its open attempt.
    pub(super) fn move_run_expiry(&self, id: &TaskId, until: i64) -> Result<()> {
        self.execute(
            "UPDATE task_runs SET claim_expires = ?2
             WHERE id = (SELECT current_run_id FROM tasks WHERE id = ?1)",
            params![id.as_str(), until],
        )?;
        Ok(())
    }
}

pub(super) fn applied(rows: usize) -> Applied {
    if rows == 0 {
        Applied::LostRace
    } else {
        Applied::Yes
    }
}
