//! `hermes addons doctor`.

use serde_json::json;

use crate::commands::doctor::show_rows;
use crate::context::Context;
use crate::doctor::examine_addons;
use crate::error::{CommandError, Result};
use crate::ui::Mark;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let rows = examine_addons(context);
    let ok = !rows.iter().any(|row| row.mark == Mark::Problem);
    if args.json {
        context.json(&json!({ "ok": ok, "rows": rows }))?;
    } else {
        show_rows(context, &rows, &[])?;
    }
    CommandError::silent_unless(ok)
}
