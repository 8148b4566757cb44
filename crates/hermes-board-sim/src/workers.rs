//! What workers do, rightly and wrongly.

use crate::machine::Worker;
use crate::op::{Act, Which};
use crate::world::World;
use crate::{Rule, Subject, Violation};
use hermes_board::model::{CheckEvidence, Checker, TaskId, WorkerExit};
use hermes_board::store::{
    BlockRequest, BoardStore, CheckStart, CompleteOutcome, Completion, FailurePolicy,
};

impl<B: Subject> World<B> {
    pub(crate) fn worker(&mut self, serial: u32) -> Option<(usize, &mut Worker)> {
        self.machines
            .iter_mut()
            .enumerate()
            .find_map(|(host, machine)| {
                let mut workers = machine.workers.iter_mut();
                let worker = workers.find(|worker| worker.serial == serial)?;
                Some((host, worker))
            })
    }

    pub(crate) fn worker_of(&self, card: u8, which: Which) -> Option<u32> {
        let task = self.cards.get(usize::from(card))?;
        let workers = self.machines.iter().flat_map(|machine| &machine.workers);
        let serials = workers
            .filter(|worker| worker.task == *task)
            .map(|worker| worker.serial);
        match which {
            Which::Newest => serials.max(),
            Which::Oldest => serials.min(),
        }
    }

    pub(crate) fn work(&mut self, serial: u32, act: Act) -> Result<(), Violation> {
        let Some((host, worker)) = self.worker(serial) else {
            return Ok(());
        };
        match act {
            Act::ChildrenEnd => worker.children = 0,
            Act::Stick => worker.stuck = !worker.stuck,
            _ if worker.exit.is_some() => {}
            Act::Fork => worker.children = (worker.children + 1).min(2),
            Act::Exit(..) | Act::Die => {
                let (exit, note) = match act {
                    Act::Exit(code, note) => (WorkerExit::Code(code.into()), note),
                    _ => (WorkerExit::Signal(9), false),
                };
                if let Some(machine) = self.machines.get_mut(host) {
                    machine.end_by_itself(serial, exit, note);
                }
            }
            Act::Beat | Act::Complete | Act::Check(_) | Act::Block(_) | Act::UseUpTurns => {
                let worker = worker.clone();
                self.by_clock_of(host);
                self.speak(host, &worker, act);
                return self.note_completions();
            }
        }
        if let Some(machine) = self.machines.get_mut(host) {
            machine.bury();
        }
        Ok(())
    }

    /// A worker says something to the board; a refusal is an answer like any other.
    fn speak(&mut self, host: usize, worker: &Worker, act: Act) {
        let Worker { task, run, .. } = worker;
        let ttl = self.setting.limits.claim_ttl_seconds;
        let policy = FailurePolicy::with_limit(self.setting.limits.failure_limit);
        match act {
            Act::Beat => {
                let mut board = self.board_from(host);
                // In one transaction, as the watch of a worker does.
                let heard = board.heartbeat(task, None, Some(*run));
                heard
                    .and_then(|()| board.extend_own_claim(task, &worker.lock, ttl))
                    .ok();
            }
            Act::Complete => self.say_done(host, worker),
            Act::Check(passes) => match worker.round {
                None => self.say_done(host, worker),
                Some((round, 0)) => {
                    let completion = Completion {
                        expected_run: Some(*run),
                        ..Completion::default()
                    };
                    let mut board = self.board_from(host);
                    board.finish_checks(round, &completion, &policy).ok();
                    self.set_round(worker.serial, None);
                }
                Some((round, left)) => {
                    let evidence = evidence(left, passes);
                    let recorded = self.board_from(host).record_check(round, &evidence);
                    let recorded = recorded.is_ok();
                    let left = if passes { left - 1 } else { 0 };
                    self.set_round(worker.serial, recorded.then_some((round, left)));
                }
            },
            Act::Block(kind) => {
                let request = BlockRequest {
                    task: task.clone(),
                    reason: None,
                    kind,
                    expected_run: Some(*run),
                };
                self.board_from(host).block(&request).ok();
            }
            Act::UseUpTurns => {
                self.board_from(host)
                    .record_budget_exhausted(task, *run, 9, 9, &policy)
                    .ok();
            }
            _ => {}
        }
    }

    fn set_round(&mut self, serial: u32, round: Option<(i64, u32)>) {
        if let Some((_, worker)) = self.worker(serial) {
            worker.round = round;
        }
    }

    fn say_done(&mut self, host: usize, worker: &Worker) {
        let ttl_seconds = self.setting.limits.claim_ttl_seconds;
        let mut board = self.board_from(host);
        let completion = Completion {
            expected_run: Some(worker.run),
            ..Completion::default()
        };
        let outcome = board.complete(&worker.task, &completion);
        if let Ok(CompleteOutcome::NeedsChecks(checks)) = outcome {
            let start = CheckStart {
                checker: Checker {
                    lock: worker.lock.clone(),
                    pid: worker.pid,
                    identity: None,
                },
                ttl_seconds,
                is_gone: &|_| true,
            };
            let begun = board.begin_checks(&worker.task, &completion, &start);
            let left = u32::try_from(checks.len()).unwrap_or(0);
            let round = begun.ok().map(|begun| (begun.session.id, left));
            self.set_round(worker.serial, round);
        }
    }

    /// Counts what the board has accepted, and looks whether it was right to.
    pub(crate) fn note_completions(&mut self) -> Result<(), Violation> {
        for (task, rightly) in std::mem::take(&mut self.wires.completed) {
            self.note_completion(&task, rightly)?;
        }
        Ok(())
    }

    fn note_completion(&mut self, task: &TaskId, rightly: bool) -> Result<(), Violation> {
        if !rightly {
            return Err(Violation::new(
                Rule::OnlyTheCurrentAttempt,
                format!("{task} was completed by an attempt that was over"),
            ));
        }
        self.count_completion(task);
        Ok(())
    }

    pub(crate) fn count_completion(&mut self, task: &TaskId) {
        let index = self.cards.iter().position(|card| card == task);
        if let Some(count) = index.and_then(|index| self.completions.get_mut(index)) {
            *count += 1;
        }
    }
}

fn evidence(position: u32, passes: bool) -> CheckEvidence {
    CheckEvidence {
        position,
        command: "true".to_owned(),
        exit_code: Some(i32::from(!passes)),
        timed_out: false,
        output: String::new(),
        duration_ms: 1,
    }
}
