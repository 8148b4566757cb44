//! `hermes sessions stats`.

use hermes_session::Stats;

use super::to_read;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, human_size, visible};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let stats = match to_read(context)? {
        Some(store) => store.stats()?,
        None => Stats {
            total_sessions: 0,
            total_messages: 0,
            open_sessions: 0,
            archived_sessions: 0,
            by_source: std::collections::BTreeMap::new(),
            database_bytes: 0,
        },
    };
    if args.json {
        return context.json(&stats);
    }
    let mut out = format!(
        "Total sessions: {}\nTotal messages: {}\n",
        stats.total_sessions, stats.total_messages
    );
    if !stats.by_source.is_empty() {
        let mut sources: Vec<(&String, &i64)> = stats.by_source.iter().collect();
        sources.sort_by_key(|(name, count)| (-**count, *name));
        let mut table = Table::new(&["  Source", "Sessions"]);
        for (name, count) in sources {
            table.row(vec![format!("  {}", visible(name)), count.to_string()]);
        }
        out.push_str(&table.render());
    }
    out.push_str(&format!(
        "Not ended: {}\nArchived: {}\nDatabase size: {}\n",
        stats.open_sessions,
        stats.archived_sessions,
        human_size(stats.database_bytes)
    ));
    context.out(&out)
}
