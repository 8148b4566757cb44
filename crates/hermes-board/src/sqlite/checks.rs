//! Acceptance checks in the database.
//!
//! A completion of a card with checks is written down before the first check runs, together with
//! the process that runs them. If nobody works on the card, that process claims it like a worker
//! would: should it die, any dispatcher, ours or the reference's, finds the card as it finds that of
//! a crashed worker. Nothing here runs a command.

use hermes_store::rusqlite::params;
use serde_json::json;

use crate::model::event_body::EventBody;
use crate::model::{
    Check, CheckEvidence, CheckMark, CheckSession, CheckState, Checker, Outcome, RunId, Status,
    TaskId, WorkerIdentity,
};
use crate::sqlite::SqliteBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::claim::identity_object;
use crate::sqlite::failure::object;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::Session;
use crate::store::{CheckOutcome, CheckStart, ChecksBegun, Completion, FailurePolicy};
use crate::{Error, Result};

/// Who comments on a card whose check did not pass.
const AUTHOR: &str = "acceptance-checks";

impl SqliteBoard {
    /// Replaces the checks of a card. Not while it is worked on: the worker was told of others.
    pub fn set_checks(&mut self, id: &TaskId, commands: &[String]) -> Result<()> {
        if commands.iter().any(|command| command.trim().is_empty()) {
            return Err(Error::Blank {
                what: "the command of a check",
            });
        }
        self.write(|session| {
            let standing = session.standing(id)?;
            if standing.status == Status::Running {
                return Err(Error::InProgress {
                    id: id.clone(),
                    action: "change the checks of",
                    lock: standing.lock,
                });
            }
            if matches!(standing.status, Status::Done | Status::Archived) {
                // It would look as if they had passed.
                return Err(Error::not_allowed(
                    id,
                    "change the checks of",
                    &standing.word,
                ));
            }
            session.execute("DELETE FROM task_checks WHERE task_id = ?1", [id.as_str()])?;
            session.set_checks(id, commands)?;
            let checks = commands.len();
            session.append(id, None, &EventBody::ChecksEdited { checks })?;
            Ok(())
        })
    }

    /// What checks say about a card.
    pub fn check_mark(&self, id: &TaskId) -> Result<CheckMark> {
        self.read(|session| {
            let found = session.one(
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

    /// The rounds of checks of a card, newest first.
    pub fn check_sessions(&self, id: &TaskId) -> Result<Vec<CheckSession>> {
        self.read(|session| {
            let mut rounds = session.all(
                "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start,
                     checker_boot, started_at, ended_at
                 FROM task_check_sessions WHERE task_id = ?1 ORDER BY +id DESC",
                [id.as_str()],
                round_of_row,
            )?;
            for round in &mut rounds {
                round.results = session.check_results(round.id)?;
            }
            Ok(rounds)
        })
    }

    pub(super) fn start_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        self.write(|session| {
            let run = session.may_complete(id, completion)?;
            let checks = session.checks(id)?;
            if checks.is_empty() {
                return Err(Error::BadRequest(format!("{id} has no checks")));
            }
            // A refusal is recorded, so it is committed like a success.
            if let Err(refusal) = session.pass_gate(id, completion)? {
                return Ok(Err(refusal));
            }
            session.make_way(id, run, start)?;
            let run = match run {
                Some(run) => run,
                None => session.claim_for_checks(id, start)?,
            };
            let round = session.open_round(id, run, completion, &start.checker)?;
            let count = checks.len();
            session.append(
                id,
                Some(run),
                &EventBody::ChecksStarted {
                    session: round.id,
                    checks: count,
                },
            )?;
            Ok(Ok(ChecksBegun {
                session: round,
                checks,
                task: session.known_task(id)?,
            }))
        })?
    }

    pub(super) fn note_check(&mut self, number: i64, evidence: &CheckEvidence) -> Result<()> {
        self.write(|session| {
            session.pending_round(number)?;
            session.execute(
                "INSERT OR REPLACE INTO task_check_results
                     (session_id, position, command, exit_code, timed_out, output, duration_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
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
        })
    }

    pub(super) fn end_checks(
        &mut self,
        number: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.write(|session| {
            let round = session.pending_round(number)?;
            let id = &round.task_id;
            // A card that somebody moved or deleted meanwhile is theirs.
            let unchanged = session
                .standing(id)
                .is_ok_and(|now| now.status == Status::Running && now.run == Some(round.run_id));
            if !unchanged {
                session.close_round(number, CheckState::Abandoned)?;
                return Ok(CheckOutcome::LostRace);
            }
            let checks = session.checks(id)?;
            let results = session.check_results(number)?;
            if let Some(evidence) = results.iter().find(|result| !result.passed()) {
                session.close_round(number, CheckState::Failed)?;
                return session.fail_check(&round, evidence, checks.len(), policy);
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
            session.close_round(number, CheckState::Passed)?;
            session.append(
                id,
                Some(round.run_id),
                &EventBody::ChecksPassed {
                    session: number,
                    checks: checks.len(),
                },
            )?;
            let verified = session.verified_cards(id, completion)?;
            session
                .complete(id, Some(round.run_id), completion, &verified)
                .map(|done| CheckOutcome::Done(Box::new(done)))
        })
    }

    pub(super) fn give_up_checks(&mut self, number: i64) -> Result<()> {
        self.write(|session| {
            let round = session.pending_round(number)?;
            session.close_round(number, CheckState::Abandoned)?;
            let id = &round.task_id;
            let Ok(standing) = session.standing(id) else {
                return Ok(());
            };
            // The claim is ours only if nobody else worked on the card.
            let ours = standing.run == Some(round.run_id)
                && standing.lock.as_deref() == Some(round.checker.lock.as_str());
            if ours {
                session.free_claim(id)?;
                session.execute(
                    "UPDATE tasks SET status = 'ready' WHERE id = ?1",
                    [id.as_str()],
                )?;
                let ending = Ending::new(Outcome::Reclaimed)
                    .summary(Some("the checks were given up without a verdict"));
                session.close_run(id, standing.run, &ending)?;
            }
            Ok(())
        })
    }
}

impl Session<'_> {
    pub(super) fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.all(
            "SELECT position, command FROM task_checks WHERE task_id = ?1 ORDER BY position",
            [id.as_str()],
            |row| {
                Ok(Check {
                    position: row.get(0)?,
                    command: row.get(1)?,
                })
            },
        )
    }

    /// Writes the checks of a card that has none.
    pub(super) fn set_checks(&self, id: &TaskId, commands: &[String]) -> Result<()> {
        for (command, position) in commands.iter().zip(1_i64..) {
            self.execute(
                "INSERT INTO task_checks (task_id, position, command, created_at)
                 VALUES (?1, ?2, ?3, ?4)",
                params![id.as_str(), position, command.trim(), self.now],
            )?;
        }
        Ok(())
    }

    /// An attempt that ended takes its unfinished checks with it.
    pub(super) fn void_checks(&self, id: &TaskId) -> Result<()> {
        self.execute(
            "UPDATE task_check_sessions SET state = 'abandoned', ended_at = ?2
             WHERE task_id = ?1 AND state = 'pending'",
            params![id.as_str(), self.now],
        )?;
        Ok(())
    }

    /// Refuses while another process runs checks for the same attempt; clears away what a process
    /// that is gone, or an attempt that is over, left.
    fn make_way(&self, id: &TaskId, run: Option<RunId>, start: &CheckStart<'_>) -> Result<()> {
        let pending = self.all(
            "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start, checker_boot,
                 started_at, ended_at
             FROM task_check_sessions WHERE task_id = ?1 AND state = 'pending'",
            [id.as_str()],
            round_of_row,
        )?;
        for round in pending {
            if run == Some(round.run_id) && !(start.is_gone)(&round.checker) {
                return Err(Error::ChecksInProgress {
                    id: id.clone(),
                    checker: round.checker.lock,
                });
            }
            self.close_round(round.id, CheckState::Abandoned)?;
        }
        Ok(())
    }

    fn claim_for_checks(&self, id: &TaskId, start: &CheckStart<'_>) -> Result<RunId> {
        let checker = &start.checker;
        let expires = self.now + start.ttl_seconds.max(1);
        self.execute(
            "UPDATE tasks SET status = 'running', claim_lock = ?2, claim_expires = ?3,
                 worker_pid = ?4, started_at = COALESCE(started_at, ?5), last_heartbeat_at = NULL
             WHERE id = ?1",
            params![id.as_str(), checker.lock, expires, checker.pid, self.now],
        )?;
        let metadata = checker.identity.as_ref().map(identity_object);
        let run = self.open_run(
            id,
            &checker.lock,
            expires,
            Some(checker.pid),
            metadata.as_ref(),
        )?;
        self.append(
            id,
            Some(run),
            &EventBody::Claimed {
                lock: &checker.lock,
                expires,
                run,
                from_review: false,
            },
        )?;
        Ok(run)
    }

    fn open_round(
        &self,
        id: &TaskId,
        run: RunId,
        completion: &Completion,
        checker: &Checker,
    ) -> Result<CheckSession> {
        let identity = checker.identity.as_ref();
        let number = self.insert(
            "INSERT INTO task_check_sessions (task_id, run_id, state, checker, checker_pid,
                 checker_start, checker_boot, request, started_at)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id.as_str(),
                run.0,
                checker.lock,
                checker.pid,
                identity.and_then(|identity| i64::try_from(identity.start).ok()),
                identity.map(|identity| identity.boot_id.as_str()),
                json!(completion).to_string(),
                self.now
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

    fn pending_round(&self, number: i64) -> Result<CheckSession> {
        self.one(
            "SELECT id, task_id, run_id, state, checker, checker_pid, checker_start, checker_boot,
                 started_at, ended_at
             FROM task_check_sessions WHERE id = ?1 AND state = 'pending'",
            [number],
            round_of_row,
        )?
        .ok_or(Error::ChecksOver { session: number })
    }

    fn close_round(&self, number: i64, state: CheckState) -> Result<()> {
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
                    duration_ms: u64::try_from(row.get::<_, i64>(5)?).unwrap_or(0),
                })
            },
        )
    }

    /// Records a check that did not pass, where the next worker and people will look, and counts
    /// the attempt as failed.
    fn fail_check(
        &self,
        round: &CheckSession,
        evidence: &CheckEvidence,
        checks: usize,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        let id = &round.task_id;
        self.append(
            id,
            Some(round.run_id),
            &EventBody::CheckFailed {
                session: round.id,
                evidence,
            },
        )?;
        self.comment(id, AUTHOR, &report(evidence, checks))?;
        // Without the command: words in it must not be taken for the nature of the failure.
        let error = format!(
            "acceptance check {} of {checks} {}",
            evidence.position,
            evidence.ending()
        );
        let extra = object(json!({"check": evidence.position, "session": round.id}));
        let release = self.fail_attempt(
            id,
            round.run_id,
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
        "Check {} of {checks} did not pass: it {} after {} ms.\n\n    {}\n",
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

fn round_of_row(
    row: &hermes_store::rusqlite::Row<'_>,
) -> hermes_store::rusqlite::Result<CheckSession> {
    let start: Option<i64> = row.get(6)?;
    let boot: Option<String> = row.get(7)?;
    let identity = start.zip(boot).map(|(start, boot_id)| WorkerIdentity {
        start: u64::try_from(start).unwrap_or_default(),
        boot_id,
    });
    Ok(CheckSession {
        id: row.get(0)?,
        task_id: TaskId::new(row.get::<_, String>(1)?),
        run_id: RunId(row.get(2)?),
        state: CheckState::parse(&row.get::<_, String>(3)?).unwrap_or(CheckState::Abandoned),
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
