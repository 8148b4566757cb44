//! What dispatching needs from this run of the program: how workers are started and which limits
//! hold.

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::{
    CheckSetup, DispatchFlags, DispatchSettings, Dispatcher, Finish, complete,
};
use hermes_board::model::TaskId;
use hermes_board::store::{Completion, FailurePolicy};
use hermes_secret::Sink;

use super::session::BoardSession;
pub(super) use crate::board_settings::{dispatch_settings, worker_setup};
use crate::context::Context;
use crate::error::Result;

/// A dispatcher for the board of a command.
pub(super) fn dispatcher(session: &BoardSession<'_>, flags: &DispatchFlags) -> Dispatcher {
    let settings = dispatch_settings(session.context, flags);
    dispatcher_of(session.context, session.home.clone(), &settings)
}

/// A dispatcher for boards.
pub(super) fn dispatcher_of(
    context: &Context,
    home: BoardHome,
    settings: &DispatchSettings,
) -> Dispatcher {
    let workers = worker_setup(context, &home, settings);
    Dispatcher::new(home, settings.limits.clone(), workers)
}

/// Completes a card, after running its checks.
pub(super) fn complete_checked(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    completion: &Completion,
) -> Result<Finish> {
    let context = session.context;
    let settings = dispatch_settings(context, &DispatchFlags::default());
    let workers = worker_setup(context, &session.home, &settings);
    let board = session.store.board().clone();
    let redactor = context.redactor().for_sink(Sink::Output);
    let setup = CheckSetup {
        board: &board,
        home: &session.home,
        workers: &workers,
        limit: settings.check_timeout,
        policy: FailurePolicy::with_limit(settings.limits.failure_limit),
        redact: &|text| redactor.redact(text).into_owned(),
    };
    Ok(complete(&mut session.store, id, completion, &setup)?)
}
