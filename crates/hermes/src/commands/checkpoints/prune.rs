//! `hermes checkpoints prune`.

use hermes_checkpoints::Retention;
use hermes_runtime::checkpoint_store;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Days the snapshots of a directory are kept after the last one; 0 for ever. Without it,
    /// `checkpoints.retention_days`
    #[arg(long, value_name = "N")]
    retention_days: Option<u32>,
    /// Megabytes that all snapshots may take; 0 for any number. Without it,
    /// `checkpoints.max_total_size_mb`
    #[arg(long, value_name = "N")]
    max_size_mb: Option<u32>,
    /// Keep the snapshots of directories that are gone
    #[arg(long)]
    keep_orphans: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let mut retention = Retention::resolve(context.config());
    if let Some(days) = args.retention_days {
        retention = retention.with_days(u64::from(days));
    }
    if let Some(megabytes) = args.max_size_mb {
        retention = retention.with_megabytes(u64::from(megabytes));
    }
    // What is typed counts: nobody who leaves the flag out wants to keep them.
    retention.delete_orphans = !args.keep_orphans;
    context.refuse_to_agents("removing snapshots of files")?;
    context.start_logging();
    let pruned = checkpoint_store(context).prune(&retention)?;
    tracing::info!(?pruned, "snapshots pruned");
    context.line(format!(
        "Looked at {}: removed those of {} that {} gone and of {} without a recent change; freed {}",
        directories(pruned.scanned),
        pruned.orphans,
        if pruned.orphans == 1 { "is" } else { "are" },
        pruned.stale,
        human_size(pruned.bytes_freed)
    ))?;
    if pruned.errors > 0 {
        let errors = counted(pruned.errors, "directory or archive");
        return Err(
            CommandError::user(format!("could not remove the snapshots of {errors}"))
                .hint("`hermes logs` shows why"),
        );
    }
    Ok(())
}

fn directories(count: usize) -> String {
    match count {
        1 => "the snapshots of 1 directory".to_owned(),
        count => format!("the snapshots of {count} directories"),
    }
}
