//! Boards for the tests of the planner, made of a few words.

use crate::model::{Assignee, Placement, RunId, TaskId, WorkerExit};
use crate::plan::{Facts, Limits, Plan, Report, WorkerFact, plan};
use crate::store::{Candidate, ClaimSeen, GuardFacts, RunningTask, Snapshot};

/// When it is.
pub(super) const NOW: i64 = 1_000_000;

/// A board, what is known about it, and the limits in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    pub(super) board: Snapshot,
    pub(super) facts: Facts,
    pub(super) limits: Limits,
}

/// A card that waits for nothing.
pub(super) fn card(id: &str, assignee: Option<&str>) -> Candidate {
    Candidate {
        id: TaskId::new(id),
        assignee: assignee.map(str::to_owned),
        priority: 0,
        created_at: 100,
        consecutive_failures: 0,
        max_retries: None,
        has_open_parent: false,
        not_before: None,
        model: None,
        skills: Vec::new(),
        placement: Placement::default(),
        guard: GuardFacts::default(),
    }
}

impl Scene {
    /// An empty board with the profiles alpha and beta.
    pub(super) fn new() -> Self {
        let mut scene = Self::default();
        scene.board.taken_at = NOW;
        scene.facts.profiles = ["default", "alpha", "beta"].map(str::to_owned).into();
        scene
    }

    pub(super) fn ready(mut self, id: &str, assignee: Option<&str>) -> Self {
        self.board.ready.push(card(id, assignee));
        self
    }

    /// So many cards `<name><n>` for a profile.
    pub(super) fn ready_for(mut self, assignee: &str, count: usize) -> Self {
        for number in 0..count {
            let id = format!("{assignee}{number}");
            self = self.ready(&id, Some(assignee));
        }
        self
    }

    /// A card in progress since ten minutes, claimed for another five, with what is known about its
    /// worker.
    pub(super) fn running(self, id: &str, fact: WorkerFact) -> Self {
        self.running_with(id, fact, |_| {})
    }

    pub(super) fn running_with(
        mut self,
        id: &str,
        fact: WorkerFact,
        change: impl FnOnce(&mut RunningTask),
    ) -> Self {
        let number = i64::try_from(self.board.running.len()).unwrap() + 1;
        let mut running = RunningTask {
            card: card(id, Some("alpha")),
            claim: ClaimSeen {
                lock: Some("host:1".to_owned()),
                expires: Some(NOW + 300),
                pid: Some(4000 + number),
                run: Some(RunId(number)),
            },
            started_at: Some(NOW - 600),
            last_heartbeat_at: None,
            max_runtime_seconds: None,
            identity: None,
            dispatcher: None,
            host_id: None,
            violation_streak: 0,
        };
        change(&mut running);
        self.facts.workers.insert(running.card.id.clone(), fact);
        self.board.running.push(running);
        self
    }

    pub(super) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(super) fn default_assignee(self, name: &str) -> Self {
        let name = Assignee::parse(name).unwrap();
        self.limits(|limits| limits.default_assignee = Some(name))
    }

    pub(super) fn plan(&self) -> Plan {
        plan(&self.board, &self.facts, &self.limits)
    }

    pub(super) fn report(&self) -> Report {
        self.plan().report
    }
}

/// A worker that lives.
pub(super) const ALIVE: WorkerFact = WorkerFact::Alive { age_seconds: None };

/// A worker that ended like this.
pub(super) fn gone(exit: WorkerExit) -> WorkerFact {
    WorkerFact::Gone { exit }
}

/// Names of cards.
pub(super) fn names(ids: &[TaskId]) -> Vec<&str> {
    ids.iter().map(TaskId::as_str).collect()
}

impl Report {
    pub(super) fn started(&self) -> Vec<&str> {
        self.spawned
            .iter()
            .map(|row| row.task_id.as_str())
            .collect()
    }
}
