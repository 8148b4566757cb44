//! What must hold whatever happens.

use crate::world::World;
use crate::{Rule, Subject, Violation};
use hermes_board::model::{RunId, Status, TaskId};
use hermes_board::plan::Limits;

/// A claim whose worker lives on another machine than a dispatcher.
pub(crate) struct ClaimElsewhere {
    task: TaskId,
    run: RunId,
    expires: Option<i64>,
    started_at: Option<i64>,
}

/// A card in progress.
pub(crate) struct Running {
    run: Option<RunId>,
    assignee: Option<String>,
    host: Option<String>,
}

/// Clocks that are further apart than this are wrong.
const DAY: i64 = 24 * 3600;

impl<B: Subject> World<B> {
    /// Looks at everything after each step.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        if self.steps.is_multiple_of(B::LOOK_EVERY) {
            self.cards_hang_together()?;
        }
        self.nobody_works_beside_another()?;
        self.one_worker_can_write()?;
        let mut mishaps = self.machines.iter().filter_map(|one| one.mishap.clone());
        match mishaps.next() {
            Some(mishap) => Err(Violation::new(Rule::OnlyTheMeant, mishap)),
            None => Ok(()),
        }
    }

    /// A card is in progress exactly if somebody has claimed it and one attempt is open; no card is
    /// lost; no card is completed more often than somebody rightly did.
    fn cards_hang_together(&self) -> Result<(), Violation> {
        let mut seen = 0;
        let mut wrong = None;
        self.board.each_card(&self.cards, &mut |card| {
            let running = card.status == Status::Running;
            let complaint = if card.has_lock != running {
                "is claimed or not, against its status"
            } else if card.run.is_some() != running || card.open_runs != usize::from(running) {
                "has an open attempt or not, against its status"
            } else if card.has_pid && !running {
                "has a worker although nobody works on it"
            } else if card.status == Status::Unknown {
                "stands nowhere"
            } else if self.completions.get(seen).copied() != Some(card.completions) {
                "was completed more or less often than anybody said"
            } else {
                ""
            };
            seen += 1;
            if !complaint.is_empty() && wrong.is_none() {
                wrong = Some(format!("{} {complaint}: {card:?}", card.id));
            }
        });
        match wrong {
            Some(text) => Err(Violation::new(Rule::HangsTogether, text)),
            None if seen != self.cards.len() => {
                Err(Violation::new(Rule::HangsTogether, "a card is lost"))
            }
            None => Ok(()),
        }
    }

    /// On one machine there are never processes of two attempts at the same card.
    fn nobody_works_beside_another(&self) -> Result<(), Violation> {
        for machine in &self.machines {
            let workers = &machine.workers;
            for (index, one) in workers.iter().enumerate() {
                let rest = workers.get(index + 1..).unwrap_or_default();
                let beside = rest.iter().find(|other| {
                    other.task == one.task && other.has_processes() && one.has_processes()
                });
                if let Some(other) = beside {
                    return Err(Violation::new(
                        Rule::OneWorker,
                        format!(
                            "workers {} (attempt {}) and {} (attempt {}) work on {} at the same time",
                            one.serial, one.run, other.serial, other.run, one.task
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Of all workers of a card on all machines, one at most is that of the attempt in progress: nobody
    /// else can write.
    fn one_worker_can_write(&self) -> Result<(), Violation> {
        if !self.setting.is_shared {
            return Ok(());
        }
        let alive = || {
            let workers = self.machines.iter().flat_map(|machine| &machine.workers);
            workers.filter(|worker| worker.exit.is_none())
        };
        for (index, one) in alive().enumerate() {
            let mut rest = alive().skip(index + 1);
            let Some(other) = rest.find(|other| other.run == one.run && other.task == one.task)
            else {
                continue;
            };
            let claim = self.board.claim_of(&one.task);
            if claim.is_some_and(|claim| claim.0 == one.run) {
                return Err(Violation::new(
                    Rule::OneWriter,
                    format!(
                        "workers {} and {} can both write to {} as attempt {}",
                        one.serial, other.serial, one.task, one.run
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Cards in progress, with assignee and host; empty where nothing is counted.
    pub(crate) fn in_progress(&self) -> Vec<Running> {
        let mut running = Vec::new();
        let limits = &self.setting.limits;
        if !self.setting.is_shared || (*limits == Limits::default()) {
            return running;
        }
        self.board.each_card(&self.cards, &mut |card| {
            if card.status == Status::Running {
                running.push(Running {
                    run: card.run,
                    assignee: card.assignee.map(str::to_owned),
                    host: card.host.map(str::to_owned),
                });
            }
        });
        running
    }

    /// What a dispatcher has just claimed is within all limits.
    pub(crate) fn limits_hold(&self, before: &[Running]) -> Result<(), Violation> {
        let now = self.in_progress();
        let limits = &self.setting.limits;
        let is_new = |one: &&Running| !before.iter().any(|other| other.run == one.run);
        for new in now.iter().filter(is_new) {
            let of_profile = now.iter().filter(|one| one.assignee == new.assignee);
            let on_host = now.iter().filter(|one| one.host == new.host);
            let counted = [
                (limits.max_in_progress, now.len()),
                (limits.max_spawn, now.len()),
                (limits.max_in_progress_per_profile, of_profile.count()),
                (limits.max_in_progress_per_host, on_host.count()),
            ];
            let beyond =
                |(limit, count): &(Option<usize>, usize)| limit.is_some_and(|limit| *count > limit);
            if let Some((limit, count)) = counted.into_iter().find(beyond) {
                return Err(Violation::new(
                    Rule::LimitsHold,
                    format!("{count} cards are in progress where {limit:?} are allowed"),
                ));
            }
        }
        Ok(())
    }

    /// Claims of workers that live on other machines than this dispatcher.
    pub(crate) fn claims_elsewhere(&self, who: usize) -> Vec<ClaimElsewhere> {
        let own = self.dispatchers.get(who).map(|one| one.host);
        let elsewhere = self
            .machines
            .iter()
            .filter(|machine| Some(machine.number) != own)
            .flat_map(|machine| &machine.workers)
            .filter(|worker| worker.exit.is_none());
        elsewhere
            .filter_map(|worker| {
                let claim = self.board.claim_of(&worker.task)?;
                (claim.0 == worker.run).then(|| ClaimElsewhere {
                    task: worker.task.clone(),
                    run: claim.0,
                    expires: claim.1,
                    started_at: claim.2,
                })
            })
            .collect()
    }

    /// A worker on another machine loses its card only when its claim has run out.
    pub(crate) fn no_live_claim_was_taken(
        &self,
        who: usize,
        before: &[ClaimElsewhere],
    ) -> Result<(), Violation> {
        let host = self.dispatchers.get(who).map_or(0, |one| one.host);
        let now = self.time + self.skew_of(host);
        for claim in before {
            let kept = self
                .board
                .claim_of(&claim.task)
                .is_some_and(|now| now.0 == claim.run);
            let ran_out = claim.expires.is_none_or(|expires| expires < now);
            let wrong_clock = claim.started_at.is_some_and(|at| at - now > DAY);
            if !kept && !ran_out && !wrong_clock {
                return Err(Violation::new(
                    Rule::ClaimCounts,
                    format!(
                        "attempt {} at {} was ended by another machine while its claim was in force",
                        claim.run, claim.task
                    ),
                ));
            }
        }
        Ok(())
    }
}
