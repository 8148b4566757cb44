//! `hermes memory reset`.

use hermes_session::memory::{MemoryFiles, MemoryTarget};

use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{ask_line, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Which file: all, memory or user
    #[arg(long, default_value = "all", value_parser = named([
        ("all", Which(None)),
        ("memory", Which(Some(MemoryTarget::Notes))),
        ("user", Which(Some(MemoryTarget::User))),
    ]))]
    target: Which,
}

/// One of the files, or all.
#[derive(Debug, Clone, Copy)]
struct Which(Option<MemoryTarget>);

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("deleting what is remembered")?;
    let files = MemoryFiles::resolve(&context.location.home, context.config());
    let wanted = MemoryTarget::ALL
        .into_iter()
        .filter(|target| args.target.0.is_none_or(|only| only == *target));
    let mut found = Vec::new();
    for target in wanted {
        match hermes_fs::symlink_metadata(&files.path(target)) {
            Ok(meta) => found.push((target, meta.len())),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    if found.is_empty() {
        return context.line("Nothing is remembered, so there is nothing to delete");
    }
    if !args.yes {
        for (target, size) in &found {
            context.note(format!(
                "{} ({}) will be deleted.",
                context.display(&files.path(*target)),
                human_size(*size)
            ))?;
        }
        let answer = ask_line(context.printer, "Type yes to delete: ")?;
        if !answer.is_some_and(|answer| answer.eq_ignore_ascii_case("yes")) {
            return Err(CommandError::user("nothing was deleted").hint("answer yes, or pass --yes"));
        }
    }
    context.start_logging();
    for (target, _) in found {
        files.delete(target)?;
        tracing::info!(file = target.file_name(), "memory deleted");
        context.line(format!("✓ Deleted {}", target.file_name()))?;
    }
    Ok(())
}
