//! Looks at boards by this process, and the workers it started in them.

use hermes_home::ProfileName;

use crate::boards::{Board, BoardHome, TickLock};
use crate::dispatch::local::{Children, LocalWorkshop, WorkerSetup};
use crate::dispatch::{TakenBack, Tick, take_back};
use crate::model::{TaskId, WorkspaceKind};
use crate::plan::{Limits, Plan, Report, Verdict, why_resting};
use crate::store::BoardStore;
use crate::{Claimer, Error, Result, SqliteBoard};

/// A look that starts more workers than this without any limit set is worth a word.
const MANY: usize = 8;

/// Told once, when the first worker gets a scratch workspace.
const SCRATCH_TIP: &str = "This card is worked on in a scratch directory, which is removed when the \
    card is done. Name deliverables as artifacts to keep them, or file cards with --workspace \
    dir:/path or --workspace worktree to work in a place that stays.";

/// Whether a look changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It does what is to be done.
    Real,
    /// It says what it would do. Takes no lock, sends no signal, writes nothing.
    DryRun,
}

/// A process that dispatches: what it keeps to, and the workers it has started on any board.
#[derive(Debug)]
pub struct Dispatcher {
    /// All boards.
    pub home: BoardHome,
    /// What to keep to.
    pub limits: Limits,
    /// How workers are started.
    pub workers: WorkerSetup,
    children: Children,
}

impl Dispatcher {
    /// A dispatcher that has not started anybody.
    pub fn new(home: BoardHome, limits: Limits, workers: WorkerSetup) -> Self {
        Self {
            home,
            limits,
            workers,
            children: Children::default(),
        }
    }

    /// Looks at a board once, in this order: workers that ended, claims that ran out, silent
    /// workers, crashes, timeouts, parked cards that wake, promotions, ready cards, reviews. Gives
    /// an empty report if another process is at it.
    pub fn dispatch_once(&mut self, store: &mut SqliteBoard, pass: Pass) -> Result<Report> {
        match pass {
            Pass::Real => self.look(store),
            Pass::DryRun => Ok(self.preview(store)?.report),
        }
    }

    /// What a look would do now. Changes nothing.
    pub fn preview(&mut self, store: &SqliteBoard) -> Result<Plan> {
        let limits = self.limits.clone();
        Tick::preview(&limits, store, &self.workshop(store.board()))
    }

    /// What a dispatcher would do about one card, or why it leaves it alone. Changes nothing.
    pub fn why(&mut self, store: &SqliteBoard, id: &TaskId) -> Result<Vec<Verdict>> {
        let task = store
            .task(id)?
            .ok_or_else(|| Error::UnknownTask { id: id.clone() })?;
        let verdicts = self.preview(store)?.why(id);
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
        Ok(vec![why_resting(&task, &open_parents)])
    }

    fn look(&mut self, store: &mut SqliteBoard) -> Result<Report> {
        let board = store.board().clone();
        let lock = match TickLock::take(&board) {
            TickLock::Held(lock) => Some(lock),
            TickLock::HeldElsewhere => return Ok(Report::locked()),
            TickLock::Unavailable(error) => {
                // Every write is conditional, so that a look without the lock does no harm.
                tracing::warn!(%error, "could not lock the board for dispatching");
                None
            }
        };
        let claim = Claimer::of_this_process().lock();
        let tick = Tick::new(self.limits.clone(), claim);
        let report = tick.run(store, &mut self.workshop(&board))?;
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
        self.put_away(store, lost.into_iter().flatten());
        Ok(report)
    }

    /// Lets somebody put away what workers of these cards, and others that were killed, could not.
    fn put_away<'t>(&mut self, store: &SqliteBoard, lost: impl Iterator<Item = &'t TaskId>) {
        let mut profiles = self.children.take_killed();
        for id in lost {
            let assignee = store.task(id).ok().flatten().and_then(|task| task.assignee);
            profiles.extend(assignee.and_then(|name| ProfileName::parse(&name).ok()));
        }
        for profile in profiles {
            (self.workers.after_loss)(&profile);
        }
    }

    /// Takes a card back by hand.
    pub fn take_back(
        &mut self,
        store: &mut SqliteBoard,
        id: &TaskId,
        reason: Option<&str>,
    ) -> Result<TakenBack> {
        let board = store.board().clone();
        let taken = take_back(store, &mut self.workshop(&board), id, reason)?;
        self.put_away(store, std::iter::once(id));
        Ok(taken)
    }

    /// This machine, as far as one board is concerned.
    pub fn workshop<'w>(&'w mut self, board: &'w Board) -> LocalWorkshop<'w> {
        LocalWorkshop {
            board,
            home: &self.home,
            setup: &self.workers,
            children: &mut self.children,
        }
    }

    /// How many workers of this process have not been waited for.
    pub fn children(&self) -> usize {
        self.children.len()
    }

    /// Lets go of workers that have ended; gives how many run. A look at a board does so, too.
    pub fn reap(&mut self) -> usize {
        self.children.reap(jiff::Timestamp::now().as_second());
        self.children.len()
    }

    /// Tells about scratch workspaces, once in the life of an installation.
    fn tip(&self, store: &mut SqliteBoard, report: &Report) {
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
        let told = store
            .note_scratch_tip(&id, SCRATCH_TIP)
            .and_then(|()| Ok(hermes_fs::touch(&sentinel, 0o600)?));
        if let Err(error) = told {
            tracing::warn!(%error, "could not give the tip about scratch workspaces");
        }
    }
}
