//! Workers on this machine: real processes, real directories.

pub(super) mod arrival;
mod attempts;
mod children;
mod exit_record;
mod git;
mod identity;
mod launch;
mod log_file;
mod other_boards;
mod preflight;
mod terminate;
mod workspace;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_config::Environment;
use hermes_home::{Location, ProfileName};
use hermes_proc::{EnvPolicy, KillTiming};

pub use children::Children;
pub use exit_record::write_exit_record;
pub use launch::worker_program;
pub use log_file::LogRotation;
pub use preflight::WorkerNeeds;
pub use terminate::WORKER_TIMING;

pub(crate) use attempts::{check_mark, names_card};
pub(crate) use git::helper_git;
pub(crate) use identity::ProcessSpace;
pub(crate) use launch::WORK_REQUEST;
pub(crate) use other_boards::HomeLock;
use other_boards::running_elsewhere;
pub(crate) use terminate::{pids, terminate_earlier_checks};

use crate::boards::{Board, BoardHome};
use crate::dispatch::{JudgingHost, SpawnedWorker, WorkerHost, WorkerSpawnRequest, worker_fact};
use crate::model::{HostRef, Obstacle, RunId, Task, TaskId, Termination, WorkerIdentity};
use crate::plan::{Facts, Limits, OwnHost, WorkerRef};
use crate::store::{Candidate, ResolvedWorkspace, Snapshot};
use crate::{Clock, SystemClock, WorkspaceRules, own_lock};

/// What a profile has configured for its workers.
#[derive(Debug, Clone, Default)]
pub struct WorkerProfile {
    /// Toolsets that it uses on the command line; none to leave it to the worker.
    pub toolsets: Vec<String>,
    /// Variables of this process that its terminals may see though they are withheld by default.
    pub env_passthrough: BTreeSet<String>,
}

/// What the profile with this home has configured.
pub type WorkerProfileOf = Arc<dyn Fn(&Path) -> WorkerProfile + Send + Sync>;

/// Whether a worker could run, by the code that the worker itself begins with. Starts nothing.
pub type Preflight = Arc<dyn Fn(&WorkerNeeds) -> Option<Obstacle> + Send + Sync>;

/// Releases what lost workers of a profile could not release. Must not take long.
pub type AfterLoss = Arc<dyn Fn(&ProfileName) + Send + Sync>;

/// How workers are started on any board.
#[derive(Clone)]
pub struct WorkerSetup {
    /// The program; see [`worker_program`].
    pub program: PathBuf,
    pub location: Location,
    /// Variables of this process, without those of any `.env`: each profile reads its own.
    pub base: Vec<(OsString, OsString)>,
    pub policy: EnvPolicy,
    pub log: LogRotation,
    /// Deadlines for terminating a worker.
    pub timing: KillTiming,
    pub profile_of: WorkerProfileOf,
    /// Where cards may be worked on.
    pub workspaces: WorkspaceRules,
    /// `None` if workers are another program, which alone knows what it needs.
    pub preflight: Option<Preflight>,
    /// Called after workers of a profile were killed, crashed or terminated, and so could not release
    /// their resources.
    pub after_loss: AfterLoss,
}

impl WorkerSetup {
    /// Defaults: workers are `HERMES_BIN` or the program of `policy`, and choose their toolsets
    /// themselves. `env` is that of this process, with the chosen home.
    pub fn new(
        env: &Environment,
        home: &BoardHome,
        location: &Location,
        policy: EnvPolicy,
        log: LogRotation,
    ) -> Self {
        Self {
            workspaces: WorkspaceRules::new(home, location, &policy, &[]),
            program: worker_program(env, home, &policy.hermes_program),
            location: location.clone(),
            base: env
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            policy,
            log,
            timing: WORKER_TIMING,
            profile_of: Arc::new(|_| WorkerProfile::default()),
            preflight: None,
            after_loss: Arc::new(|_| ()),
        }
    }
}

impl std::fmt::Debug for WorkerSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerSetup")
            .field("program", &self.program)
            .field("location", &self.location)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

/// Workers of one board on this machine.
#[derive(Debug)]
pub struct LocalWorkerHost<'w> {
    pub board: &'w Board,
    pub home: &'w BoardHome,
    pub setup: &'w WorkerSetup,
    pub children: &'w mut Children,
    /// Whose limits are kept to; `None` where nothing is planned.
    pub limits: Option<&'w Limits>,
    /// Who this machine is to the board.
    pub own: &'w OwnHost,
}

impl WorkerHost for LocalWorkerHost<'_> {
    fn reap(&mut self) {
        self.children.reap(SystemClock.now());
    }

    fn dispatcher_identity(&self) -> Option<WorkerIdentity> {
        ProcessSpace::own().identity_of(std::process::id())
    }

    fn host(&self) -> Option<HostRef> {
        Some(HostRef {
            id: self.own.id.clone()?,
            name: self.own.name.clone(),
        })
    }

    fn observe(&self, board: &Snapshot) -> Facts {
        let own_lock = own_lock();
        let judging = JudgingHost {
            lock: &own_lock,
            id: self.own.id.as_deref(),
        };
        // Scanning every process is worth it only if one could belong to a card.
        let attempts = if has_history(board) {
            let mut attempts = attempts::Attempts::scan(self.board);
            attempts.find_hidden(&attempted(board));
            attempts
        } else {
            attempts::Attempts::unknown(self.board)
        };
        let workers = attempts::Workers {
            attempts: &attempts,
            children: self.children,
        };
        let mut facts = Facts {
            profiles: profiles(&self.setup.location),
            host: self.own.clone(),
            ..Facts::default()
        };
        for running in &board.running {
            let fact = worker_fact(running, judging, &workers);
            facts.workers.insert(running.card.id.clone(), fact);
        }
        if let Some(limits) = self.limits {
            facts.obstacles = self.obstacles(board, &facts.profiles, limits);
            if limits.counts_other_boards() {
                facts.running_elsewhere = running_elsewhere(self.board, self.home);
            }
        }
        for worker in attempts.each() {
            let in_progress = worker
                .run
                .is_some_and(|run| board.running_run(run).is_some());
            if !in_progress {
                facts.leftovers.insert(worker.task.clone(), worker);
            }
        }
        facts
    }

    fn terminate(&mut self, workers: &[WorkerRef]) -> Vec<Termination> {
        let timing = self.setup.timing;
        terminate::terminate_all(self.board, self.children, workers, timing)
    }

    fn prepare_workspace(&mut self, task: &Task) -> Result<ResolvedWorkspace, String> {
        self.resolve_workspace(task)
            .map_err(|error| error.to_string())
    }

    fn spawn(&mut self, request: &WorkerSpawnRequest<'_>) -> Result<SpawnedWorker, String> {
        launch::launch(request, self.board, self.setup, self.children)
            .map_err(|error| error.to_string())
    }
}

/// The attempts that are under way, as far as the board knows.
fn attempted(board: &Snapshot) -> Vec<(TaskId, RunId)> {
    let running = board.running.iter();
    running
        .filter_map(|running| Some((running.card.id.clone(), running.claim.run?)))
        .collect()
}

/// Whether any card in question was worked on before.
fn has_history(board: &Snapshot) -> bool {
    let was_tried = |card: &Candidate| card.guard.last_run.is_some();
    !board.running.is_empty()
        || board.ready.iter().any(was_tried)
        || board.review.iter().any(was_tried)
        || board.promotable.iter().any(was_tried)
        || board.due.iter().any(was_tried)
}

/// Profiles that workers can be started for.
fn profiles(location: &Location) -> BTreeSet<String> {
    let mut names = BTreeSet::from([ProfileName::default_profile().as_str().to_owned()]);
    // An installation without named profiles has no such directory.
    for entry in hermes_fs::read_dir(&location.profiles_dir()).unwrap_or_default() {
        if let Some(name) = ProfileName::from_directory(&entry.name)
            && entry.path.is_dir()
        {
            names.insert(name.as_str().to_owned());
        }
    }
    names
}
