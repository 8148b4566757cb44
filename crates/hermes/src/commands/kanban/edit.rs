//! `hermes kanban edit`: the result of a finished card, the checks of one that nobody works on, what
//! becomes of approved work, which hosts may work on a card.

use hermes_board::ResultEdit;
use hermes_board::model::TaskId;

use super::checks;
use super::complete::metadata;
use super::create::ON_APPROVE;
use super::placement::{PlacementArgs, warn_about_hosts};
use super::review::parse_action;
use super::session::{Kanban, usage};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// New result of a finished card
    #[arg(long, value_name = "TEXT")]
    #[arg(required_unless_present_any = ["checks", "check_file", "check_on_host", "no_checks", "on_approve", "host", "on", "anywhere"])]
    result: Option<String>,
    /// New summary (default: the result)
    #[arg(long, value_name = "TEXT", requires = "result")]
    summary: Option<String>,
    /// Machine-readable facts, a JSON object
    #[arg(long, value_name = "JSON", requires = "result")]
    metadata: Option<String>,
    #[command(flatten)]
    checks: checks::CheckArgs,
    /// What becomes of the work once it is approved: none, merge, push or push:REMOTE; default leaves
    /// it to the board
    #[arg(long, value_name = "ACTION")]
    on_approve: Option<String>,
    /// Remove all checks
    #[arg(long)]
    no_checks: bool,
    #[command(flatten)]
    place: PlacementArgs,
    /// Let any host work on the card
    #[arg(long, conflicts_with_all = ["host", "on"])]
    anywhere: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    if args.no_checks && args.checks.is_given() {
        return Err(usage("--no-checks cannot be given together with checks"));
    }
    let changes_checks = args.no_checks || args.checks.is_given();
    let checks = args.checks.checks()?;
    let result = match &args.result {
        Some(result) => Some(ResultEdit {
            result: result.clone(),
            summary: args.summary.clone(),
            metadata: args.metadata.as_deref().map(metadata).transpose()?,
        }),
        None => None,
    };
    let on_approve = match args.on_approve.as_deref() {
        None => None,
        Some("default") => Some(None),
        Some(text) => Some(Some(parse_action(text)?)),
    };
    let placement = args.place.parse()?;
    let changes_place = args.anywhere || !placement.is_anywhere();
    let mut session = kanban.open()?;
    let caller = session.caller()?;
    caller.may_change(&args.id, "edit")?;
    if changes_checks {
        caller.must_be_person("change the acceptance checks of a card")?;
    }
    if on_approve.is_some() {
        caller.must_be_person(ON_APPROVE)?;
    }
    if let Some(edit) = &result {
        session.store.edit_result(&args.id, edit)?;
    }
    if changes_checks {
        session.store.set_checks(&args.id, &checks)?;
    }
    if let Some(action) = &on_approve {
        session.store.set_on_approve(&args.id, action.as_ref())?;
    }
    if changes_place {
        warn_about_hosts(&session, &placement)?;
        session.store.set_placement(&args.id, &placement)?;
    }
    kanban.line(format!("Edited {}", args.id))
}
