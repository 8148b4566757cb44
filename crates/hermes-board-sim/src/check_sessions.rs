//! Sessions of checks on the board in memory.

use crate::board::{CheckRun, SimulatedBoard};
use hermes_board::model::{
    CheckEvidence, CheckSession, CheckState, Outcome, RunId, Status, TaskId,
};
use hermes_board::store::{CheckOutcome, CheckStart, ChecksBegun, Completion, FailurePolicy};
use hermes_board::{Error, Result};

impl SimulatedBoard {
    pub(crate) fn open_session(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        let now = self.now;
        let index = self.index(id)?;
        let new_run = RunId(self.runs + 1);
        let card = self.change(id)?;
        let allowed = [Status::Running, Status::Ready, Status::Blocked];
        card.must_be(id, "complete", &allowed, completion.expected_run)?;
        let run = if let Some(run) = card.run {
            run
        } else {
            card.status = Status::Running;
            card.lock = Some(start.checker.lock.clone());
            card.expires = Some(now + start.ttl_seconds.max(1));
            card.pid = Some(start.checker.pid);
            card.identity.clone_from(&start.checker.identity);
            card.run = Some(new_run);
            card.run_started_at = Some(now);
            new_run
        };
        let checks = card.checks();
        let task = card.task();
        self.runs = self.runs.max(run.0);
        for round in &mut self.sessions {
            round.pending &= round.card != index;
        }
        let number = i64::try_from(self.sessions.len()).unwrap_or(i64::MAX);
        self.sessions.push(CheckRun {
            card: index,
            run,
            pending: true,
            lock: start.checker.lock.clone(),
            passed: 0,
            failed: false,
        });
        Ok(ChecksBegun {
            session: CheckSession {
                id: number,
                task_id: id.clone(),
                run_id: run,
                state: CheckState::Pending,
                checker: start.checker.clone(),
                started_at: now,
                ended_at: None,
                results: Vec::new(),
            },
            checks,
            task,
        })
    }

    pub(crate) fn note_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()> {
        self.write()?;
        let round = self.session(session)?;
        if evidence.passed() {
            round.passed += 1;
        } else {
            round.failed = true;
        }
        Ok(())
    }

    pub(crate) fn close_session(
        &mut self,
        session: i64,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.write()?;
        let now = self.now;
        let round = self.session(session)?;
        round.pending = false;
        let round = round.clone();
        let Some(card) = self.cards.get_mut(round.card) else {
            return Err(Error::ChecksOver { session });
        };
        if !card.is_running_as(round.run) {
            return Ok(CheckOutcome::LostRace);
        }
        if round.failed {
            card.free();
            card.close(Outcome::CheckFailed, now);
            let release = card.fail("a check did not pass", *policy);
            return Ok(CheckOutcome::Failed {
                evidence: CheckEvidence {
                    position: 1,
                    command: String::new(),
                    exit_code: Some(1),
                    timed_out: false,
                    output: String::new(),
                    duration_ms: 0,
                },
                release,
            });
        }
        if round.passed < card.checks {
            return Err(Error::BadRequest("not every check has been run".to_owned()));
        }
        let id = card.id.clone();
        Ok(CheckOutcome::Done(Box::new(self.finish(&id)?)))
    }

    pub(crate) fn abandon_session(&mut self, session: i64) -> Result<()> {
        self.write()?;
        let now = self.now;
        let round = self.session(session)?;
        round.pending = false;
        let round = round.clone();
        if let Some(card) = self.cards.get_mut(round.card) {
            let ours = card.run == Some(round.run) && card.lock.as_ref() == Some(&round.lock);
            if ours {
                card.free();
                card.close(Outcome::Reclaimed, now);
                card.status = Status::Ready;
            }
        }
        Ok(())
    }

    fn session(&mut self, session: i64) -> Result<&mut CheckRun> {
        usize::try_from(session)
            .ok()
            .and_then(|index| self.sessions.get_mut(index))
            .filter(|round| round.pending)
            .ok_or(Error::ChecksOver { session })
    }
}
