//! No card is stuck: when everything works again, each of them gets to where only a person can help,
//! or is done.

use crate::op::Act;
use crate::world::World;
use crate::{CardView, Rule, Subject, Violation};
use hermes_board::model::Status;

/// Looks at the board before a card counts as stuck. Enough for every guard to pass and for a chain
/// of all cards to be worked off.
const ROUNDS: usize = 90;

impl<B: Subject> World<B> {
    /// Lets workers behave and dispatchers work until nothing moves, and looks at what is left.
    pub(crate) fn settle(&mut self) -> Result<(), Violation> {
        self.become_reliable();
        for round in 0..ROUNDS {
            self.wait(if round % 6 == 5 { 4000 } else { 61 });
            for who in 0..self.dispatchers.len() {
                self.whole_tick(who)?;
                self.check()?;
            }
            self.workers_behave()?;
            // Long waits come every few rounds: only after one of them nothing can still come.
            if round % 6 == 5 && self.stuck().is_none() {
                return Ok(());
            }
        }
        // What a wrong clock recorded is over once time has passed it.
        self.wait(400_000);
        for _ in 0..ROUNDS {
            self.wait(4000);
            for who in 0..self.dispatchers.len() {
                self.whole_tick(who)?;
                self.check()?;
            }
            self.workers_behave()?;
            if self.stuck().is_none() {
                return Ok(());
            }
        }
        match self.stuck() {
            Some(card) => Err(Violation::new(Rule::NothingIsStuck, card)),
            None => Ok(()),
        }
    }

    /// Every worker finishes its card, or ends if the card is no longer its own.
    fn workers_behave(&mut self) -> Result<(), Violation> {
        let serials: Vec<u32> = self
            .machines
            .iter()
            .flat_map(|machine| &machine.workers)
            .filter(|worker| worker.exit.is_none())
            .map(|worker| worker.serial)
            .collect();
        for serial in serials {
            // Completing, then each check and the verdict.
            for _ in 0..6 {
                let Some((_, worker)) = self.worker(serial) else {
                    break;
                };
                let act = if worker.round.is_some() {
                    Act::Check(true)
                } else {
                    Act::Complete
                };
                self.behave(serial, act)?;
            }
            self.behave(serial, Act::ChildrenEnd)?;
            self.behave(serial, Act::Exit(0, true))?;
        }
        Ok(())
    }

    fn behave(&mut self, serial: u32, act: Act) -> Result<(), Violation> {
        self.steps += 1;
        self.work(serial, act)?;
        self.check()
    }

    /// A card that should have moved on.
    fn stuck(&self) -> Option<String> {
        let mut stuck = None;
        self.board.each_card(&self.cards, &mut |card| {
            let rests = match card.status {
                Status::Done | Status::Archived | Status::Triage => true,
                Status::Blocked => !self.would_be_promoted(&card),
                Status::Scheduled => card.scheduled_at.is_none_or(|at| at > self.time),
                // Nobody here works for a lane, and nobody was told to take it.
                Status::Ready => card.assignee.is_none_or(|name| name == "lane"),
                Status::Todo => card.has_open_parent,
                Status::Running | Status::Review | Status::Unknown => false,
            };
            if !rests && stuck.is_none() {
                stuck = Some(format!("{card:?}"));
            }
        });
        stuck
    }

    fn would_be_promoted(&self, card: &CardView<'_>) -> bool {
        let limit = card
            .max_retries
            .unwrap_or(self.setting.limits.failure_limit);
        !card.sticky && card.failures < limit && !card.has_open_parent
    }
}
