//! `hermes kanban init`: creates or fully checks the database, and lists the profiles.

use std::process::ExitCode;

use hermes_board::CheckDepth;
use hermes_home::profiles::names;

use super::session::BoardSession;
use crate::context::Context;
use crate::error::Result;

pub(super) fn run(context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let session = BoardSession::open_checked(context, board, CheckDepth::Full)?;
    let printer = &context.printer;
    let database = &session.store.board().database;
    printer.line(format!(
        "Board database ready at {}",
        context.display(database)
    ))?;
    let profiles = names(&context.location)?;
    printer.line("\nProfiles that cards can be assigned to:")?;
    for profile in &profiles {
        printer.line(format!("  {profile}"))?;
    }
    if profiles.len() == 1 {
        printer.line("`hermes profile create NAME` creates more.")?;
    }
    let seconds = session.settings.dispatch_interval.as_secs();
    printer.line(format!(
        "\nReady cards are worked on while a dispatcher runs; it looks for them every {seconds} \
         s:\n  hermes kanban daemon"
    ))?;
    Ok(ExitCode::SUCCESS)
}
