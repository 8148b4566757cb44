//! `hermes kanban assignees`: profiles, and everyone else who has cards.

use std::collections::{BTreeMap, BTreeSet};

use hermes_board::Counts;
use hermes_home::profiles::names;
use serde::Serialize;

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

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    on_disk: bool,
    counts: Counts,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let profiles = names(&kanban.location)?;
    let profiles = profiles.iter().map(ToString::to_string).collect();
    let rows = rows(&profiles, session.store.stats()?.by_assignee);
    if args.json {
        return kanban.json(&rows);
    }
    let mut out = format!("{:20}  {:8}  COUNTS\n", "NAME", "ON DISK");
    for row in &rows {
        out.push_str(&format!(
            "{}  {:8}  {}\n",
            padded(&one_line(&row.name, NAME), 20),
            if row.on_disk { "yes" } else { "no" },
            counts_text(&row.counts, "(idle)")
        ));
    }
    kanban.out(&out)
}

fn rows(profiles: &BTreeSet<String>, mut counts: BTreeMap<String, Counts>) -> Vec<Row> {
    let everybody: BTreeSet<String> = profiles.iter().chain(counts.keys()).cloned().collect();
    let row = |name: String| Row {
        on_disk: profiles.contains(&name),
        counts: counts.remove(&name).unwrap_or_default(),
        name,
    };
    everybody.into_iter().map(row).collect()
}
