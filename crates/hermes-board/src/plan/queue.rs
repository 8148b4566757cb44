//! Ready cards, one after the other: who gets a worker, and why the others do not.
//!
//! Limits count what is in progress, whoever started it; when one is reached the remaining cards are
//! still told apart, so that a report says for each what it waits for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::plan::action::Situation;
use crate::plan::age::since;
use crate::plan::guard::held;
use crate::plan::{
    Action, Capped, GuardReason, Held, HeldBack, Plan, ProfileCapped, Started, TooEarly, WorkerRef,
};
use crate::store::{Candidate, ClaimFrom, GuardFacts, Guarded};

/// A card that could be worked on.
pub(super) struct Waiting<'a> {
    pub(super) card: &'a Candidate,
    /// What speaks against it, after what the plan does before.
    pub(super) guard: Cow<'a, GuardFacts>,
    /// Failures in a row, likewise.
    pub(super) failures: i64,
}

impl<'a> Waiting<'a> {
    /// A card as it stands.
    pub(super) fn unchanged(card: &'a Candidate) -> Self {
        Self {
            card,
            guard: Cow::Borrowed(&card.guard),
            failures: card.consecutive_failures,
        }
    }

    /// A card that somebody asks for again now.
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

/// Puts cards into the order in which they are looked at.
pub(super) fn order(cards: &mut [Waiting<'_>]) {
    cards.sort_by(|a, b| {
        let key = |waiting: &Waiting<'_>| (-waiting.card.priority, waiting.card.created_at);
        key(a).cmp(&key(b)).then_with(|| a.card.id.cmp(&b.card.id))
    });
}

/// Decides about cards, one after the other.
pub(super) struct Queue<'a, 'p> {
    situation: Situation<'a>,
    plan: &'p mut Plan,
    in_progress: usize,
    by_profile: BTreeMap<&'a str, usize>,
    guarded: Vec<Guarded>,
}

impl<'a, 'p> Queue<'a, 'p> {
    /// A queue beside these cards in progress.
    pub(super) fn new(
        situation: Situation<'a>,
        plan: &'p mut Plan,
        running: impl Iterator<Item = Option<&'a str>>,
    ) -> Self {
        let mut queue = Self {
            situation,
            plan,
            in_progress: 0,
            by_profile: BTreeMap::new(),
            guarded: Vec::new(),
        };
        running.for_each(|assignee| queue.count(assignee));
        queue
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
        if let Some(at) = card.not_before.filter(|at| *at > self.situation.now) {
            self.plan.report.skipped_scheduled.push(TooEarly {
                task_id: card.id.clone(),
                at,
            });
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
        if given.is_none() && !self.assign_default(card) {
            return;
        }
        if !self.has_time(card, assignee) {
            return;
        }
        let leftover = match self.leftover(waiting) {
            Ok(leftover) => leftover,
            Err(held) => return self.hold(card, held),
        };
        let Situation { limits, now, .. } = self.situation;
        if let Some(held) = held(&waiting.guard, waiting.failures, limits, now) {
            return self.hold(card, held);
        }
        self.start(card, assignee, ClaimFrom::Ready, leftover);
    }

    /// Decides about a card that waits for a reviewer.
    pub(super) fn review(&mut self, waiting: &Waiting<'a>) {
        let card = waiting.card;
        let Some(assignee) = card.assignee.as_deref().filter(|name| !name.is_empty()) else {
            self.plan.report.skipped_unassigned.push(card.id.clone());
            return;
        };
        if !self.is_profile(card, assignee) || !self.has_time(card, assignee) {
            return;
        }
        match self.leftover(waiting) {
            Ok(leftover) => self.start(card, assignee, ClaimFrom::Review, leftover),
            Err(held) => self.hold(card, held),
        }
    }

    /// Notes which cards were held back.
    pub(super) fn finish(self) {
        if !self.guarded.is_empty() {
            self.plan.actions.push(Action::NoteGuarded {
                guarded: self.guarded,
            });
        }
    }

    /// Who gets cards that nobody was given.
    fn default_profile(&self) -> Option<&'a str> {
        let name = self.situation.limits.default_assignee.as_ref()?.as_str();
        self.situation.facts.profiles.contains(name).then_some(name)
    }

    /// Gives a card to the configured profile if there is room for it.
    fn assign_default(&mut self, card: &Candidate) -> bool {
        let Some(assignee) = &self.situation.limits.default_assignee else {
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
        let known = self.situation.facts.profiles.contains(assignee);
        if !known {
            self.plan.report.skipped_nonspawnable.push(card.id.clone());
        }
        known
    }

    /// Whether a profile may take one more card.
    fn has_time(&mut self, card: &Candidate, assignee: &str) -> bool {
        let current = self.by_profile.get(assignee).copied().unwrap_or(0);
        let cap = self.situation.limits.max_in_progress_per_profile;
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

    /// What an earlier attempt left running, which gets a moment to end by itself.
    fn leftover(&self, waiting: &Waiting<'_>) -> Result<Option<WorkerRef>, Held> {
        let Situation {
            facts, limits, now, ..
        } = self.situation;
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
        self.guarded.push(Guarded {
            task: card.id.clone(),
            reason: held.reason.as_str(),
        });
    }

    fn is_full(&mut self, card: &Candidate) -> bool {
        let reached = self
            .situation
            .limits
            .lowest_cap()
            .filter(|cap| self.in_progress >= cap.limit);
        if let Some(cap) = reached {
            self.plan.report.skipped_capped.push(Capped {
                task_id: card.id.clone(),
                cap: cap.name,
                limit: cap.limit,
                current: self.in_progress,
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
