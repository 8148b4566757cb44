//! `hermes auth remove`.

use hermes_providers::CredentialEntry;

use super::{file, no_keys, pool};
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider
    provider: String,
    /// The key: its number, id or label
    key: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("removing a key")?;
    let name = pool(context, &args.provider)?.key;
    let file = file(context);
    if file.entries(&name)?.is_empty() {
        return Err(no_keys(&name));
    }
    let removed = file.change(&name, |entries| {
        let at = place(entries, &args.key)?;
        Some(entries.remove(at))
    })?;
    let Some(removed) = removed else {
        return Err(
            CommandError::user(format!("no such key for {name}: '{}'", args.key))
                .hint("`hermes auth list` shows numbers, ids and labels"),
        );
    };
    let label = removed.label();
    context.line(format!(
        "✓ Removed '{label}' ({}) from {name}",
        removed.id()
    ))?;
    if let Some(variable) = removed.source().strip_prefix("env:") {
        context.hint(format!(
            "{variable} is still set; it is used until you unset it"
        ))?;
    }
    Ok(())
}

/// The place of a key by id, label or number, in this order: an id may be all digits.
fn place(entries: &[CredentialEntry], key: &str) -> Option<usize> {
    let by = |found: &dyn Fn(&CredentialEntry) -> bool| entries.iter().position(found);
    by(&|entry| entry.id() == key)
        .or_else(|| by(&|entry| entry.label() == key))
        .or_else(|| {
            let number: usize = key.parse().ok()?;
            let at = number.checked_sub(1)?;
            (at < entries.len()).then_some(at)
        })
}
