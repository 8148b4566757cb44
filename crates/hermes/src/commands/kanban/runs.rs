//! `hermes kanban runs`: the attempts at a card.

use std::process::ExitCode;

use hermes_board::Error;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::cards::{NAME, padded};
use super::session::BoardSession;
use super::show::{FilterArgs, outcome};
use super::times::elapsed;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// Most characters of a summary or an error.
const HANDOFF: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let filter = args.filter.filter()?;
    let session = BoardSession::open(context, board)?;
    if session.store.task(&args.id)?.is_none() {
        return Err(Error::UnknownTask {
            id: args.id.clone(),
        }
        .into());
    }
    let runs = session.store.runs(&args.id, filter.as_ref())?;
    let printer = &context.printer;
    if args.json {
        printer.json(&serde_json::to_value(&runs)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        printer.line(format!("(no runs yet for {})", args.id))?;
        return Ok(ExitCode::SUCCESS);
    }
    let time = session.time();
    let now = session.store.now();
    let mut out = format!(
        "{:3}  {:12}  {:16}  {:>8}  STARTED\n",
        "#", "OUTCOME", "PROFILE", "ELAPSED"
    );
    for (number, run) in (1..).zip(&runs) {
        let profile = run.profile.as_deref().unwrap_or("-");
        out.push_str(&format!(
            "{number:3}  {}  {}  {:>8}  {}\n",
            padded(&outcome(run), 12),
            padded(&one_line(profile, NAME), 16),
            elapsed(run.ended_at.unwrap_or(now) - run.started_at),
            time.minute(run.started_at)
        ));
        for (sign, text) in [("→", &run.summary), ("✖", &run.error)] {
            if let Some(line) = text.as_deref().and_then(|text| text.trim().lines().next()) {
                out.push_str(&format!("     {sign} {}\n", one_line(line, HANDOFF)));
            }
        }
    }
    printer.out(&out)?;
    Ok(ExitCode::SUCCESS)
}
