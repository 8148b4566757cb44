//! `hermes fallback remove`.

use hermes_config::settings::{remove_value, unset};
use hermes_providers::{FallbackEntry, fallback_entries};

use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The entry: its number, provider or model
    entry: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing fallback_providers")?;
    context.refuse_if_managed("config.yaml")?;
    let entries = fallback_entries(context.config());
    let found = find(&entries, args.entry.trim())?;
    let sources = context.sources_to_write();
    // One entry may stand there without a list around it.
    let is_alone = context
        .config()
        .get(found.setting)
        .is_some_and(serde_json::Value::is_object);
    if is_alone {
        unset(&sources, found.setting)?;
    } else {
        remove_value(&sources, found.setting, &found.raw)?;
    }
    context.start_logging();
    tracing::info!(provider = found.provider, "fallback removed");
    context.line(format!(
        "✓ Removed {} with {} from the chain",
        found.provider, found.model
    ))
}

fn find<'e>(entries: &'e [FallbackEntry], wanted: &str) -> Result<&'e FallbackEntry> {
    let by_number = wanted
        .parse::<usize>()
        .ok()
        .and_then(|number| entries.get(number.checked_sub(1)?));
    if let Some(entry) = by_number {
        return Ok(entry);
    }
    let named = entries.iter().filter(|entry| {
        entry.provider.eq_ignore_ascii_case(wanted)
            || entry.model == wanted
            || format!("{}/{}", entry.provider, entry.model) == wanted
    });
    let named: Vec<&FallbackEntry> = named.collect();
    match named.as_slice() {
        [one] => Ok(one),
        [] => Err(
            CommandError::user(format!("the chain has no entry '{wanted}'"))
                .hint("`hermes fallback list` shows numbers, providers and models"),
        ),
        several => Err(CommandError::user(format!(
            "'{wanted}' matches {} entries in the chain",
            several.len()
        ))
        .hint("use the number of the entry in `hermes fallback list`")),
    }
}
