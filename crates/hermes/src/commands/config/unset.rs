//! `hermes config unset`: back to the default.

use hermes_config::settings::unset;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dotted key, or the name of a variable
    key: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.refuse_setting_to_agents(&args.key, None)?;
    let (_, path) = unset(&context.sources_to_write(), &args.key)?;
    context.start_logging();
    tracing::info!(key = args.key, "setting removed");
    context.line(format!(
        "✓ Removed {} from {}",
        args.key,
        context.display(&path)
    ))
}
