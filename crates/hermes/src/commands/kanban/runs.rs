//! `hermes kanban runs`: the attempts at a card.

use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::cards::{NAME, padded};
use super::session::Kanban;
use super::show::{FilterArgs, on_host, outcome};
use super::times::elapsed;
use crate::error::Result;
use crate::ui::one_line;

/// Most characters of a summary or an error.
const HANDOFF: usize = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    #[command(flatten)]
    filter: FilterArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let filter = args.filter.filter()?;
    let session = kanban.open()?;
    session.task(&args.id)?;
    let runs = session.store.runs(&args.id, filter.as_ref())?;
    if args.json {
        return kanban.json(&runs);
    }
    if runs.is_empty() {
        return kanban.line(format!("(no runs yet for {})", args.id));
    }
    let now = session.store.now();
    let mut out = format!(
        "{:3}  {:12}  {:16}  {:>8}  STARTED\n",
        "#", "OUTCOME", "PROFILE", "ELAPSED"
    );
    for (number, run) in (1..).zip(&runs) {
        let profile = run.profile.as_deref().unwrap_or("-");
        out.push_str(&format!(
            "{number:3}  {}  {}  {:>8}  {}{}\n",
            padded(&outcome(run), 12),
            padded(&one_line(profile, NAME), 16),
            elapsed(run.ended_at.unwrap_or(now) - run.started_at),
            kanban.minute(run.started_at),
            on_host(run)
        ));
        for (sign, text) in [("→", &run.summary), ("✖", &run.error)] {
            if let Some(line) = text.as_deref().and_then(|text| text.trim().lines().next()) {
                out.push_str(&format!("     {sign} {}\n", one_line(line, HANDOFF)));
            }
        }
    }
    kanban.out(&out)
}
