//! A board in memory, as simple as can be: what the database promises, without the database.
//!
//! Every call of [`hermes_board::store::BoardStore`] is one step here as it is one transaction there, with
//! the same conditions. A [`Flaw`] takes one of the conditions away, to show that its absence is
//! noticed.

use crate::Flaw;
use hermes_board::model::{
    BlockKind, Outcome, Placement, RunId, Status, Task, TaskId, TaskState, WorkerIdentity,
};
use hermes_board::store::{
    Candidate, ClaimSeen, EndedRun, FailurePolicy, GuardFacts, Release, WaitReason,
};
use hermes_board::{Error, Result};

/// The board.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SimulatedBoard {
    pub(crate) cards: Vec<Card>,
    pub(crate) now: i64,
    pub(crate) runs: i64,
    pub(crate) sessions: Vec<CheckRun>,
    pub(crate) flaw: Option<Flaw>,
    /// Failures after which a card without a number of its own is blocked.
    pub(crate) failure_limit: i64,
    /// The next write does not happen.
    pub(crate) fails_next: bool,
    /// Several machines use it, over a network.
    pub(crate) is_shared: bool,
    /// The board as it is on the disk, where that is behind.
    pub(crate) kept: Option<Box<Self>>,
}

/// One card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Card {
    pub(crate) id: TaskId,
    pub(crate) assignee: Option<String>,
    pub(crate) status: Status,
    pub(crate) priority: i64,
    pub(crate) created_at: i64,
    pub(crate) parents: Vec<usize>,
    pub(crate) lock: Option<String>,
    /// Id of the host of the attempt in progress.
    pub(crate) host: Option<String>,
    pub(crate) expires: Option<i64>,
    pub(crate) pid: Option<u32>,
    pub(crate) identity: Option<WorkerIdentity>,
    pub(crate) run: Option<RunId>,
    /// Whether any attempt was ever opened.
    pub(crate) claimed_before: bool,
    pub(crate) run_started_at: Option<i64>,
    pub(crate) heartbeat_at: Option<i64>,
    pub(crate) failures: i64,
    pub(crate) last_error: Option<&'static str>,
    pub(crate) max_retries: Option<i64>,
    pub(crate) max_runtime: Option<i64>,
    pub(crate) scheduled_at: Option<i64>,
    pub(crate) last_run: Option<EndedRun>,
    pub(crate) completed_at: Option<i64>,
    pub(crate) requeued_at: Option<i64>,
    pub(crate) streak: i64,
    /// Somebody blocked it and nobody unblocked it.
    pub(crate) sticky: bool,
    pub(crate) block_kind: Option<BlockKind>,
    pub(crate) block_recurrences: i64,
    pub(crate) checks: u32,
    /// How often it was completed.
    pub(crate) completions: u32,
    /// Last reason for holding it back, and when that was noted.
    pub(crate) noted: Option<(WaitReason, i64)>,
}

/// A session of checks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckRun {
    pub(crate) card: usize,
    pub(crate) run: RunId,
    pub(crate) pending: bool,
    pub(crate) lock: String,
    pub(crate) passed: u32,
    pub(crate) failed: bool,
}

impl SimulatedBoard {
    pub(crate) fn index(&self, id: &TaskId) -> Result<usize> {
        let number = id.as_str().strip_prefix("t_");
        number
            .and_then(|digits| usize::from_str_radix(digits, 16).ok())
            .filter(|index| *index < self.cards.len())
            .ok_or_else(|| Error::unknown(id))
    }

    pub(crate) fn card(&self, id: &TaskId) -> Result<&Card> {
        let index = self.index(id)?;
        self.cards.get(index).ok_or_else(|| Error::unknown(id))
    }

    /// The card, to be changed; fails if a write is due to fail.
    pub(crate) fn change(&mut self, id: &TaskId) -> Result<&mut Card> {
        self.write()?;
        let index = self.index(id)?;
        self.cards.get_mut(index).ok_or_else(|| Error::unknown(id))
    }

    /// As [`Self::change`], for a write that is not forced to the disk.
    pub(crate) fn change_unforced(&mut self, id: &TaskId) -> Result<&mut Card> {
        let kept = self.kept.take();
        self.write()?;
        let is_shared = self.is_shared;
        self.kept = kept.or_else(|| is_shared.then(|| Box::new(self.clone())));
        let index = self.index(id)?;
        self.cards.get_mut(index).ok_or_else(|| Error::unknown(id))
    }

    /// How many cards are in progress: all, those of an assignee, those on a host.
    pub(crate) fn in_progress(&self, assignee: Option<&str>, host: Option<&str>) -> [usize; 3] {
        let mut counts = [0; 3];
        for card in self
            .cards
            .iter()
            .filter(|card| card.status == Status::Running)
        {
            let of_assignee = assignee.is_some() && card.assignee.as_deref() == assignee;
            let on_host = host.is_some() && card.host.as_deref() == host;
            for (count, counts_here) in counts.iter_mut().zip([true, of_assignee, on_host]) {
                *count += usize::from(counts_here);
            }
        }
        counts
    }

    /// Begins a write. What was written before is forced to the disk with it.
    pub(crate) fn write(&mut self) -> Result<()> {
        self.kept = None;
        if std::mem::take(&mut self.fails_next) {
            return Err(Error::BadRequest("the disk is full".to_owned()));
        }
        Ok(())
    }

    pub(crate) fn has_open_parent(&self, card: &Card) -> bool {
        card.parents.iter().any(|parent| {
            let parent = self.cards.get(*parent);
            parent.is_some_and(|parent| !parent.status.satisfies_children())
        })
    }

    pub(crate) fn is_promotable(&self, card: &Card, failure_limit: i64) -> bool {
        let waits = match card.status {
            Status::Todo => true,
            Status::Blocked => {
                !card.sticky && card.failures < card.max_retries.unwrap_or(failure_limit)
            }
            _ => false,
        };
        waits && !self.has_open_parent(card) && self.flaw != Some(Flaw::ForgetsToPromote)
    }

    /// Makes ready what waits for nothing any more.
    pub(crate) fn promote_all(&mut self, failure_limit: i64) -> Vec<TaskId> {
        let found: Vec<usize> = (0..self.cards.len())
            .filter(|index| {
                let card = self.cards.get(*index);
                card.is_some_and(|card| self.is_promotable(card, failure_limit))
            })
            .collect();
        let now = self.now;
        let mut promoted = Vec::new();
        for index in found {
            if let Some(card) = self.cards.get_mut(index) {
                card.status = Status::Ready;
                card.requeued_at = Some(now);
                promoted.push(card.id.clone());
            }
        }
        promoted
    }

    /// Frees a card whose claim is still the one that was seen.
    pub(crate) fn release(&mut self, id: &TaskId, seen: &ClaimSeen) -> Result<Option<&mut Card>> {
        let flawed = self.flaw == Some(Flaw::ReclaimsWithoutCheck);
        let card = self.change(id)?;
        if !flawed && (card.status != Status::Running || card.seen() != *seen) {
            return Ok(None);
        }
        card.status = Status::Ready;
        card.free();
        Ok(Some(card))
    }

    /// What a planner is told about a card.
    pub(crate) fn candidate(&self, card: &Card) -> Candidate {
        let recent = |at: &i64| self.now - at <= 3600;
        Candidate {
            id: card.id.clone(),
            assignee: card.assignee.clone(),
            priority: card.priority,
            created_at: card.created_at,
            consecutive_failures: card.failures,
            max_retries: card.max_retries,
            has_open_parent: self.has_open_parent(card),
            not_before: card.scheduled_at,
            model: None,
            skills: Vec::new(),
            placement: Placement::default(),
            guard: GuardFacts {
                last_failure_error: card.last_error.map(str::to_owned),
                last_run: card.last_run,
                completed_at: card.completed_at.filter(recent),
                requeued_at: card.requeued_at,
                pull_request_at: None,
            },
        }
    }
}

impl Card {
    pub(crate) fn seen(&self) -> ClaimSeen {
        ClaimSeen {
            lock: self.lock.clone(),
            expires: self.expires,
            pid: self.pid.map(i64::from),
            run: self.run,
        }
    }

    /// Takes claim and worker off; the attempt remains to be closed.
    pub(crate) fn free(&mut self) {
        self.lock = None;
        self.host = None;
        self.expires = None;
        self.pid = None;
        self.identity = None;
        self.heartbeat_at = None;
    }

    /// Closes the attempt in progress.
    pub(crate) fn close(&mut self, outcome: Outcome, now: i64) {
        if self.run.take().is_some() {
            self.run_started_at = None;
            self.last_run = Some(EndedRun {
                outcome: Some(outcome),
                ended_at: now,
            });
            match outcome {
                Outcome::RateLimited => {}
                _ => self.streak = 0,
            }
        }
    }

    /// Counts a failure against a card that is free.
    pub(crate) fn fail(&mut self, error: &'static str, policy: FailurePolicy) -> Release {
        self.last_error = Some(error);
        let limit = match self.max_retries {
            Some(own) => own,
            None if policy.systemic => 1,
            None => policy.limit,
        };
        let failures = self.failures + 1;
        if failures >= limit {
            self.failures = failures.max(self.max_retries.unwrap_or(policy.limit));
            self.status = Status::Blocked;
            Release::Blocked { failures, limit }
        } else {
            self.failures = failures;
            self.status = Status::Ready;
            Release::Requeued { failures }
        }
    }

    /// The card as the rest of the program knows it.
    pub(crate) fn task(&self) -> Task {
        Task {
            id: self.id.clone(),
            title: String::new(),
            body: None,
            assignee: self.assignee.clone(),
            state: TaskState::from(self.status),
            priority: self.priority,
            tenant: None,
            workspace_kind: String::new(),
            workspace_path: None,
            branch_name: None,
            project_id: None,
            created_by: None,
            created_at: self.created_at,
            started_at: self.run_started_at,
            completed_at: self.completed_at,
            result: None,
            skills: None,
            sandbox: None,
            filed_within: None,
            repository: None,
            max_retries: self.max_retries,
            session_id: None,
            workflow_template_id: None,
            current_step_key: None,
            claim_lock: self.lock.clone(),
            claim_expires: self.expires,
            worker_pid: self.pid.map(i64::from),
            current_run_id: self.run,
            consecutive_failures: self.failures,
            last_failure_error: self.last_error.map(str::to_owned),
            max_runtime_seconds: self.max_runtime,
            model_override: None,
            goal_mode: false,
            goal_max_turns: None,
            block_kind: self.block_kind.map(|kind| kind.as_str().to_owned()),
            block_recurrences: self.block_recurrences,
            idempotency_key: None,
            last_heartbeat_at: self.heartbeat_at,
            scheduled_at: self.scheduled_at,
            host_labels: Vec::new(),
            host_name: None,
        }
    }
}
