//! Acceptance checks in the database.
//!
//! A completion of a card with checks is recorded before the first check runs, together with the
//! process that runs them. If the card is not running, that process claims it like a worker: should
//! it die, any dispatcher, ours or the reference's, treats the card as that of a crashed worker.
//! Nothing here runs a command.

use serde_json::json;

use crate::model::{
    Check, CheckEvidence, CheckMark, CheckSession, CheckState, Checker, NewCheck, Outcome, RunId,
    Status, Task, TaskId, WorkerIdentity, object,
};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::{Ending, NewRun};
use crate::sqlite::statements::{Row, params};
use crate::sqlite::transaction::Transaction;
use crate::store::{CheckOutcome, CheckStart, ChecksBegun, Completion, FailurePolicy};
use crate::{Error, Result};

/// Author of comments about failed checks.
const AUTHOR: &str = "acceptance-checks";

impl StoredBoard {
    /// Replaces the checks of a card that is not running: its worker has read the current ones.
    pub fn set_checks(&mut self, id: &TaskId, checks: &[NewCheck]) -> Result<()> {
        if checks.iter().any(|check| check.command.trim().is_empty()) {
            return Err(Error::Blank {
                what: "the command of a check",
            });
        }
        self.write(|tx| {
            let state = tx.card_state(id)?;
            if state.status == Status::Running {
                return Err(Error::InProgress {
                    id: id.clone(),
                    action: "change the checks of",
                    lock: state.lock,
                });
            }
            if matches!(state.status, Status::Done | Status::Archived) {
                // The new checks would seem to have passed.
                return Err(Error::not_allowed(id, "change the checks of", &state.word));
            }
            tx.execute("DELETE FROM task_checks WHERE task_id = ?1", [id.as_str()])?;
            tx.set_checks(id, checks)?;
            let checks = checks.len();
            tx.append(id, None, "checks_edited", json!({"checks": checks}))
        })
    }

    /// What the checks of a card say about it.
    pub fn check_mark(&self, id: &TaskId) -> Result<CheckMark> {
        self.read(|tx| {
            let found = tx.one(
                "SELECT t.status,
                     EXISTS (SELECT 1 FROM task_checks c WHERE c.task_id = t.id),
                     EXISTS (SELECT 1 FROM task_check_sessions s WHERE s.task_id = t.id
                         AND s.state = 'passed' AND s.ended_at = t.completed_at)
                 FROM tasks t WHERE t.id = ?1",
                [id.as_str()],
                |row| {
                    let mut cells = Cells::new(row);
                    Ok((cells.text()?, cells.int()? != 0, cells.int()? != 0))
                },
            )?;
            let (word, has_checks, passed) = found.ok_or_else(|| Error::unknown(id))?;
            let finished = Status::from_database(&word).satisfies_children();
            Ok(match (has_checks, finished, passed) {
                (false, ..) => CheckMark::None,
                (true, false, _) => CheckMark::Open,
                (true, true, true) => CheckMark::Checked,
                (true, true, false) => CheckMark::Unchecked,
            })
        })
    }

    /// The check sessions of a card, newest first.
    pub fn check_sessions(&self, id: &TaskId) -> Result<Vec<CheckSession>> {
        self.read(|tx| {
            let mut sessions = tx.all(
                "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start,
                     checker_boot, started_at, ended_at
                 FROM task_check_sessions WHERE task_id = ?1 ORDER BY +id DESC",
                [id.as_str()],
                session_of_row,
            )?;
            for session in &mut sessions {
                session.results = tx.check_results(session.id)?;
            }
            Ok(sessions)
        })
    }
}

impl Transaction<'_> {
    /// Begins a session of checks. A refusal because of phantom cards is recorded, so the
    /// transaction commits and the refusal is the inner result.
    pub(super) fn begin_checks(
        &self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<Result<ChecksBegun>> {
        let task = self.may_complete(id, completion)?;
        let run = task.current_run_id;
        let checks = self.checks(id)?;
        if checks.is_empty() {
            return Err(Error::BadRequest(format!("{id} has no checks")));
        }
        if let Err(refusal) = self.verify_created_cards(id, completion)? {
            return Ok(Err(refusal));
        }
        self.abandon_stale_sessions(id, run, start)?;
        let run = match run {
            Some(run) => run,
            None => self.claim_for_checks(id, start)?,
        };
        let session = self.open_session(&task, run, completion, &start.checker)?;
        self.append(
            id,
            Some(run),
            "checks_started",
            json!({"session": session.id, "checks": checks.len()}),
        )?;
        Ok(Ok(ChecksBegun {
            session,
            checks,
            task: self.known_task(id)?,
        }))
    }

    pub(super) fn record_check(&self, number: i64, evidence: &CheckEvidence) -> Result<()> {
        self.pending_session(number)?;
        self.execute(
            "INSERT INTO task_check_results
                 (session_id, position, command, exit_code, timed_out, output, duration_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session_id, position) DO UPDATE SET command = ?3, exit_code = ?4,
                 timed_out = ?5, output = ?6, duration_ms = ?7",
            params![
                number,
                evidence.position,
                evidence.command,
                evidence.exit_code,
                i64::from(evidence.timed_out),
                evidence.output,
                i64::try_from(evidence.duration_ms).unwrap_or(i64::MAX)
            ],
        )?;
        Ok(())
    }

    /// The card that a session of checks is about.
    pub(super) fn card_of_checks(&self, number: i64) -> Result<Option<TaskId>> {
        let card = self.one(
            "SELECT task_id FROM task_check_sessions WHERE id = ?1",
            [number],
            |row| row.get::<String>(0),
        )?;
        Ok(card.map(TaskId::new))
    }

    pub(super) fn finish_checks(
        &self,
        number: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        let session = self.pending_session(number)?;
        let id = &session.task_id;
        // The card may have been moved or deleted meanwhile.
        let unchanged = self
            .card_state(id)
            .is_ok_and(|now| now.status == Status::Running && now.run == Some(session.run_id));
        if !unchanged {
            self.close_session(number, CheckState::Abandoned)?;
            return Ok(CheckOutcome::LostRace);
        }
        let checks = self.checks(id)?;
        let results = self.check_results(number)?;
        if let Some(evidence) = results.iter().find(|result| !result.passed()) {
            self.close_session(number, CheckState::Failed)?;
            return self.fail_check(&session, evidence, checks.len(), policy);
        }
        let all_ran = checks.iter().all(|check| {
            results
                .iter()
                .any(|result| result.position == check.position)
        });
        if !all_ran {
            return Err(Error::BadRequest(format!(
                "not every check of {id} has been run"
            )));
        }
        self.close_session(number, CheckState::Passed)?;
        self.append(
            id,
            Some(session.run_id),
            "checks_passed",
            json!({"session": number, "checks": checks.len()}),
        )?;
        let (verified, _) = self.split_created(id, &completion.created_cards)?;
        self.mark_done(self.known_task(id)?, completion, &verified)
            .map(|done| CheckOutcome::Done(Box::new(done)))
    }

    pub(super) fn abandon_checks(&self, number: i64) -> Result<()> {
        let session = self.pending_session(number)?;
        self.close_session(number, CheckState::Abandoned)?;
        let id = &session.task_id;
        let Ok(state) = self.card_state(id) else {
            return Ok(());
        };
        // The claim was made for the checks only if nobody else worked on the card.
        let ours = state.run == Some(session.run_id)
            && state.lock.as_deref() == Some(session.checker.lock.as_str());
        if ours {
            self.free_claim(id)?;
            // A card that waits for a person does so again.
            self.execute(
                "UPDATE tasks SET status = COALESCE(
                     (SELECT status_before FROM task_check_sessions WHERE id = ?2
                          AND status_before IN ('blocked', 'review')), 'ready')
                 WHERE id = ?1",
                params![id.as_str(), number],
            )?;
            let ending = Ending::new(
                Outcome::Reclaimed,
                Some("the checks were abandoned without a verdict"),
                None,
            );
            self.close_run(id, state.run, &ending)?;
        }
        Ok(())
    }

    pub(super) fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.all(
            "SELECT position, command, on_host FROM task_checks WHERE task_id = ?1
             ORDER BY position",
            [id.as_str()],
            |row| {
                Ok(Check {
                    position: row.get(0)?,
                    command: row.get(1)?,
                    on_host: row.get(2)?,
                })
            },
        )
    }

    /// Writes the checks of a card that has none.
    pub(super) fn set_checks(&self, id: &TaskId, checks: &[NewCheck]) -> Result<()> {
        for (check, position) in checks.iter().zip(1_i64..) {
            self.execute(
                "INSERT INTO task_checks (task_id, position, command, created_at, on_host)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    id.as_str(),
                    position,
                    check.command.trim(),
                    self.now,
                    check.on_host
                ],
            )?;
        }
        Ok(())
    }

    /// Abandons the unfinished checks of an attempt that ended.
    pub(super) fn void_checks(&self, id: &TaskId) -> Result<()> {
        self.execute(
            "UPDATE task_check_sessions SET state = 'abandoned', ended_at = ?2
             WHERE task_id = ?1 AND state = 'pending'",
            params![id.as_str(), self.now],
        )?;
        Ok(())
    }

    /// Refuses while another process runs checks for the same attempt; abandons the sessions of
    /// processes that are gone and of attempts that are over.
    fn abandon_stale_sessions(
        &self,
        id: &TaskId,
        run: Option<RunId>,
        start: &CheckStart<'_>,
    ) -> Result<()> {
        let pending = self.all(
            "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start, checker_boot,
                 started_at, ended_at
             FROM task_check_sessions WHERE task_id = ?1 AND state = 'pending'",
            [id.as_str()],
            session_of_row,
        )?;
        for session in pending {
            if run == Some(session.run_id) && !(start.is_gone)(&session.checker) {
                return Err(Error::ChecksInProgress {
                    id: id.clone(),
                    checker: session.checker.lock,
                });
            }
            self.close_session(session.id, CheckState::Abandoned)?;
        }
        Ok(())
    }

    fn claim_for_checks(&self, id: &TaskId, start: &CheckStart<'_>) -> Result<RunId> {
        let checker = &start.checker;
        let expires = self.now + start.ttl_seconds.max(1);
        let metadata = checker.identity.as_ref().map(WorkerIdentity::to_object);
        let new = NewRun {
            lock: &checker.lock,
            expires,
            pid: Some(checker.pid),
            metadata: metadata.as_ref(),
            host: None,
        };
        let run = self.open_run(id, &new)?;
        self.execute(
            "UPDATE tasks SET status = 'running', claim_lock = ?2, claim_expires = ?3,
                 worker_pid = ?4, started_at = COALESCE(started_at, ?5), last_heartbeat_at = NULL,
                 current_run_id = ?6
             WHERE id = ?1",
            params![
                id.as_str(),
                checker.lock,
                expires,
                checker.pid,
                self.now,
                run.0
            ],
        )?;
        self.append(
            id,
            Some(run),
            "claimed",
            json!({"lock": checker.lock, "expires": expires, "run_id": run}),
        )?;
        Ok(run)
    }

    fn open_session(
        &self,
        before: &Task,
        run: RunId,
        completion: &Completion,
        checker: &Checker,
    ) -> Result<CheckSession> {
        let id = &before.id;
        let identity = checker.identity.as_ref();
        let number = self.insert(
            "INSERT INTO task_check_sessions (task_id, run_id, state, checker, checker_pid,
                 checker_start, checker_boot, request, started_at, status_before)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id.as_str(),
                run.0,
                checker.lock,
                checker.pid,
                identity.and_then(|identity| i64::try_from(identity.start).ok()),
                identity.map(|identity| identity.boot_id.as_str()),
                json!(completion).to_string(),
                self.now,
                before.status_word()
            ],
        )?;
        Ok(CheckSession {
            id: number,
            task_id: id.clone(),
            run_id: run,
            state: CheckState::Pending,
            checker: checker.clone(),
            started_at: self.now,
            ended_at: None,
            results: Vec::new(),
        })
    }

    fn pending_session(&self, number: i64) -> Result<CheckSession> {
        self.one(
            "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start, checker_boot,
                 started_at, ended_at
             FROM task_check_sessions WHERE id = ?1 AND state = 'pending'",
            [number],
            session_of_row,
        )?
        .ok_or(Error::ChecksOver { session: number })
    }

    fn close_session(&self, number: i64, state: CheckState) -> Result<()> {
        self.execute(
            "UPDATE task_check_sessions SET state = ?2, ended_at = ?3 WHERE id = ?1",
            params![number, state.as_str(), self.now],
        )?;
        Ok(())
    }

    fn check_results(&self, number: i64) -> Result<Vec<CheckEvidence>> {
        self.all(
            "SELECT position, command, exit_code, timed_out, output, duration_ms
             FROM task_check_results WHERE session_id = ?1 ORDER BY position",
            [number],
            |row| {
                Ok(CheckEvidence {
                    position: row.get(0)?,
                    command: row.get(1)?,
                    exit_code: row.get(2)?,
                    timed_out: row.get(3)?,
                    output: row.get(4)?,
                    duration_ms: u64::try_from(row.get::<i64>(5)?).unwrap_or(0),
                })
            },
        )
    }

    /// Records a failed check as event and comment, and counts the attempt as failed.
    fn fail_check(
        &self,
        session: &CheckSession,
        evidence: &CheckEvidence,
        checks: usize,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        let id = &session.task_id;
        self.append(
            id,
            Some(session.run_id),
            "check_failed",
            json!({
                "session": session.id,
                "check": evidence.position,
                "command": evidence.command,
                "exit_code": evidence.exit_code,
                "timed_out": evidence.timed_out,
                "duration_ms": evidence.duration_ms,
                "output": evidence.output,
            }),
        )?;
        self.comment(id, AUTHOR, &report(evidence, checks))?;
        // Without the command: its text must not be taken for the cause of the failure.
        let error = format!(
            "acceptance check {} of {checks} {}",
            evidence.position,
            evidence.ending()
        );
        let extra = object(json!({"check": evidence.position, "session": session.id}));
        let release = self.fail_attempt(
            id,
            session.run_id,
            Outcome::CheckFailed,
            &error,
            extra,
            policy,
        )?;
        Ok(CheckOutcome::Failed {
            evidence: evidence.clone(),
            release,
        })
    }
}

fn report(evidence: &CheckEvidence, checks: usize) -> String {
    let mut text = format!(
        "Check {} of {checks} failed: it {} after {} ms.\n\n    {}\n",
        evidence.position,
        evidence.ending(),
        evidence.duration_ms,
        evidence.command.replace('\n', "\n    ")
    );
    let output = evidence.output.trim_end();
    if !output.is_empty() {
        text.push_str("\nThe end of its output:\n\n");
        for line in output.lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text.trim_end().to_owned()
}

fn session_of_row(row: &dyn Row) -> Result<CheckSession> {
    let start: Option<i64> = row.get(6)?;
    let boot: Option<String> = row.get(7)?;
    let identity = start.zip(boot).map(|(start, boot_id)| WorkerIdentity {
        start: u64::try_from(start).unwrap_or_default(),
        boot_id,
    });
    Ok(CheckSession {
        id: row.get(0)?,
        task_id: TaskId::new(row.get::<String>(1)?),
        run_id: RunId(row.get(2)?),
        state: CheckState::parse(&row.get::<String>(3)?).unwrap_or(CheckState::Abandoned),
        checker: Checker {
            lock: row.get(4)?,
            pid: row.get(5)?,
            identity,
        },
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
        results: Vec::new(),
    })
}
