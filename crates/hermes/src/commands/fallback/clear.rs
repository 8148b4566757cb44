//! `hermes fallback clear`.

use hermes_config::settings::unset;
use hermes_providers::fallback_entries;

use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::Result;

pub(super) fn run(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing fallback_providers")?;
    context.refuse_if_managed("config.yaml")?;
    let entries = fallback_entries(context.config());
    if entries.is_empty() {
        return context.line("No fallback providers");
    }
    let sources = context.sources_to_write();
    let mut settings: Vec<&str> = entries.iter().map(|entry| entry.setting).collect();
    settings.dedup();
    for setting in settings {
        unset(&sources, setting)?;
    }
    context.start_logging();
    tracing::info!(count = entries.len(), "fallback chain cleared");
    let count = entries.len();
    let noun = if count == 1 { "entry" } else { "entries" };
    context.line(format!("✓ Removed {count} {noun} from the chain"))
}
