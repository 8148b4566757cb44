//! `hermes auth reset`.

use super::{file, no_keys, pool};
use crate::context::Context;
use crate::error::Result;
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider
    provider: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = pool(context, &args.provider)?.key;
    let file = file(context);
    if file.entries(&name)?.is_empty() {
        return Err(no_keys(&name));
    }
    let count = file.change(&name, |entries| {
        let marked = entries.iter_mut().filter(|entry| entry.is_marked());
        marked.map(hermes_providers::CredentialEntry::reset).count()
    })?;
    let keys = counted(count, "key");
    context.line(format!("✓ {keys} of {name} may be used again"))
}
