//! `hermes checkpoints clear` and `clear-legacy`.

use hermes_runtime::checkpoint_store;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{confirm, counted, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(short, long)]
    force: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("deleting snapshots of files")?;
    let store = checkpoint_store(context);
    if !hermes_fs::exists_no_follow(store.base()) {
        return context.line("There are no snapshots, so there is nothing to delete");
    }
    let status = store.status()?;
    let base = context.display(store.base());
    context.note(format!(
        "All snapshots in {base} will be deleted: {} of {}. No conversation can go back after that.",
        human_size(status.total_bytes),
        match status.projects.len() {
            1 => "1 directory".to_owned(),
            count => format!("{count} directories"),
        }
    ))?;
    must_agree(args, context)?;
    context.start_logging();
    let freed = store.clear()?;
    tracing::info!("all snapshots deleted");
    context.line(format!(
        "✓ Deleted all snapshots; freed {}",
        human_size(freed)
    ))
}

pub(super) fn run_legacy(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("deleting snapshots of files")?;
    let store = checkpoint_store(context);
    let status = store.status()?;
    if status.legacy.is_empty() {
        return context
            .line("There are no archives of old snapshots, so there is nothing to delete");
    }
    for archive in &status.legacy {
        let size = human_size(archive.bytes);
        context.note(format!("{} ({size}) will be deleted.", archive.name))?;
    }
    must_agree(args, context)?;
    context.start_logging();
    let (count, freed) = store.clear_legacy()?;
    tracing::info!(count, "archives of old snapshots deleted");
    let archives = counted(count, "archive");
    context.line(format!("✓ Deleted {archives}; freed {}", human_size(freed)))
}

fn must_agree(args: &Args, context: &Context) -> Result<()> {
    if args.force {
        return Ok(());
    }
    match confirm(context.printer, "Delete them?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::user("nothing was deleted")),
        None => Err(CommandError::user(
            "nothing was deleted: there is no terminal to ask for confirmation",
        )
        .hint("add --force to delete without confirmation")),
    }
}
