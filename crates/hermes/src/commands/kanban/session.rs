//! What every command of the board works with: the open board and its settings.

use std::process::ExitCode;

use hermes_board::boards::{Board, BoardHome};
use hermes_board::model::{RunId, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_board::{BoardOptions, CheckDepth, Error, KanbanSettings, SqliteBoard, WorkerVariables};
use hermes_config::vars;
use hermes_home::ProfileName;
use hermes_home::profiles::existing;

use super::times::LocalTime;
use crate::context::Context;
use crate::error::{CommandError, Kind, Result};
use crate::ui::Printer;
pub(super) use hermes_runtime::kanban_settings as settings;

/// Author where no profile is known.
const DEFAULT_AUTHOR: &str = "user";

/// An open board with its settings.
pub(in crate::commands) struct BoardSession<'a> {
    pub(super) context: &'a Context,
    pub(super) home: BoardHome,
    pub(super) settings: KanbanSettings,
    pub(in crate::commands) store: SqliteBoard,
}

impl<'a> BoardSession<'a> {
    /// Opens the board of a command, creating its database if there is none.
    pub(in crate::commands) fn open(context: &'a Context, board: Option<&str>) -> Result<Self> {
        Self::open_checked(context, board, CheckDepth::WhenDue)
    }

    /// As [`Self::open`], checking the file this thoroughly.
    pub(super) fn open_checked(
        context: &'a Context,
        board: Option<&str>,
        check: CheckDepth,
    ) -> Result<Self> {
        let home = BoardHome::resolve(&context.env, &context.location);
        let board = home.select(board)?;
        let settings = settings(context);
        let store = open(context, &board, &settings, check)?;
        Ok(Self {
            context,
            home,
            settings,
            store,
        })
    }

    pub(super) fn printer(&self) -> &Printer {
        &self.context.printer
    }

    pub(super) fn time(&self) -> LocalTime {
        LocalTime::of(self.context)
    }

    /// A card that must be there.
    pub(super) fn task(&self, id: &TaskId) -> Result<Task> {
        let found = self.store.task(id)?;
        found.ok_or_else(|| Error::UnknownTask { id: id.clone() }.into())
    }

    /// The author of changes.
    pub(super) fn author(&self) -> String {
        author(self.context)
    }

    /// The attempt of this process, if it is the worker of the card.
    pub(super) fn own_run(&self, card: &TaskId) -> Option<RunId> {
        WorkerVariables::read(&self.context.env)?.run_of(card)
    }

    /// Does something to each of these cards. A failure does not stop the others; it shows in the exit
    /// code.
    pub(super) fn for_each(
        &mut self,
        cards: &[TaskId],
        mut act: impl FnMut(&mut Self, &TaskId) -> Result<()>,
    ) -> Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut done: Vec<&TaskId> = Vec::new();
        for card in cards {
            // The same card twice would fail the second time, for no reason a person would see.
            if done.contains(&card) {
                continue;
            }
            done.push(card);
            match act(self, card) {
                Ok(()) => {}
                Err(error) if error.is_broken_pipe() => return Err(error),
                Err(error) => code = error.report(self.printer()),
            }
        }
        Ok(code)
    }
}

/// Opens one board.
pub(super) fn open(
    context: &Context,
    board: &Board,
    settings: &KanbanSettings,
    check: CheckDepth,
) -> Result<SqliteBoard> {
    let options = BoardOptions {
        check,
        ..settings.board_options(&context.env)
    };
    SqliteBoard::open(board, &options).map_err(|error| {
        let kind = if error.is_storage_full() {
            Kind::Environment
        } else {
            Kind::User
        };
        let message = format!("could not initialize database: {error}");
        let refusal = CommandError::new(kind, message).by_the_board();
        match error.hint() {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    })
}

/// The author: the profile that variables name, or the one in use.
pub(super) fn author(context: &Context) -> String {
    let named = [&vars::HERMES_PROFILE_NAME, &vars::HERMES_PROFILE]
        .into_iter()
        .find_map(|var| context.env.text(var));
    let current = || context.current.as_ref().map(ProfileName::as_str);
    named.or_else(current).unwrap_or(DEFAULT_AUTHOR).to_owned()
}

/// Whether there is a profile of this name.
pub(super) fn is_profile(context: &Context, name: &str) -> bool {
    ProfileName::parse(name).is_ok_and(|name| existing(&context.location, &name).is_ok())
}

/// A usage error that the parser cannot detect.
pub(super) fn usage(message: impl Into<String>) -> CommandError {
    CommandError::usage(message).by_the_board()
}

/// A refusal by the board.
pub(super) fn refusal(message: impl Into<String>) -> CommandError {
    CommandError::user(message).by_the_board()
}
