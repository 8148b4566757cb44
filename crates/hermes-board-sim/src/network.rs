//! The way from a machine to a board on a server: cut, slow, or losing what the server answers.
//!
//! A write that is lost on the way there never happened. One whose answer is lost has happened, and
//! whoever asked for it does not know. One that is delayed happens when nobody waits for it any more.

use std::collections::VecDeque;

use crate::Subject;
use hermes_board::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerIdentity,
};
use hermes_board::store::{
    Applied, AttemptEnd, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart,
    ChecksBegun, ClaimOutcome, ClaimRequest, ClaimSeen, Claimant, CompleteOutcome, Completion,
    Created, FailurePolicy, NewTask, PromoteRequest, Release, ResolvedWorkspace, ScheduleRequest,
    Snapshot, WaitNote,
};
use hermes_board::{Error, Result};

/// What happens to the next write of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is done, and the answer is lost.
    LosesAnswer,
    /// It is done later.
    Delays,
}

/// The connection of one machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Link {
    pub(crate) is_cut: bool,
    pub(crate) next: Option<Fault>,
}

/// Everything between machines and the board.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    pub(crate) links: Vec<Link>,
    pub(crate) delayed: VecDeque<Delayed>,
    /// Completions that the board has accepted, and whether the attempt was the current one.
    pub(crate) completed: Vec<(TaskId, bool)>,
}

/// A write that is on its way.
#[derive(Debug)]
pub(crate) enum Delayed {
    Claim(ClaimRequest),
    Spawned(TaskId, RunId, u32, Option<WorkerIdentity>),
    End(TaskId, ClaimSeen, AttemptEnd, Termination),
    Extend(TaskId, String, i64),
    Beat(TaskId, Option<RunId>),
    Complete(TaskId, Completion),
    Block(BlockRequest),
}

/// The board as one machine reaches it.
pub(crate) struct Network<'w, B> {
    pub(crate) board: &'w mut B,
    pub(crate) wires: &'w mut Wires,
    pub(crate) host: usize,
}

fn lost<T>() -> Result<T> {
    Err(Error::BadRequest("the server is away".to_owned()))
}

impl<B: Subject> Network<'_, B> {
    fn own_link(&self) -> Link {
        self.wires.links.get(self.host).copied().unwrap_or_default()
    }

    fn take_fault(&mut self) -> Option<Fault> {
        self.wires.links.get_mut(self.host)?.next.take()
    }

    /// Asks the board something.
    fn look<T>(&self, ask: impl FnOnce(&B) -> Result<T>) -> Result<T> {
        if self.own_link().is_cut {
            return lost();
        }
        ask(self.board)
    }

    /// Lets the board do something, which can be delayed if there is a letter for it.
    fn send<T>(
        &mut self,
        letter: impl FnOnce() -> Option<Delayed>,
        deed: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.own_link().is_cut {
            return lost();
        }
        match self.take_fault() {
            None => deed(self),
            Some(Fault::LosesAnswer) => {
                deed(self).ok();
                lost()
            }
            Some(Fault::Delays) => {
                self.wires.delayed.extend(letter());
                lost()
            }
        }
    }

    fn complete_now(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        let expected = completion.expected_run;
        let was_current = expected.is_none_or(|run| self.is_current(id, run));
        let outcome = self.board.complete(id, completion);
        if let Ok(CompleteOutcome::Done(_)) = outcome {
            self.wires.completed.push((id.clone(), was_current));
        }
        outcome
    }

    fn is_current(&self, id: &TaskId, run: RunId) -> bool {
        self.board.claim_of(id).is_some_and(|now| now.0 == run)
    }

    /// A letter arrives. Nobody reads the answer.
    pub(crate) fn deliver(&mut self, letter: Delayed) {
        match letter {
            Delayed::Claim(request) => drop(self.board.claim(&request)),
            Delayed::Spawned(task, run, pid, identity) => {
                let recorded = self
                    .board
                    .record_spawned(&task, run, pid, identity.as_ref());
                drop(recorded);
            }
            Delayed::End(task, seen, end, termination) => {
                drop(self.board.end_attempt(&task, &seen, &end, termination));
            }
            Delayed::Extend(task, lock, ttl) => {
                drop(self.board.extend_own_claim(&task, &lock, ttl));
            }
            Delayed::Beat(task, run) => drop(self.board.heartbeat(&task, None, run)),
            Delayed::Complete(task, completion) => drop(self.complete_now(&task, &completion)),
            Delayed::Block(request) => drop(self.board.block(&request)),
        }
    }
}

/// Hands calls on that nothing waits for when they are delayed: those are lost.
macro_rules! send_each {
    ($($name:ident ( $($arg:ident : $type:ty),* ) -> $out:ty;)+) => {
        $(fn $name(&mut self, $($arg: $type),*) -> $out {
            self.send(|| None, |way| way.board.$name($($arg),*))
        })+
    };
}

impl<B: Subject> BoardStore for Network<'_, B> {
    fn now(&self) -> i64 {
        self.board.now()
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        self.look(|board| board.snapshot(failure_limit))
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.look(|board| board.task(id))
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.look(|board| board.checks(id))
    }

    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome> {
        self.send(
            || Some(Delayed::Claim(request.clone())),
            |way| way.board.claim(request),
        )
    }

    fn record_spawned(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        self.send(
            || Some(Delayed::Spawned(id.clone(), run, pid, identity.cloned())),
            |way| way.board.record_spawned(id, run, pid, identity),
        )
    }

    fn end_attempt(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        end: &AttemptEnd,
        termination: Termination,
    ) -> Result<Release> {
        self.send(
            || Some(Delayed::End(id.clone(), seen.clone(), *end, termination)),
            |way| way.board.end_attempt(id, seen, end, termination),
        )
    }

    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied> {
        self.send(
            || Some(Delayed::Extend(id.clone(), lock.to_owned(), ttl_seconds)),
            |way| way.board.extend_own_claim(id, lock, ttl_seconds),
        )
    }

    fn heartbeat(&mut self, id: &TaskId, note: Option<&str>, run: Option<RunId>) -> Result<()> {
        self.send(
            || Some(Delayed::Beat(id.clone(), run)),
            |way| way.board.heartbeat(id, note, run),
        )
    }

    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        self.send(
            || Some(Delayed::Complete(id.clone(), completion.clone())),
            |way| way.complete_now(id, completion),
        )
    }

    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome> {
        self.send(
            || Some(Delayed::Block(request.clone())),
            |way| way.board.block(request),
        )
    }

    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.send(
            || None,
            |way| {
                let outcome = way.board.finish_checks(session, completion, policy);
                if let Ok(CheckOutcome::Done(done)) = &outcome {
                    // The board has compared the attempts.
                    let run = completion.expected_run;
                    let was_current = run.is_none() || run == done.run;
                    way.wires
                        .completed
                        .push((done.task.id.clone(), was_current));
                }
                outcome
            },
        )
    }

    send_each! {
        create(new: &NewTask) -> Result<Created>;
        link(parent: &TaskId, child: &TaskId) -> Result<bool>;
        unlink(parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>>;
        assign(id: &TaskId, assignee: Option<&Assignee>) -> Result<()>;
        assign_default(id: &TaskId, assignee: &Assignee) -> Result<Applied>;
        promote_satisfied(failure_limit: i64) -> Result<Vec<TaskId>>;
        wake_due() -> Result<Vec<(TaskId, Status)>>;
        record_workspace(
            id: &TaskId, claimant: Claimant<'_>, at: &ResolvedWorkspace
        ) -> Result<Applied>;
        record_spawn_failure(
            id: &TaskId, run: RunId, error: &str, policy: &FailurePolicy
        ) -> Result<Release>;
        extend_claim(id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied>;
        defer_reclaim(
            id: &TaskId, seen: &ClaimSeen, until: i64, reason: &'static str, end: Termination
        ) -> Result<Applied>;
        record_budget_exhausted(
            id: &TaskId, run: RunId, used: i64, most: i64, policy: &FailurePolicy
        ) -> Result<Release>;
        reclaim(
            id: &TaskId, prev_lock: Option<&str>, reason: Option<&str>, end: Termination
        ) -> Result<Applied>;
        note_waiting(notes: &[WaitNote]) -> Result<usize>;
        begin_checks(
            id: &TaskId, completion: &Completion, start: &CheckStart<'_>
        ) -> Result<ChecksBegun>;
        record_check(session: i64, evidence: &CheckEvidence) -> Result<()>;
        abandon_checks(session: i64) -> Result<()>;
        unblock(id: &TaskId) -> Result<Status>;
        schedule(request: &ScheduleRequest) -> Result<()>;
        promote(request: &PromoteRequest) -> Result<()>;
        archive(id: &TaskId) -> Result<Vec<TaskId>>;
    }
}
