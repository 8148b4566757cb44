//! A process that dispatches: single ticks, previews, reclaiming by hand.

use std::time::Duration;

use hermes_home::ProfileName;

use crate::boards::{Board, BoardHome, TickLock};
use crate::dispatch::heartbeat::HostHeartbeat;
use crate::dispatch::local::{Children, HomeLock, LocalWorkerHost, WorkerSetup};
use crate::dispatch::{Reclaimed, Tick, WorkerHost, handover, reclaim};
use crate::model::{RunId, TaskId, WorkspaceKind};
use crate::plan::{Limits, OwnHost, Plan, Report, Verdict, plan, why_resting};
use crate::store::BoardStore;
use crate::{
    BoardOptions, Clock, Error, HostEntry, HostOrigin, HostSettings, Result, StoredBoard,
    SystemClock, ensure_host_id, own_host, own_lock,
};

/// A tick that starts more workers than this without any limit set is worth a warning.
const MANY: usize = 8;

/// Longest time between two ticks, unless somebody says otherwise.
const INTERVAL: Duration = Duration::from_mins(1);

/// Noted once, when the first worker gets a scratch workspace.
const SCRATCH_TIP: &str = "This card has a scratch workspace, which is removed when the card is done. \
    List deliverables as artifacts to keep them, or create cards with --workspace dir:/path or \
    --workspace worktree to work in a directory that stays.";

/// A dispatching process with the workers it has started on any board.
#[derive(Debug)]
pub struct Dispatcher {
    pub home: BoardHome,
    pub limits: Limits,
    pub workers: WorkerSetup,
    /// What is configured about this host.
    pub host_settings: HostSettings,
    /// Longest time between two ticks.
    pub interval: Duration,
    children: Children,
    own: OwnHost,
    heartbeat: HostHeartbeat,
}

impl Dispatcher {
    /// A dispatcher that has started no worker.
    pub fn new(home: BoardHome, limits: Limits, workers: WorkerSetup) -> Self {
        Self {
            home,
            limits,
            workers,
            host_settings: HostSettings::default(),
            interval: INTERVAL,
            children: Children::default(),
            own: OwnHost::default(),
            heartbeat: HostHeartbeat::default(),
        }
    }

    /// The same dispatcher, on a host that is configured like this.
    #[must_use]
    pub fn on_host(self, host_settings: HostSettings) -> Self {
        Self {
            host_settings,
            ..self
        }
    }

    /// One tick of a board, in this order: exited workers, expired claims, silent workers, crashes,
    /// timeouts, scheduled cards that wake, promotions, ready cards, reviews. The report is empty if
    /// another process dispatches on the board.
    pub fn tick(&mut self, store: &mut StoredBoard) -> Result<Report> {
        let board = store.board().clone();
        let _home_lock = if self.limits.counts_other_boards() {
            match HomeLock::take(&self.home)? {
                HomeLock::HeldByOther => return Ok(Report::locked()),
                held @ HomeLock::Held(_) => Some(held),
            }
        } else {
            None
        };
        let lock = match TickLock::take(&board) {
            TickLock::Held(lock) => Some(lock),
            TickLock::HeldByOther => return Ok(Report::locked()),
            TickLock::Unavailable(error) => {
                // Every write is conditional, so a tick without the lock does no harm.
                tracing::warn!(%error, "could not lock the board for dispatching");
                None
            }
        };
        self.register(store)?;
        let claim = own_lock();
        let tick = Tick::new(self.limits.clone(), claim);
        let ours = self.begin_turn(store)?;
        let report = tick.run(store, &mut self.host(&board));
        store.end_turn();
        if store.is_on_server() {
            handover::after_turn(store, &self.workers, &ours);
        }
        let report = report?;
        if report.spawned.len() > MANY && self.limits.lowest_cap().is_none() {
            tracing::warn!(
                board = board.slug.as_str(),
                workers = report.spawned.len(),
                "many workers were started at once; kanban.max_in_progress limits them"
            );
        }
        self.tip(store, &report);
        drop(lock);
        let lost = [
            &report.crashed,
            &report.timed_out,
            &report.stale,
            &report.reclaimed,
        ];
        self.after_loss(store, lost.into_iter().flatten());
        Ok(report)
    }

    /// Waits for the dispatchers of other machines, and for the work that they are about to hand over.
    /// Gives the attempts of this machine that are in progress.
    fn begin_turn(&self, store: &mut StoredBoard) -> Result<Vec<(TaskId, RunId)>> {
        if !store.is_on_server() {
            return Ok(Vec::new());
        }
        for _ in 0..handover::LOOKS {
            handover::before_turn(store, &self.workers);
            store.begin_turn()?;
            if !handover::is_awaited(store)? {
                return store.running_here(&own_lock());
            }
            store.end_turn();
            std::thread::sleep(handover::PAUSE);
        }
        store.begin_turn()?;
        store.running_here(&own_lock())
    }

    /// What a tick would do now: takes no lock, sends no signal, writes nothing.
    pub fn preview(&mut self, store: &StoredBoard) -> Result<Plan> {
        let limits = self.limits.clone();
        Tick::preview(&limits, store, &self.host(store.board()))
    }

    /// The part of [`Self::preview`] that decides about one card. Without limits on what is in progress,
    /// the others that wait have no say and are not looked at.
    pub fn preview_card(&mut self, store: &StoredBoard, id: &TaskId) -> Result<Plan> {
        if self.limits.has_cap() {
            return self.preview(store);
        }
        let limits = self.limits.clone();
        let board = store.snapshot_of(id, limits.failure_limit)?;
        let facts = self.host(store.board()).observe(&board);
        Ok(plan(&board, &facts, &limits))
    }

    /// What a tick would do about one card, or why it would do nothing. Changes nothing.
    pub fn why(&mut self, store: &StoredBoard, id: &TaskId) -> Result<Vec<Verdict>> {
        let task = store
            .task(id)?
            .ok_or_else(|| Error::UnknownTask { id: id.clone() })?;
        let verdicts = self.preview_card(store, id)?.why(id);
        if !verdicts.is_empty() {
            return Ok(verdicts);
        }
        let mut open_parents = Vec::new();
        for parent in store.parents(id)? {
            let found = store.task(&parent)?;
            if found.is_some_and(|task| !task.status().satisfies_children()) {
                open_parents.push(parent);
            }
        }
        let run = task.current_run_id;
        let run = run.map(|run| store.run(run)).transpose()?.flatten();
        let host = run.and_then(|run| run.host);
        Ok(vec![why_resting(&task, &open_parents, host)])
    }

    /// Makes this host and its dispatcher known to the board, and that they are alive.
    fn register(&mut self, store: &mut StoredBoard) -> Result<()> {
        let entry = HostEntry {
            id: ensure_host_id(&self.home)?,
            name: self.host_settings.name(),
            labels: self.host_settings.labels.clone(),
            slots: self.limits.max_in_progress_per_host,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            beat_seconds: HostHeartbeat::seconds(self.interval),
            origin: HostOrigin::of(&self.home),
        };
        self.heartbeat.give(store, entry)
    }

    /// Tells boards on servers that nobody dispatches for them on this host any more.
    pub fn leave(&mut self, options: &BoardOptions) {
        self.heartbeat.end(options);
    }

    /// Has the resources released that workers of these cards, and workers that were killed, could
    /// not release themselves.
    fn after_loss<'t>(&mut self, store: &StoredBoard, lost: impl Iterator<Item = &'t TaskId>) {
        let mut profiles = self.children.take_killed();
        for id in lost {
            let assignee = store.task(id).ok().flatten().and_then(|task| task.assignee);
            profiles.extend(assignee.and_then(|name| ProfileName::parse(&name).ok()));
        }
        for profile in profiles {
            (self.workers.after_loss)(&profile);
        }
    }

    /// Reclaims a card by hand.
    pub fn reclaim(
        &mut self,
        store: &mut StoredBoard,
        id: &TaskId,
        reason: Option<&str>,
    ) -> Result<Reclaimed> {
        let board = store.board().clone();
        let outcome = reclaim(store, &mut self.host(&board), id, reason)?;
        self.after_loss(store, std::iter::once(id));
        Ok(outcome)
    }

    /// This machine, as far as one board is concerned.
    pub fn host<'w>(&'w mut self, board: &'w Board) -> LocalWorkerHost<'w> {
        self.own = OwnHost {
            id: own_host(&self.home, &self.host_settings).map(|host| host.id),
            name: self.host_settings.name(),
            labels: self.host_settings.labels.clone(),
        };
        LocalWorkerHost {
            own: &self.own,
            board,
            home: &self.home,
            setup: &self.workers,
            children: &mut self.children,
            limits: Some(&self.limits),
        }
    }

    /// Reaps workers that have exited; returns how many run. A tick does so, too.
    pub fn reap(&mut self) -> usize {
        self.children.reap(SystemClock.now());
        self.children.len()
    }

    /// Notes the tip about scratch workspaces, once in the life of an installation.
    fn tip(&self, store: &mut StoredBoard, report: &Report) {
        let sentinel = self.home.scratch_tip_sentinel();
        if report.spawned.is_empty() || sentinel.exists() {
            return;
        }
        let is_scratch = |id: &TaskId| {
            let task = store.task(id).ok().flatten();
            task.is_some_and(|task| task.workspace() == Some(WorkspaceKind::Scratch))
        };
        let mut started = report.spawned.iter().map(|row| &row.task_id);
        let Some(id) = started.find(|id| is_scratch(id)).cloned() else {
            return;
        };
        let noted = store
            .note_scratch_tip(&id, SCRATCH_TIP)
            .and_then(|()| Ok(hermes_fs::touch(&sentinel, 0o600)?));
        if let Err(error) = noted {
            tracing::warn!(%error, "could not give the tip about scratch workspaces");
        }
    }
}
