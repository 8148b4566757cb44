//! `hermes addons gc`.

use hermes_addons::CollectRequest;
use hermes_runtime::ProfilePlugins;

use super::{addons, succeeded};
use crate::context::Context;
use crate::error::Result;
use crate::ui::human_size;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Remove nothing; print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Include packages that the Python runtime installed in the same directory
    #[arg(long)]
    legacy: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    if !args.dry_run {
        context.start_logging();
    }
    let collected = addons.collect(&CollectRequest {
        dry_run: args.dry_run,
        legacy: args.legacy,
        plugins: ProfilePlugins::of(context).known_keys(),
    });
    let collected = succeeded(context, collected, args.json)?;
    if args.json {
        return context.json(&collected);
    }
    if collected.removed.is_empty() {
        return context.line("Nothing to remove");
    }
    let done = if args.dry_run {
        "Would remove"
    } else {
        "✓ Removed"
    };
    for one in &collected.removed {
        let path = context.display(&one.path);
        context.line(format!(
            "{done} {path}: {}, {}",
            one.why,
            human_size(one.bytes)
        ))?;
    }
    context.line(format!("{} in all", human_size(collected.bytes)))
}
