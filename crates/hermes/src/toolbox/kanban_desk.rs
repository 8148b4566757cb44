//! The board as tools of this run of the program use it.

use std::path::Path;

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::DispatchFlags;
use hermes_home::ProfileName;
use hermes_tools::KanbanDesk;

use crate::backend::Elsewhere;
use crate::board_settings::{dispatch_settings, worker_setup};
use crate::context::Context;

/// Whoever calls tools in this process, at the board; `place` is where its commands run, if not on
/// this machine. Opens nothing.
pub(super) fn desk(context: &Context, place: Option<&Elsewhere>) -> KanbanDesk {
    let settings = dispatch_settings(context, &DispatchFlags::default());
    let home = BoardHome::resolve(&context.env, &context.location);
    let workers = worker_setup(context, &home, &settings);
    let mut desk = KanbanDesk::resolve(
        &context.env,
        context.config(),
        &context.location,
        context.current.as_ref().map(ProfileName::as_str),
        &settings,
        workers,
    );
    desk.context.workspace = place.and_then(Elsewhere::workspace).map(Path::to_owned);
    desk
}
