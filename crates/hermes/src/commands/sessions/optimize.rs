//! `hermes sessions optimize`.

use hermes_session::Optimized;

use super::to_change;
use crate::context::Context;
use crate::error::Result;
use crate::ui::human_size;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let optimized = match to_change(context)? {
        Some(mut store) => store.optimize()?,
        None => Optimized {
            before: 0,
            after: 0,
        },
    };
    if args.json {
        context.json(&optimized)?;
    } else {
        context.line(format!(
            "Optimized: {} before, {} after",
            human_size(optimized.before),
            human_size(optimized.after)
        ))?;
    }
    Ok(())
}
