//! `hermes kanban edit`: the result of a finished card, and the checks of one that nobody works on.

use hermes_board::ResultEdit;
use hermes_board::model::TaskId;

use super::checks;
use super::complete::metadata;
use super::session::{Kanban, usage};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// New result of a finished card
    #[arg(long, value_name = "TEXT")]
    #[arg(required_unless_present_any = ["checks", "check_file", "check_on_host", "no_checks"])]
    result: Option<String>,
    /// New summary (default: the result)
    #[arg(long, value_name = "TEXT", requires = "result")]
    summary: Option<String>,
    /// Machine-readable facts, a JSON object
    #[arg(long, value_name = "JSON", requires = "result")]
    metadata: Option<String>,
    #[command(flatten)]
    checks: checks::CheckArgs,
    /// Remove all checks
    #[arg(long)]
    no_checks: bool,
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
    let mut session = kanban.open()?;
    let caller = session.caller()?;
    caller.may_change(&args.id, "edit")?;
    if changes_checks {
        caller.must_be_person("change the acceptance checks of a card")?;
    }
    if let Some(edit) = &result {
        session.store.edit_result(&args.id, edit)?;
    }
    if changes_checks {
        session.store.set_checks(&args.id, &checks)?;
    }
    kanban.line(format!("Edited {}", args.id))
}
