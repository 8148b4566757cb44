//! Claims: taking a card, keeping it, recording the worker.

use hermes_store::Commit;
use hermes_store::rusqlite::params;

use crate::Result;
use crate::model::event_body::EventBody;
use crate::model::{Object, Outcome, RunId, Status, TaskId, WorkerIdentity};
use crate::sqlite::SqliteBoard;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::Session;
use crate::store::{Applied, ClaimFrom, ClaimOutcome, ClaimRequest, Claimed, ResolvedWorkspace};

impl SqliteBoard {
    /// A silent sign of life of the worker of an attempt: prolongs its claim, if that is still under
    /// this text, and appends no event. Says whether the attempt is in progress.
    pub fn keep_alive(
        &mut self,
        id: &TaskId,
        run: RunId,
        lock: Option<&str>,
        ttl_seconds: i64,
    ) -> Result<Applied> {
        // What a loss of power undoes is the sign of life of a worker that is gone as well.
        self.write_as(Commit::Logged, |session| {
            let beaten = session.execute(
                "UPDATE tasks SET last_heartbeat_at = ?3
                 WHERE id = ?1 AND current_run_id = ?2 AND status = 'running'",
                params![id.as_str(), run.0, session.now],
            )?;
            if beaten == 0 {
                return Ok(Applied::LostRace);
            }
            session.execute(
                "UPDATE task_runs SET last_heartbeat_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
                params![run.0, session.now],
            )?;
            let until = session.now + ttl_seconds.max(1);
            let prolonged = session.execute(
                "UPDATE tasks SET claim_expires = ?3 WHERE id = ?1 AND claim_lock = ?2",
                params![id.as_str(), lock, until],
            )?;
            if prolonged > 0 {
                session.move_run_expiry(id, until)?;
            }
            Ok(Applied::Yes)
        })
    }

    pub(super) fn take(
        &mut self,
        request: &ClaimRequest,
        dispatcher: Option<&WorkerIdentity>,
    ) -> Result<ClaimOutcome> {
        // Nobody works before the next write has been forced: the place of the work, the worker,
        // or its end. A claim that a loss of power undoes leaves the card as it was.
        self.write_as(Commit::Logged, |session| session.take(request, dispatcher))
    }

    pub(super) fn keep_own(
        &mut self,
        id: &TaskId,
        lock: &str,
        ttl_seconds: i64,
    ) -> Result<Applied> {
        self.write(|session| {
            let until = session.now + ttl_seconds.max(1);
            let kept = session.execute(
                "UPDATE tasks SET claim_expires = ?3
                 WHERE id = ?1 AND status = 'running' AND claim_lock = ?2",
                params![id.as_str(), lock, until],
            )?;
            if kept == 0 {
                return Ok(Applied::LostRace);
            }
            session.move_run_expiry(id, until)?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn beat(
        &mut self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()> {
        self.write(|session| {
            let standing = session.standing(id)?;
            standing.must_be_one_of(id, "record a heartbeat of", &[Status::Running])?;
            standing.must_be_run(id, "record a heartbeat of", expected_run)?;
            session.execute(
                "UPDATE tasks SET last_heartbeat_at = ?2 WHERE id = ?1",
                params![id.as_str(), session.now],
            )?;
            session.execute(
                "UPDATE task_runs SET last_heartbeat_at = ?2 WHERE id = ?1",
                params![standing.run.map(|run| run.0), session.now],
            )?;
            let note = note.filter(|note| !note.is_empty());
            session.append(id, standing.run, &EventBody::Heartbeat { note })?;
            Ok(())
        })
    }

    pub(super) fn set_workspace(
        &mut self,
        id: &TaskId,
        run: RunId,
        workspace: &ResolvedWorkspace,
    ) -> Result<Applied> {
        self.write(|session| {
            let changed = session.execute(
                "UPDATE tasks SET workspace_path = ?3, branch_name = COALESCE(?4, branch_name)
                 WHERE id = ?1 AND current_run_id = ?2 AND status = 'running'",
                params![
                    id.as_str(),
                    run.0,
                    workspace.path.to_string_lossy(),
                    workspace.branch
                ],
            )?;
            Ok(applied(changed))
        })
    }

    pub(super) fn set_worker(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        self.write(|session| {
            let changed = session.execute(
                "UPDATE tasks SET worker_pid = ?3
                 WHERE id = ?1 AND current_run_id = ?2 AND status = 'running'",
                params![id.as_str(), run.0, pid],
            )?;
            if changed == 0 {
                return Ok(Applied::LostRace);
            }
            session.execute(
                "UPDATE task_runs SET worker_pid = ?2, metadata = ?3
                 WHERE id = ?1 AND ended_at IS NULL",
                params![run.0, pid, identity.map(identity_text)],
            )?;
            session.append(id, Some(run), &EventBody::Spawned { pid, identity })?;
            Ok(Applied::Yes)
        })
    }
}

impl Session<'_> {
    fn take(
        &self,
        request: &ClaimRequest,
        dispatcher: Option<&WorkerIdentity>,
    ) -> Result<ClaimOutcome> {
        let id = &request.task;
        let Some(task) = self.task(id)? else {
            return Ok(ClaimOutcome::Unknown);
        };
        let refused = || ClaimOutcome::NotClaimable {
            status: task.status_word().to_owned(),
            lock: task.claim_lock.clone(),
        };
        // A card that waits for a worker has none: a claim on it that ran out is a left-over.
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
                self.append(id, None, &EventBody::ClaimRejected)?;
                return Ok(ClaimOutcome::ParentsOpen);
            }
            if let Some(at) = task.scheduled_at.filter(|at| *at > self.now) {
                return Ok(ClaimOutcome::TooEarly { at });
            }
        }
        // A pointer to an attempt on a card that nobody has is a leak of some other program.
        let leaked =
            Ending::new(Outcome::Reclaimed).summary(Some("closed when the card was claimed again"));
        self.close_run(id, task.current_run_id, &leaked)?;
        let expires = self.now + request.ttl_seconds.max(1);
        self.execute(
            "UPDATE tasks SET status = 'running', claim_lock = ?2, claim_expires = ?3,
                 started_at = COALESCE(started_at, ?4), worker_pid = NULL,
                 last_heartbeat_at = NULL, scheduled_at = NULL
             WHERE id = ?1",
            params![id.as_str(), request.lock, expires, self.now],
        )?;
        let metadata = dispatcher.map(WorkerIdentity::as_dispatcher);
        let run = self.open_run(id, &request.lock, expires, None, metadata.as_ref())?;
        self.append(
            id,
            Some(run),
            &EventBody::Claimed {
                lock: &request.lock,
                expires,
                run,
                from_review: request.from == ClaimFrom::Review,
            },
        )?;
        Ok(ClaimOutcome::Claimed(Box::new(Claimed {
            task: self.known_task(id)?,
            run,
        })))
    }

    /// Gives the open attempt of a card the same end of claim as the card.
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

pub(super) fn identity_object(identity: &WorkerIdentity) -> Object {
    let mut object = Object::new();
    identity.add_to(&mut object);
    object
}

fn identity_text(identity: &WorkerIdentity) -> String {
    serde_json::Value::Object(identity_object(identity)).to_string()
}
