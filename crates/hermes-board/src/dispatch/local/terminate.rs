//! Terminating workers and everything they started.

use std::time::Duration;

use hermes_proc::{
    KillTiming, MarkedProcess, ProcessIdentity, ProcessTree, hidden_processes_of, identity_of,
    is_same_live_process, kill_marked, kill_tree,
};

use crate::boards::Board;
use crate::dispatch::local::attempts::{
    Attempts, BoardMatcher, EXEC_ID, check_mark, exec_id, mark_names, names_card,
};
use crate::dispatch::local::children::Children;
use crate::model::{RunId, TaskId, Termination};
use crate::plan::WorkerRef;

/// Deadlines for terminating a worker: it gets time to flush, and its card should not wait long.
pub const WORKER_TIMING: KillTiming = KillTiming {
    grace: Duration::from_secs(5),
    timeout: Duration::from_secs(2),
    force: true,
};

/// Attempts before the present one whose workers are looked for; a board numbers them all in one row.
const EARLIER_RUNS: i64 = 1000;

/// Terminates all of these workers at the same time.
pub(super) fn terminate_all(
    board: &Board,
    children: &Children,
    workers: &[WorkerRef],
    timing: KillTiming,
) -> Vec<Termination> {
    let mut attempts = Attempts::scan(board);
    let attempted = workers.iter();
    let attempted = attempted.filter_map(|worker| Some((worker.task.clone(), worker.run?)));
    attempts.find_hidden(&attempted.collect::<Vec<_>>());
    let matcher = BoardMatcher::of(board);
    let jobs: Vec<Job<'_>> = workers
        .iter()
        .map(|worker| Job {
            board,
            matcher: &matcher,
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
            // A worker that could not be terminated counts as alive.
            .map(|(thread, job)| thread.join().unwrap_or_else(|_| job.report(false, false)))
            .collect()
    })
}

/// Terminates what earlier attempts at a card left running; returns the survivors.
pub(super) fn terminate_earlier_attempts(
    board: &Board,
    task: &TaskId,
    current: RunId,
    timing: KillTiming,
) -> Vec<u32> {
    let matcher = BoardMatcher::of(board);
    let is_meant = |process: &MarkedProcess| {
        let attempt = matcher.attempt_of(process);
        attempt.is_some_and(|(of, run)| of == *task && run != current)
    };
    let mut survivors = kill_hidden(board, task, current, timing);
    survivors.extend(kill_marked(&mark_names(), is_meant, timing.timeout).survivors);
    survivors
}

/// Terminates earlier workers that hide their environment; returns the survivors.
fn kill_hidden(board: &Board, task: &TaskId, current: RunId, timing: KillTiming) -> Vec<u32> {
    let earlier = (current.0.saturating_sub(EARLIER_RUNS)..current.0).map(RunId);
    let marks: Vec<String> = earlier
        .map(|run| exec_id(&board.database, task, run))
        .collect();
    let hidden = hidden_processes_of(&marks);
    let trees = hidden.into_iter().map(|(position, leader)| ProcessTree {
        leader: leader.pid,
        start_time: leader.start_time,
        mark: marks.get(position).cloned().unwrap_or_default(),
        supervisor: None,
        leader_is_ours: false,
    });
    trees
        .flat_map(|tree| kill_tree(&tree, timing).survivors)
        .collect()
}

/// Terminates what a killed session of checks left running; returns the survivors.
pub(crate) fn terminate_earlier_checks(
    board: &Board,
    task: &TaskId,
    timeout: Duration,
) -> Vec<u32> {
    let mark = check_mark(&board.database, task);
    let is_meant = |process: &MarkedProcess| process.values.iter().any(|value| *value == *mark);
    kill_marked(&[EXEC_ID], is_meant, timeout).survivors
}

struct Job<'j> {
    board: &'j Board,
    matcher: &'j BoardMatcher,
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
                self.matcher.attempt_of(process) == Some((self.worker.task.clone(), run))
            };
            let outcome = kill_marked(&mark_names(), is_meant, self.timing.timeout);
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
            supervisor: None,
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

/// The leader of the worker's process group. It may have exited: as long as any process of the group
/// is alive, its id is not reused.
fn leader_of(worker: &WorkerRef, attempts: &Attempts<'_>) -> Option<ProcessIdentity> {
    let recorded = worker.pid.zip(worker.identity.as_ref());
    let recorded = recorded.and_then(|(pid, one)| attempts.space.process(pid, one));
    let unmistaken = || {
        // Another program recorded nothing but the number.
        let pid = worker.pid.filter(|_| worker.identity.is_none())?;
        identity_of(pid).filter(|_| names_card(pid, &worker.task))
    };
    recorded.or_else(unmistaken).or_else(|| {
        let identity = attempts.leader(&worker.task, worker.run?)?.clone();
        is_same_live_process(&identity).then_some(identity)
    })
}

/// A list of process ids, as text.
pub(crate) fn pids(survivors: &[u32]) -> String {
    let ids: Vec<String> = survivors.iter().map(u32::to_string).collect();
    ids.join(", ")
}
