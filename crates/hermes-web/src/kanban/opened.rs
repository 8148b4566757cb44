//! The board that a request is about.

use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{Board, BoardHome};
use hermes_board::dispatch::Dispatcher;
use hermes_board::model::{Task, TaskId};
use hermes_board::store::BoardStore as _;
use hermes_board::{BoardOptions, DispatchFlags, Error, KanbanSettings, StoredBoard};
use hermes_runtime::{Context, dispatch_settings, kanban_settings, worker_setup};

use crate::call::Call;
use crate::http::ApiError;
use crate::kept_boards::Terms;

/// How long a request waits for a board that another process holds.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// An open board with its settings.
pub(super) struct OpenBoard {
    pub(super) context: Arc<Context>,
    pub(super) home: BoardHome,
    pub(super) settings: KanbanSettings,
    pub(super) store: StoredBoard,
    /// Under which the connection may serve the next request; see [`OpenBoard::keep`].
    terms: Option<Terms>,
}

/// Where boards are.
pub(super) fn board_home(context: &Context) -> BoardHome {
    hermes_runtime::board_home(context)
}

/// The board that the query names, else the one in use.
pub(super) fn chosen(call: &Call, home: &BoardHome) -> Result<Board, ApiError> {
    Ok(home.select(call.query("board").as_deref())?)
}

/// How a board is opened for a request. Somebody waits for the answer, and few threads wait for the
/// disk: a board that another process holds is said to be so sooner than a command would say it.
pub(super) fn options(context: &Context) -> BoardOptions {
    let mut options = kanban_settings(context).board_options(&context.env);
    options.busy_timeout = options.busy_timeout.min(BUSY_LIMIT);
    options
}

impl OpenBoard {
    /// Opens the board of a request.
    pub(super) fn of(call: &Call) -> Result<Self, ApiError> {
        let context = call.context();
        let home = board_home(&context);
        let settings = kanban_settings(&context);
        let board = chosen(call, &home)?;
        let asked = Terms::of(&board, &context);
        let (store, terms) = match call.app.boards.take(&board, asked.as_ref()) {
            Some((store, terms)) => (store, Some(terms)),
            None => (StoredBoard::open(&board, &options(&context))?, asked),
        };
        Ok(Self {
            context,
            home,
            settings,
            store,
            terms,
        })
    }

    /// Keeps the connection for the next request. For one that only reads, and has come to its end.
    pub(super) fn keep(self, call: &Call) {
        if let Some(terms) = self.terms {
            call.app.boards.put(self.store, terms);
        }
    }

    /// A card that must be there.
    pub(super) fn task(&self, id: &TaskId) -> Result<Task, ApiError> {
        let found = self.store.task(id)?;
        Ok(found.ok_or_else(|| Error::UnknownTask { id: id.clone() })?)
    }

    /// A dispatcher for the board.
    pub(super) fn dispatcher(&self, flags: &DispatchFlags) -> Dispatcher {
        let settings = dispatch_settings(&self.context, flags);
        let workers = worker_setup(&self.context, &self.home, &settings);
        Dispatcher::new(self.home.clone(), settings.limits, workers).on_host(settings.host)
    }
}

/// The card that the path names.
pub(super) fn card_id(call: &Call) -> Result<TaskId, ApiError> {
    parsed(call.param("task_id"))
}

/// An id that can be the id of a card, and is nothing else to a command either.
pub(super) fn parsed(text: &str) -> Result<TaskId, ApiError> {
    let id = TaskId::new(text);
    if id.as_file_name().is_none() || text.starts_with('-') {
        let shown = hermes_text::shown(text, 80);
        return Err(ApiError::not_found(format!("there is no card {shown}")));
    }
    Ok(id)
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::UnknownTask { .. }
            | Error::UnknownBoard { .. }
            | Error::UnknownReviewComment { .. } => Self::not_found(text),
            Error::NotAllowed { .. }
            | Error::StaleRun { .. }
            | Error::InProgress { .. }
            | Error::OpenParents { .. }
            | Error::ChecksInProgress { .. } => Self::conflict(text),
            Error::File(_)
            | Error::Store(_)
            | Error::Damaged { .. }
            | Error::NotADatabase { .. }
            | Error::Metadata { .. } => Self::unavailable(text),
            _ => Self::bad_request(text),
        }
    }
}
