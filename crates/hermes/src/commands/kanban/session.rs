//! What every command of the board works with: the open board and its settings.

use std::cell::OnceCell;
use std::ops::Deref;

use hermes_board::boards::{Board, BoardHome};
use hermes_board::dispatch::Dispatcher;
use hermes_board::model::{RunId, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_board::{
    BoardOptions, Caller, CallerFacts, CheckDepth, DispatchFlags, Error, KanbanSettings,
    StoredBoard, WorkerVariables,
};
use hermes_config::vars;
use hermes_home::ProfileName;
use hermes_home::profiles::existing;
use hermes_runtime::{board_home, dispatch_settings, kanban_settings, worker_setup};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Author where no profile is known.
const DEFAULT_AUTHOR: &str = "user";

/// A call of `hermes kanban`: its context, and the board that it names.
pub(crate) struct Kanban<'a> {
    pub(in crate::commands) context: &'a Context,
    pub(in crate::commands) board: Option<&'a str>,
}

impl Deref for Kanban<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl<'a> Kanban<'a> {
    /// A call for the current board.
    pub(in crate::commands) fn of(context: &'a Context) -> Self {
        let board = None;
        Self { context, board }
    }

    /// Where boards are.
    pub(super) fn home(&self) -> BoardHome {
        board_home(self)
    }

    /// Opens the board, creating its database if there is none.
    pub(in crate::commands) fn open(&self) -> Result<BoardSession<'a>> {
        self.open_checked(CheckDepth::WhenDue)
    }

    /// As [`Self::open`], checking the file this thoroughly.
    pub(super) fn open_checked(&self, check: CheckDepth) -> Result<BoardSession<'a>> {
        let home = self.home();
        let mut store = self.open_board(&home.select(self.board)?, check)?;
        // A worker's shell may have outlived its claim.
        store.fence(WorkerVariables::read(&self.env).as_ref());
        Ok(BoardSession {
            context: self.context,
            settings: kanban_settings(self),
            store,
            home,
            caller: OnceCell::new(),
        })
    }

    /// Who called a command that is about no card: a person, an agent or a worker.
    pub(super) fn caller(&self) -> Result<Caller> {
        Ok(Caller::find(&CallerFacts::of_command(&self.env), None)?)
    }

    /// Opens one board.
    pub(super) fn open_board(&self, board: &Board, check: CheckDepth) -> Result<StoredBoard> {
        let options = BoardOptions {
            check,
            ..kanban_settings(self).board_options(&self.env)
        };
        StoredBoard::open(board, &options).map_err(|error| {
            let mut error = CommandError::from(error);
            error.message = format!("could not initialize database: {}", error.message);
            error
        })
    }

    /// Whether there is a profile of this name.
    pub(super) fn is_profile(&self, name: &str) -> bool {
        ProfileName::parse(name).is_ok_and(|name| existing(&self.location, &name).is_ok())
    }
}

/// An open board with its settings.
pub(in crate::commands) struct BoardSession<'a> {
    pub(super) context: &'a Context,
    pub(super) home: BoardHome,
    pub(super) settings: KanbanSettings,
    pub(in crate::commands) store: StoredBoard,
    caller: OnceCell<Caller>,
}

impl Deref for BoardSession<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl BoardSession<'_> {
    /// A dispatcher for the board, with flags over the settings.
    pub(in crate::commands) fn dispatcher(&self, flags: &DispatchFlags) -> Dispatcher {
        let settings = dispatch_settings(self, flags);
        let workers = worker_setup(self, &self.home, &settings);
        Dispatcher::new(self.home.clone(), settings.limits, workers).on_host(settings.host)
    }

    /// A card that must be there.
    pub(super) fn task(&self, id: &TaskId) -> Result<Task> {
        let found = self.store.task(id)?;
        found.ok_or_else(|| Error::UnknownTask { id: id.clone() }.into())
    }

    /// Who called this command. Found out once, by commands that change something.
    pub(super) fn caller(&self) -> Result<&Caller> {
        if let Some(caller) = self.caller.get() {
            return Ok(caller);
        }
        let facts = CallerFacts::of_command(&self.env);
        let found = Caller::find(&facts, Some(&self.store))?;
        Ok(self.caller.get_or_init(|| found))
    }

    /// The attempt of the worker that called this command, if the card is its own; refuses a worker
    /// of another card.
    pub(super) fn own_run(&self, card: &TaskId, action: &'static str) -> Result<Option<RunId>> {
        let caller = self.caller()?;
        caller.may_change(card, action)?;
        Ok(caller.run_of(card))
    }

    /// The author that a command names, else the profile in use. An agent speaks for itself only.
    pub(super) fn author(&self, named: Option<&String>) -> Result<String> {
        let own = author(self);
        match named {
            Some(named) if *named != own => {
                let action = format!("speak in the name of '{}'", one_line(named, 64));
                self.caller()?.must_be_person(action)?;
                Ok(named.clone())
            }
            _ => Ok(own),
        }
    }

    /// Does something to each of these cards. A failure does not stop the others; it shows in the exit
    /// code.
    pub(super) fn for_each(
        &mut self,
        cards: &[TaskId],
        mut act: impl FnMut(&mut Self, &TaskId) -> Result<()>,
    ) -> Result<()> {
        let mut result = Ok(());
        let mut done: Vec<&TaskId> = Vec::new();
        for card in cards {
            // The same card twice would fail the second time, for no reason a person would see.
            if done.contains(&card) {
                continue;
            }
            done.push(card);
            match act(self, card) {
                Err(error) if !error.is_broken_pipe() => {
                    self.printer.report(&error);
                    result = Err(error.reported());
                }
                other => other?,
            }
        }
        result
    }
}

/// The author: the profile that variables name, or the one in use.
pub(super) fn author(context: &Context) -> String {
    let named = [&vars::HERMES_PROFILE_NAME, &vars::HERMES_PROFILE]
        .into_iter()
        .find_map(|var| context.env.text(var));
    let current = || context.current.as_ref().map(ProfileName::as_str);
    named.or_else(current).unwrap_or(DEFAULT_AUTHOR).to_owned()
}

/// A usage error that the parser cannot detect.
pub(super) fn usage(message: impl Into<String>) -> CommandError {
    CommandError::usage(message).of_board()
}

/// A refusal by the board.
pub(super) fn refusal(message: impl Into<String>) -> CommandError {
    CommandError::user(message).of_board()
}
