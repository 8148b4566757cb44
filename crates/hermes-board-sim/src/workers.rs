//! What workers do, rightly and wrongly.

use crate::machine::Worker;
use crate::op::{Act, Which};
use crate::world::World;
use crate::{Rule, Subject, Violation};
use hermes_board::model::{CheckEvidence, Checker, RunId, Status, TaskId, WorkerExit};
use hermes_board::store::{
    BlockRequest, CheckOutcome, CheckStart, CompleteOutcome, Completion, FailurePolicy,
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
                return self.speak(&worker, act);
            }
        }
        if let Some(machine) = self.machines.get_mut(host) {
            machine.bury();
        }
        Ok(())
    }

    /// A worker says something to the board; a refusal is an answer like any other.
    fn speak(&mut self, worker: &Worker, act: Act) -> Result<(), Violation> {
        let Worker { task, run, .. } = worker;
        let ttl = self.setting.limits.claim_ttl_seconds;
        let policy = FailurePolicy::with_limit(self.setting.limits.failure_limit);
        match act {
            Act::Beat => {
                let heard = self.board.heartbeat(task, None, Some(*run));
                heard
                    .and_then(|()| self.board.extend_own_claim(task, &worker.lock, ttl))
                    .ok();
            }
            Act::Complete => self.say_done(worker)?,
            Act::Check(passes) => match worker.round {
                None => self.say_done(worker)?,
                Some((round, 0)) => {
                    let was_current = self.is_current(task, *run);
                    let outcome = self
                        .board
                        .finish_checks(round, &Completion::default(), &policy);
                    self.set_round(worker.serial, None);
                    if let Ok(CheckOutcome::Done(_)) = outcome {
                        self.note_completion(task, was_current)?;
                    }
                }
                Some((round, left)) => {
                    let evidence = evidence(left, passes);
                    let recorded = self.board.record_check(round, &evidence).is_ok();
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
                self.board.block(&request).ok();
            }
            Act::UseUpTurns => {
                self.board
                    .record_budget_exhausted(task, *run, 9, 9, &policy)
                    .ok();
            }
            _ => {}
        }
        Ok(())
    }

    fn set_round(&mut self, serial: u32, round: Option<(i64, u32)>) {
        if let Some((_, worker)) = self.worker(serial) {
            worker.round = round;
        }
    }

    fn say_done(&mut self, worker: &Worker) -> Result<(), Violation> {
        let was_current = self.is_current(&worker.task, worker.run);
        let completion = Completion {
            expected_run: Some(worker.run),
            ..Completion::default()
        };
        match self.board.complete(&worker.task, &completion) {
            Ok(CompleteOutcome::Done(_)) => self.note_completion(&worker.task, was_current),
            Ok(CompleteOutcome::NeedsChecks(checks)) => {
                let start = CheckStart {
                    checker: Checker {
                        lock: worker.lock.clone(),
                        pid: worker.pid,
                        identity: None,
                    },
                    ttl_seconds: self.setting.limits.claim_ttl_seconds,
                    is_gone: &|_| true,
                };
                let begun = self.board.begin_checks(&worker.task, &completion, &start);
                let left = u32::try_from(checks.len()).unwrap_or(0);
                let round = begun.ok().map(|begun| (begun.session.id, left));
                self.set_round(worker.serial, round);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn is_current(&self, task: &TaskId, run: RunId) -> bool {
        let task = self.board.task(task).ok().flatten();
        task.is_some_and(|task| {
            task.status() == Status::Running && task.current_run_id == Some(run)
        })
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
