//! `hermes kanban diagnostics`: cards in distress, the worst first.

use hermes_board::DispatchFlags;
use hermes_board::diagnostics::{CardDiagnostics, Severity, diagnose_board};
use hermes_board::model::TaskId;

use super::cards::{NAME, TITLE, padded};
use super::session::Kanban;
use super::show::{mark, sign_details};
use crate::commands::named;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only diagnostics of at least this severity
    #[arg(long, value_name = "SEVERITY", value_parser = named(Severity::ALL.iter().map(|one| (one.as_str(), *one))))]
    severity: Option<Severity>,
    /// Only this card
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let only = args.task.as_ref();
    let plan = session
        .dispatcher(&DispatchFlags::default())
        .preview(&session.store)?;
    let thresholds = &session.settings.thresholds;
    let mut cards = diagnose_board(&session.store, only, thresholds, &plan)?;
    if let Some(least) = args.severity {
        for card in &mut cards {
            card.diagnostics.retain(|sign| sign.severity >= least);
        }
        cards.retain(|card| !card.diagnostics.is_empty());
    }
    if args.json {
        kanban.json(&cards)?;
    } else if cards.is_empty() {
        kanban.line("No active diagnostics on this board.")?;
    } else {
        kanban.out(&described(&cards))?;
    }
    let report = &plan.report;
    let busy = report.skipped_capped.len() + report.skipped_per_profile_capped.len();
    if busy > 0 && !args.json && only.is_none() {
        kanban.note(format!(
            "{busy} ready card(s) wait for a limit on cards in progress; `hermes kanban why ID` says \
             which."
        ))?;
    }
    Ok(())
}

fn described(cards: &[CardDiagnostics]) -> String {
    let total: usize = cards.iter().map(|card| card.diagnostics.len()).sum();
    let mut out = format!(
        "{total} active diagnostic(s) across {} task(s):\n\n",
        cards.len()
    );
    for card in cards {
        let assignee = card.assignee.as_deref().unwrap_or("(unassigned)");
        out.push_str(&format!(
            "  {}  {}  @{}  {}\n",
            one_line(card.task_id.as_str(), NAME),
            padded(&one_line(&card.status, NAME), 8),
            padded(&one_line(assignee, NAME), 18),
            one_line(&card.title, TITLE)
        ));
        for sign in &card.diagnostics {
            out.push_str(&format!(
                "    {} [{}] {}: {}\n",
                mark(sign.severity),
                sign.severity,
                sign.kind,
                one_line(&sign.title, TITLE)
            ));
            out.push_str(&sign_details(sign));
        }
        out.push('\n');
    }
    out
}
