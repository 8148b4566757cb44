//! Ready cards, in order: which get a worker, and why the others do not.
//!
//! Limits count all running cards, whoever started them; when one is reached, the report still says
//! for each remaining card what it waits for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::plan::action::PlanInput;
use crate::plan::age::since;
use crate::plan::guard::held;
use crate::plan::placement::misplaced;
use crate::plan::{
    Action, Capped, GuardReason, Hampered, Held, HeldBack, OnOtherHost, Plan, ProfileCapped,
    Started, TooEarly, WorkerFact, WorkerRef,
};
use crate::store::{Candidate, ClaimFrom, GuardFacts, HOST_CAP, RunningTask, WaitNote, WaitReason};

/// A card that could be worked on.
pub(super) struct Waiting<'a> {
    pub(super) card: &'a Candidate,
    /// Facts for the respawn guard, after what the plan does before.
    pub(super) guard: Cow<'a, GuardFacts>,
    /// Failures in a row, likewise.
    pub(super) failures: i64,
}

impl<'a> Waiting<'a> {
    /// A card as it is in the snapshot.
    pub(super) fn unchanged(card: &'a Candidate) -> Self {
        Self {
            card,
            guard: Cow::Borrowed(&card.guard),
            failures: card.consecutive_failures,
        }
    }

    /// A card that is asked for again now.
    pub(super) fn asked_for_again(card: &'a Candidate, now: i64) -> Self {
        let guard = GuardFacts {
            requeued_at: Some(now),
            ..card.guard.clone()
        };
        Self {
            card,
            guard: Cow::Owned(guard),
            failures: card.consecutive_failures,
        }
    }
}

/// Sorts cards by the order of dispatch.
pub(super) fn order(cards: &mut [Waiting<'_>]) {
    cards.sort_by(|a, b| {
        let key = |waiting: &Waiting<'_>| (-waiting.card.priority, waiting.card.created_at);
        key(a).cmp(&key(b)).then_with(|| a.card.id.cmp(&b.card.id))
    });
}

/// Decides about cards in order.
pub(super) struct Queue<'a, 'p> {
    input: PlanInput<'a>,
    plan: &'p mut Plan,
    in_progress: usize,
    by_profile: BTreeMap<&'a str, usize>,
    /// Cards in progress on this host.
    here: usize,
    notes: Vec<WaitNote>,
}

impl<'a, 'p> Queue<'a, 'p> {
    /// A queue beside these running cards.
    pub(super) fn new(
        input: PlanInput<'a>,
        plan: &'p mut Plan,
        running: impl Iterator<Item = &'a RunningTask>,
    ) -> Self {
        let mut queue = Self {
            input,
            plan,
            in_progress: 0,
            by_profile: BTreeMap::new(),
            here: 0,
            notes: Vec::new(),
        };
        for (profile, count) in &queue.input.facts.running_elsewhere {
            *queue.by_profile.entry(profile).or_default() += count;
        }
        for running in running {
            queue.count(running.card.assignee.as_deref());
            queue.here += usize::from(queue.is_here(running));
        }
        queue
    }

    /// Whether a card is in progress on this host.
    fn is_here(&self, running: &RunningTask) -> bool {
        let facts = self.input.facts;
        match (&running.host_id, &facts.host.id) {
            (Some(id), own) => Some(id) == own.as_ref(),
            (None, _) => facts.worker(&running.card.id) != WorkerFact::OtherHost,
        }
    }

    fn count(&mut self, assignee: Option<&'a str>) {
        self.in_progress += 1;
        if let Some(assignee) = assignee {
            *self.by_profile.entry(assignee).or_default() += 1;
        }
    }

    /// Decides about a ready card.
    pub(super) fn ready(&mut self, waiting: &Waiting<'a>) {
        let card = waiting.card;
        if let Some(at) = card.not_before.filter(|at| *at > self.input.now) {
            self.plan.report.skipped_scheduled.push(TooEarly {
                task_id: card.id.clone(),
                at,
            });
            return;
        }
        if self.is_misplaced(card) {
            return;
        }
        let given = card.assignee.as_deref().filter(|name| !name.is_empty());
        let Some(assignee) = given.or_else(|| self.default_profile()) else {
            self.plan.report.skipped_unassigned.push(card.id.clone());
            return;
        };
        if !self.is_profile(card, assignee) {
            return;
        }
        if card.has_open_parent {
            self.plan.report.sent_back.push(card.id.clone());
            self.plan.actions.push(Action::SendBack {
                task: card.id.clone(),
            });
            return;
        }
        if self.is_hampered(card, assignee) {
            return;
        }
        if given.is_none() && !self.assign_default(card) {
            return;
        }
        if !self.has_capacity(card, assignee) {
            return;
        }
        let leftover = match self.leftover(waiting) {
            Ok(leftover) => leftover,
            Err(held) => return self.hold(card, held),
        };
        let PlanInput { limits, now, .. } = self.input;
        if let Some(held) = held(&waiting.guard, waiting.failures, limits, now) {
            return self.hold(card, held);
        }
        self.start(card, assignee, ClaimFrom::Ready, leftover);
    }

    /// Decides about a card that waits for a reviewer.
    pub(super) fn review(&mut self, waiting: &Waiting<'a>) {
        let card = waiting.card;
        if self.is_misplaced(card) {
            return;
        }
        let Some(assignee) = card.assignee.as_deref().filter(|name| !name.is_empty()) else {
            self.plan.report.skipped_unassigned.push(card.id.clone());
            return;
        };
        if !self.is_profile(card, assignee)
            || self.is_hampered(card, assignee)
            || !self.has_capacity(card, assignee)
        {
            return;
        }
        match self.leftover(waiting) {
            Ok(leftover) => self.start(card, assignee, ClaimFrom::Review, leftover),
            Err(held) => self.hold(card, held),
        }
    }

    /// Plans the notes about cards that wait.
    pub(super) fn finish(self) {
        if !self.notes.is_empty() {
            self.plan
                .actions
                .push(Action::NoteWaiting { notes: self.notes });
        }
    }

    /// Whether a card asks for another host.
    fn is_misplaced(&mut self, card: &Candidate) -> bool {
        let PlanInput { facts, board, .. } = self.input;
        let why = misplaced(&card.placement, &facts.host, board);
        let is_misplaced = why.is_some();
        self.plan
            .report
            .skipped_placement
            .extend(why.map(|why| OnOtherHost {
                task_id: card.id.clone(),
                why,
            }));
        is_misplaced
    }

    /// Whether something keeps workers of this card from running; if they only have something to do
    /// first, that is reported.
    fn is_hampered(&mut self, card: &Candidate, assignee: &str) -> bool {
        let Some(obstacle) = self.input.facts.obstacles.get(&card.id) else {
            return false;
        };
        let hampered = Hampered {
            task_id: card.id.clone(),
            assignee: assignee.to_owned(),
            problem: obstacle.problem.clone(),
            hint: obstacle.hint.clone(),
        };
        let report = &mut self.plan.report;
        if obstacle.holds {
            report.cannot_start.push(hampered);
        } else {
            report.delayed.push(hampered);
        }
        self.notes.push(WaitNote {
            task: card.id.clone(),
            reason: WaitReason::Obstacle {
                assignee: assignee.to_owned(),
                obstacle: obstacle.clone(),
            },
        });
        obstacle.holds
    }

    /// The profile for cards without assignee.
    fn default_profile(&self) -> Option<&'a str> {
        let name = self.input.limits.default_assignee.as_ref()?.as_str();
        self.input.facts.profiles.contains(name).then_some(name)
    }

    /// Assigns a card to the configured profile if a worker may start.
    fn assign_default(&mut self, card: &Candidate) -> bool {
        let Some(assignee) = &self.input.limits.default_assignee else {
            return false;
        };
        if self.is_full(card) {
            return false;
        }
        self.plan.report.auto_assigned_default.push(card.id.clone());
        self.plan.actions.push(Action::AssignDefault {
            task: card.id.clone(),
            assignee: assignee.clone(),
        });
        true
    }

    fn is_profile(&mut self, card: &Candidate, assignee: &str) -> bool {
        let known = self.input.facts.profiles.contains(assignee);
        if !known {
            self.plan.report.skipped_nonspawnable.push(card.id.clone());
        }
        known
    }

    /// Whether a profile may work on one more card.
    fn has_capacity(&mut self, card: &Candidate, assignee: &str) -> bool {
        let current = self.by_profile.get(assignee).copied().unwrap_or(0);
        let cap = self.input.limits.max_in_progress_per_profile;
        let is_full = cap.is_some_and(|cap| current >= cap);
        if is_full {
            let capped = ProfileCapped {
                task_id: card.id.clone(),
                assignee: assignee.to_owned(),
                current,
            };
            self.plan.report.skipped_per_profile_capped.push(capped);
        }
        !is_full
    }

    /// What an earlier attempt left running; it gets a grace period to exit by itself.
    fn leftover(&self, waiting: &Waiting<'_>) -> Result<Option<WorkerRef>, Held> {
        let PlanInput {
            facts, limits, now, ..
        } = self.input;
        let Some(worker) = facts.leftovers.get(&waiting.card.id) else {
            return Ok(None);
        };
        let grace = limits.crash_grace_seconds;
        match waiting.guard.last_run.map(|last| last.ended_at) {
            Some(ended_at) if since(now, ended_at).is_some_and(|age| age < grace) => Err(Held {
                reason: GuardReason::PreviousWorkerAlive,
                until: ended_at.saturating_add(grace),
            }),
            _ => Ok(Some(worker.clone())),
        }
    }

    fn hold(&mut self, card: &Candidate, held: Held) {
        self.plan.report.respawn_guarded.push(HeldBack {
            task_id: card.id.clone(),
            reason: held.reason,
            until: held.until,
        });
        self.notes.push(WaitNote {
            task: card.id.clone(),
            reason: WaitReason::Guarded(held.reason.as_str()),
        });
    }

    fn is_full(&mut self, card: &Candidate) -> bool {
        let limits = self.input.limits;
        let for_all = limits.lowest_cap();
        let for_all = for_all.map(|(cap, limit)| (cap, limit, self.in_progress));
        let slots = limits.max_in_progress_per_host;
        let of_host = slots.map(|limit| (HOST_CAP, limit, self.here));
        let mut caps = [for_all, of_host].into_iter().flatten();
        let reached = caps.find(|(_, limit, current)| current >= limit);
        if let Some((cap, limit, current)) = reached {
            self.plan.report.skipped_capped.push(Capped {
                task_id: card.id.clone(),
                cap,
                limit,
                current,
            });
        }
        reached.is_some()
    }

    fn start(
        &mut self,
        card: &Candidate,
        assignee: &'a str,
        from: ClaimFrom,
        leftover: Option<WorkerRef>,
    ) {
        if self.is_full(card) {
            return;
        }
        self.count(Some(assignee));
        self.here += 1;
        self.plan.report.spawned.push(Started {
            task_id: card.id.clone(),
            assignee: assignee.to_owned(),
            workspace: String::new(),
        });
        self.plan.actions.push(Action::Start {
            task: card.id.clone(),
            from,
            leftover,
        });
    }
}
