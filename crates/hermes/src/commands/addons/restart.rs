//! `hermes addons restart`.

use super::{addons, succeeded};
use crate::context::Context;
use crate::error::Result;
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    context.start_logging();
    let ended = succeeded(context, addons.restart(&args.feature), false)?;
    let ended = match ended {
        0 => "no process of it was running".to_owned(),
        count => format!("{} ended", counted(count, "process")),
    };
    context.line(format!(
        "✓ {}: {ended}; the next call starts one",
        args.feature
    ))
}
