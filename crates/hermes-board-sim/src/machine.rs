//! Machines: processes whose ids are reused, restarts, and files that outlive both.

use std::collections::BTreeMap;

use crate::Flaw;
use hermes_board::dispatch::{
    AttemptProcesses, JudgingHost, Processes, SpawnedWorker, WorkerHost, WorkerSpawnRequest,
    worker_fact,
};
use hermes_board::model::{HostRef, RunId, Task, TaskId, Termination, WorkerExit, WorkerIdentity};
use hermes_board::plan::{Facts, OwnHost, WorkerRef};
use hermes_board::store::{ResolvedWorkspace, RunningTask, Snapshot};

/// One machine.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) number: usize,
    pub(crate) name: String,
    /// Stays whatever its name.
    pub(crate) id: String,
    boot: u32,
    boot_id: String,
    ticks: u64,
    /// Seconds by a clock that nobody sets.
    pub(crate) uptime: i64,
    /// How far its clock is off.
    pub(crate) skew: i64,
    pub(crate) workers: Vec<Worker>,
    /// What workers and dispatchers left in writing: card, attempt, end.
    records: BTreeMap<TaskId, (RunId, WorkerExit)>,
    /// Workers cannot be started.
    pub(crate) refuses: bool,
    /// A worker was terminated that was not meant.
    pub(crate) mishap: Option<String>,
}

/// A worker and what it started.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    /// Counts all workers there ever were.
    pub(crate) serial: u32,
    pub(crate) pid: u32,
    start: u64,
    started_at: i64,
    pub(crate) task: TaskId,
    pub(crate) run: RunId,
    pub(crate) lock: String,
    /// How it ended; `None` while it lives.
    pub(crate) exit: Option<WorkerExit>,
    /// Processes it started that live.
    pub(crate) children: u8,
    /// Signals have no effect.
    pub(crate) stuck: bool,
    /// The dispatcher that has not yet heard of its end.
    parent: Option<u64>,
    /// The checks it runs: their round, and how many are left.
    pub(crate) round: Option<(i64, u32)>,
}

impl Worker {
    pub(crate) fn has_processes(&self) -> bool {
        self.exit.is_none() || self.children > 0
    }

    fn identity(&self, machine: &Machine) -> WorkerIdentity {
        WorkerIdentity {
            start: self.start,
            boot_id: machine.boot_id.clone(),
        }
    }

    fn reference(&self, machine: &Machine) -> WorkerRef {
        WorkerRef {
            task: self.task.clone(),
            run: Some(self.run),
            pid: Some(self.pid),
            identity: Some(self.identity(machine)),
        }
    }
}

impl Machine {
    pub(crate) fn new(number: usize) -> Self {
        let mut machine = Self {
            number,
            name: format!("host{number}"),
            id: format!("id{number}"),
            boot: 0,
            boot_id: String::new(),
            ticks: 0,
            uptime: 0,
            skew: 0,
            workers: Vec::new(),
            records: BTreeMap::new(),
            refuses: false,
            mishap: None,
        };
        machine.restart();
        machine
    }

    /// Ends everything and begins anew; only files remain.
    pub(crate) fn restart(&mut self) {
        self.boot += 1;
        self.boot_id = format!("boot{}-{}", self.number, self.boot);
        self.ticks = 0;
        self.uptime = 0;
        self.workers.clear();
    }

    /// A worker ends by itself. One of ours leaves a note as its last act.
    pub(crate) fn end_by_itself(&mut self, serial: u32, exit: WorkerExit, leaves_note: bool) {
        if let Some(worker) = self.workers.iter_mut().find(|one| one.serial == serial) {
            worker.exit = Some(exit);
            if leaves_note {
                let (task, record) = (worker.task.clone(), (worker.run, exit));
                self.leave_in_writing(task, record);
            }
        }
        self.bury();
    }

    /// Records how the worker of an attempt ended, unless a later attempt has an end on record.
    fn leave_in_writing(&mut self, task: TaskId, record: (RunId, WorkerExit)) {
        let newer = self
            .records
            .get(&task)
            .is_some_and(|(run, _)| *run > record.0);
        if !newer {
            self.records.insert(task, record);
        }
    }

    /// Forgets workers of which nothing is left and nobody waits to hear.
    pub(crate) fn bury(&mut self) {
        self.workers
            .retain(|worker| worker.has_processes() || worker.parent.is_some());
    }

    /// A dispatcher is gone: nobody will hear how its workers end.
    pub(crate) fn orphan(&mut self, dispatcher: u64) {
        for worker in &mut self.workers {
            if worker.parent == Some(dispatcher) {
                worker.parent = None;
            }
        }
        self.bury();
    }

    /// Ends everything of these workers; whether nothing is left.
    fn kill(&mut self, is_meant: impl Fn(&Worker) -> bool) -> bool {
        let mut nothing_left = true;
        for worker in self.workers.iter_mut().filter(|worker| is_meant(worker)) {
            if worker.stuck {
                nothing_left &= !worker.has_processes();
                continue;
            }
            worker.children = 0;
            worker.exit.get_or_insert(WorkerExit::Signal(15));
        }
        self.bury();
        nothing_left
    }
}

/// A machine as a dispatcher on it sees it.
pub(crate) struct SimulatedHost<'m> {
    pub(crate) machine: &'m mut Machine,
    /// The dispatcher; another number after each restart of it.
    pub(crate) dispatcher: u64,
    pub(crate) profiles: &'m [&'static str],
    /// Counts workers.
    pub(crate) serials: &'m mut u32,
    pub(crate) flaw: Option<Flaw>,
    /// Cards whose directory cannot be made.
    pub(crate) no_workspace: &'m [TaskId],
    /// Whether other machines use the board as well.
    pub(crate) is_shared: bool,
}

impl SimulatedHost<'_> {
    fn own_lock(&self) -> String {
        format!("{}:1", self.machine.name)
    }

    /// Whether a claim carries the name of this machine.
    fn goes_by(&self, running: &RunningTask) -> bool {
        let lock = running.claim.lock.as_deref().unwrap_or_default();
        lock.split(':').next() == Some(self.machine.name.as_str())
    }
}

impl Processes for SimulatedHost<'_> {
    fn boot_id(&self) -> &str {
        &self.machine.boot_id
    }

    fn age_of(&self, _task: &TaskId, pid: u32, identity: Option<&WorkerIdentity>) -> Option<i64> {
        let trusts_numbers = self.flaw == Some(Flaw::TrustsNumbers);
        let mut workers = self.machine.workers.iter();
        let worker = workers.find(|worker| {
            let same = identity.is_none_or(|identity| {
                worker.start == identity.start && self.machine.boot_id == identity.boot_id
            });
            worker.pid == pid && worker.exit.is_none() && (same || trusts_numbers)
        })?;
        Some(self.machine.uptime - worker.started_at)
    }

    fn is_gone(&self, _: u32, _: &WorkerIdentity) -> bool {
        // Dispatchers of the simulation claim without saying who they are, as the reference does.
        false
    }

    fn of_attempt(&self, task: &TaskId, run: RunId) -> AttemptProcesses {
        if self.flaw == Some(Flaw::OverlooksSurvivors) {
            return AttemptProcesses::None;
        }
        let mut workers = self.machine.workers.iter();
        let found = workers
            .find(|worker| worker.task == *task && worker.run == run && worker.has_processes());
        match found {
            Some(worker) if worker.exit.is_none() => {
                AttemptProcesses::Worker(worker.reference(self.machine))
            }
            Some(_) => AttemptProcesses::ChildrenOnly,
            None => AttemptProcesses::None,
        }
    }

    fn exit_of(&self, task: &TaskId, run: RunId) -> Option<WorkerExit> {
        let record = self.machine.records.get(task);
        let written = record.filter(|(of, _)| *of == run).map(|(_, exit)| *exit);
        // A dispatcher can see how a worker of its own ended before it takes note of it.
        let seen = || {
            let mut own = self.machine.workers.iter();
            own.find(|worker| worker.run == run && worker.parent == Some(self.dispatcher))?
                .exit
        };
        written.or_else(seen)
    }
}

impl WorkerHost for SimulatedHost<'_> {
    fn host(&self) -> Option<HostRef> {
        self.is_shared.then(|| HostRef {
            id: self.machine.id.clone(),
            name: self.machine.name.clone(),
        })
    }

    fn reap(&mut self) {
        let mut seen = Vec::new();
        for worker in &mut self.machine.workers {
            if let Some(exit) = worker.exit
                && worker.parent == Some(self.dispatcher)
            {
                worker.parent = None;
                seen.push((worker.task.clone(), (worker.run, exit)));
            }
        }
        for (task, record) in seen {
            self.machine.leave_in_writing(task, record);
        }
        self.machine.bury();
    }

    fn observe(&self, board: &Snapshot) -> Facts {
        let own_lock = self.own_lock();
        let mut facts = Facts {
            profiles: self
                .profiles
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            host: OwnHost {
                id: self.is_shared.then(|| self.machine.id.clone()),
                name: self.machine.name.clone(),
                labels: Vec::new(),
            },
            ..Facts::default()
        };
        for running in &board.running {
            let trusts_names = self.flaw == Some(Flaw::TrustsNames);
            let judging = JudgingHost {
                lock: &own_lock,
                // Whoever goes by names takes every host of its name for itself.
                id: match running.host_id.as_deref() {
                    Some(theirs) if trusts_names && self.goes_by(running) => Some(theirs),
                    _ => self.is_shared.then_some(self.machine.id.as_str()),
                },
            };
            let fact = worker_fact(running, judging, self);
            facts.workers.insert(running.card.id.clone(), fact);
        }
        let in_progress = |worker: &Worker| board.running_run(worker.run).is_some();
        for worker in &self.machine.workers {
            if worker.has_processes() && !in_progress(worker) {
                let leftover = worker.reference(self.machine);
                facts.leftovers.insert(worker.task.clone(), leftover);
            }
        }
        facts
    }

    fn terminate(&mut self, workers: &[WorkerRef]) -> Vec<Termination> {
        let trusts_numbers = self.flaw == Some(Flaw::TrustsNumbers);
        let end = |meant: &WorkerRef| {
            let is_meant = |worker: &Worker| {
                let is_right = worker.task == meant.task && Some(worker.run) == meant.run;
                is_right || (trusts_numbers && Some(worker.pid) == meant.pid)
            };
            let innocent = self.machine.workers.iter().find(|worker| {
                is_meant(worker) && worker.task != meant.task && worker.has_processes()
            });
            if let Some(worker) = innocent {
                self.machine.mishap = Some(format!(
                    "the worker of {} was terminated instead of that of {}",
                    worker.task, meant.task
                ));
            }
            Termination {
                prev_pid: meant.pid,
                host_local: true,
                termination_attempted: true,
                terminated: self.machine.kill(is_meant),
                sigkill: false,
            }
        };
        workers.iter().map(end).collect()
    }

    fn prepare_workspace(&mut self, task: &Task) -> Result<ResolvedWorkspace, String> {
        if self.no_workspace.contains(&task.id) {
            return Err("no such repository".to_owned());
        }
        Ok(ResolvedWorkspace {
            path: "/work".into(),
            branch: None,
            base: None,
        })
    }

    fn spawn(&mut self, request: &WorkerSpawnRequest<'_>) -> Result<SpawnedWorker, String> {
        if self.machine.refuses {
            return Err("permission denied".to_owned());
        }
        let task = &request.task.id;
        if self.flaw != Some(Flaw::OverlooksSurvivors)
            && !self
                .machine
                .kill(|worker| worker.task == *task && worker.run != request.run)
        {
            return Err("processes of an earlier attempt could not be terminated".to_owned());
        }
        let machine = &mut *self.machine;
        machine.ticks += 1;
        // A number is free when nothing of the process or its group is left, and given out again at
        // once, so that mistaking one process for another shows.
        let used = |pid: u32| machine.workers.iter().any(|worker| worker.pid == pid);
        let free = (2..u32::MAX).find(|pid| !used(*pid)).unwrap_or(0);
        *self.serials += 1;
        let worker = Worker {
            serial: *self.serials,
            pid: free,
            start: machine.ticks,
            started_at: machine.uptime,
            task: task.clone(),
            run: request.run,
            lock: request.lock.to_owned(),
            exit: None,
            children: 0,
            stuck: false,
            parent: Some(self.dispatcher),
            round: None,
        };
        let new = SpawnedWorker {
            pid: worker.pid,
            identity: Some(worker.identity(machine)),
        };
        machine.workers.push(worker);
        Ok(new)
    }
}
