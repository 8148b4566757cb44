//! What dispatching needs from this run of the program: how workers are started and which limits
//! hold.

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::{
    CheckSetup, DispatchFlags, DispatchSettings, Dispatcher, Finish, WorkerSetup, complete,
};
use hermes_board::model::TaskId;
use hermes_board::store::{Completion, FailurePolicy};
use hermes_config::vars;
use hermes_secret::Sink;

use super::session::{BoardSession, settings};
use crate::context::Context;
use crate::error::Result;

/// What is configured about dispatching, and flags over it.
pub(super) fn dispatch_settings(context: &Context, flags: &DispatchFlags) -> DispatchSettings {
    let settings = DispatchSettings::resolve(&settings(context), &context.env, flags);
    for complaint in &settings.complaints {
        tracing::warn!("{complaint}");
    }
    settings
}

/// How this run of the program starts workers.
pub(super) fn worker_setup(
    context: &Context,
    home: &BoardHome,
    settings: &DispatchSettings,
) -> WorkerSetup {
    let policy = context.environment().policy().clone();
    WorkerSetup::new(&context.env, home, &context.location, policy, settings.log)
}

/// Says that workers will end at once where the program they would be has no `chat`.
pub(super) fn warn_without_chat(context: &Context) -> Result<()> {
    let is_named = context.env.text(&vars::HERMES_BIN).is_some();
    if is_named
        || crate::cli::command_names()
            .iter()
            .any(|name| name == "chat")
    {
        return Ok(());
    }
    Ok(context.printer.warn(
        "workers are started with `chat`, which this program does not have yet",
        Some(
            "HERMES_BIN names another program to start, such as the `hermes` of the Python runtime",
        ),
    )?)
}

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
