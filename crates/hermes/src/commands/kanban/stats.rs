//! `hermes kanban stats`.

use hermes_board::model::Status;

use super::cards::{NAME, counts_text, padded};
use super::session::Kanban;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let stats = session.store.stats()?;
    if args.json {
        return kanban.json(&stats);
    }
    let mut out = "By status:\n".to_owned();
    let counted = |status: &&Status| **status != Status::Archived;
    for status in Status::ALL.iter().filter(counted) {
        let count = stats.by_status.get(status.as_str()).copied();
        out.push_str(&format!("  {status:9}  {}\n", count.unwrap_or_default()));
    }
    if !stats.by_assignee.is_empty() {
        out.push_str("\nBy assignee:\n");
    }
    for (name, counts) in &stats.by_assignee {
        let name = padded(&one_line(name, NAME), 20);
        out.push_str(&format!("  {name}  {}\n", counts_text(counts, "-")));
    }
    if let Some(age) = stats.oldest_ready_age_seconds {
        out.push_str(&format!("\nOldest ready task age: {age}s\n"));
    }
    kanban.out(&out)
}
