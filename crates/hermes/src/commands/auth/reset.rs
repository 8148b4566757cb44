//! `hermes auth reset`.

use super::{file, only, pool, pools};
use crate::context::Context;
use crate::error::Result;
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider
    provider: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing keys")?;
    only(pools(context)?, context, Some(&args.provider))?;
    let name = pool(context, &args.provider)?.key;
    let file = file(context);
    // A key that only a variable holds has no record, and so no mark.
    let count = if file.entries(&name)?.is_empty() {
        0
    } else {
        file.change(&name, |entries| {
            let marked = entries.iter_mut().filter(|entry| entry.is_marked());
            marked.map(hermes_providers::CredentialEntry::reset).count()
        })?
    };
    if count == 0 {
        return context.line(format!("No key for {name} is marked as exhausted"));
    }
    let keys = counted(count, "key");
    context.line(format!("✓ {keys} for {name} can be used again"))
}
