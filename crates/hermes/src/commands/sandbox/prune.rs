//! `hermes sandbox prune`.

use std::time::Duration;

use hermes_docker::manage::{self, PruneRequest};

use super::host;
use super::list::scope;
use crate::context::Context;
use crate::error::Result;

/// Characters of an id that people compare.
const SHORT_ID: usize = 12;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "one flag each")]
pub(crate) struct Args {
    /// Seconds without use after which a container is removed; by default twice the idle time
    #[arg(long, value_name = "SECONDS")]
    older_than: Option<u64>,
    /// Include running containers that have not been used for that long
    #[arg(long)]
    running: bool,
    /// Include the containers of all profiles of this installation
    #[arg(long)]
    all_profiles: bool,
    /// Remove nothing; print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let host = host(context)?;
    let request = PruneRequest {
        scope: scope(context, args.all_profiles)?,
        older_than: args.older_than.map(Duration::from_secs),
        running: args.running,
        dry_run: args.dry_run,
    };
    let pruned = manage::prune(&host, &request)?;
    if args.json {
        return context.json(&pruned);
    }
    let done = if args.dry_run {
        "Would remove"
    } else {
        "✓ Removed"
    };
    for id in &pruned.removed {
        context.line(format!("{done} {}", short(id)))?;
    }
    for kept in &pruned.kept {
        let line = format!("  Kept {}: {}", short(&kept.id), kept.reason);
        context.line(line)?;
    }
    if pruned.removed.is_empty() {
        context.line("Nothing to remove")?;
    }
    Ok(())
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}
