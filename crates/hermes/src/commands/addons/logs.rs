//! `hermes addons logs`.

use super::{addons, succeeded};
use crate::context::Context;
use crate::error::Result;

/// Bytes of a log that are read: it is moved away before it is much larger.
const MAX_LOG: u64 = 2 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
    /// Number of lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let path = succeeded(context, addons.worker_log(&args.feature), false)?;
    let Some(bytes) = hermes_fs::read_optional(&path, MAX_LOG)? else {
        return context.note(format!("{} has printed nothing yet.", args.feature));
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(args.lines);
    lines
        .iter()
        .skip(first)
        .try_for_each(|line| context.line(line))
}
