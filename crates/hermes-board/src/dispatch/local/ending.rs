//! Ending workers, and everything they started.

use std::time::Duration;

use hermes_proc::{
    KillTiming, MarkedProcess, ProcessIdentity, ProcessTree, identity_of, is_same_live_process,
    kill_marked, kill_tree,
};

use crate::boards::Board;
use crate::dispatch::local::attempts::{
    Attempts, BoardPlace, EXEC_ID, check_mark, exec_id, mark_names, says_it_works_on,
};
use crate::dispatch::local::children::Children;
use crate::model::{RunId, TaskId, Termination};
use crate::plan::WorkerRef;

/// How patient ending a worker is: it gets time to flush, and its card should not wait for long.
pub const WORKER_TIMING: KillTiming = KillTiming {
    grace: Duration::from_secs(5),
    patience: Duration::from_secs(2),
    force: true,
};

/// Ends all of these at the same time.
pub(super) fn end_all(
    board: &Board,
    children: &Children,
    workers: &[WorkerRef],
    timing: KillTiming,
) -> Vec<Termination> {
    let attempts = Attempts::look(board);
    let place = BoardPlace::of(board);
    let jobs: Vec<Job<'_>> = workers
        .iter()
        .map(|worker| Job {
            board,
            place: &place,
            leader: leader_of(worker, &attempts),
            is_child: worker.pid.is_some_and(|pid| children.has(pid)),
            worker,
            timing,
        })
        .collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = jobs.iter().map(|job| scope.spawn(|| job.run())).collect();
        running
            .into_iter()
            .zip(&jobs)
            // One that could not be ended counts as alive.
            .map(|(thread, job)| thread.join().unwrap_or_else(|_| job.report(false, false)))
            .collect()
    })
}

/// Ends what earlier attempts at a card left running; gives those that live on.
pub(super) fn end_earlier(
    board: &Board,
    task: &TaskId,
    current: RunId,
    timing: KillTiming,
) -> Vec<u32> {
    let place = BoardPlace::of(board);
    let is_meant = |process: &MarkedProcess| {
        let attempt = place.attempt_of(process);
        attempt.is_some_and(|(of, run)| of == *task && run != current)
    };
    kill_marked(&mark_names(), is_meant, timing.patience).survivors
}

/// Ends what a round of checks left running whose process was killed; gives those that live on.
pub(crate) fn end_earlier_checks(board: &Board, task: &TaskId, patience: Duration) -> Vec<u32> {
    let mark = check_mark(&board.database, task);
    let is_meant = |process: &MarkedProcess| process.values.iter().any(|value| *value == *mark);
    kill_marked(&[EXEC_ID], is_meant, patience).survivors
}

struct Job<'j> {
    board: &'j Board,
    place: &'j BoardPlace,
    worker: &'j WorkerRef,
    leader: Option<ProcessIdentity>,
    is_child: bool,
    timing: KillTiming,
}

impl Job<'_> {
    fn run(&self) -> Termination {
        let mut survivors = Vec::new();
        let mut forced = false;
        if let Some(leader) = &self.leader {
            let outcome = kill_tree(&self.tree(leader), self.timing);
            survivors.extend(outcome.survivors);
            forced |= outcome.forced;
        }
        if let Some(run) = self.worker.run {
            let is_meant = |process: &MarkedProcess| {
                self.place.attempt_of(process) == Some((self.worker.task.clone(), run))
            };
            let outcome = kill_marked(&mark_names(), is_meant, self.timing.patience);
            survivors.extend(outcome.survivors);
            forced |= outcome.forced;
        }
        self.report(survivors.is_empty(), forced)
    }

    fn tree(&self, leader: &ProcessIdentity) -> ProcessTree {
        let mark = self.worker.run.map(|run| {
            let WorkerRef { task, .. } = self.worker;
            exec_id(&self.board.database, task, run)
        });
        ProcessTree {
            leader: leader.pid,
            start_time: leader.start_time,
            mark: mark.unwrap_or_default(),
            leader_is_ours: self.is_child,
        }
    }

    fn report(&self, terminated: bool, sigkill: bool) -> Termination {
        Termination {
            prev_pid: self
                .leader
                .as_ref()
                .map(|leader| leader.pid)
                .or(self.worker.pid),
            host_local: true,
            termination_attempted: true,
            terminated,
            sigkill,
        }
    }
}

/// Whom the group belongs to. The leader may have ended: as long as anyone of its group lives, its
/// number is not given out again.
fn leader_of(worker: &WorkerRef, attempts: &Attempts<'_>) -> Option<ProcessIdentity> {
    let recorded = worker.pid.zip(worker.identity.as_ref());
    let recorded = recorded.and_then(|(pid, one)| attempts.space.process(pid, one));
    let unmistaken = || {
        // Another program recorded nothing but the number.
        let pid = worker.pid.filter(|_| worker.identity.is_none())?;
        identity_of(pid).filter(|_| says_it_works_on(pid, &worker.task))
    };
    recorded.or_else(unmistaken).or_else(|| {
        let leader = attempts.leader(&worker.task, worker.run?)?;
        let identity = leader.identity.clone();
        is_same_live_process(&identity).then_some(identity)
    })
}

/// Words for a list of processes.
pub(crate) fn pids(survivors: &[u32]) -> String {
    let words: Vec<String> = survivors.iter().map(u32::to_string).collect();
    words.join(", ")
}
