//! What dispatching needs from this run of the program: how workers are started and which limits
//! hold.

use std::time::Duration;

use hermes_board::SqliteBoard;
use hermes_board::boards::{Board, BoardHome};
use hermes_board::dispatch::{
    CheckSetup, Children, DispatchFlags, DispatchSettings, Dispatcher, Finish, LocalWorkshop,
    TakenBack, WORKER_TIMING, WorkerSetup, complete, worker_program,
};
use hermes_board::model::{Assignee, TaskId};
use hermes_board::plan::{Limits, Plan, Report};
use hermes_board::store::{Completion, FailurePolicy};

use super::session::BoardSession;
use crate::context::Context;
use crate::error::Result;

/// Whoever starts and ends workers.
pub(super) struct Workers {
    settings: DispatchSettings,
    setup: WorkerSetup,
    children: Children,
}

impl Workers {
    /// As this run of the program would start them.
    pub(super) fn new(context: &Context, home: &BoardHome, flags: &DispatchFlags<'_>) -> Self {
        let settings = DispatchSettings::resolve(context.config(), &context.env, flags);
        for complaint in &settings.complaints {
            tracing::warn!("{complaint}");
        }
        let own = context.environment_facts().program;
        let setup = WorkerSetup {
            program: worker_program(&context.env, home, &own),
            location: context.location.clone(),
            base: pairs(context),
            policy: context.environment().policy().clone(),
            log: settings.log,
            timing: WORKER_TIMING,
            // What a profile uses is for its worker to find out.
            toolsets: Box::new(|_| Vec::new()),
        };
        Self {
            settings,
            setup,
            children: Children::default(),
        }
    }

    /// Those of an open board.
    pub(super) fn of(session: &BoardSession<'_>) -> Self {
        Self::new(session.context, &session.home, &DispatchFlags::default())
    }

    /// Takes over the workers that an earlier look started.
    pub(super) fn with_children(mut self, children: Children) -> Self {
        self.children = children;
        self
    }

    /// The workers that were started, for the next look.
    pub(super) fn into_children(self) -> Children {
        self.children
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Pause between two looks.
    pub(super) fn interval(&self) -> Duration {
        Duration::try_from_secs_f64(self.settings.interval_seconds).unwrap_or(Duration::MAX)
    }

    /// Who gets cards that nobody was given.
    pub(super) fn default_assignee(&self) -> &str {
        let name = self.settings.limits.default_assignee.as_ref();
        name.map(Assignee::as_str).unwrap_or_default()
    }

    /// What a look would do. Changes nothing.
    pub(super) fn preview(&mut self, session: &BoardSession<'_>) -> Result<Plan> {
        let board = session.store.board().clone();
        let mut dispatcher = self.dispatcher(&board, &session.home);
        Ok(dispatcher.preview(&session.store)?)
    }

    /// Looks at a board and does what is to be done.
    pub(super) fn look(&mut self, store: &mut SqliteBoard, home: &BoardHome) -> Result<Report> {
        let board = store.board().clone();
        Ok(self.dispatcher(&board, home).look(store)?)
    }

    /// Ends the worker of a card, if it is on this machine, and makes the card ready.
    pub(super) fn take_back(
        &mut self,
        session: &mut BoardSession<'_>,
        id: &TaskId,
        reason: Option<&str>,
    ) -> Result<TakenBack> {
        let board = session.store.board().clone();
        let mut dispatcher = self.dispatcher(&board, &session.home);
        Ok(dispatcher.take_back(&mut session.store, id, reason)?)
    }

    /// Completes a card, after running its checks.
    pub(super) fn complete(
        &self,
        session: &mut BoardSession<'_>,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<Finish> {
        let board = session.store.board().clone();
        let context = session.context;
        let setup = CheckSetup {
            board: &board,
            home: &session.home,
            workers: &self.setup,
            limit: Duration::from_secs(self.settings.check_seconds),
            policy: FailurePolicy::with_limit(self.settings.limits.failure_limit),
            redact: &|text| context.redactor().redact(text).into_owned(),
        };
        Ok(complete(&mut session.store, id, completion, &setup)?)
    }

    /// The directory of a card, made if need be.
    pub(super) fn workshop<'w>(
        &'w mut self,
        board: &'w Board,
        home: &'w BoardHome,
    ) -> LocalWorkshop<'w> {
        LocalWorkshop {
            board,
            home,
            setup: &self.setup,
            children: &mut self.children,
        }
    }

    fn dispatcher<'d>(&'d mut self, board: &'d Board, home: &'d BoardHome) -> Dispatcher<'d> {
        Dispatcher {
            board,
            home,
            limits: &self.settings.limits,
            workers: &self.setup,
            children: &mut self.children,
        }
    }
}

/// Variables of this process.
fn pairs(context: &Context) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let variables = context.env.iter();
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
