//! The calls of a board, on the board in memory.

use crate::Flaw;
use crate::board::{Card, SimulatedBoard};
use hermes_board::model::{
    Assignee, BlockKind, Check, CheckEvidence, Outcome, RunId, Status, Task, TaskId, Termination,
    WorkerExit, WorkerIdentity,
};
use hermes_board::store::{
    Applied, AttemptEnd, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart,
    ChecksBegun, ClaimFrom, ClaimOutcome, ClaimRequest, ClaimSeen, Claimant, Claimed,
    CompleteOutcome, Completed, Completion, Created, FailurePolicy, NewTask, PromoteRequest,
    Release, ResolvedWorkspace, ScheduleRequest, Snapshot, WaitNote,
};
use hermes_board::{Error, Result};

/// A reason for holding a card back is noted again after this time.
const NOTE_SECONDS: i64 = 3600;

impl BoardStore for SimulatedBoard {
    fn now(&self) -> i64 {
        self.now
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        Ok(self.take_snapshot(failure_limit))
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        Ok(self.card(id).ok().map(Card::task))
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.card(id).map(Card::checks)
    }

    fn create(&mut self, new: &NewTask) -> Result<Created> {
        self.create_card(new)
    }

    fn link(&mut self, parent: &TaskId, child: &TaskId) -> Result<bool> {
        let parent_index = self.index(parent)?;
        let child_index = self.index(child)?;
        if parent_index >= child_index {
            // Links lead from older to newer cards, so that no circle can arise.
            return Err(Error::SelfLink { id: child.clone() });
        }
        let card = self.change(child)?;
        if !card.parents.contains(&parent_index) {
            card.parents.push(parent_index);
        }
        let holds_back =
            card.status == Status::Ready && self.card(child).is_ok_and(|c| self.has_open_parent(c));
        if holds_back {
            self.change(child)?.status = Status::Todo;
        }
        Ok(holds_back)
    }

    fn unlink(&mut self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>> {
        let parent = self.index(parent)?;
        let card = self.change(child)?;
        let before = card.parents.len();
        card.parents.retain(|one| *one != parent);
        if card.parents.len() == before {
            return Ok(None);
        }
        Ok(Some(self.promote_all(self.failure_limit)))
    }

    fn assign(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()> {
        let card = self.change(id)?;
        if card.status == Status::Running && card.lock.is_some() {
            return Err(Error::InProgress {
                id: id.clone(),
                action: "assign",
                lock: card.lock.clone(),
            });
        }
        let name = assignee.map(Assignee::as_str);
        if card.assignee.as_deref() != name {
            card.assignee = name.map(str::to_owned);
            card.failures = 0;
            card.last_error = None;
        }
        Ok(())
    }

    fn assign_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied> {
        let card = self.change(id)?;
        if card.status != Status::Ready || card.lock.is_some() || card.assignee.is_some() {
            return Ok(Applied::LostRace);
        }
        card.assignee = Some(assignee.as_str().to_owned());
        Ok(Applied::Yes)
    }

    fn promote_satisfied(&mut self, failure_limit: i64) -> Result<Vec<TaskId>> {
        self.write()?;
        Ok(self.promote_all(failure_limit))
    }

    fn wake_due(&mut self) -> Result<Vec<(TaskId, Status)>> {
        self.write()?;
        let due: Vec<TaskId> = self
            .cards
            .iter()
            .filter(|card| card.status == Status::Scheduled)
            .filter(|card| card.scheduled_at.is_some_and(|at| at <= self.now))
            .map(|card| card.id.clone())
            .collect();
        let mut woken = Vec::new();
        for id in due {
            let status = self.unblock(&id)?;
            woken.push((id, status));
        }
        Ok(woken)
    }

    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome> {
        let now = self.now;
        let flawed = self.flaw == Some(Flaw::ClaimsWithoutCheck);
        let Ok(card) = self.card(&request.task) else {
            return Ok(ClaimOutcome::Unknown);
        };
        let is_free = card.status == request.from.status() && card.lock.is_none();
        let is_let_through = flawed && card.status == Status::Running;
        let host = request.host.as_ref().map(|host| host.id.clone());
        if self.is_shared && self.flaw != Some(Flaw::ClaimsBeyondLimits) {
            let counts = self.in_progress(card.assignee.as_deref(), host.as_deref());
            if let Some(reached) = request.caps.reached(counts) {
                return Ok(ClaimOutcome::Full(reached));
            }
        }
        if !is_free && !is_let_through {
            return Ok(ClaimOutcome::NotClaimable {
                status: card.status.as_str().to_owned(),
                lock: card.lock.clone(),
            });
        }
        if request.from == ClaimFrom::Ready && self.has_open_parent(card) {
            self.change_unforced(&request.task)?.status = Status::Todo;
            return Ok(ClaimOutcome::ParentsOpen);
        }
        if let Some(at) = card.scheduled_at.filter(|at| *at > now) {
            return Ok(ClaimOutcome::TooEarly { at });
        }
        let run = RunId(self.runs + 1);
        let card = self.change_unforced(&request.task)?;
        card.close(Outcome::Reclaimed, now);
        card.free();
        card.status = Status::Running;
        card.lock = Some(request.lock.clone());
        card.host = host;
        card.expires = Some(now + request.ttl_seconds.max(1));
        card.scheduled_at = None;
        card.run = Some(run);
        card.run_started_at = Some(now);
        let is_first_attempt = !std::mem::replace(&mut card.claimed_before, true);
        let task = card.task();
        self.runs = run.0;
        Ok(ClaimOutcome::Claimed(Box::new(Claimed {
            task,
            run,
            is_first_attempt,
        })))
    }

    fn record_workspace(
        &mut self,
        id: &TaskId,
        claimant: Claimant<'_>,
        _workspace: &ResolvedWorkspace,
    ) -> Result<Applied> {
        let flawed = self.flaw == Some(Flaw::TrustsAttemptNumbers);
        let card = self.change(id)?;
        let is_theirs =
            card.lock.as_deref() == Some(claimant.lock) && card.host.as_deref() == claimant.host;
        Ok(applied(
            card.is_running_as(claimant.run) && (is_theirs || flawed),
        ))
    }

    fn record_spawned(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        let card = self.change(id)?;
        if !card.is_running_as(run) {
            return Ok(Applied::LostRace);
        }
        card.pid = Some(pid);
        card.identity = identity.cloned();
        Ok(Applied::Yes)
    }

    fn record_spawn_failure(
        &mut self,
        id: &TaskId,
        run: RunId,
        error: &str,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let now = self.now;
        let card = self.change(id)?;
        if !card.is_running_as(run) {
            return Ok(Release::LostRace);
        }
        card.free();
        card.close(Outcome::SpawnFailed, now);
        let error = if error.contains("denied") {
            "permission denied"
        } else {
            "no worker could be started"
        };
        Ok(card.fail(error, *policy))
    }

    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied> {
        let until = self.now + ttl_seconds.max(1);
        let card = self.change_unforced(id)?;
        if card.status != Status::Running || card.lock.as_deref() != Some(lock) {
            return Ok(Applied::LostRace);
        }
        card.expires = Some(until);
        Ok(Applied::Yes)
    }

    fn heartbeat(
        &mut self,
        id: &TaskId,
        _note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()> {
        let now = self.now;
        let card = self.change_unforced(id)?;
        card.must_be(
            id,
            "record a heartbeat of",
            &[Status::Running],
            expected_run,
        )?;
        card.heartbeat_at = Some(now);
        Ok(())
    }

    fn extend_claim(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied> {
        let card = self.change(id)?;
        let now = card.seen();
        let unchanged = card.status == Status::Running
            && (&now.lock, now.expires, now.run) == (&seen.lock, seen.expires, seen.run);
        if !unchanged {
            return Ok(Applied::LostRace);
        }
        card.expires = Some(until);
        Ok(Applied::Yes)
    }

    fn defer_reclaim(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        _reason: &'static str,
        _termination: Termination,
    ) -> Result<Applied> {
        self.extend_claim(id, seen, until)
    }

    fn end_attempt(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        end: &AttemptEnd,
        _termination: Termination,
    ) -> Result<Release> {
        let now = self.now;
        let Some(card) = self.release(id, seen)? else {
            return Ok(Release::LostRace);
        };
        let failures = card.failures;
        Ok(match end {
            AttemptEnd::Expired { .. } => {
                card.close(Outcome::Reclaimed, now);
                card.requeued_at = Some(now);
                Release::Requeued { failures }
            }
            AttemptEnd::Silent(_) => {
                card.close(Outcome::Stale, now);
                Release::Requeued { failures }
            }
            AttemptEnd::Exited { exit, policy } => card.exited(*exit, *policy, now),
            AttemptEnd::TimedOut { policy, .. } => {
                card.close(Outcome::TimedOut, now);
                card.fail("took too long", *policy)
            }
        })
    }

    fn record_budget_exhausted(
        &mut self,
        id: &TaskId,
        run: RunId,
        _used: i64,
        _most: i64,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        let now = self.now;
        let card = self.change(id)?;
        if !card.is_running_as(run) {
            return Ok(Release::LostRace);
        }
        card.free();
        card.close(Outcome::TimedOut, now);
        Ok(card.fail("used up its turns", *policy))
    }

    fn reclaim(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        _reason: Option<&str>,
        _termination: Termination,
    ) -> Result<Applied> {
        let now = self.now;
        let card = self.change(id)?;
        let held = card.status == Status::Running || card.lock.is_some();
        if !held {
            return Err(Error::not_allowed(id, "reclaim", card.status.as_str()));
        }
        if card.lock.as_deref() != prev_lock {
            return Ok(Applied::LostRace);
        }
        card.free();
        card.close(Outcome::Reclaimed, now);
        card.status = Status::Ready;
        card.failures = 0;
        card.last_error = None;
        card.requeued_at = Some(now);
        Ok(Applied::Yes)
    }

    fn note_waiting(&mut self, notes: &[WaitNote]) -> Result<usize> {
        self.write()?;
        let now = self.now;
        let mut noted = 0;
        for note in notes {
            let Ok(index) = self.index(&note.task) else {
                continue;
            };
            if let Some(card) = self.cards.get_mut(index) {
                let is_news = card.noted.as_ref().is_none_or(|(reason, at)| {
                    *reason != note.reason || now.saturating_sub(*at) >= NOTE_SECONDS
                });
                if is_news {
                    card.noted = Some((note.reason.clone(), now));
                    noted += 1;
                }
            }
        }
        Ok(noted)
    }

    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        let flawed = self.flaw == Some(Flaw::CompletesForAnyAttempt);
        let expected = completion.expected_run.filter(|_| !flawed);
        let card = self.change(id)?;
        let allowed = [Status::Running, Status::Ready, Status::Blocked];
        card.must_be(id, "complete", &allowed, expected)?;
        if card.checks > 0 {
            let checks = card.checks();
            return Ok(CompleteOutcome::NeedsChecks(checks));
        }
        Ok(CompleteOutcome::Done(Box::new(self.finish(id)?)))
    }

    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        self.open_session(id, completion, start)
    }

    fn record_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()> {
        self.note_check(session, evidence)
    }

    fn finish_checks(
        &mut self,
        session: i64,
        _completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.close_session(session, policy)
    }

    fn abandon_checks(&mut self, session: i64) -> Result<()> {
        self.abandon_session(session)
    }

    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome> {
        let now = self.now;
        let id = &request.task;
        let open_parent = self.card(id).is_ok_and(|card| self.has_open_parent(card));
        let card = self.change(id)?;
        let allowed = [Status::Running, Status::Ready];
        card.must_be(id, "block", &allowed, request.expected_run)?;
        let kind = match request.kind {
            Some(BlockKind::Dependency) if !open_parent => Some(BlockKind::NeedsInput),
            other => other,
        };
        let times = if card.block_kind == kind {
            card.block_recurrences + 1
        } else {
            1
        };
        let run = card.run;
        card.free();
        card.close(Outcome::Blocked, now);
        card.block_kind = kind;
        let status = if kind == Some(BlockKind::Dependency) {
            Status::Todo
        } else {
            card.block_recurrences = times;
            if times >= 2 {
                Status::Triage
            } else {
                card.sticky = true;
                Status::Blocked
            }
        };
        card.status = status;
        Ok(BlockOutcome {
            status,
            kind,
            recurrences: card.block_recurrences,
            run,
        })
    }

    fn unblock(&mut self, id: &TaskId) -> Result<Status> {
        let now = self.now;
        let waits = self.card(id).is_ok_and(|card| self.has_open_parent(card));
        let card = self.change(id)?;
        card.must_be(id, "unblock", &[Status::Blocked, Status::Scheduled], None)?;
        card.close(Outcome::Reclaimed, now);
        card.free();
        card.status = if waits { Status::Todo } else { Status::Ready };
        card.failures = 0;
        card.last_error = None;
        card.scheduled_at = None;
        card.sticky = false;
        card.requeued_at = Some(now);
        Ok(card.status)
    }

    fn schedule(&mut self, request: &ScheduleRequest) -> Result<()> {
        let now = self.now;
        let id = &request.task;
        let card = self.change(id)?;
        let allowed = [
            Status::Todo,
            Status::Ready,
            Status::Running,
            Status::Blocked,
            Status::Scheduled,
        ];
        card.must_be(id, "schedule", &allowed, request.expected_run)?;
        card.free();
        card.close(Outcome::Scheduled, now);
        card.status = Status::Scheduled;
        card.scheduled_at = request.at;
        Ok(())
    }

    fn promote(&mut self, request: &PromoteRequest) -> Result<()> {
        let id = &request.task;
        let waits = self.card(id).is_ok_and(|card| self.has_open_parent(card));
        let card = self.change(id)?;
        card.must_be(id, "promote", &[Status::Todo, Status::Blocked], None)?;
        if waits && !request.force {
            return Err(Error::OpenParents {
                id: id.clone(),
                parents: Vec::new(),
            });
        }
        if !request.dry_run {
            card.status = Status::Ready;
        }
        Ok(())
    }

    fn archive(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        let now = self.now;
        let card = self.change(id)?;
        if card.status == Status::Archived {
            return Err(Error::not_allowed(id, "archive", "archived"));
        }
        card.free();
        card.close(Outcome::Reclaimed, now);
        card.status = Status::Archived;
        card.scheduled_at = None;
        Ok(self.promote_all(self.failure_limit))
    }
}

impl SimulatedBoard {
    /// Makes a card done.
    pub(crate) fn finish(&mut self, id: &TaskId) -> Result<Completed> {
        let now = self.now;
        let index = self.index(id)?;
        let Some(card) = self.cards.get_mut(index) else {
            return Err(Error::unknown(id));
        };
        let run = card.run;
        card.free();
        if run.is_some() {
            card.completed_at = Some(now);
        }
        card.close(Outcome::Completed, now);
        card.status = Status::Done;
        card.failures = 0;
        card.last_error = None;
        card.block_kind = None;
        card.block_recurrences = 0;
        card.scheduled_at = None;
        card.completions += 1;
        let task = card.task();
        Ok(Completed {
            task,
            run,
            promoted: self.promote_all(self.failure_limit),
            phantom_references: Vec::new(),
            finished_workspaces: Vec::new(),
        })
    }
}

impl Card {
    pub(crate) fn is_running_as(&self, run: RunId) -> bool {
        self.status == Status::Running && self.run == Some(run)
    }

    fn exited(&mut self, exit: WorkerExit, policy: FailurePolicy, now: i64) -> Release {
        let streak = self.streak + 1;
        let failures = self.failures;
        match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => {
                self.close(Outcome::RateLimited, now);
                self.last_error = Some("met the quota wall");
                Release::Requeued { failures }
            }
            WorkerExit::Code(0) => {
                self.close(Outcome::Crashed, now);
                self.streak = streak;
                self.last_error = Some("forgot its card");
                let limit = self.max_retries.unwrap_or(FailurePolicy::VIOLATION_LIMIT);
                if streak < limit {
                    return Release::Requeued { failures };
                }
                self.status = Status::Blocked;
                self.failures = (failures + 1).max(self.max_retries.unwrap_or(policy.limit));
                Release::Blocked {
                    failures: failures + 1,
                    limit,
                }
            }
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => {
                self.close(Outcome::Crashed, now);
                self.fail("crashed", policy)
            }
        }
    }

    pub(crate) fn must_be(
        &self,
        id: &TaskId,
        action: &'static str,
        allowed: &[Status],
        expected: Option<RunId>,
    ) -> Result<()> {
        if !allowed.contains(&self.status) {
            return Err(Error::not_allowed(id, action, self.status.as_str()));
        }
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

    pub(crate) fn checks(&self) -> Vec<Check> {
        (1..=self.checks)
            .map(|position| Check {
                position,
                command: String::new(),
                on_host: false,
            })
            .collect()
    }
}

fn applied(yes: bool) -> Applied {
    if yes { Applied::Yes } else { Applied::LostRace }
}
