//! Dispatchers for commands: how workers are started, and the limits in force.

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::Dispatcher;
use hermes_board::{DispatchFlags, KanbanSettings};

use super::session::BoardSession;
use crate::context::Context;
pub(super) use hermes_runtime::{dispatch_settings, worker_setup};

/// A dispatcher for the board of a command.
pub(super) fn dispatcher(session: &BoardSession<'_>, flags: &DispatchFlags) -> Dispatcher {
    let settings = dispatch_settings(session.context, flags);
    dispatcher_of(session.context, session.home.clone(), &settings)
}

/// A dispatcher for boards.
pub(super) fn dispatcher_of(
    context: &Context,
    home: BoardHome,
    settings: &KanbanSettings,
) -> Dispatcher {
    let workers = worker_setup(context, &home, settings);
    Dispatcher::new(home, settings.limits.clone(), workers)
}

/// A dispatcher with what is configured.
pub(in crate::commands) fn plain_dispatcher(session: &BoardSession<'_>) -> Dispatcher {
    dispatcher(session, &DispatchFlags::default())
}
