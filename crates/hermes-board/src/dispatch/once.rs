//! One look at one board by this process.

use crate::boards::{Board, BoardHome, TickLock};
use crate::dispatch::local::{Children, LocalWorkshop, WorkerSetup};
use crate::dispatch::{TakenBack, Tick, take_back};
use crate::model::{TaskId, WorkspaceKind};
use crate::plan::{Limits, Plan, Report};
use crate::store::BoardStore;
use crate::{Claimer, Result, SqliteBoard};

/// A look that starts more workers than this without any limit set is worth a word.
const MANY: usize = 8;

/// Told once, when the first worker gets a scratch workspace.
const SCRATCH_TIP: &str = "This card is worked on in a scratch directory, which is removed when the \
    card is done. Name deliverables as artifacts to keep them, or file cards with --workspace \
    dir:/path or --workspace worktree to work in a place that stays.";

/// A board and what it is dispatched with.
#[derive(Debug)]
pub struct Dispatcher<'d> {
    /// The board.
    pub board: &'d Board,
    /// All boards.
    pub home: &'d BoardHome,
    /// What to keep to.
    pub limits: &'d Limits,
    /// How workers are started.
    pub workers: &'d WorkerSetup,
    /// Workers this process has started, on all boards.
    pub children: &'d mut Children,
}

impl Dispatcher<'_> {
    /// What a look would do now. Takes no lock, sends no signal, writes nothing.
    pub fn preview(&mut self, store: &SqliteBoard) -> Result<Plan> {
        let limits = self.limits;
        Tick::preview(limits, store, &self.workshop())
    }

    /// Looks at the board and does what is to be done. Gives an empty report if another process is
    /// at it.
    pub fn look(&mut self, store: &mut SqliteBoard) -> Result<Report> {
        let _lock = match TickLock::take(self.board) {
            TickLock::Held(lock) => Some(lock),
            TickLock::HeldElsewhere => return Ok(Report::locked()),
            TickLock::Unavailable(error) => {
                // Every write is conditional, so that a look without the lock does no harm.
                tracing::warn!(%error, "could not lock the board for dispatching");
                None
            }
        };
        let lock = Claimer::of_this_process().lock();
        let tick = Tick::new(self.limits.clone(), lock);
        let report = tick.run(store, &mut self.workshop())?;
        if report.spawned.len() > MANY && self.limits.lowest_cap().is_none() {
            tracing::warn!(
                board = self.board.slug.as_str(),
                workers = report.spawned.len(),
                "many workers were started at once; kanban.max_in_progress limits them"
            );
        }
        self.tip(store, &report);
        Ok(report)
    }

    /// Takes a card back by hand.
    pub fn take_back(
        &mut self,
        store: &mut SqliteBoard,
        id: &TaskId,
        reason: Option<&str>,
    ) -> Result<TakenBack> {
        take_back(store, &mut self.workshop(), id, reason)
    }

    /// This machine, as far as this board is concerned.
    pub fn workshop(&mut self) -> LocalWorkshop<'_> {
        LocalWorkshop {
            board: self.board,
            home: self.home,
            setup: self.workers,
            children: self.children,
        }
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
